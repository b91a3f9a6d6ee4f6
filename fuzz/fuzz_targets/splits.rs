//! Images of a camera that are split, and split frames of a publisher that are joined. Nothing panics; what can be
//! split comes back bit by bit; what is joined is no longer than a frame may be.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sealcast_proto::unit::{MAX_FRAME, Splitter, join};

fuzz_target!(|input: (u8, &[u8])| {
    let (last, data) = input;
    if let Ok(split) = Splitter::default().split(data, last) {
        assert_eq!(join(split.data).as_deref(), Ok(data));
    }
    if let Ok(image) = join(data) {
        assert!(image.len() <= MAX_FRAME);
    }
});
