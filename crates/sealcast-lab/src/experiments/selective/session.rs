//! Knowledge of a session that both ends have: its packets, its key, and what of it is encrypted.

use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::keys::study;
use sealcast_proto::keys::{EpochKeys, EpochSecret, Secret, Side};
use sealcast_proto::seal::{SealLimits, Suite};
use sealcast_proto::sim::Random;
use sealcast_proto::unit::Selection;
use serde::{Deserialize, Serialize};

/// Limits of a session. Records of this length are far below the protocol's limit.
const PACKETS: std::ops::RangeInclusive<u32> = 1..=100_000;
const PACKET_BYTES: std::ops::RangeInclusive<usize> = 1..=1_000_000;
const KEY_CHARACTERS: std::ops::RangeInclusive<usize> = 1..=64;
const MOST_PER_SECOND: f64 = 10_000.0;

/// A session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    pub(super) packets: u32,
    /// Length of each packet.
    pub(super) packet_bytes: usize,
    pub(super) packets_per_second: f64,
    /// Width and height of the pictures.
    pub(super) size: (usize, usize),
    /// Quality of the pictures as JPEG, 1 to 100.
    pub(super) quality: u8,
    /// Length of the key in characters of 4 bits.
    pub(super) key_characters: usize,
    /// A suite of the program, or a study suite.
    pub(super) suite: String,
    /// `all`, `none` or `rate:N`, as in `--encrypt`.
    pub(super) encrypt: String,
    /// Seed of the key and of the draws.
    pub(super) seed: u64,
}

impl Session {
    /// Reads a session from JSON.
    ///
    /// # Errors
    /// It is not of this form; in words.
    pub fn parse(json: &str) -> std::result::Result<Self, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    /// Checks everything that a definition can get wrong.
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Failure::new(FailureKind::Usage, what, "correct the definition"));
        if !PACKETS.contains(&self.packets) || !PACKET_BYTES.contains(&self.packet_bytes) {
            return wrong(format!(
                "a session has {} to {} packets of {} to {} bytes",
                PACKETS.start(),
                PACKETS.end(),
                PACKET_BYTES.start(),
                PACKET_BYTES.end()
            ));
        }
        if !(self.packets_per_second > 0.0 && self.packets_per_second <= MOST_PER_SECOND) {
            return wrong(format!(
                "packets_per_second is above 0 and at most {MOST_PER_SECOND}, not {}",
                self.packets_per_second
            ));
        }
        if !KEY_CHARACTERS.contains(&self.key_characters) {
            let (least, most) = (KEY_CHARACTERS.start(), KEY_CHARACTERS.end());
            return wrong(format!("a key has {least} to {most} characters"));
        }
        self.suite()?;
        self.selection().map(drop)
    }

    pub(super) fn suite(&self) -> Result<Suite> {
        let known = Suite::by_name(&self.suite).or_else(|| study::by_cipher(&self.suite));
        known.ok_or_else(|| {
            let what = format!("there is no suite `{}`", self.suite);
            Failure::new(FailureKind::Usage, what, "name one as in --suite, or a study suite")
        })
    }

    /// Selection of what is encrypted. A packet is encrypted as a whole or not at all.
    pub(super) fn selection(&self) -> Result<Selection> {
        match self.encrypt.parse() {
            Ok(selection @ (Selection::All | Selection::None | Selection::Rate(_))) => Ok(selection),
            _ => {
                let what = format!("`{}` is no share of packets to encrypt", self.encrypt);
                Err(Failure::new(FailureKind::Usage, what, "write all, none or rate:N"))
            }
        }
    }

    /// Time between two packets.
    pub(super) fn period(&self) -> Duration {
        Duration::from_secs_f64(1.0 / self.packets_per_second)
    }

    /// The keys of one end, and how long deriving them took. The characters of the key are what goes into the key
    /// schedule in place of a handshake's secret, so the suite's key has its full length. They follow from the seed and
    /// protect nothing.
    pub(super) fn keys(&self, side: Side) -> Result<(EpochKeys, Duration)> {
        let suite = self.suite()?;
        let mut random = Random::new(self.seed);
        let characters: String = (0..self.key_characters)
            .map(|_| format!("{:x}", random.uniform(0..16)))
            .collect();
        let began = Instant::now();
        let secret = EpochSecret::new(Secret::extract(b"selective", characters.as_bytes()), 0);
        let keys = secret.keys(&suite, side, SealLimits::COUNTER);
        Ok((keys, began.elapsed()))
    }
}

#[cfg(test)]
pub(super) fn example() -> Session {
    Session {
        packets: 20,
        packet_bytes: 40_000,
        packets_per_second: 1000.0,
        size: (320, 240),
        quality: 50,
        key_characters: 8,
        suite: "aes-256-gcm".to_owned(),
        encrypt: "rate:50".to_owned(),
        seed: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_definition_gets_wrong_is_said_in_words() {
        example().check().expect("it is right");
        let refused = |change: fn(&mut Session)| {
            let mut session = example();
            change(&mut session);
            session.check().expect_err("it is wrong").what
        };
        for (change, words) in [
            ((|session| session.packets = 0) as fn(&mut Session), "packets"),
            (|session| session.packet_bytes = 2_000_000, "1000000 bytes"),
            (|session| session.packets_per_second = f64::NAN, "packets_per_second"),
            (|session| session.key_characters = 65, "1 to 64 characters"),
            (|session| session.suite = "rot13".to_owned(), "no suite `rot13`"),
            (|session| session.encrypt = "headers".to_owned(), "`headers`"),
            (|session| session.encrypt = "rate:101".to_owned(), "`rate:101`"),
        ] {
            let what = refused(change);
            assert!(what.contains(words), "{what}");
        }
    }

    #[test]
    fn a_session_is_the_same_after_it_was_told_to_another_process() {
        let json = serde_json::to_string(&example()).expect("JSON");
        assert_eq!(Session::parse(&json).expect("it is right"), example());
        assert!(
            Session::parse("{}")
                .expect_err("fields are missing")
                .contains("packets")
        );
    }
}
