use std::path::Path;

use super::*;

fn rate(numerator: u32, denominator: u32) -> FrameRate {
    FrameRate { numerator, denominator }
}

fn parse(text: &str) -> SourceUrl {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

#[test]
fn every_kind_of_source_has_its_url() {
    assert!(matches!(parse("test:640x480@25"), SourceUrl::Test(rest) if rest == "640x480@25"));
    assert!(matches!(parse("-"), SourceUrl::Stdin(None)));
    assert!(matches!(parse("-?fps=30"), SourceUrl::Stdin(Some(fps)) if fps == rate(30, 1)));
    assert!(matches!(parse("rtsp://camera/live"), SourceUrl::Rtsp(_)));
    let SourceUrl::File(path, options) = parse("file:a dir/clip.mp4?loop&fps=29.97") else {
        panic!("a file")
    };
    assert_eq!(path, PathBuf::from("a dir/clip.mp4"));
    assert_eq!(
        options,
        FileOptions {
            looped: true,
            rate: Some(rate(2997, 100)),
            paced: true
        }
    );
    assert!(matches!(parse("file:///tmp/a%20b.mp4"), SourceUrl::File(path, _) if path == Path::new("/tmp/a b.mp4")));
}

#[test]
fn rates_are_whole_decimal_or_fractions() {
    assert_eq!(parse_rate("25").expect("a rate"), rate(25, 1));
    assert_eq!(parse_rate("12.5").expect("a rate"), rate(25, 2));
    assert_eq!(parse_rate("30000/1001").expect("a rate"), rate(30_000, 1001));
    for wrong in ["", "0", "-1", "x", "1/0", "1.2345", "99999", "1e3", "."] {
        assert_eq!(parse_rate(wrong).expect_err(wrong).kind, FailureKind::Usage);
    }
}

#[test]
fn what_is_no_source_is_a_usage_failure_that_lists_them() {
    for wrong in [
        "clip.mp4",
        "http://camera/",
        "rtsps://camera/",
        "ftp:x",
        "",
        "file:",
        "file:x?volume=3",
        "file://elsewhere/x",
        "-?loop",
    ] {
        let failure = wrong.parse::<SourceUrl>().expect_err(wrong);
        assert_eq!(failure.kind, FailureKind::Usage, "{wrong}: {failure}");
    }
    let failure = "clip.mp4".parse::<SourceUrl>().expect_err("no scheme");
    assert!(
        ["test:", "file:", "rtsp://", "-"]
            .iter()
            .all(|url| failure.hint.contains(url)),
        "{failure}"
    );
}
