//! Whether another party's pictures are decoded behind a fence, and whether decoding works there.

use std::path::Path;

use super::finding::Finding;
use crate::codec::{Decoder, fence, jpeg};
use crate::failure::{FailureKind, Result};
use crate::media::{Codec, Picture};

const CHECK: &str = "fence";

/// Starts a decoder's process of this program file, and has it decode a picture.
pub(super) fn check(program: &Path) -> Finding {
    judge(tried(program))
}

/// Says what the fence lacks, after a picture came through it.
fn tried(program: &Path) -> Result<Option<&'static str>> {
    let mut decoder = Decoder::by_program(program, Codec::Mjpeg)?;
    decoder.decode(&jpeg::encode(&Picture::black(16, 16), 85)?)?;
    Ok(decoder.lacks())
}

fn judge(tried: Result<Option<&'static str>>) -> Finding {
    match tried {
        Ok(None) => Finding::ok(CHECK, "pictures are decoded behind landlock and seccomp"),
        Ok(Some(lacks)) => Finding::warning(
            CHECK,
            format!("the fence around the decoder is incomplete: {lacks}"),
            remedy(),
        ),
        Err(failure) => Finding::wrong(CHECK, FailureKind::Sink, failure.what, failure.hint),
    }
}

/// Advice that makes the fence whole.
fn remedy() -> &'static str {
    if fence::LISTS_CALLS {
        "use a kernel of Linux 5.13 or newer with landlock in its list: cat /sys/kernel/security/lsm"
    } else {
        "watch publishers that you do not trust on a 64-bit system, whose program has the list; use Linux 5.13 or \
         newer with landlock in its list: cat /sys/kernel/security/lsm"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn a_fence_with_a_gap_is_a_warning_and_a_decoder_that_does_not_start_wrong() {
        assert_eq!(judge(Ok(None)).verdict, Verdict::Ok);
        let gap = judge(Ok(Some("this kernel lacks landlock")));
        assert!(
            gap.verdict == Verdict::Warning && gap.saw.contains("landlock"),
            "{gap:?}"
        );
        let found = check(Path::new("/nonexistent/sealcast"));
        assert_eq!((found.verdict, found.kind), (Verdict::Wrong, Some(FailureKind::Sink)));
    }
}
