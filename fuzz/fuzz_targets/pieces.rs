//! Byte streams from cameras and pipes, cut at every possible position: the cuts do not change the result.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sealcast::source::{annexb, mjpeg};

fuzz_target!(|input: (u8, &[u8])| {
    let (step, bytes) = input;
    let step = usize::from(step).max(1);

    if let Ok(whole) = annexb::split_access_units(bytes) {
        let mut splitter = annexb::Splitter::default();
        let mut units = Vec::new();
        for piece in bytes.chunks(step) {
            splitter.push(piece);
            while let Some(unit) = splitter.next_unit().expect("the whole was accepted") {
                units.push(unit);
            }
        }
        units.extend(splitter.finish());
        assert_eq!(units, whole);
    }

    if let Ok(whole) = mjpeg::split_images(bytes) {
        let mut splitter = mjpeg::Splitter::default();
        let mut images = Vec::new();
        for piece in bytes.chunks(step) {
            splitter.push(piece);
            while let Some(image) = splitter.next_image().expect("the whole was accepted") {
                images.push(image);
            }
        }
        for image in &images {
            let _ = mjpeg::image_size(image);
        }
        assert_eq!(images, whole);
    }
});
