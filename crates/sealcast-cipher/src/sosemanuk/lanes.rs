//! Several packets in parallel. The multiplication by α depends on the register's instructions.

use zeroize::Zeroize;

use super::clocks::{self, RUN};
use super::field::{ALPHA, Field, INVERSE};
use super::words::Words;
use super::{State, serpent};
use crate::interleaved::{Batched, Rows, Streams};
#[cfg(target_arch = "aarch64")]
use crate::registers::Quad;
use crate::registers::{self, Lanes, columns};
#[cfg(target_arch = "x86_64")]
use crate::registers::{Ymm, Zmm};

/// Batches of up to eight packets at once, for processors with AVX2.
#[cfg(target_arch = "x86_64")]
pub type Avx2 = Batched<8, RUN, State<Ymm>>;

/// Batches of up to sixteen packets at once, for processors with AVX-512.
#[cfg(target_arch = "x86_64")]
pub type Avx512 = Batched<16, RUN, State<Zmm>>;

/// Batches of up to four packets at once, for processors with NEON.
#[cfg(target_arch = "aarch64")]
pub type Neon = Batched<4, RUN, State<Quad>>;

/// Looks up the field's tables for each word.
macro_rules! by_table {
    ($register:ty) => {
        impl Field for $register {
            #[inline(always)]
            fn times_alpha(self) -> Self {
                let left = registers::Words::shift_right(self, 24);
                registers::Words::shift_left(self, 8) ^ left.look_up(&ALPHA)
            }

            #[inline(always)]
            fn over_alpha(self) -> Self {
                registers::Words::shift_right(self, 8) ^ self.look_up(&INVERSE)
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
by_table!(Ymm);
#[cfg(target_arch = "aarch64")]
by_table!(Quad);

/// Multiplying a byte by a constant is linear, so matrices replace the field's tables, and no secret is used as an
/// index.
#[cfg(target_arch = "x86_64")]
impl Field for Zmm {
    #[inline(always)]
    fn times_alpha(self) -> Self {
        registers::Words::shift_left(self, 8) ^ self.multiply_byte::<3>(const { matrices(&ALPHA) })
    }

    #[inline(always)]
    fn over_alpha(self) -> Self {
        registers::Words::shift_right(self, 8) ^ self.multiply_byte::<0>(const { matrices(&INVERSE) })
    }
}

/// The multiplication of a table, as a matrix over GF(2) for each byte of the product: byte 7 - i of a matrix selects
/// the bits of the factor whose sum is bit i.
#[cfg(target_arch = "x86_64")]
const fn matrices(table: &[u32; 256]) -> [u64; 4] {
    let mut matrices = [0; 4];
    let mut bit = 0;
    while bit < 32 {
        let mut factor = 0;
        while factor < 8 {
            let one = (table[1 << factor] >> bit & 1) as u64;
            matrices[bit / 8] |= one << (8 * (7 - bit % 8) + factor);
            factor += 1;
        }
        bit += 1;
    }
    matrices
}

impl<const LANES: usize, W: Field + Lanes<u32, LANES>> Streams<LANES, RUN> for State<W> {
    type Alone = Words;
    type Cpu = W::Cpu;

    #[inline(always)]
    fn start(cpu: W::Cpu, key: &serpent::Keys, ivs: &[&[u8]; LANES]) -> Self {
        super::inject(key, columns(cpu, ivs, super::padded))
    }

    #[inline(always)]
    fn xor(&mut self, mut rows: Rows<'_, '_, LANES, RUN>) {
        clocks::xor(self, &mut rows.each());
    }

    #[inline(always)]
    fn wipe(&mut self) {
        self.zeroize();
    }
}
