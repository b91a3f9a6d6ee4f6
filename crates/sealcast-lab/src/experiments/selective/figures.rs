//! The values of a session.

use sealcast::meter::statistics::{mean, median};

use super::ends::{Received, Sent, Work};
use super::session::Session;
use super::usage::Usage;
use crate::harness::Sample;

/// Packets of the paper's session. Figures of a session are those of so many, whatever number was measured.
const SESSION_PACKETS: f64 = 500.0;

impl Work {
    /// All of it, in microseconds.
    fn total_us(&self) -> f64 {
        self.encrypted_us.iter().chain(&self.clear_us).sum()
    }

    /// Number of packets.
    fn count(&self) -> usize {
        self.encrypted_us.len() + self.clear_us.len()
    }
}

/// The sample of a session.
pub(super) fn sample(session: &Session, sent: &Sent, received: &Received) -> Sample {
    let packets = f64::from(session.packets);
    let (enc_us, dec_us) = (sent.make_us + sent.sealing.total_us(), received.opening.total_us());
    let bytes = packets * session.packet_bytes as f64;
    let session_ms = |us: f64| us / 1e3 * SESSION_PACKETS / packets;
    let middle = |times: &[f64]| (!times.is_empty()).then(|| median(&mut times.to_vec()));
    let sample = Sample::default()
        .with("enc_ms", session_ms(enc_us))
        .with("enc_packet_ms", enc_us / 1e3 / packets)
        .with("make_ms", session_ms(sent.make_us))
        .with("dec_ms", session_ms(dec_us))
        .with("dec_packet_ms", dec_us / 1e3 / packets)
        .with("enc_mb_per_s", bytes / enc_us)
        .with("dec_mb_per_s", bytes / dec_us)
        .with_some("seal_encrypted_us", middle(&sent.sealing.encrypted_us))
        .with_some("seal_clear_us", middle(&sent.sealing.clear_us))
        .with_some("open_encrypted_us", middle(&received.opening.encrypted_us))
        .with_some("open_clear_us", middle(&received.opening.clear_us))
        .with("encrypted", sent.sealing.encrypted_us.len() as f64 / packets)
        .with("set_up_us", sent.set_up_us)
        .with("packets", received.opening.count() as f64)
        .with("late", sent.late.into());
    let sample = used(sample, "sender", &sent.usage);
    used(sample, "receiver", &received.usage)
}

/// Adds memory and CPU of an end.
fn used(sample: Sample, end: &str, usage: &Usage) -> Sample {
    let mb = |bytes: u64| bytes as f64 / 1e6;
    let both = usage.most_rss.zip(usage.first_rss);
    let cpu = &usage.cpu_percent;
    let sample = sample
        .with_some(&format!("{end}_memory_mb"), usage.most_rss.map(mb))
        .with_some(
            &format!("{end}_more_mb"),
            both.map(|(most, first)| mb(most.saturating_sub(first))),
        );
    if cpu.is_empty() {
        return sample;
    }
    let least = cpu.iter().copied().fold(f64::INFINITY, f64::min);
    let most = cpu.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    sample
        .with(&format!("{end}_cpu_low_percent"), least)
        .with(&format!("{end}_cpu_percent"), mean(cpu))
        .with(&format!("{end}_cpu_high_percent"), most)
}

#[cfg(test)]
mod tests {
    use super::super::session::example;
    use super::*;

    fn work(encrypted_us: &[f64], clear_us: &[f64]) -> Work {
        Work {
            encrypted_us: encrypted_us.to_vec(),
            clear_us: clear_us.to_vec(),
        }
    }

    #[test]
    fn figures_of_a_session_follow_from_what_its_ends_say() {
        let session = Session {
            packets: 4,
            packet_bytes: 1000,
            ..example()
        };
        let sent = Sent {
            set_up_us: 9.0,
            make_us: 40.0,
            sealing: work(&[100.0], &[10.0, 30.0, 20.0]),
            late: 1,
            usage: Usage {
                first_rss: Some(5_000_000),
                most_rss: Some(7_000_000),
                cpu_percent: vec![4.0, 1.0, 7.0],
            },
        };
        let received = Received {
            opening: work(&[50.0], &[5.0, 15.0, 10.0]),
            usage: Usage::default(),
        };
        let sample = sample(&session, &sent, &received);
        let of = |name: &str| sample.value(name);
        assert_eq!(
            (of("enc_ms"), of("enc_packet_ms"), of("make_ms")),
            (Some(25.0), Some(0.05), Some(5.0)),
            "four packets were measured, and a session has 500"
        );
        assert_eq!((of("dec_ms"), of("dec_packet_ms")), (Some(10.0), Some(0.02)));
        assert_eq!((of("enc_mb_per_s"), of("dec_mb_per_s")), (Some(20.0), Some(50.0)));
        assert_eq!(
            (of("seal_encrypted_us"), of("seal_clear_us")),
            (Some(100.0), Some(20.0))
        );
        assert_eq!(
            (of("encrypted"), of("packets"), of("late")),
            (Some(0.25), Some(4.0), Some(1.0))
        );
        assert_eq!((of("sender_memory_mb"), of("sender_more_mb")), (Some(7.0), Some(2.0)));
        let cpu = ["low", "high"].map(|end| of(&format!("sender_cpu_{end}_percent")));
        assert_eq!((cpu, of("sender_cpu_percent")), ([Some(1.0), Some(7.0)], Some(4.0)));
        assert_eq!(
            (of("receiver_memory_mb"), of("receiver_cpu_percent")),
            (None, None),
            "not known, and not 0"
        );
    }

    #[test]
    fn a_session_without_packets_of_a_kind_has_no_figure_of_them() {
        let session = example();
        let sent = Sent {
            sealing: work(&[], &[10.0; 20]),
            ..Sent::default()
        };
        let received = Received {
            opening: work(&[], &[5.0; 20]),
            ..Received::default()
        };
        let sample = sample(&session, &sent, &received);
        assert_eq!(sample.value("seal_encrypted_us"), None);
        assert_eq!(
            (sample.value("encrypted"), sample.value("open_clear_us")),
            (Some(0.0), Some(5.0))
        );
    }
}
