//! The options of a recording in segments, and the names of its files.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::archive::parse_size;
use crate::failure::{Failure, FailureKind, Result};
use crate::length::{self, parse_length};
use crate::source::Options;

/// The options of recordings, for help and error messages.
pub(crate) const OPTIONS: &str = "overwrite, or segment=10m, keep=7d, max=50GB and local";

/// Bounds of the length of a segment.
const SEGMENTS: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(86_400);

/// Letters that may stand behind `%` in the name of a file.
const FIELDS: [char; 8] = ['Y', 'm', 'd', 'H', 'M', 'S', 'j', '%'];

/// Division of a recording into files, and how much of it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SegmentOptions {
    /// Length of a segment at least; it goes on to the next keyframe.
    pub(super) segment: Duration,
    /// Segments that ended so long ago are removed.
    pub(super) keep: Option<Duration>,
    /// The oldest segments are removed so that all together have no more bytes than this.
    pub(super) max: Option<u64>,
    /// Names are of local time, not UTC.
    local: bool,
}

impl SegmentOptions {
    /// Takes the options of a recording; `None` if it is one file.
    ///
    /// # Errors
    /// Kind `Usage`.
    pub(crate) fn take(options: &mut Options) -> Result<Option<Self>> {
        let segment = options.take("segment");
        let (keep, max, local) = (options.take("keep"), options.take("max"), options.flag("local"));
        let Some(segment) = segment else {
            let alone = [("keep", keep.is_some()), ("max", max.is_some()), ("local", local)];
            return match alone.iter().find(|(_, given)| *given) {
                None => Ok(None),
                Some((name, _)) => Err(usage(
                    format!("{name} is for recordings in segments, and this is one file"),
                    "add segment=10m, as in file:DIR/%Y-%m-%d/%H-%M-%S.mp4?segment=10m&keep=7d",
                )),
            };
        };
        if options.flag("overwrite") {
            let what = "overwrite and segment=… exclude each other: a segment never replaces a file".into();
            return Err(usage(what, "leave overwrite out: a name that exists gets -2"));
        }
        let length_of = |name: &str, text: &str| {
            parse_length(text).ok_or_else(|| usage(format!("{name}={text} is no length of time"), length::FORM))
        };
        let (segment_text, segment) = (&segment, length_of("segment", &segment)?);
        if !SEGMENTS.contains(&segment) {
            return Err(usage(
                format!("segment={segment_text} is out of bounds"),
                "a segment has 1 s to 24 h",
            ));
        }
        let max = max.map(|text| {
            parse_size(&text)
                .ok_or_else(|| usage(format!("max={text} is no size of 1 MB or more"), "write 500MB or 50GB"))
        });
        Ok(Some(Self {
            segment,
            keep: keep.map(|text| length_of("keep", &text)).transpose()?,
            max: max.transpose()?,
            local,
        }))
    }

    /// The time as it stands in names.
    pub(super) fn name(&self, template: &Template, at: Duration) -> String {
        let nanos = i128::try_from(at.as_nanos()).unwrap_or(i128::MAX);
        let time = Timestamp::from_nanosecond(nanos).unwrap_or_default();
        let zone = if self.local { TimeZone::system() } else { TimeZone::UTC };
        time.to_zoned(zone).strftime(&template.rest).to_string()
    }
}

/// Places of the files of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    /// The folder of the recording: all before the first part with a time in it.
    pub(super) folder: PathBuf,
    /// The rest, with its times.
    pub(super) rest: String,
}

impl Template {
    /// # Errors
    /// Kind `Usage`: it is no name that files can have.
    pub(super) fn parse(path: &Path) -> Result<Self> {
        let fail = |what: &str| {
            let what = format!("{} {what}", path.display());
            usage(what, "write DIR/%Y-%m-%d/%H-%M-%S.mp4, for example")
        };
        let text = path.to_str().ok_or_else(|| fail("is no UTF-8"))?;
        if text.chars().any(char::is_control) {
            return Err(fail("has a control character in it"));
        }
        let mut fields = text.split('%').skip(1);
        while let Some(field) = fields.next() {
            match field.chars().next() {
                // Two in a row are one in the name.
                None if fields.next().is_some() => {}
                Some(field) if FIELDS.contains(&field) => {}
                _ => {
                    return Err(fail(
                        "has something else behind a % than Y, m, d, H, M, S, j (day of the year) or another %",
                    ));
                }
            }
        }
        let parts = path.components().collect::<Vec<_>>();
        let is_last = |at: usize| at + 1 == parts.len();
        let timed = |part: &Component<'_>| part.as_os_str().to_string_lossy().contains('%');
        let cut = (0..parts.len()).find(|&at| is_last(at) || timed(&parts[at]));
        let (before, rest) = parts.split_at(cut.unwrap_or(0));
        if rest.is_empty() || !rest.iter().all(|part| matches!(part, Component::Normal(_))) {
            return Err(fail("names no files below a folder"));
        }
        let folder = before.iter().collect::<PathBuf>();
        Ok(Self {
            folder: if before.is_empty() { ".".into() } else { folder },
            rest: rest.iter().collect::<PathBuf>().to_string_lossy().into_owned(),
        })
    }
}

fn usage(what: String, hint: &str) -> Failure {
    Failure::new(FailureKind::Usage, what, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(query: &str) -> Result<Option<SegmentOptions>> {
        SegmentOptions::take(&mut Options::split(query).1)
    }

    #[test]
    fn options_of_segments_need_segments_and_say_so() {
        assert_eq!(take("?overwrite").expect("one file"), None);
        let options = take("?segment=10m&keep=7d&max=50GB&local")
            .expect("fine")
            .expect("segments");
        assert_eq!(options.segment, Duration::from_secs(600));
        assert_eq!(options.keep, Some(Duration::from_secs(7 * 86_400)));
        assert_eq!((options.max, options.local), (Some(50_000_000_000), true));
        for (wrong, told) in [
            ("?keep=7d", "keep is for recordings in segments"),
            ("?max=1GB", "max is for recordings in segments"),
            ("?local", "local is for recordings in segments"),
            ("?segment=10m&overwrite", "exclude each other"),
            ("?segment=fast", "no length"),
            ("?segment=10ms", "out of bounds"),
            ("?segment=2d", "out of bounds"),
            ("?segment=1m&max=7", "no size"),
            ("?segment=1m&keep=long", "no length"),
        ] {
            let failure = take(wrong).expect_err(wrong);
            assert_eq!(failure.kind, FailureKind::Usage);
            assert!(failure.what.contains(told), "{wrong}: {failure}");
        }
    }

    #[test]
    fn names_are_of_the_time_in_utc_below_the_folder_that_has_none() {
        let options = take("?segment=1m").expect("fine").expect("segments");
        let at = Duration::from_secs(951_827_696);
        for (template, folder, name) in [
            ("rec/%Y-%m-%d/%H-%M-%S.mp4", "rec", "2000-02-29/12-34-56.mp4"),
            ("/srv/a b/front-%H.mp4", "/srv/a b", "front-12.mp4"),
            ("%j%%.h264", ".", "060%.h264"),
            ("rec/out.mp4", "rec", "out.mp4"),
        ] {
            let template = Template::parse(Path::new(template)).expect(template);
            assert_eq!(template.folder, Path::new(folder));
            assert_eq!(options.name(&template, at), name);
        }
        for wrong in [
            "rec/%Q.mp4",
            "rec/%Y%",
            "rec/%Y/../x.mp4",
            "rec/%n.mp4",
            "a\nb/%Y.mp4",
            "/",
        ] {
            assert_eq!(
                Template::parse(Path::new(wrong)).expect_err(wrong).kind,
                FailureKind::Usage
            );
        }
    }
}
