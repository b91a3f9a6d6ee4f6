//! Twenty clocks per step: after that, the ten words of the register are in their original positions, without any
//! moves.

use super::field::Field;
use super::{State, sbox};

/// Keystream bytes per packet that [`xor`] produces.
pub(super) const RUN: usize = 80;

/// Clock `T`, modulo 10: returns f_t, and the s_t that leaves the register.
#[inline(always)]
fn clock<const T: usize, W: Field>(state: &mut State<W>) -> (W, W) {
    let State { s, r1, r2 } = state;
    let leaving = s[T];
    let zero = leaving.splat(0);
    let chosen = s[(T + 8) % 10] & zero.minus(*r1 & r1.splat(1));
    (*r1, *r2) = (r2.plus(s[(T + 1) % 10] ^ chosen), super::trans(*r1));
    let f = s[(T + 9) % 10].plus(*r1) ^ *r2;
    s[T] = s[(T + 9) % 10] ^ s[(T + 3) % 10].over_alpha() ^ leaving.times_alpha();
    (f, leaving)
}

/// XORs the next bytes of each keystream into its row.
#[inline(always)]
pub(super) fn xor<const LANES: usize, W: Field>(state: &mut State<W>, rows: &mut [&mut [u8; RUN]; LANES]) {
    // Four clocks and Serpent1, which is just S2.
    macro_rules! four {
        ($a:literal $b:literal $c:literal $d:literal, $at:literal) => {
            let (f0, s0) = clock::<$a, W>(state);
            let (f1, s1) = clock::<$b, W>(state);
            let (f2, s2) = clock::<$c, W>(state);
            let (f3, s3) = clock::<$d, W>(state);
            let [a, b, c, d] = sbox::s2([f0, f1, f2, f3]);
            W::xor([a ^ s0, b ^ s1, c ^ s2, d ^ s3], rows, $at);
        };
    }
    four!(0 1 2 3, 0);
    four!(4 5 6 7, 16);
    four!(8 9 0 1, 32);
    four!(2 3 4 5, 48);
    four!(6 7 8 9, 64);
}
