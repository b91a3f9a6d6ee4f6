//! Finding of a check, and the report of all.

use std::fmt::Write as _;

use sealcast_proto::words::plain;
use serde::Serialize;

use crate::config::secrets::redact;
use crate::failure::{Failure, FailureKind, Result};

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// It cannot be told here.
    Unknown,
    /// The stream runs, worse than it could.
    Warning,
    /// Something that the configuration asks for will fail.
    Wrong,
}

impl Verdict {
    const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unknown => "unknown",
            Self::Warning => "warning",
            Self::Wrong => "wrong",
        }
    }
}

/// Finding of a check. No text has a password of a URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Name of the check.
    pub check: &'static str,
    /// Its severity.
    pub verdict: Verdict,
    /// Observation of the check.
    pub saw: String,
    /// Advice, with the command where there is one.
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The kind of the failure that a wrong finding leads to.
    #[serde(skip)]
    pub kind: Option<FailureKind>,
}

impl Finding {
    fn new(check: &'static str, verdict: Verdict, saw: &str, advice: Option<&str>, kind: Option<FailureKind>) -> Self {
        let line = |text: &str| plain(&redact(&text.split_whitespace().collect::<Vec<_>>().join(" ")));
        Self {
            check,
            verdict,
            saw: line(saw),
            advice: advice.map(line),
            kind,
        }
    }

    /// All is well.
    pub fn ok(check: &'static str, saw: impl AsRef<str>) -> Self {
        Self::new(check, Verdict::Ok, saw.as_ref(), None, None)
    }

    /// It cannot be told; `advice` makes it known.
    pub fn unknown(check: &'static str, saw: impl AsRef<str>, advice: impl AsRef<str>) -> Self {
        Self::new(check, Verdict::Unknown, saw.as_ref(), Some(advice.as_ref()), None)
    }

    /// It could be better.
    pub fn warning(check: &'static str, saw: impl AsRef<str>, advice: impl AsRef<str>) -> Self {
        Self::new(check, Verdict::Warning, saw.as_ref(), Some(advice.as_ref()), None)
    }

    /// A command would fail, with the exit code of `kind`.
    pub fn wrong(check: &'static str, kind: FailureKind, saw: impl AsRef<str>, advice: impl AsRef<str>) -> Self {
        Self::new(check, Verdict::Wrong, saw.as_ref(), Some(advice.as_ref()), Some(kind))
    }

    /// The failure that a command would end with.
    pub fn failed(check: &'static str, failure: &Failure) -> Self {
        Self::wrong(check, failure.kind, &failure.what, &failure.hint)
    }
}

/// Findings of all checks, in their order.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The findings.
    pub findings: Vec<Finding>,
}

impl Report {
    /// A line for each finding, for people.
    pub fn to_lines(&self) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            let _ = write!(
                text,
                "{:<9}{:<13}{}",
                finding.verdict.name(),
                finding.check,
                finding.saw
            );
            if let Some(advice) = &finding.advice {
                let _ = write!(text, "; {advice}");
            }
            text.push('\n');
        }
        text
    }

    /// As JSON, for programs.
    pub fn to_json(&self) -> String {
        // There are only texts in it, which cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Fails if something is wrong, with the kind of the first such finding.
    ///
    /// # Errors
    /// Something is wrong.
    pub fn verdict(&self) -> Result<()> {
        let wrong: Vec<&Finding> = self.findings.iter().filter(|f| f.verdict == Verdict::Wrong).collect();
        let Some(first) = wrong.first() else { return Ok(()) };
        let mut names: Vec<&str> = wrong.iter().map(|finding| finding.check).collect();
        names.dedup();
        Err(Failure::new(
            first.kind.unwrap_or(FailureKind::Internal),
            format!(
                "{} of {} findings are wrong ({})",
                wrong.len(),
                self.findings.len(),
                names.join(", ")
            ),
            "do what their lines say, and run it again",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_a_line_for_each_finding_and_the_code_of_the_first_wrong_one() {
        let mut report = Report {
            findings: vec![
                Finding::ok("codec", "it works\nwell"),
                Finding::warning("clock", "nothing keeps it right", "run: timedatectl set-ntp true"),
                Finding::unknown("mtu", "no interface is up", "connect one"),
            ],
        };
        assert!(report.verdict().is_ok());
        report
            .findings
            .push(Finding::wrong("port", FailureKind::Network, "taken", "stop it"));
        report.findings.push(Finding::wrong(
            "files",
            FailureKind::Keys,
            "open to all",
            "chmod 600 it",
        ));
        let lines = report.to_lines();
        assert_eq!(lines.lines().count(), 5, "{lines}");
        assert!(lines.contains("ok       codec        it works well\n"), "{lines}");
        assert!(lines.contains("; run: timedatectl set-ntp true\n"), "{lines}");
        let failure = report.verdict().expect_err("two are wrong");
        assert_eq!(failure.kind, FailureKind::Network);
        assert!(
            failure.what.contains("2 of 5") && failure.what.contains("port, files"),
            "{failure}"
        );
    }

    #[test]
    fn programs_read_the_same_as_people() {
        let report = Report {
            findings: vec![Finding::wrong("disk", FailureKind::Sink, "full", "make room")],
        };
        let json: serde_json::Value = serde_json::from_str(&report.to_json()).expect("JSON");
        let finding = &json["findings"][0];
        assert_eq!(
            [&finding["check"], &finding["verdict"], &finding["saw"], &finding["do"]],
            ["disk", "wrong", "full", "make room"]
        );
    }

    #[test]
    fn no_finding_shows_the_password_of_a_url() {
        let finding = Finding::warning(
            "camera",
            "rtsp://admin:hunter2@camera/ is off",
            "see rtsp://u:hunter2@h/",
        );
        assert!(!format!("{finding:?}").contains("hunter2"), "{finding:?}");
    }
}
