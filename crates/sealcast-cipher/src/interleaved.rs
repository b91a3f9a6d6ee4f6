//! A batch as a matrix: each packet is a row, and all rows advance at the same rate.

use core::marker::PhantomData;

use zeroize::Zeroize;

use crate::cipher::{Kernel, Packet, xor_into};
use crate::cpu::{Cpu, Task};
use crate::sizes::Facts;
use crate::wipe::wipe;

/// The keystreams of `LANES` packets at once, `RUN` bytes of each per step.
pub trait Streams<const LANES: usize, const RUN: usize>: Sized {
    /// The kernel for single packets and small groups.
    type Alone: Kernel;

    /// Proof that this processor supports it.
    type Cpu: Cpu;

    /// As [`Kernel::NAME`].
    const NAME: &'static str = Self::Cpu::NAME;

    /// Smaller groups are faster with [`Self::Alone`]. Lanes without a packet cost nothing.
    const LEAST: usize = 2;

    /// The initial state for these IVs, whose sizes are valid.
    fn start(cpu: Self::Cpu, key: &<Self::Alone as Kernel>::Key, ivs: &[&[u8]; LANES]) -> Self;

    /// XORs the next bytes of each keystream into its row.
    fn xor(&mut self, rows: Rows<'_, '_, LANES, RUN>);

    /// Wipes a state that is in memory. A state meant for registers cannot be wiped: that would force it into memory
    /// first.
    fn wipe(&mut self) {}
}

/// The next `RUN` bytes of each packet.
pub struct Rows<'a, 'b, const LANES: usize, const RUN: usize> {
    packets: &'a mut [Packet<'b>],
    at: usize,
    /// Rows for packets that have no whole row left: each holds the last part of its packet, and later is a dummy.
    spare: &'a mut [[u8; RUN]; LANES],
}

impl<const LANES: usize, const RUN: usize> Rows<'_, '_, LANES, RUN> {
    /// One row.
    #[inline(always)]
    pub(crate) fn row(&mut self, lane: usize) -> &mut [u8; RUN] {
        let rest = self
            .packets
            .get_mut(lane)
            .and_then(|packet| packet.data.get_mut(self.at..));
        match rest.and_then(<[u8]>::first_chunk_mut) {
            Some(whole) => whole,
            None => &mut self.spare[lane],
        }
    }

    /// All rows.
    #[inline(always)]
    pub(crate) fn each(&mut self) -> [&mut [u8; RUN]; LANES] {
        let mut rows = self.spare.each_mut();
        for (row, packet) in rows.iter_mut().zip(self.packets.iter_mut()) {
            if let Some(whole) = packet.data.get_mut(self.at..).and_then(<[u8]>::first_chunk_mut) {
                *row = whole;
            }
        }
        rows
    }
}

/// Enciphers or deciphers packets, `LANES` at a time. A group takes as long as its longest packet, and lanes without
/// a packet are computed, too.
pub(crate) fn xor_batch<const LANES: usize, const RUN: usize, S: Streams<LANES, RUN>>(
    cpu: S::Cpu,
    key: &<S::Alone as Kernel>::Key,
    packets: &mut [Packet<'_>],
) {
    cpu.run(Batch::<LANES, RUN, S> { cpu, key, packets });
}

struct Batch<'a, 'b, const LANES: usize, const RUN: usize, S: Streams<LANES, RUN>> {
    cpu: S::Cpu,
    key: &'a <S::Alone as Kernel>::Key,
    packets: &'a mut [Packet<'b>],
}

impl<const LANES: usize, const RUN: usize, S: Streams<LANES, RUN>> Task for Batch<'_, '_, LANES, RUN, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for packets in self.packets.chunks_mut(LANES) {
            if packets.len() < S::LEAST {
                S::Alone::xor_batch(self.key, packets);
            } else {
                let ivs = core::array::from_fn(|lane| packets[lane.min(packets.len() - 1)].iv);
                let mut streams = S::start(self.cpu, self.key, &ivs);
                xor_group(&mut streams, packets);
                streams.wipe();
            }
        }
    }
}

/// At most `LANES` packets.
#[inline(always)]
fn xor_group<const LANES: usize, const RUN: usize, S: Streams<LANES, RUN>>(
    streams: &mut S,
    packets: &mut [Packet<'_>],
) {
    let lengths = packets.iter().map(|packet| packet.data.len());
    let (shortest, longest) = (lengths.clone().min().unwrap_or(0), lengths.max().unwrap_or(0));
    let mut spare = [[0; RUN]; LANES];
    for at in (0..longest).step_by(RUN) {
        streams.xor(Rows {
            packets,
            at,
            spare: &mut spare,
        });
        if at + RUN > shortest {
            for (spare, packet) in spare.iter().zip(packets.iter_mut()) {
                if let Some(end) = packet.data.get_mut(at..)
                    && end.len() < RUN
                {
                    xor_into(end, spare);
                }
            }
        }
    }
    let taken = packets.len() < LANES || shortest < longest || longest % RUN > 0;
    if taken {
        wipe(&mut spare, [[0; RUN]; LANES]);
    }
}

/// A kernel that handles single streams with [`Streams::Alone`].
pub struct Batched<const LANES: usize, const RUN: usize, S: Streams<LANES, RUN>> {
    stream: S::Alone,
    lanes: PhantomData<S>,
}

/// The key of the kernel for single packets, and the proof that this processor supports parallel lanes.
#[derive(Zeroize)]
pub struct BatchedKey<Key: Zeroize, C: Cpu> {
    key: Key,
    cpu: C,
}

impl<Key: Zeroize + AsRef<[u8]>, C: Cpu> AsRef<[u8]> for BatchedKey<Key, C> {
    fn as_ref(&self) -> &[u8] {
        self.key.as_ref()
    }
}

impl<const LANES: usize, const RUN: usize, S: Streams<LANES, RUN>> Zeroize for Batched<LANES, RUN, S> {
    fn zeroize(&mut self) {
        self.stream.zeroize();
    }
}

impl<const LANES: usize, const RUN: usize, S: Streams<LANES, RUN>> Kernel for Batched<LANES, RUN, S> {
    const FACTS: &'static Facts = S::Alone::FACTS;
    const NAME: &'static str = S::NAME;
    type Key = BatchedKey<<S::Alone as Kernel>::Key, S::Cpu>;
    type Block = <S::Alone as Kernel>::Block;

    fn available() -> bool {
        S::Cpu::detect().is_some() && S::Alone::available()
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
