//! Sends sealed packets: in runs, at the pacer's rate and within the congestion window.

use std::time::Duration;

use super::outbound::{Outbound, Packets, Polled, SentBlock};

/// Maximum number of packets in a run: as many as the kernel segments at once (GSO). A run a little longer would leave
/// as a long one and a short one.
const MAX_RUN: usize = 64;
/// Maximum length of a run in bytes, for the same reason.
const MAX_RUN_BYTES: usize = 65_507;
/// Maximum number of packets in a run while a congestion window limits what may be sent.
const MAX_RUN_IN_WINDOW: usize = 16;

/// Number of the next blocks, at most `most`, whose packets can join a run of datagrams of `size` bytes. Each has one
/// packet of that length; a shorter one is the last of the run. Their numbers follow `next`, the first one after the
/// run's, without gaps.
fn alike<'b>(size: usize, mut next: u64, blocks: impl Iterator<Item = &'b SentBlock>, most: usize) -> usize {
    let mut count = 0;
    for block in blocks.take(most) {
        if block.len() != 1 || block.sources.size > size || block.first != next {
            break;
        }
        count += 1;
        next += 1;
        if block.sources.size < size {
            break;
        }
    }
    count
}

impl Outbound {
    /// The rate at which packets leave, in bit/s; `None` if they are not paced.
    pub(super) fn pace(&self) -> Option<u64> {
        let paced = self.delivery.rate.is_some() && self.delivery.pace;
        paced.then(|| self.rate.pacing())
    }

    /// Bytes that may leave now by the pacer. If there are any, one packet more than that may leave.
    pub(in crate::session) fn allowance(&mut self, now: Duration) -> u64 {
        match self.pace() {
            Some(rate) => self.pacer.allowance(now, rate),
            None => u64::MAX,
        }
    }

    /// The next datagrams to send, if any may leave now. Call [`sent`](Self::sent) once they were.
    pub(in crate::session) fn poll(&mut self, now: Duration) -> Option<Packets<'_>> {
        self.polled = None;
        let allowance = self.allowance(now);
        if allowance == 0 || (self.delivery.rate.is_some() && !self.rate.may_send(self.limit)) {
            return None;
        }
        while let Some(&number) = self.again.front() {
            if let Some((block, index)) = self.find(number) {
                self.polled = Some(Polled::Again(number));
                return Some(self.blocks[block].sources.packets(index, index + 1));
            }
            self.again.pop_front();
        }
        let block = self.blocks.get(self.done)?;
        let (run, from) = block.next();
        let fit = usize::try_from(allowance / run.size.max(1) as u64).unwrap_or(usize::MAX);
        // The window is checked only before a run, so runs are kept short in order to exceed it by little.
        let fit = fit.clamp(
            1,
            if self.in_cells {
                1
            } else if self.delivery.rate.is_some() {
                MAX_RUN_IN_WINDOW
            } else {
                (MAX_RUN_BYTES / run.size.max(1)).clamp(1, MAX_RUN)
            },
        );
        let count = fit.min(run.count - from);
        let packets = run.packets(from, from + count);
        let whole = block.sent + count == block.len() && packets.bytes.len() == count * packets.size;
        let behind = self.blocks.range(self.done + 1..).filter(|_| whole);
        let next = block.first + block.len() as u64;
        let more = alike(packets.size, next, behind, fit - count);
        self.polled = Some(Polled::Fresh(count + more));
        if more == 0 {
            return Some(packets);
        }
        // Frames of one packet each are joined, so that they also leave with one system call.
        self.joined.clear();
        self.joined.extend_from_slice(packets.bytes);
        for block in self.blocks.range(self.done + 1..).take(more) {
            self.joined.extend_from_slice(&block.sources.bytes);
        }
        Some(Packets {
            bytes: &self.joined,
            size: packets.size,
        })
    }

    /// Note that the datagrams handed out last have left.
    pub(in crate::session) fn sent(&mut self, now: Duration) {
        let bytes = match self.polled.take() {
            None => return,
            Some(Polled::Again(number)) => {
                self.again.pop_front();
                self.counts.resent += 1;
                let bytes = self.find(number).map_or(0, |(block, index)| {
                    self.blocks[block].sources.packets(index, index + 1).bytes.len()
                });
                self.rate.resent(now, bytes);
                bytes
            }
            Some(Polled::Fresh(count)) => self.left(now, count),
        };
        self.counts.bytes += bytes as u64;
        self.rate.queued(self.backlog + self.waiting);
        self.pacer.sent(bytes);
        self.note_left(now);
    }

    /// Note that something has left, on which a report is awaited.
    pub(super) fn note_left(&mut self, now: Duration) {
        self.last_sent = now;
        self.tail.sent(now);
        self.unanswered.get_or_insert(now);
        self.all_came = false;
        self.forget(now);
        debug_assert!(self.is_consistent(), "the books of the blocks do not add up");
    }

    /// Note that `count` packets have left for the first time. Returns their bytes.
    fn left(&mut self, now: Duration, count: usize) -> usize {
        let Some(block) = self.blocks.get(self.done) else {
            return 0;
        };
        let (first, size) = (block.first + block.sent as u64, block.next().0.size);
        let (mut remain, mut bytes) = (count, 0);
        while remain > 0
            && let Some(block) = self.blocks.get_mut(self.done)
        {
            let source = block.sent < block.sources.count;
            let (run, from) = block.next();
            let left = remain.min(run.count - from);
            bytes += run.packets(from, from + left).bytes.len();
            block.sent += left;
            remain -= left;
            if source {
                self.counts.sources += left as u64;
            } else {
                self.counts.repairs += left as u64;
            }
            if block.sent == block.len() {
                self.done += 1;
            }
        }
        self.backlog -= bytes;
        self.rate.sent_run(now, first, bytes, size);
        bytes
    }
}
