//! The options of an archive in the URL of a sink.

use std::path::PathBuf;
use std::time::Duration;

use super::recipients::{MAX_RECIPIENTS, Recipient, parse_recipients};
use crate::failure::{Failure, FailureKind, Result};
use crate::length::{self, parse_length};
use crate::source::Options;

/// The options of an archive, for help and error messages.
pub const ARCHIVE_OPTIONS: &str = "to=RECIPIENT or to=@FILE (repeatable), segment=10s, keep=7d and max=20GB";

/// Those that say how much is kept.
const KEEPING_OPTIONS: &str = "segment=10s, keep=7d and max=20GB";

/// Bounds of the length of a segment.
const SEGMENTS: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(600);
/// The least bound on an archive's size.
const LEAST_SIZE: u64 = 1_000_000;

/// An archive to write.
#[derive(Clone, Debug)]
pub struct ArchiveOptions {
    /// Its folder.
    pub folder: PathBuf,
    /// Recipients who can open it; at least one.
    pub recipients: Vec<Recipient>,
    /// Rules how much of it is kept.
    pub keeping: Keeping,
}

/// Division of an archive into segments, and how much of it is kept.
#[derive(Clone, Debug)]
pub struct Keeping {
    /// The length of a segment at least; it goes on to the next keyframe.
    pub segment: Duration,
    /// Segments that ended so long ago are removed.
    pub keep: Option<Duration>,
    /// The oldest segments are removed so that all together have no more bytes than this.
    pub max: Option<u64>,
}

impl ArchiveOptions {
    /// Parses what follows `archive:`.
    ///
    /// # Errors
    /// Kind `Usage`, or `Keys` for the recipients.
    pub fn parse(rest: &str) -> Result<Self> {
        let (folder, mut options) = Options::split(rest);
        if folder.is_empty() {
            return Err(usage("the URL archive: names no folder".into()));
        }
        let mut recipients = Vec::new();
        while let Some(text) = options.take("to") {
            recipients.extend(parse_recipients(&text)?);
        }
        if recipients.is_empty() {
            let hint = "add ?to=RECIPIENT; `sealcast archive keygen FILE` makes one";
            let what = "nobody could open this archive";
            return Err(Failure::new(FailureKind::Usage, what, hint));
        }
        if recipients.len() > MAX_RECIPIENTS {
            return Err(usage(format!("an archive has at most {MAX_RECIPIENTS} recipients")));
        }
        let keeping = Keeping::take(&mut options)?;
        options.finish(ARCHIVE_OPTIONS)?;
        Ok(Self {
            folder: folder.into(),
            recipients,
            keeping,
        })
    }
}

impl Keeping {
    /// Parses `DIR[?OPTIONS]` of an archive whose recipients its camera names.
    ///
    /// # Errors
    /// Kind `Usage`.
    pub fn parse(text: &str) -> Result<(PathBuf, Self)> {
        let (folder, mut options) = Options::split(text);
        if folder.is_empty() {
            return Err(usage("there is no folder for the archive".into()));
        }
        let keeping = Self::take(&mut options)?;
        options.finish(KEEPING_OPTIONS)?;
        Ok((folder.into(), keeping))
    }

    fn take(options: &mut Options) -> Result<Self> {
        let mut length_of = |name: &str| {
            let text = options.take(name);
            let parsed = text.map(|text| {
                parse_length(&text).ok_or_else(|| {
                    let what = format!("{name}={text} is no length of time");
                    Failure::new(FailureKind::Usage, what, length::FORM)
                })
            });
            parsed.transpose()
        };
        let segment = length_of("segment")?.unwrap_or(Duration::from_secs(10));
        let keep = length_of("keep")?;
        if !SEGMENTS.contains(&segment) {
            return Err(usage("a segment has 1 s to 10 min".into()));
        }
        let max = options.take("max");
        let max =
            max.map(|text| parse_size(&text).ok_or_else(|| usage(format!("max={text} is no size of 1 MB or more"))));
        let max = max.transpose()?;
        Ok(Self { segment, keep, max })
    }
}

fn usage(what: String) -> Failure {
    Failure::new(FailureKind::Usage, what, format!("the options are {ARCHIVE_OPTIONS}"))
}

/// Parses a size such as `20GB`, `500M` or `2000000`: powers of 1000.
pub(crate) fn parse_size(text: &str) -> Option<u64> {
    let text = text.strip_suffix(['B', 'b']).unwrap_or(text);
    let (digits, factor) = match text.as_bytes().last()?.to_ascii_uppercase() {
        b'K' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        b'G' => (&text[..text.len() - 1], 1_000_000_000),
        b'T' => (&text[..text.len() - 1], 1_000_000_000_000),
        _ => (text, 1),
    };
    let size = digits.parse::<u64>().ok()?.checked_mul(factor)?;
    (size >= LEAST_SIZE).then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::ArchiveIdentity;

    #[test]
    fn options_say_who_reads_it_and_how_much_is_kept() {
        let recipient = ArchiveIdentity::generate().expect("drawn").recipient();
        let url = format!("a dir/x?to={recipient}&to={recipient}&segment=2s&keep=7d&max=20GB");
        let options = ArchiveOptions::parse(&url).expect("parses");
        assert_eq!(options.folder, PathBuf::from("a dir/x"));
        assert_eq!(options.recipients.len(), 2);
        assert_eq!(options.keeping.segment, Duration::from_secs(2));
        assert_eq!(options.keeping.keep, Some(Duration::from_secs(7 * 86_400)));
        assert_eq!(options.keeping.max, Some(20_000_000_000));
        for (wrong, told) in [
            ("x", "nobody"),
            ("?to=age1pq1x", "no folder"),
            ("x?to=age1pq1x", "no recipient"),
            ("x?to=@/nowhere/at/all", "cannot be read"),
            (&*format!("x?to={recipient}&segment=1h"), "1 s to 10 min"),
            (&*format!("x?to={recipient}&max=7"), "no size"),
            (&*format!("x?to={recipient}&keep=long"), "no length"),
            (&*format!("x?to={recipient}&volume=3"), "volume"),
        ] {
            let failure = ArchiveOptions::parse(wrong).expect_err(wrong);
            assert!(failure.what.contains(told), "{wrong}: {failure}");
        }
    }
}
