//! Conversions against those of FFmpeg's libswscale, with rows as they are and padded.

use super::*;

const WIDTH: usize = 16;
const HEIGHT: usize = 4;
/// Bytes of a picture in 4:2:0.
const PLANAR: usize = WIDTH * HEIGHT * 3 / 2;

/// Bytes that are read as each of the formats. What follows are the pictures that this command makes of them:
/// `ffmpeg -f rawvideo -pix_fmt FORMAT -s 16x4 -i - -f rawvideo -pix_fmt yuv420p -` (FFmpeg 5.1, x86-64).
/// A mean that is no whole number is rounded up, as by the kernel that FFmpeg uses at this width; others round down.
const BYTES: [u8; 2 * WIDTH * HEIGHT] = [
    165, 77, 202, 24, 37, 48, 187, 29, 109, 19, 44, 222, 214, 35, 123, 46, 217, 30, 63, 114, 31, 203, 25, 113, 23, 68,
    148, 214, 73, 60, 157, 92, 52, 96, 190, 49, 32, 30, 105, 254, 218, 160, 238, 232, 185, 153, 127, 92, 124, 41, 153,
    253, 175, 229, 147, 37, 60, 214, 84, 175, 77, 250, 215, 20, 39, 160, 174, 179, 254, 233, 35, 47, 138, 242, 33, 31,
    158, 228, 145, 197, 177, 11, 236, 181, 86, 59, 252, 30, 111, 147, 66, 126, 203, 200, 254, 41, 85, 229, 205, 142,
    70, 220, 142, 212, 183, 194, 118, 77, 42, 90, 77, 118, 119, 6, 248, 93, 134, 144, 2, 74, 214, 189, 163, 64, 27,
    233, 200, 203,
];
const YUYV: [u8; PLANAR] = [
    165, 202, 37, 187, 109, 44, 214, 123, 217, 63, 31, 25, 23, 148, 73, 157, 52, 190, 32, 105, 218, 238, 185, 127, 124,
    153, 175, 147, 60, 84, 77, 215, 39, 174, 254, 35, 138, 33, 158, 145, 177, 236, 86, 252, 111, 66, 203, 254, 85, 205,
    70, 142, 183, 118, 42, 77, 119, 248, 134, 2, 214, 163, 27, 200, 87, 39, 90, 94, 36, 216, 141, 155, 195, 227, 218,
    159, 9, 102, 168, 217, 37, 142, 227, 69, 184, 75, 195, 56, 161, 130, 54, 158, 137, 52, 95, 122,
];
const UYVY: [u8; PLANAR] = [
    77, 24, 48, 29, 19, 222, 35, 46, 30, 114, 203, 113, 68, 214, 60, 92, 96, 49, 30, 254, 160, 232, 153, 92, 41, 253,
    229, 37, 214, 175, 250, 20, 160, 179, 233, 47, 242, 31, 228, 197, 11, 181, 59, 30, 147, 126, 200, 41, 229, 142,
    220, 212, 194, 77, 90, 118, 6, 93, 144, 74, 189, 64, 233, 203, 109, 35, 164, 200, 171, 103, 42, 75, 62, 162, 161,
    100, 148, 110, 163, 115, 196, 146, 141, 125, 108, 86, 116, 186, 190, 89, 76, 111, 242, 127, 115, 227,
];
const YVYU: [u8; PLANAR] = [
    165, 202, 37, 187, 109, 44, 214, 123, 217, 63, 31, 25, 23, 148, 73, 157, 52, 190, 32, 105, 218, 238, 185, 127, 124,
    153, 175, 147, 60, 84, 77, 215, 39, 174, 254, 35, 138, 33, 158, 145, 177, 236, 86, 252, 111, 66, 203, 254, 85, 205,
    70, 142, 183, 118, 42, 77, 119, 248, 134, 2, 214, 163, 27, 200, 37, 142, 227, 69, 184, 75, 195, 56, 161, 130, 54,
    158, 137, 52, 95, 122, 87, 39, 90, 94, 36, 216, 141, 155, 195, 227, 218, 159, 9, 102, 168, 217,
];
const NV12: [u8; PLANAR] = [
    165, 77, 202, 24, 37, 48, 187, 29, 109, 19, 44, 222, 214, 35, 123, 46, 217, 30, 63, 114, 31, 203, 25, 113, 23, 68,
    148, 214, 73, 60, 157, 92, 52, 96, 190, 49, 32, 30, 105, 254, 218, 160, 238, 232, 185, 153, 127, 92, 124, 41, 153,
    253, 175, 229, 147, 37, 60, 214, 84, 175, 77, 250, 215, 20, 39, 174, 254, 35, 138, 33, 158, 145, 177, 236, 86, 252,
    111, 66, 203, 254, 160, 179, 233, 47, 242, 31, 228, 197, 11, 181, 59, 30, 147, 126, 200, 41,
];
const NV21: [u8; PLANAR] = [
    165, 77, 202, 24, 37, 48, 187, 29, 109, 19, 44, 222, 214, 35, 123, 46, 217, 30, 63, 114, 31, 203, 25, 113, 23, 68,
    148, 214, 73, 60, 157, 92, 52, 96, 190, 49, 32, 30, 105, 254, 218, 160, 238, 232, 185, 153, 127, 92, 124, 41, 153,
    253, 175, 229, 147, 37, 60, 214, 84, 175, 77, 250, 215, 20, 160, 179, 233, 47, 242, 31, 228, 197, 11, 181, 59, 30,
    147, 126, 200, 41, 39, 174, 254, 35, 138, 33, 158, 145, 177, 236, 86, 252, 111, 66, 203, 254,
];

fn layout(format: PixelFormat, stride: usize) -> Layout {
    Layout {
        format,
        width: WIDTH,
        height: HEIGHT,
        stride,
        full_range: false,
    }
}

fn flat(picture: &Picture) -> Vec<u8> {
    [&picture.y[..], &picture.u, &picture.v].concat()
}

/// The planes of a buffer whose rows are `rows` bytes long, with `padding` bytes of nonsense after each row.
fn padded(buffer: &[u8], rows: &[(usize, usize)], padding: &[usize]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), buffer);
    for ((length, count), padding) in rows.iter().zip(padding) {
        for _ in 0..*count {
            let (row, after) = rest.split_at(*length);
            out.extend_from_slice(row);
            out.extend(std::iter::repeat_n(0x5a, *padding));
            rest = after;
        }
    }
    out
}

#[test]
fn packed_and_paired_chroma_come_out_as_from_libswscale() {
    for (format, bytes, expected) in [
        (PixelFormat::Yuyv, &BYTES[..], YUYV),
        (PixelFormat::Uyvy, &BYTES[..], UYVY),
        (PixelFormat::Yvyu, &BYTES[..], YVYU),
        (PixelFormat::Nv12, &BYTES[..PLANAR], NV12),
        (PixelFormat::Nv21, &BYTES[..PLANAR], NV21),
    ] {
        let row = layout(format, 0).row();
        let picture = layout(format, row).picture(bytes).expect("it is long enough");
        assert_eq!(flat(&picture), expected, "{format:?}");
        let rows = bytes.len() / row;
        let wide = padded(bytes, &[(row, rows)], &[6]);
        let unpadded = picture;
        let picture = layout(format, row + 6).picture(&wide).expect("it is long enough");
        assert_eq!(picture, unpadded, "{format:?}, padded");
        // The padding of the last row may be missing, and more.
        let all_but_padding = wide.len() - 6;
        assert_eq!(layout(format, row + 6).picture(&wide[..all_but_padding]), Some(picture));
        assert_eq!(
            layout(format, row + 6).picture(&wide[..all_but_padding - 1]),
            None,
            "{format:?}, cut"
        );
        assert_eq!(layout(format, row).picture(&[]), None);
    }
}

#[test]
fn planes_are_copied_without_padding() {
    let planes = &BYTES[..PLANAR];
    let swapped = [&planes[..64], &planes[80..96], &planes[64..80]].concat();
    for (format, bytes) in [(PixelFormat::I420, planes), (PixelFormat::Yv12, &swapped)] {
        let picture = layout(format, WIDTH).picture(bytes).expect("it is long enough");
        assert_eq!(flat(&picture), planes, "{format:?}");
        let wide = padded(bytes, &[(16, 4), (8, 4)], &[8, 4]);
        let picture = layout(format, 24).picture(&wide).expect("it is long enough");
        assert_eq!(flat(&picture), planes, "{format:?}, padded");
        assert_eq!(layout(format, WIDTH).picture(&bytes[..PLANAR - 1]), None);
    }
    let grey = layout(PixelFormat::Grey, WIDTH)
        .picture(&BYTES[..64])
        .expect("it is long enough");
    assert_eq!(flat(&grey), [&BYTES[..64], &[128; 32]].concat());
}

#[test]
fn full_range_becomes_video_range_and_coded_formats_are_no_pictures() {
    let full = Layout {
        full_range: true,
        ..layout(PixelFormat::Yuyv, 2 * WIDTH)
    };
    let buffer: Vec<u8> = std::iter::repeat_n([255, 0, 0, 255], 32).flatten().collect();
    let picture = full.picture(&buffer).expect("it is long enough");
    assert_eq!(
        (picture.y[0], picture.y[1], picture.u[0], picture.v[0]),
        (235, 16, 16, 240)
    );
    assert_eq!(layout(PixelFormat::Mjpeg, 0).picture(&BYTES), None);
}
