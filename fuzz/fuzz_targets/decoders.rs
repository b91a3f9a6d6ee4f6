//! The H.264 decoder (C++) and the JPEG decoder, fed by a publisher, as they run behind the fence: whatever comes,
//! decoding ends, and a picture has the size that it says. The input is a stream as a file holds it, after a byte that
//! names its kind.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sealcast::codec::{BareDecoder, MAX_PIXELS};
use sealcast::media::Codec;
use sealcast_fuzz::frames;

/// Frames of one input: decoding large pictures takes long.
const MOST: usize = 24;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, stream)) = bytes.split_first() else {
        return;
    };
    let codec = if kind % 2 == 1 { Codec::Mjpeg } else { Codec::H264 };
    let mut decoder = BareDecoder::new(codec).expect("memory");
    for frame in frames(codec, stream).iter().take(MOST) {
        if let Ok(Some(picture)) = decoder.decode(frame) {
            let pixels = picture.width * picture.height;
            assert!(pixels <= MAX_PIXELS && picture.width % 2 == 0 && picture.height % 2 == 0);
            assert_eq!(
                (picture.y.len(), picture.u.len(), picture.v.len()),
                (pixels, pixels / 4, pixels / 4)
            );
        }
    }
});
