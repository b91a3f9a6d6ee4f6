//! Whether the files and cameras of this machine that a configuration names as sources can be used.

use super::finding::{Finding, Report};
use crate::source::rtp::port::try_ports;
use crate::source::v4l2::look;
use crate::source::{self, SourceUrl};

const CHECK: &str = "source";

/// A source that the configuration names.
#[derive(Debug)]
pub struct NamedSource {
    /// The option that names it.
    pub option: &'static str,
    /// Its URL; one that is none is a finding about the configuration.
    pub url: String,
}

/// Looks at a source alone. `None` for those that are not looked at.
pub fn look_at(named: &NamedSource) -> Option<Report> {
    let findings = vec![check(named)?];
    Some(Report { findings })
}

/// Looks at a file, a port or a camera of this machine; a camera does not stream for it. Other sources are not looked
/// at here: cameras of the network are asked by [`super::cameras`], standard input has nothing yet, and a pipeline
/// would run.
pub(super) fn check(named: &NamedSource) -> Option<Finding> {
    let saw = match named.url.parse().ok()? {
        SourceUrl::File(..) | SourceUrl::Test(_) => source::open(&named.url).map(|source| {
            let info = source.info();
            format!("{} of {}x{}", info.codec.name(), info.width, info.height)
        }),
        SourceUrl::V4l2(options) => look(&options),
        SourceUrl::Rtp(options) => try_ports(&options),
        SourceUrl::Rtsp(_) | SourceUrl::Gst(_) | SourceUrl::Stdin(..) => return None,
    };
    let NamedSource { option, url } = named;
    Some(match saw {
        Ok(saw) => Finding::ok(CHECK, format!("{option}: {url} gives {saw}")),
        Err(failure) => Finding::wrong(CHECK, failure.kind, format!("{option}: {}", failure.what), failure.hint),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;
    use crate::failure::FailureKind;

    #[test]
    fn files_and_cameras_of_this_machine_are_looked_at_and_others_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(at("clip.mp4"), "no video").expect("written");
        let (clip, away) = (format!("file:{}", at("clip.mp4")), format!("file:{}", at("away.mp4")));
        let taken = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
        let busy = format!("rtp://{}", taken.local_addr().expect("bound"));
        let wrong = Some((Verdict::Wrong, Some(FailureKind::Source)));
        for (url, found) in [
            ("test:160x120@25", Some((Verdict::Ok, None))),
            ("test:64", None),
            (&clip, wrong),
            (&away, wrong),
            ("v4l2:/dev/video250", wrong),
            ("v4l2:/dev/null", wrong),
            (&busy, wrong),
            ("rtsp://192.0.2.1/", None),
            ("-", None),
        ] {
            let url = url.to_owned();
            let named = NamedSource {
                option: "publish.source",
                url,
            };
            let finding = check(&named);
            let seen = finding.as_ref().map(|finding| (finding.verdict, finding.kind));
            assert_eq!(seen, found, "{finding:?}");
        }
    }
}
