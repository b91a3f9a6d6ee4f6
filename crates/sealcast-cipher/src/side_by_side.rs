//! A batch as a matrix: each packet a row of its own, all rows growing alike.

use core::marker::PhantomData;

use zeroize::Zeroize;

use crate::cipher::{Kernel, Keystream, Packet, xor_into};
use crate::registers::Cpu;
use crate::sizes::Facts;

/// The keystreams of `LANES` packets at once, by `RUN` bytes of each.
pub trait SideBySide<const LANES: usize, const RUN: usize>: Zeroize + Sized {
    /// The kernel for packets that stand alone.
    type Alone: Kernel;

    /// Proof that this processor can do it.
    type Cpu: Cpu;

    /// As [`Kernel::NAME`].
    const NAME: &'static str;

    /// Fewer packets than these are faster one by one.
    const LEAST: usize;

    /// The state from which the keystreams of these IVs, of right sizes, start.
    fn start(cpu: Self::Cpu, key: &<Self::Alone as Kernel>::Key, ivs: &[&[u8]; LANES]) -> Self;

    /// The next bytes of each keystream.
    fn run(&mut self, rows: &mut [[u8; RUN]; LANES]);
}

/// Enciphers or deciphers packets, `LANES` at a time. These take as long as the longest of them, and lanes without a
/// packet run along.
pub(crate) fn xor_batch<const LANES: usize, const RUN: usize, S: SideBySide<LANES, RUN>>(
    cpu: S::Cpu,
    key: &<S::Alone as Kernel>::Key,
    packets: &mut [Packet<'_>],
) {
    let mut rows = [[0; RUN]; LANES];
    for packets in packets.chunks_mut(LANES) {
        if packets.len() < S::LEAST {
            for packet in packets {
                Keystream::<S::Alone>::start(key, packet.iv).xor(packet.data);
            }
            continue;
        }
        let ivs: [&[u8]; LANES] = core::array::from_fn(|lane| packets[lane.min(packets.len() - 1)].iv);
        let mut state = S::start(cpu, key, &ivs);
        let longest = packets.iter().map(|packet| packet.data.len()).max().unwrap_or(0);
        for at in (0..longest).step_by(RUN) {
            state.run(&mut rows);
            for (packet, row) in packets.iter_mut().zip(&rows) {
                if let Some(data) = packet.data.get_mut(at..) {
                    xor_into(data, row);
                }
            }
        }
        state.zeroize();
    }
    rows.zeroize();
}

/// A kernel that leaves single streams to [`SideBySide::Alone`].
pub struct Batched<const LANES: usize, const RUN: usize, S: SideBySide<LANES, RUN>> {
    stream: S::Alone,
    lanes: PhantomData<S>,
}

/// The key of the kernel for single packets, and the proof that there are lanes for several.
#[derive(Zeroize)]
pub struct BatchedKey<Key: Zeroize, C: Cpu> {
    key: Key,
    cpu: C,
}

impl<const LANES: usize, const RUN: usize, S: SideBySide<LANES, RUN>> Zeroize for Batched<LANES, RUN, S> {
    fn zeroize(&mut self) {
        self.stream.zeroize();
    }
}

impl<const LANES: usize, const RUN: usize, S: SideBySide<LANES, RUN>> Kernel for Batched<LANES, RUN, S> {
    const FACTS: &'static Facts = S::Alone::FACTS;
    const NAME: &'static str = S::NAME;
    type Key = BatchedKey<<S::Alone as Kernel>::Key, S::Cpu>;
    type Block = <S::Alone as Kernel>::Block;

    fn available() -> bool {
        S::Cpu::detect().is_some()
    }

    fn expand(key: &[u8]) -> Self::Key {
        BatchedKey {
            key: S::Alone::expand(key),
            cpu: S::Cpu::detect().expect("the kernel is available"),
        }
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        Self {
            stream: S::Alone::start(&key.key, iv),
            lanes: PhantomData,
        }
    }

    #[inline(always)]
    fn step(&mut self) -> Self::Block {
        self.stream.step()
    }

    fn xor_batch(key: &Self::Key, packets: &mut [Packet<'_>]) {
        xor_batch::<LANES, RUN, S>(key.cpu, &key.key, packets);
    }
}
