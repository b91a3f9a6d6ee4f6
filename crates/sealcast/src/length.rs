//! Lengths of time as people write them: a number with its unit.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::{SignedDuration, Span, SpanRelativeTo};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// Form of a length, for help and error messages.
pub(crate) const FORM: &str = "write a number with its unit, as in 200ms, 90s, 10m, 24h or 7d";

/// Parses a length such as `90s`, `10m`, `1h30m` or `7d`. A day has 24 hours.
pub(crate) fn parse_length(text: &str) -> Option<Duration> {
    let span: Span = text.parse().ok()?;
    let length: SignedDuration = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    Duration::try_from(length).ok()
}

/// A length of time of an option. Without a unit it has the one that the option's name or meaning says: so many
/// milliseconds are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length<const MILLISECONDS: u64>(pub Duration);

/// Milliseconds without a unit.
pub type Millis = Length<1>;
/// Seconds without a unit.
pub type Seconds = Length<1_000>;
/// Hours without a unit.
pub type Hours = Length<3_600_000>;

impl<const MILLISECONDS: u64> Length<MILLISECONDS> {
    /// The number of its unit, if it is a whole one.
    pub fn whole(self) -> Option<u64> {
        let millis = u64::try_from(self.0.as_millis()).ok()?;
        let whole = Duration::from_millis(millis) == self.0 && millis.is_multiple_of(MILLISECONDS);
        whole.then_some(millis / MILLISECONDS)
    }

    fn of(units: u64) -> Option<Self> {
        units.checked_mul(MILLISECONDS).map(Duration::from_millis).map(Self)
    }
}

/// Reason why a text is no length of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("that is no length of time: {FORM}")]
pub struct NoLength;

impl<const MILLISECONDS: u64> FromStr for Length<MILLISECONDS> {
    type Err = NoLength;

    fn from_str(text: &str) -> Result<Self, NoLength> {
        let bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let length = match bare {
            true => text.parse().ok().and_then(Self::of),
            false => parse_length(text).map(Self),
        };
        length.ok_or(NoLength)
    }
}

impl<const MILLISECONDS: u64> fmt::Display for Length<MILLISECONDS> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.subsec_nanos() {
            0 => write!(formatter, "{} s", self.0.as_secs()),
            _ => write!(formatter, "{} ms", self.0.as_millis()),
        }
    }
}

impl<'de, const MILLISECONDS: u64> Deserialize<'de> for Length<MILLISECONDS> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LengthVisitor::<MILLISECONDS>)
    }
}

struct LengthVisitor<const MILLISECONDS: u64>;

impl<const MILLISECONDS: u64> Visitor<'_> for LengthVisitor<MILLISECONDS> {
    type Value = Length<MILLISECONDS>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a length of time, such as \"10m\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, units: i64) -> Result<Self::Value, E> {
        let length = u64::try_from(units).ok().and_then(Length::of);
        length.ok_or_else(|| E::custom(NoLength))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_has_its_unit_or_that_of_its_option() {
        for (text, expected) in [
            ("90s", Duration::from_secs(90)),
            ("10m", Duration::from_secs(600)),
            ("1h30m", Duration::from_secs(5400)),
            ("250ms", Duration::from_millis(250)),
            ("7d", Duration::from_secs(7 * 86_400)),
            ("24", Duration::from_secs(24)),
            ("0", Duration::ZERO),
        ] {
            assert_eq!(text.parse::<Seconds>(), Ok(Length(expected)), "{text}");
        }
        assert_eq!("24".parse::<Hours>(), "1d".parse());
        assert_eq!("120".parse::<Millis>(), "120ms".parse());
        for wrong in ["", "ten", "-5s", "5 x", "1e3", "99999999999999999999", "s"] {
            assert_eq!(wrong.parse::<Seconds>(), Err(NoLength), "{wrong}");
        }
        assert_eq!(parse_length("90"), None, "no option says its unit");
    }

    #[test]
    fn a_file_has_it_as_a_number_or_a_text() {
        #[derive(serde::Deserialize)]
        struct File {
            length: Seconds,
        }
        for (text, seconds) in [("length = 90", 90), ("length = \"90\"", 90), ("length = \"2m\"", 120)] {
            let file: File = toml::from_str(text).expect(text);
            assert_eq!(file.length.whole(), Some(seconds), "{text}");
        }
        for wrong in ["length = \"ten\"", "length = -1", "length = true", "length = 1.5"] {
            let error = toml::from_str::<File>(wrong).map(|file| file.length).expect_err(wrong);
            assert!(error.message().contains("length of time"), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_part_of_a_unit_is_no_whole_number_of_it() {
        assert_eq!("90m".parse::<Hours>().map(Length::whole), Ok(None));
        assert_eq!("120m".parse::<Hours>().map(Length::whole), Ok(Some(2)));
        assert_eq!(
            "500ms".parse::<Seconds>().map(|length| length.to_string()),
            Ok("500 ms".to_owned())
        );
    }
}
