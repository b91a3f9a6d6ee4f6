//! The text form of a link profile: one line.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::profile::{LinkProfile, Loss, MAX_DELAY, MAX_OUTAGES, MAX_PACKET};

const KEYS: &str =
    "delay, jitter, keep-order, loss, burst, reorder, duplicate, corrupt, rate, queue, mtu, outage, perfect";

/// Lowest rate that a line may ask for, in bits per second.
const MIN_RATE: u64 = 1000;

const TIME_UNITS: [(&str, u64); 6] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
];
const RATE_UNITS: [(&str, u64); 4] = [
    ("kbit", 1_000),
    ("mbit", 1_000_000),
    ("gbit", 1_000_000_000),
    ("bit", 1),
];
const SIZE_UNITS: [(&str, u64); 5] = [
    ("kib", 1024),
    ("mib", 1 << 20),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("b", 1),
];

/// Error in the text of a profile, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProfileError(String);

type Parsed<T> = Result<T, ProfileError>;

fn wrong<T>(message: impl Into<String>) -> Parsed<T> {
    Err(ProfileError(message.into()))
}

impl FromStr for LinkProfile {
    type Err = ProfileError;

    fn from_str(text: &str) -> Parsed<Self> {
        Self::default().changed(text)
    }
}

impl LinkProfile {
    /// Returns this profile with the values in `text` replaced. Outages are added to the existing ones.
    ///
    /// # Errors
    /// An unknown or repeated key, or a value that is malformed or impossible. The error says so in words.
    pub fn changed(&self, text: &str) -> Parsed<Self> {
        let mut profile = self.clone();
        let mut queue_time = None;
        let mut seen: Vec<&str> = Vec::new();
        for word in text.split_whitespace() {
            let (key, value) = word
                .split_once('=')
                .map_or((word, None), |(key, value)| (key, Some(value)));
            // `loss` and `burst` both set the loss model and exclude each other.
            let kind = if key == "burst" { "loss" } else { key };
            if seen.contains(&kind) && kind != "outage" {
                return wrong(format!(
                    "`{key}` says again what was said before in `{text}`; say it once"
                ));
            }
            seen.push(kind);
            match (key, value) {
                ("perfect", None) if seen.len() == 1 => profile = Self::default(),
                ("perfect", _) => return wrong("`perfect` takes no value and comes first"),
                ("keep-order", None) => profile.keep_order = true,
                ("keep-order", Some(value)) => profile.keep_order = yes_or_no(key, value)?,
                ("queue", Some(value)) if is_time(value) => queue_time = Some(time(key, value)?),
                (_, Some(value)) => profile.set(key, value)?,
                (_, None) => return wrong(format!("`{word}` is not key=value; the keys are {KEYS}")),
            }
        }
        if let Some(time) = queue_time {
            profile.queue = profile.queue_of(time)?;
        }
        profile.check()?;
        Ok(profile)
    }

    fn set(&mut self, key: &str, value: &str) -> Parsed<()> {
        match key {
            "delay" => self.delay = time(key, value)?,
            "jitter" => self.jitter = time(key, value)?,
            "loss" => {
                let share = share(key, value)?;
                self.loss = if share > 0.0 { Loss::Random(share) } else { Loss::None };
            }
            "burst" => self.loss = burst(value)?,
            "reorder" => self.reorder = share(key, value)?,
            "duplicate" => self.duplicate = share(key, value)?,
            "corrupt" => self.corrupt = share(key, value)?,
            "rate" => self.rate = rate(value)?,
            "queue" => self.queue = size(key, value)?,
            "mtu" => self.mtu = mtu(value)?,
            "outage" => self.outages.push(outage(value)?),
            _ => return wrong(format!("`{key}` is not a key; the keys are {KEYS}")),
        }
        Ok(())
    }

    /// Number of bytes that the rate limit sends in `time`.
    fn queue_of(&self, time: Duration) -> Parsed<usize> {
        let Some(rate) = self.rate else {
            return wrong(
                "a queue in time needs a rate; write `rate=5mbit queue=100ms` or a queue in bytes: `queue=64kB`",
            );
        };
        let bytes = u128::from(rate) * time.as_nanos() / 8_000_000_000;
        usize::try_from(bytes).or_else(|_| wrong("the queue is too long; write a shorter one"))
    }

    fn check(&self) -> Parsed<()> {
        if self.delay > MAX_DELAY || self.jitter > MAX_DELAY {
            return wrong(format!("delay and jitter are at most {} s", MAX_DELAY.as_secs()));
        }
        if self.reorder > 0.0 && self.delay.is_zero() {
            return wrong("`reorder` needs a delay to skip; write `delay=20ms reorder=1%`");
        }
        if self.outages.len() > MAX_OUTAGES {
            return wrong(format!("there are more than {MAX_OUTAGES} outages; write fewer"));
        }
        Ok(())
    }
}

fn yes_or_no(key: &str, value: &str) -> Parsed<bool> {
    match value {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => wrong(format!("{key}={value} is neither yes nor no")),
    }
}

/// Splits text into a non-negative number and the unit behind it, in lower case.
fn number(text: &str) -> Option<(f64, String)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    Some((digits.parse().ok()?, unit.to_lowercase()))
}

/// Parses a number with one of `units`, or without a unit as a multiple of `bare`. `None` for 9·10¹⁵ and above, since
/// doubles are exact only up to 2⁵³.
fn scaled(text: &str, units: &[(&str, u64)], bare: Option<u64>) -> Option<u64> {
    let (value, unit) = number(text)?;
    let scale = match units.iter().find(|(name, _)| *name == unit) {
        Some((_, scale)) => *scale,
        None if unit.is_empty() => bare?,
        None => return None,
    };
    #[expect(clippy::cast_precision_loss, reason = "the largest unit is far below 2^53")]
    let scaled = (value * scale as f64).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 2^53"
    )]
    (scaled < 9e15).then_some(scaled as u64)
}

fn is_time(text: &str) -> bool {
    number(text).is_some_and(|(_, unit)| TIME_UNITS.iter().any(|(name, _)| *name == unit))
}

fn time(key: &str, text: &str) -> Parsed<Duration> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    match scaled(text, &TIME_UNITS, None) {
        Some(nanoseconds) => Ok(Duration::from_nanos(nanoseconds)),
        None => wrong(format!(
            "{key}={text} is not a time; write it like 20ms, 1.5s, 250us or 2min"
        )),
    }
}

fn share(key: &str, text: &str) -> Parsed<f64> {
    match number(text) {
        Some((percent, unit)) if unit == "%" && percent <= 100.0 => Ok(percent / 100.0),
        Some((0.0, unit)) if unit.is_empty() => Ok(0.0),
        _ => wrong(format!(
            "{key}={text} is not a share from 0% to 100%; write it like 2% or 0.1%"
        )),
    }
}

fn burst(text: &str) -> Parsed<Loss> {
    let example = "write it like 2%/4: two percent lost, four packets in a row on average";
    let Some((mean_loss, length)) = text.split_once('/') else {
        return wrong(format!("burst={text} is not a share and a length; {example}"));
    };
    let mean_loss = share("burst", mean_loss)?;
    let mean_burst = match number(length) {
        Some((packets, unit)) if unit.is_empty() && packets >= 1.0 => packets,
        _ => return wrong(format!("burst={text} has no length of 1 packet or more; {example}")),
    };
    let most = mean_burst / (mean_burst + 1.0);
    if mean_loss > most {
        let most = Percent(most);
        return wrong(format!(
            "bursts of {mean_burst} packets lose at most {most}, since a packet gets through between two bursts; ask \
             for longer bursts or for less loss"
        ));
    }
    Ok(Loss::Burst { mean_loss, mean_burst })
}

fn rate(text: &str) -> Parsed<Option<u64>> {
    if text == "none" {
        return Ok(None);
    }
    match Rate::parse(text).map(|Rate(rate)| rate) {
        Some(rate) if rate >= MIN_RATE => Ok(Some(rate)),
        Some(_) => wrong(format!("rate={text} is below the least rate, 1kbit")),
        None => wrong(format!(
            "rate={text} is not a rate; write it like 5mbit, 800kbit or 1gbit, or none"
        )),
    }
}

fn size(key: &str, text: &str) -> Parsed<usize> {
    match scaled(text, &SIZE_UNITS, Some(1)).and_then(|bytes| usize::try_from(bytes).ok()) {
        Some(bytes) => Ok(bytes),
        None => wrong(format!(
            "{key}={text} is not a size; write bytes like 64kB or 64KiB, or a time like 100ms"
        )),
    }
}

fn mtu(text: &str) -> Parsed<usize> {
    match text.parse() {
        Ok(bytes) if (1..=MAX_PACKET).contains(&bytes) => Ok(bytes),
        _ => wrong(format!(
            "mtu={text} is not a number of bytes from 1 to {MAX_PACKET}; write it like 1280"
        )),
    }
}

fn outage(text: &str) -> Parsed<(Duration, Duration)> {
    match text.split_once('+') {
        Some((start, length)) => Ok((time("outage", start)?, time("outage", length)?)),
        None => wrong(format!(
            "outage={text} has no start and length; write it like 10s+30s: after 10 s, for 30 s"
        )),
    }
}

impl fmt::Display for LinkProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Self::default();
        if *self == default {
            return f.write_str("perfect");
        }
        let mut words = Vec::new();
        let mut times =
            |key: &str, time: Duration| (!time.is_zero()).then(|| words.push(format!("{key}={}", Time(time))));
        times("delay", self.delay);
        times("jitter", self.jitter);
        match self.loss {
            Loss::None => {}
            Loss::Random(share) => words.push(format!("loss={}", Percent(share))),
            Loss::Burst { mean_loss, mean_burst } => words.push(format!("burst={}/{mean_burst}", Percent(mean_loss))),
        }
        for (key, share) in [
            ("reorder", self.reorder),
            ("duplicate", self.duplicate),
            ("corrupt", self.corrupt),
        ] {
            if share > 0.0 {
                words.push(format!("{key}={}", Percent(share)));
            }
        }
        words.extend(self.rate.map(|rate| format!("rate={}", Rate(rate))));
        if self.queue != default.queue {
            words.push(format!("queue={}B", self.queue));
        }
        if self.mtu != default.mtu {
            words.push(format!("mtu={}", self.mtu));
        }
        words.extend(
            self.outages
                .iter()
                .map(|&(start, length)| format!("outage={}+{}", Time(start), Time(length))),
        );
        if self.keep_order {
            words.push("keep-order".to_owned());
        }
        f.write_str(&words.join(" "))
    }
}

/// Prints a time in the largest unit that leaves no fraction.
struct Time(Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanoseconds = self.0.as_nanos();
        let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
        let fits = units.into_iter().find(|(_, scale)| nanoseconds.is_multiple_of(*scale));
        let (name, scale) = fits.unwrap_or(("ns", 1));
        write!(f, "{}{name}", nanoseconds / scale)
    }
}

/// A bit rate, written as in a profile's line: `5mbit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub u64);

impl Rate {
    /// Parses `5mbit`, `800kbit` or `1gbit`.
    pub fn parse(text: &str) -> Option<Self> {
        scaled(text.strip_suffix("/s").unwrap_or(text), &RATE_UNITS, None).map(Self)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1_000)];
        let fits = units.into_iter().find(|(_, scale)| self.0.is_multiple_of(*scale));
        let (name, scale) = fits.unwrap_or(("bit", 1));
        write!(f, "{}{name}", self.0 / scale)
    }
}

struct Percent(f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:.6}", self.0 * 100.0);
        write!(f, "{}%", digits.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        text.parse::<LinkProfile>().expect_err(text).to_string()
    }

    #[test]
    fn a_whole_line_is_read() {
        let text = "delay=20ms jitter=5ms burst=2%/4 reorder=1% duplicate=0.1% corrupt=0.01% rate=5mbit queue=100ms \
                    mtu=1280 outage=10s+30s outage=1min+500us keep-order";
        let expected = LinkProfile {
            delay: Duration::from_millis(20),
            jitter: Duration::from_millis(5),
            keep_order: true,
            loss: Loss::Burst {
                mean_loss: 0.02,
                mean_burst: 4.0,
            },
            reorder: 0.01,
            duplicate: 0.001,
            corrupt: 0.0001,
            rate: Some(5_000_000),
            queue: 62_500,
            mtu: 1280,
            outages: vec![
                (Duration::from_secs(10), Duration::from_secs(30)),
                (Duration::from_secs(60), Duration::from_micros(500)),
            ],
        };
        assert_eq!(text.parse(), Ok(expected));
    }

    #[test]
    fn what_is_printed_is_read_as_the_same() {
        let lines = [
            "perfect",
            "delay=20ms jitter=5ms loss=7% reorder=1% duplicate=0.1% corrupt=0.01% rate=5mbit queue=62500B mtu=1280 \
             outage=10s+30s keep-order",
            "delay=1500us burst=2.5%/4.5 rate=1500kbit",
            "delay=1ns rate=1234567bit",
        ];
        for line in lines {
            let profile: LinkProfile = line.parse().expect(line);
            assert_eq!(profile.to_string(), line);
        }
        assert_eq!("".parse(), Ok(LinkProfile::default()));
        assert_eq!(
            "queue=64KiB rate=1GBIT/s".parse::<LinkProfile>().expect("units").queue,
            65_536
        );
    }

    #[test]
    fn a_change_leaves_the_rest_as_it_was() {
        let profile: LinkProfile = "delay=20ms burst=2%/4 rate=5mbit outage=1s+1s"
            .parse()
            .expect("a profile");
        let changed = profile.changed("loss=5% rate=none outage=5s+1s").expect("a change");
        assert_eq!(changed.to_string(), "delay=20ms loss=5% outage=1s+1s outage=5s+1s");
        assert_eq!(changed.changed("loss=0").expect("no loss").loss, Loss::None);
        assert_eq!(
            changed.changed("perfect mtu=1280").expect("a change").to_string(),
            "mtu=1280"
        );
        assert!(!profile.changed("keep-order=no").expect("a change").keep_order);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_in_words() {
        for (text, word) in [
            ("dealy=20ms", "`dealy` is not a key; the keys are delay, jitter"),
            ("delay", "is not key=value"),
            ("delay=20", "like 20ms"),
            ("delay=-1ms", "like 20ms"),
            ("delay=2h", "not a time"),
            ("delay=61min", "at most 3600 s"),
            ("loss=2", "like 2%"),
            ("loss=101%", "0% to 100%"),
            ("loss=NaN%", "not a share"),
            ("loss=1% burst=1%/4", "say it once"),
            ("delay=1ms delay=2ms", "say it once"),
            ("burst=2%", "like 2%/4"),
            ("burst=2%/0.5", "1 packet or more"),
            ("burst=90%/4", "at most 80%"),
            ("reorder=1%", "needs a delay"),
            ("rate=5", "like 5mbit"),
            ("rate=5bit", "least rate"),
            ("queue=100ms", "needs a rate"),
            ("queue=many", "like 64kB"),
            ("mtu=0", "like 1280"),
            ("mtu=70000", "65535"),
            ("outage=10s", "like 10s+30s"),
            ("keep-order=maybe", "neither yes nor no"),
            ("loss=1% perfect", "comes first"),
        ] {
            let said = refusal(text);
            assert!(said.contains(word), "{text}: {said}");
        }
        let many = "outage=1s+1s ".repeat(MAX_OUTAGES + 1);
        assert!(refusal(&many).contains("100 outages"));
    }
}
