//! Source of random bytes.

use super::finding::Finding;
use crate::failure::Result;
use crate::keys::entropy::{Hardware, hardware, random};

const CHECK: &str = "entropy";

/// Draws random bytes, and asks the hardware generator.
pub(super) fn check() -> Finding {
    judge(random(), random(), &hardware())
}

fn judge(first: Result<[u8; 32]>, second: Result<[u8; 32]>, hardware: &Hardware) -> Finding {
    let (first, second) = match (first, second) {
        (Ok(first), Ok(second)) => (first, second),
        (Err(failure), _) | (_, Err(failure)) => return Finding::failed(CHECK, &failure),
    };
    if first == second {
        let advice = "do not make keys on this machine; report it with the kernel's version (uname -a)";
        let saw = "two draws of random bytes are the same";
        return Finding::wrong(CHECK, crate::failure::FailureKind::Internal, saw, advice);
    }
    let words = format!("the operating system's generator works; {}", hardware.in_words());
    match hardware {
        Hardware::Mixed { .. } | Hardware::Absent => Finding::ok(CHECK, words),
        Hardware::Failed { why } => {
            let advice = match why.contains("ermission denied") {
                true => {
                    "keys are good without it; to mix it in, let this user read it: \
                         sudo setfacl -m u:$USER:r /dev/hwrng"
                }
                false => "keys are good without it; cat /sys/class/misc/hw_random/rng_current says which driver fails",
            };
            Finding::warning(CHECK, words, advice)
        }
        Hardware::Silent => Finding::warning(
            CHECK,
            words,
            "keys are good without it; it is mixed in as soon as it answers",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;
    use crate::failure::{Failure, FailureKind};

    #[test]
    fn a_generator_that_fails_or_repeats_is_wrong() {
        let failure = Failure::new(FailureKind::Internal, "getrandom failed", "check it");
        assert_eq!(
            judge(Err(failure), Ok([1; 32]), &Hardware::Absent).verdict,
            Verdict::Wrong
        );
        assert_eq!(
            judge(Ok([1; 32]), Ok([1; 32]), &Hardware::Absent).verdict,
            Verdict::Wrong
        );
    }

    #[test]
    fn what_the_hardware_gives_is_said_and_never_wrong() {
        let judged = |hardware: &Hardware| judge(Ok([1; 32]), Ok([2; 32]), hardware);
        let denied = Hardware::Failed {
            why: "Permission denied (os error 13)".to_owned(),
        };
        let found = judged(&denied);
        assert_eq!(found.verdict, Verdict::Warning);
        assert!(found.advice.is_some_and(|words| words.contains("/dev/hwrng")));
        assert_eq!(judged(&Hardware::Silent).verdict, Verdict::Warning);
        let mixed = judged(&Hardware::Mixed {
            source: Some("virtio_rng.0".to_owned()),
        });
        assert!(
            mixed.verdict == Verdict::Ok && mixed.saw.contains("virtio_rng.0"),
            "{mixed:?}"
        );
        assert_eq!(judged(&Hardware::Absent).verdict, Verdict::Ok);
    }
}
