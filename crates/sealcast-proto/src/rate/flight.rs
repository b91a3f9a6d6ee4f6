//! Packets in flight: their sizes and departure times, until it is known whether they arrived.

use std::collections::VecDeque;
use std::time::Duration;

use super::loss::Loss;

/// Maximum number of packets whose fate is unknown. At 1200 bytes they are 20 MB, which is 1.5 seconds at 100 Mbit/s.
pub const MAX_IN_FLIGHT: usize = 1 << 14;
/// Maximum length of the bitmap that is read from a report, in bytes.
pub const MAX_REPORT_BYTES: usize = 128;
/// Number of lost packets remembered in case they arrive after all.
const MAX_LATE: usize = 64;
/// Largest size that a packet is counted with: no datagram is longer.
const MAX_PACKET: usize = 65_535;

/// A receiver's report on the packets that arrived, sent every 20 ms or 64 packets. It may be lost, repeated or late
/// itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report<'a> {
    /// Highest number that has arrived.
    pub highest: u64,
    /// Arrival time of that packet, in ns by the receiver's clock. The offset of that clock does not matter as long as
    /// it is constant.
    pub arrived_ns: u64,
    /// Bitmap of the packets before it that have arrived: bit `i`, least significant first, stands for `highest - 1 -
    /// i`. Only the first [`MAX_REPORT_BYTES`] bytes are read.
    pub received: &'a [u8],
}

impl Report<'_> {
    /// True if `number` has arrived; `None` if the report does not cover it.
    fn tells(&self, number: u64) -> Option<bool> {
        if number == self.highest {
            return Some(true);
        }
        let back = usize::try_from(self.highest.checked_sub(number)?.checked_sub(1)?).ok()?;
        let told = &self.received[..self.received.len().min(MAX_REPORT_BYTES)];
        told.get(back / 8).map(|byte| byte >> (back % 8) & 1 == 1)
    }
}

struct Packet {
    number: u64,
    bytes: u64,
    sent: Duration,
    /// Time at which a report first showed that a later packet had arrived.
    missing: Option<Duration>,
    arrived: bool,
    /// True if a report covered it.
    told: bool,
}

/// Effect of a report.
#[derive(Default)]
pub(super) struct Progress {
    /// Departure time of the report's highest packet, if none as high had been acknowledged before.
    pub(super) sent: Option<Duration>,
    /// Bytes newly acknowledged up to that packet, lost ones included (RFC 8298's bytes_newly_acked).
    pub(super) acknowledged: u64,
    /// Bytes now known to have arrived.
    pub(super) delivered: u64,
}

/// Packets in flight, oldest first.
#[derive(Default)]
pub(super) struct Flight {
    packets: VecDeque<Packet>,
    /// The highest number sent; and one more than the highest acknowledged number.
    last: Option<u64>,
    acknowledged: u64,
    /// Packets with lower numbers have been given up.
    forgiven: u64,
    bytes: u64,
    late: VecDeque<(u64, Duration)>,
}

impl Flight {
    /// Adds a packet. A number that is not higher than the last one counts as a retransmission.
    pub(super) fn sent(&mut self, now: Duration, number: u64, bytes: usize) {
        if self.last.is_some_and(|last| number <= last) || number == u64::MAX {
            return self.resent(bytes);
        }
        if self.packets.len() >= MAX_IN_FLIGHT {
            self.forget_oldest();
        }
        let size = bytes.min(MAX_PACKET) as u64;
        self.bytes = self.bytes.saturating_add(size);
        self.packets.push_back(Packet {
            number,
            bytes: size,
            sent: now,
            missing: None,
            arrived: false,
            told: false,
        });
        self.last = Some(number);
    }

    /// Adds a retransmission. It has no number of its own and is counted with the packet sent before it. If no packet
    /// is in flight it does not count: no report would ever show that it has left the path, and a window filled by such
    /// packets would admit none that could be reported.
    pub(super) fn resent(&mut self, bytes: usize) {
        let size = bytes.min(MAX_PACKET) as u64;
        let under_way = self.acknowledged.max(self.forgiven);
        if let Some(packet) = self.packets.back_mut().filter(|packet| packet.number >= under_way) {
            packet.bytes = packet.bytes.saturating_add(size);
            self.bytes = self.bytes.saturating_add(size);
        }
    }

    /// RFC 8298's bytes_in_flight: all bytes after the highest acknowledged packet.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// True if nothing more may leave until the fate of the oldest packet is known.
    pub(super) fn full(&self) -> bool {
        let oldest_counts = self
            .packets
            .front()
            .is_some_and(|oldest| oldest.number >= self.forgiven);
        self.packets.len() >= MAX_IN_FLIGHT && oldest_counts
    }

    /// Gives up the packets in flight. If they are acknowledged after all, they still count as delivered.
    pub(super) fn forgive(&mut self) {
        self.forgiven = self.last.map_or(0, |last| last + 1);
        self.bytes = 0;
    }

    fn forget_oldest(&mut self) {
        if let Some(packet) = self.packets.pop_front()
            && packet.number >= self.acknowledged.max(self.forgiven)
        {
            self.bytes = self.bytes.saturating_sub(packet.bytes);
        }
    }

    /// Processes a report. `loss` is told about every packet whose fate is now known, in the order of sending.
    pub(super) fn acknowledge(&mut self, now: Duration, report: &Report<'_>, loss: &mut Loss) -> Progress {
        let mut progress = Progress::default();
        if self.last.is_none_or(|last| report.highest > last) {
            return progress;
        }
        self.advance(report.highest, &mut progress);
        let acknowledged = self.acknowledged;
        for packet in self
            .packets
            .iter_mut()
            .take_while(|packet| packet.number < acknowledged)
        {
            let tells = report.tells(packet.number);
            packet.told |= tells.is_some();
            if tells == Some(true) && !packet.arrived {
                packet.arrived = true;
                progress.delivered = progress.delivered.saturating_add(packet.bytes);
                if let Some(since) = packet.missing {
                    loss.came_late(now.saturating_sub(since));
                }
            }
            packet.missing.get_or_insert(now);
        }
        self.late.retain(|&(number, since)| {
            let came = report.tells(number) == Some(true);
            if came {
                loss.came_late(now.saturating_sub(since));
            }
            !came
        });
        self.settle(now, loss);
        progress
    }

    /// Advances the highest acknowledged number. A report that names a packet that was never sent has no effect.
    fn advance(&mut self, highest: u64, progress: &mut Progress) {
        if highest < self.acknowledged {
            return;
        }
        let Ok(at) = self.packets.binary_search_by_key(&highest, |packet| packet.number) else {
            return;
        };
        let from = self.packets.partition_point(|packet| packet.number < self.acknowledged);
        for packet in self.packets.range(from..=at) {
            progress.acknowledged = progress.acknowledged.saturating_add(packet.bytes);
            if packet.number >= self.forgiven {
                self.bytes = self.bytes.saturating_sub(packet.bytes);
            }
        }
        progress.sent = Some(self.packets[at].sent);
        self.acknowledged = highest + 1;
    }

    fn settle(&mut self, now: Duration, loss: &mut Loss) {
        while let Some(packet) = self.packets.front().filter(|packet| packet.number < self.acknowledged) {
            let overdue = packet
                .missing
                .is_some_and(|since| now.saturating_sub(since) >= loss.allowance());
            if !packet.arrived && !overdue {
                break;
            }
            // A packet that no report covered is not known to be lost: the reports were lost.
            if packet.arrived || packet.told {
                loss.settle(!packet.arrived);
            }
            if !packet.arrived && packet.told {
                if self.late.len() == MAX_LATE {
                    self.late.pop_front();
                }
                self.late.push_back((packet.number, packet.missing.unwrap_or(now)));
            }
            self.packets.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn report(highest: u64, received: &[u8]) -> Report<'_> {
        Report {
            highest,
            arrived_ns: 0,
            received,
        }
    }

    fn flight(packets: u64) -> (Flight, Loss) {
        let mut flight = Flight::default();
        for number in 0..packets {
            flight.sent(MS, number, 1000);
        }
        (flight, Loss::default())
    }

    #[test]
    fn bytes_in_flight_are_those_after_the_highest_acknowledged() {
        let (mut flight, mut loss) = flight(10);
        flight.resent(500);
        assert_eq!(flight.bytes(), 10_500);
        let progress = flight.acknowledge(MS * 2, &report(5, &[0b1_1101]), &mut loss);
        assert_eq!((progress.acknowledged, progress.delivered), (6000, 5000));
        assert_eq!(flight.bytes(), 4500);
        flight.sent(MS * 3, 10, 1000);
        let progress = flight.acknowledge(MS * 4, &report(10, &[0b1111]), &mut loss);
        assert_eq!((progress.acknowledged, flight.bytes()), (5500, 0));
    }

    #[test]
    fn retransmissions_do_not_stay_under_way_when_all_else_was_acknowledged() {
        let (mut flight, mut loss) = flight(3);
        flight.resent(900);
        flight.acknowledge(MS * 2, &report(2, &[0b11]), &mut loss);
        flight.resent(900);
        assert_eq!(flight.bytes(), 0);
        flight.sent(MS * 3, 3, 1000);
        flight.forgive();
        flight.resent(900);
        assert_eq!(flight.bytes(), 0);
    }

    #[test]
    fn repeated_old_and_impossible_reports_change_nothing() {
        let (mut flight, mut loss) = flight(10);
        flight.acknowledge(MS * 2, &report(5, &[0xff]), &mut loss);
        for highest in [5, 2, 10, 4000, u64::MAX] {
            let progress = flight.acknowledge(MS * 3, &report(highest, &[0xff; 200]), &mut loss);
            assert!(
                progress.sent.is_none() && progress.acknowledged == 0 && progress.delivered == 0,
                "{highest}"
            );
        }
        assert_eq!(flight.bytes(), 4000);
    }

    #[test]
    fn a_packet_is_lost_only_when_the_allowance_for_reordering_is_over() {
        let (mut flight, mut loss) = flight(10);
        flight.acknowledge(MS * 2, &report(5, &[0b1_1110]), &mut loss);
        assert_eq!(loss.share(), 0.0);
        flight.acknowledge(MS * 3, &report(6, &[0b11_1111]), &mut loss);
        flight.acknowledge(MS * 500, &report(9, &[0xff; 2]), &mut loss);
        assert_eq!(loss.share(), 0.0, "it came late");

        flight.sent(MS * 501, 10, 1000);
        flight.sent(MS * 501, 11, 1000);
        flight.acknowledge(MS * 502, &report(11, &[0xfe]), &mut loss);
        flight.acknowledge(MS * 900, &report(11, &[0xfe]), &mut loss);
        assert!(loss.share() > 0.0, "it never came");
    }

    #[test]
    fn what_no_report_covers_is_not_counted_as_lost() {
        let (mut flight, mut loss) = flight(2000);
        flight.acknowledge(MS * 2, &report(1999, &[0xff]), &mut loss);
        flight.acknowledge(MS * 2000, &report(1999, &[0xff]), &mut loss);
        assert_eq!((loss.share(), flight.packets.len()), (0.0, 0));
    }

    #[test]
    fn the_number_of_packets_under_way_is_bounded() {
        let (mut flight, _) = flight(3 * MAX_IN_FLIGHT as u64);
        assert!(flight.full());
        assert_eq!(flight.packets.len(), MAX_IN_FLIGHT);
        assert_eq!(flight.bytes(), 1000 * MAX_IN_FLIGHT as u64);
        flight.forgive();
        assert_eq!(flight.bytes(), 0);
        assert!(!flight.full(), "what was given up holds nothing back");
    }
}
