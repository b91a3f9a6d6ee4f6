//! The lines of `web/scripts/measure-page.mjs`: one JSON object each.

use std::collections::BTreeMap;

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;

/// Beginning of every line.
pub(super) const BEGIN: &str = "{\"type\":";

/// A line.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Line {
    /// The first things that the page showed.
    Paint(Paint),
    /// A frame that was drawn.
    Frame(Frame),
    /// Processor time, of the time in which frames count.
    Processor(Processor),
    /// Numbers that the page counted meanwhile.
    Counts(Counts),
    /// The sizes of the heaps at one time.
    Heap(Heap),
    /// It cannot be measured.
    Error {
        /// The reason.
        words: String,
    },
    /// All is said.
    End {},
}

/// Times in ms since the navigation began.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(super) struct Paint {
    /// By the browser's `PerformancePaintTiming`.
    pub(super) first: Option<f64>,
    /// When the page heard that the first picture is on the canvas.
    pub(super) picture: f64,
}

/// A frame's way in ms, by the page's worker.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Frame {
    /// Its number.
    pub(super) frame: u64,
    /// The stages that are known, by their names.
    pub(super) stages: BTreeMap<String, f64>,
    /// From the source's stamp to the canvas.
    pub(super) total: Option<f64>,
    /// Error that the clocks may make in it.
    pub(super) uncertainty: Option<f64>,
    pub(super) opening: Opening,
}

/// Work that the worker's sessions had done by a time.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(super) struct Opening {
    /// Monotonic, in ms.
    pub(super) at: f64,
    pub(super) messages: f64,
    /// Time from each message to what came of it, summed.
    pub(super) milliseconds: f64,
}

/// Seconds: of time, and of processors.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(super) struct Processor {
    pub(super) seconds: f64,
    /// The process of page and worker.
    pub(super) renderer: f64,
    /// The worker's thread.
    pub(super) worker: f64,
    /// All processes of the browser.
    pub(super) browser: f64,
}

/// Numbers that the page counted.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Counts {
    /// Frames that were not drawn.
    pub(super) dropped: f64,
    /// Records refused, by reason, since the beginning.
    pub(super) refused: BTreeMap<String, f64>,
    /// Sessions lost since the beginning; each was followed by another.
    pub(super) lost: f64,
}

/// Bytes in use after a collection.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(super) struct Heap {
    /// Since the first picture.
    pub(super) seconds: f64,
    pub(super) page: f64,
    pub(super) worker: f64,
    /// Of array buffers, outside of both heaps: frames that are under way.
    pub(super) outside: f64,
    /// On both heaps, without compiled code and the browser's own; only at the first look and at the last.
    pub(super) objects: Option<f64>,
    /// Sessions lost since the beginning; each was followed by another.
    pub(super) lost: f64,
}

/// Reads a line.
///
/// # Errors
/// It is none of these.
pub(super) fn read(line: &str) -> Result<Line> {
    serde_json::from_str(line).map_err(|error| {
        let what = format!("a line of measure-page.mjs is not understood ({error}): {line}");
        Failure::new(FailureKind::Internal, what, "use the script of the same sources")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line_is_read() {
        let lines = [
            r#"{"type":"paint","first":185.5,"contentful":310.8,"picture":827.75}"#,
            concat!(
                r#"{"type":"frame","frame":7,"stages":{"encode":3.5,"network":-0.25},"total":21.5,"#,
                r#""uncertainty":0.5,"opening":{"at":1000,"messages":12,"milliseconds":3.25}}"#
            ),
            r#"{"type":"frame","frame":8,"stages":{},"opening":{"at":1033.25,"messages":13,"milliseconds":3.5}}"#,
            r#"{"type":"processor","seconds":3.5,"renderer":0.5,"worker":0.25,"browser":1}"#,
            r#"{"type":"counts","dropped":2,"refused":{"replay":1},"lost":1,"codec":"avc1.42C01F"}"#,
            r#"{"type":"heap","seconds":10.5,"page":1323752,"worker":1259352,"outside":284376,"lost":0}"#,
            r#"{"type":"error","words":"no picture"}"#,
            r#"{"type":"end","browser":"156.0"}"#,
        ];
        let read = lines.map(|line| read(line).expect(line));
        assert!(lines.iter().all(|line| line.starts_with(BEGIN)));
        let Line::Frame(frame) = &read[1] else {
            panic!("{:?}", read[1])
        };
        assert_eq!(
            (frame.frame, frame.total, frame.uncertainty),
            (7, Some(21.5), Some(0.5))
        );
        assert_eq!((frame.stages["network"], frame.opening.messages), (-0.25, 12.0));
        let Line::Frame(frame) = &read[2] else {
            panic!("{:?}", read[2])
        };
        assert_eq!((frame.total, frame.stages.len()), (None, 0));
        let paint = Paint {
            first: Some(185.5),
            picture: 827.75,
        };
        assert_eq!(read[0], Line::Paint(paint));
        assert_eq!(
            read[6],
            Line::Error {
                words: "no picture".to_owned()
            }
        );
        assert_eq!(read[7], Line::End {});
        assert!(matches!(&read[4], Line::Counts(counts) if counts.refused["replay"] == 1.0 && counts.lost == 1.0));
        assert!(matches!(read[3], Line::Processor(Processor { worker: 0.25, .. })));
        assert!(matches!(read[5], Line::Heap(Heap { page: 1_323_752.0, .. })));
    }

    #[test]
    fn a_page_that_paints_nothing_has_no_first_paint() {
        let line = r#"{"type":"paint","first":null,"contentful":null,"picture":9}"#;
        assert!(matches!(read(line), Ok(Line::Paint(Paint { first: None, .. }))));
    }

    #[test]
    fn other_lines_are_refused_with_their_words() {
        for line in [
            "",
            "{\"type\":\"other\"}",
            "{\"type\":\"heap\",\"page\":1}",
            "{\"type\":\"paint\"",
            "[]",
        ] {
            let said = read(line).expect_err("it is no line").to_string();
            assert!(said.contains(line) && said.contains("measure-page.mjs"), "{said}");
        }
    }
}
