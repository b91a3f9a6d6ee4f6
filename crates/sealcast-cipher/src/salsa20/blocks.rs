//! Blocks side by side: of one stream, or of as many packets as it takes to fill the registers.

use zeroize::Zeroize;

use super::DOUBLE_ROUNDS;
use crate::cipher::{Packet, xor_into};
use crate::number;
use crate::registers::Words;

/// What is hashed, with the nonce and counter of each lane.
type Matrix<W> = [W; 16];

#[inline(always)]
fn quarter_round<W: Words>(x: &mut Matrix<W>, [a, b, c, d]: [usize; 4]) {
    x[b] = x[b] ^ x[a].plus(x[d]).rotate_left(7);
    x[c] = x[c] ^ x[b].plus(x[a]).rotate_left(9);
    x[d] = x[d] ^ x[c].plus(x[b]).rotate_left(13);
    x[a] = x[a] ^ x[d].plus(x[c]).rotate_left(18);
}

/// The places of one block in the keystreams: nonce and counter, by lanes.
#[derive(Zeroize)]
pub(super) struct Places<const LANES: usize> {
    /// Words 6 to 9 of the matrix.
    words: [[u32; LANES]; 4],
}

impl<const LANES: usize> Places<LANES> {
    const NOWHERE: Self = Self { words: [[0; LANES]; 4] };

    /// Blocks of one stream, one after another from `counter` on.
    pub(super) fn of_stream(nonce: [u32; 2], counter: u64) -> Self {
        let mut places = Self::NOWHERE;
        for lane in 0..LANES {
            places.set(lane, nonce, counter.wrapping_add(lane as u64));
        }
        places
    }

    #[inline(always)]
    fn set(&mut self, lane: usize, nonce: [u32; 2], counter: u64) {
        let [words6, words7, words8, words9] = &mut self.words;
        words6[lane] = nonce[0];
        words7[lane] = nonce[1];
        words8[lane] = counter as u32;
        words9[lane] = (counter >> 32) as u32;
    }
}

/// The blocks of a key at these places.
#[inline(always)]
pub(super) fn hash<const LANES: usize, W: Words>(
    cpu: W::Cpu,
    key: &[u32; 16],
    places: &Places<LANES>,
    blocks: &mut [[u8; 64]; LANES],
) {
    let mut input = [W::load(cpu, &places.words[0]); 16];
    macro_rules! each {
        ($($i:literal)*) => { $(input[$i] = input[6].splat(key[$i]);)* };
    }
    each!(0 1 2 3 4 5 10 11 12 13 14 15);
    input[7] = W::load(cpu, &places.words[1]);
    input[8] = W::load(cpu, &places.words[2]);
    input[9] = W::load(cpu, &places.words[3]);

    let mut x = input;
    for _ in 0..DOUBLE_ROUNDS {
        quarter_round(&mut x, [0, 4, 8, 12]);
        quarter_round(&mut x, [5, 9, 13, 1]);
        quarter_round(&mut x, [10, 14, 2, 6]);
        quarter_round(&mut x, [15, 3, 7, 11]);
        quarter_round(&mut x, [0, 1, 2, 3]);
        quarter_round(&mut x, [5, 6, 7, 4]);
        quarter_round(&mut x, [10, 11, 8, 9]);
        quarter_round(&mut x, [15, 12, 13, 14]);
    }
    macro_rules! write {
        ($($i:literal)*) => { $(W::write(
            [
                x[$i].plus(input[$i]),
                x[$i + 1].plus(input[$i + 1]),
                x[$i + 2].plus(input[$i + 2]),
                x[$i + 3].plus(input[$i + 3]),
            ],
            blocks,
            4 * $i,
        );)* };
    }
    write!(0 4 8 12);
}

/// Fills the lanes with blocks of all packets, one packet after another.
pub(super) fn xor_batch<const LANES: usize>(
    packets: &mut [Packet<'_>],
    hash: impl Fn(&Places<LANES>, &mut [[u8; 64]; LANES]),
) {
    let mut blocks = packets.iter_mut().flat_map(|packet| {
        let nonce = number::words::<2>(packet.iv);
        packet
            .data
            .chunks_mut(64)
            .zip(0..)
            .map(move |(data, counter)| (nonce, counter, data))
    });
    let mut places = Places::NOWHERE;
    let mut keystream = [[0; 64]; LANES];
    loop {
        let mut data: [&mut [u8]; LANES] = core::array::from_fn(|_| Default::default());
        let mut filled = 0;
        for (lane, (nonce, counter, block)) in blocks.by_ref().take(LANES).enumerate() {
            places.set(lane, nonce, counter);
            data[lane] = block;
            filled += 1;
        }
        if filled == 0 {
            break;
        }
        hash(&places, &mut keystream);
        for (data, keystream) in data[..filled].iter_mut().zip(&keystream) {
            xor_into(data, keystream);
        }
    }
    keystream.zeroize();
}
