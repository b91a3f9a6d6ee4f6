//! Third-party media files: whatever they contain, reading them ends, and no frame is larger than allowed.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use sealcast::source::{Container, MAX_FRAME_BYTES};

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut container) = Container::open(Cursor::new(bytes), None) else {
        return;
    };
    let mut frames = Vec::new();
    // A frame takes at least one byte of the file, which both tracks may point to, so more frames than twice the bytes
    // mean an endless loop.
    for _ in 0..=2 * bytes.len() {
        match container.next_frame() {
            Ok(Some(frame)) => {
                assert!(!frame.data.is_empty() && frame.data.len() <= MAX_FRAME_BYTES);
                frames.push(frame);
            }
            Ok(None) => break,
            Err(_) => return,
        }
        assert!(frames.len() <= 2 * bytes.len(), "a file has no end of frames");
    }
    assert!(container.info().rate.denominator != 0);
    let Ok(mut again) = container.rewound(None) else { return };
    for frame in frames {
        assert_eq!(
            again.next_frame().ok().flatten(),
            Some(frame),
            "a file played twice is the same"
        );
    }
});
