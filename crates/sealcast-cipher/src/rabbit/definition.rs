//! Sixteen bytes per step, in the RFC's notation.

use zeroize::Zeroize;

use super::FACTS;
use crate::cipher::Kernel;
use crate::number;
use crate::sizes::Facts;

/// The constants A0 to A7.
pub(super) const A: [u32; 8] = [
    0x4D34_D34D,
    0xD34D_34D3,
    0x34D3_4D34,
    0x4D34_D34D,
    0xD34D_34D3,
    0x34D3_4D34,
    0x4D34_D34D,
    0xD34D_34D3,
];

/// Rabbit as it was published.
#[derive(Clone, Zeroize)]
pub struct Definition {
    pub(super) x: [u32; 8],
    pub(super) counters: [u32; 8],
    pub(super) carry: u32,
}

impl Definition {
    /// Counter system and next-state function.
    #[inline(always)]
    fn next_state(&mut self) {
        for (counter, a) in self.counters.iter_mut().zip(A) {
            let sum = u64::from(*counter) + u64::from(a) + u64::from(self.carry);
            *counter = sum as u32;
            self.carry = (sum >> 32) as u32;
        }
        let g: [u32; 8] = core::array::from_fn(|j| {
            let sum = u64::from(self.x[j].wrapping_add(self.counters[j]));
            let square = sum * sum;
            (square ^ square >> 32) as u32
        });
        self.x = core::array::from_fn(|j| {
            let (one, two) = (g[(j + 7) % 8], g[(j + 6) % 8]);
            if j % 2 == 0 {
                g[j].wrapping_add(one.rotate_left(16)).wrapping_add(two.rotate_left(16))
            } else {
                g[j].wrapping_add(one.rotate_left(8)).wrapping_add(two)
            }
        });
    }

    fn four_times(&mut self) {
        for _ in 0..4 {
            self.next_state();
        }
    }
}

impl Kernel for Definition {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = "definition";
    /// The state after key set-up.
    type Key = Self;
    type Block = [u8; 16];

    fn expand(key: &[u8]) -> Self::Key {
        let key = number::little_endian(key);
        let k = |j: usize| (key >> (16 * (j % 8))) as u32 & 0xFFFF;
        let mut state = Self {
            x: core::array::from_fn(|j| {
                if j % 2 == 0 {
                    k(j + 1) << 16 | k(j)
                } else {
                    k(j + 5) << 16 | k(j + 4)
                }
            }),
            counters: core::array::from_fn(|j| {
                if j % 2 == 0 {
                    k(j + 4) << 16 | k(j + 5)
                } else {
                    k(j) << 16 | k(j + 1)
                }
            }),
            carry: 0,
        };
        state.four_times();
        for j in 0..8 {
            state.counters[j] ^= state.x[(j + 4) % 8];
        }
        state
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        let mut state = key.clone();
        if iv.is_empty() {
            return state;
        }
        let [low, high] = number::words::<2>(iv);
        let outer = high & 0xFFFF_0000 | low >> 16;
        let inner = high << 16 | low & 0xFFFF;
        for (counter, word) in state
            .counters
            .iter_mut()
            .zip([low, outer, high, inner, low, outer, high, inner])
        {
            *counter ^= word;
        }
        state.four_times();
        state
    }

    #[inline(always)]
    fn step(&mut self) -> Self::Block {
        self.next_state();
        let x = self.x;
        let mut block = [0; 16];
        for (i, bytes) in block.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let word = x[2 * i] ^ x[(2 * i + 5) % 8] >> 16 ^ x[(2 * i + 3) % 8] << 16;
            *bytes = word.to_le_bytes();
        }
        block
    }
}
