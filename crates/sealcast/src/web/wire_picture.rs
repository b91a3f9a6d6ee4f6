//! Draws the sealed bytes as a picture, to show what an eavesdropper sees.

use jpeg_encoder::{ColorType, Encoder};

/// JPEG quality, high enough that neighbouring bytes stay distinguishable.
const QUALITY: u8 = 90;

/// Draw bytes as a grey JPEG of `width` by `height` pixels, one pixel per byte, from left to right and top to bottom,
/// black after the last byte. The same bytes always give the same picture. Empty if a side is 0.
pub fn wire_picture(bytes: &[u8], width: u16, height: u16) -> Vec<u8> {
    let size = usize::from(width) * usize::from(height);
    let mut pixels = bytes[..bytes.len().min(size)].to_vec();
    pixels.resize(size, 0);
    let mut jpeg = Vec::with_capacity(size + 1024);
    match Encoder::new(&mut jpeg, QUALITY).encode(&pixels, width, height, ColorType::Luma) {
        Ok(()) => jpeg,
        // Only a side of 0 fails here, and then there is nothing to show.
        Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::jpeg;

    #[test]
    fn draws_the_same_bytes_the_same_way() {
        let bytes: Vec<u8> = (0..10_000u32)
            .map(|i| (i.wrapping_mul(0x9E37_79B1) >> 24) as u8)
            .collect();
        let picture = wire_picture(&bytes, 160, 120);
        assert_eq!(picture, wire_picture(&bytes, 160, 120));
        let seen = jpeg::decode(&picture).expect("a JPEG");
        assert_eq!((seen.width, seen.height), (160, 120));
        let (noise, rest) = seen.y.split_at(9_600);
        assert!(noise.iter().any(|&p| p > 180) && noise.iter().any(|&p| p < 60));
        assert!(rest[1600..].iter().all(|&p| p < 24), "what is beyond the end is black");
        assert!(wire_picture(&bytes, 0, 5).is_empty());
        assert!(!wire_picture(&[], 160, 120).is_empty());
    }
}
