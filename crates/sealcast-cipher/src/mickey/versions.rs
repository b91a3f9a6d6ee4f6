//! The differences between the two versions: the tables of their specifications.

use crate::sizes::{Facts, Sizes};

/// Largest number of stages of a register.
pub(super) const MOST_STAGES: usize = 100;

/// Bit `i` of a constant.
#[inline(always)]
pub(super) const fn bit(constant: u128, i: usize) -> bool {
    constant >> i & 1 == 1
}

/// The parameters of one version. Bit i of a constant belongs to stage i of its register.
pub trait Version {
    /// Name, sizes and publication.
    const FACTS: &'static Facts;
    /// Number of stages of each of the two registers, at most 100; also the number of clocks between the last bit of
    /// the key and the first bit of the keystream.
    const STAGES: usize;
    /// The stages of R that feedback enters, RTAPS.
    const R_TAPS: u128;
    /// COMP0, for stages 1 to `STAGES - 2`.
    const COMP0: u128;
    /// COMP1, for the same stages.
    const COMP1: u128;
    /// The stages of S that feedback enters while its control bit is 0.
    const FB0: u128;
    /// The same while it is 1.
    const FB1: u128;
    /// The stages of S and R whose sum controls R.
    const R_CONTROL: (usize, usize);
    /// The stages of S and R whose sum controls S.
    const S_CONTROL: (usize, usize);
    /// The stage of S that is added to R's input while key and IV are mixed in.
    const MIXED_IN: usize;
}

/// MICKEY v1, 80 stages.
pub enum V1 {}

impl Version for V1 {
    const FACTS: &'static Facts = &Facts {
        name: "mickey-v1",
        key_bytes: Sizes::exactly(10),
        iv_bytes: Sizes::steps(0, 10, 1),
        source: "Babbage and Dodd, The stream cipher MICKEY (version 1), eSTREAM report 2005/015",
    };
    const STAGES: usize = 80;
    const R_TAPS: u128 = 0xD2A8_415A_0AAC_1D53_63D5;
    const COMP0: u128 = 0x3FEA_7942_A809_6AA9_7A30;
    const COMP1: u128 = 0x3DD7_E3A2_1D63_DD62_9E9A;
    const FB0: u128 = 0x5802_AF4A_9381_9FFA_7FAF;
    const FB1: u128 = 0xC52B_4911_B063_4C8C_B877;
    const R_CONTROL: (usize, usize) = (27, 53);
    const S_CONTROL: (usize, usize) = (53, 26);
    const MIXED_IN: usize = 40;
}

/// MICKEY 2.0, 100 stages.
pub enum V2 {}

impl Version for V2 {
    const FACTS: &'static Facts = &Facts {
        name: "mickey-v2",
        key_bytes: Sizes::exactly(10),
        iv_bytes: Sizes::steps(0, 10, 1),
        source: "Babbage and Dodd, The stream cipher MICKEY 2.0, eSTREAM 2006",
    };
    const STAGES: usize = 100;
    const R_TAPS: u128 = 0x3_DF87_818F_B554_6660_1279_327B;
    const COMP0: u128 = 0x6_057E_BFEA_7942_A809_6AA9_7A30;
    const COMP1: u128 = 0x1_91C2_3DD7_E3A2_1D63_DD62_9E9A;
    const FB0: u128 = 0x1_9CEC_5802_AF4A_9381_9FFA_7FAF;
    const FB1: u128 = 0x8_40FB_C52B_4911_B063_4C8C_B877;
    const R_CONTROL: (usize, usize) = (34, 67);
    const S_CONTROL: (usize, usize) = (67, 33);
    const MIXED_IN: usize = 50;
}
