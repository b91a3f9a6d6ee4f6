use sealcast::codec::jpeg;
use sealcast::media::Picture;

use super::Restorer;

/// Inputs and outputs of onnxruntime, which `restorer/train.py` writes: number of vectors, rows and columns (32 bits
/// each), then for each luma and mask as bytes, and the output as 32-bit floating point in units of luma.
const VECTORS: &[u8] = include_bytes!("../../restorer/vectors.bin");
const FACE: &[u8] = include_bytes!("../../data/face.jpg");
const PAGE: &[u8] = include_bytes!("../../data/page.jpg");
/// Greatest difference from onnxruntime, in units of luma: sums of up to 576 products in another order.
const TOLERANCE: f32 = 0.01;
const BLOCK: usize = 16;

fn restorer() -> Restorer {
    Restorer::load().expect("the weights fit")
}

/// Bytes that look random, the same in each run.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..length).map(|_| next()).collect()
}

fn psnr(one: &[u8], other: &[u8]) -> f64 {
    assert_eq!(one.len(), other.len());
    let sum: f64 = one
        .iter()
        .zip(other)
        .map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2))
        .sum();
    10.0 * (255.0 * 255.0 / (sum / one.len() as f64)).log10()
}

/// The picture with about a third of its macroblocks grey, and the mask that says which.
fn with_missing_blocks(scene: &Picture, seed: u64) -> (Vec<u8>, Vec<u8>) {
    let columns = scene.width.div_ceil(BLOCK);
    let choice = noise(columns * scene.height.div_ceil(BLOCK), seed);
    let lost = |at: usize| choice[at / scene.width / BLOCK * columns + at % scene.width / BLOCK] < 85;
    let luma = scene
        .y
        .iter()
        .enumerate()
        .map(|(at, &value)| if lost(at) { 128 } else { value });
    let mask = (0..scene.y.len()).map(|at| if lost(at) { 255 } else { 0 });
    (luma.collect(), mask.collect())
}

#[test]
fn outputs_equal_those_of_another_implementation() {
    let word = |at: usize| u32::from_le_bytes(VECTORS[at * 4..][..4].try_into().unwrap()) as usize;
    let (count, rows, columns) = (word(0), word(1), word(2));
    let size = rows * columns;
    assert!(count >= 2, "a picture and noise");
    assert_eq!(VECTORS.len(), 12 + count * size * 6);
    for vector in VECTORS[12..].chunks_exact(size * 6) {
        let (luma, rest) = vector.split_at(size);
        let (mask, output) = rest.split_at(size);
        let ours = restorer().corrected(luma, mask, columns, rows);
        assert_eq!(ours.dim(), (rows, columns, 1));
        for (ours, theirs) in ours.iter().zip(output.chunks_exact(4)) {
            let theirs = f32::from_le_bytes(theirs.try_into().unwrap());
            assert!((ours - theirs).abs() <= TOLERANCE, "{ours} and not {theirs}");
        }
    }
}

#[test]
fn sizes_between_multiples_of_16_are_padded_with_their_border_and_cut() {
    let (width, height) = (50, 33);
    let (luma, mask) = (noise(width * height, 1), noise(width * height, 2));
    let grown = |plane: &[u8]| -> Vec<u8> {
        let at = |row: usize, column: usize| plane[row.min(height - 1) * width + column.min(width - 1)];
        (0..48)
            .flat_map(|row| (0..64).map(move |column| (row, column)))
            .map(|(row, column)| at(row, column))
            .collect()
    };
    let small = restorer().restore(&luma, &mask, width, height).unwrap();
    let large = restorer().restore(&grown(&luma), &grown(&mask), 64, 48).unwrap();
    assert_eq!(small.len(), width * height);
    for (row, line) in small.chunks_exact(width).enumerate() {
        assert_eq!(line, &large[row * 64..][..width], "row {row}");
    }
}

#[test]
fn any_bytes_of_any_size_give_a_picture_of_that_size() {
    let restorer = restorer();
    for (width, height) in [(1, 1), (1, 40), (17, 1), (16, 16), (33, 47)] {
        let size = width * height;
        for luma in [vec![0; size], vec![255; size], noise(size, 3)] {
            for mask in [vec![0; size], vec![255; size], noise(size, 4)] {
                assert_eq!(restorer.restore(&luma, &mask, width, height).unwrap().len(), size);
            }
        }
    }
}

#[test]
fn a_picture_of_another_length_is_refused_in_words() {
    let restorer = restorer();
    let wrong = [
        (0, 0, 0, 0),
        (15, 16, 4, 4),
        (16, 15, 4, 4),
        (16, 16, usize::MAX, 2),
        (0, 0, 0, 7),
    ];
    for (luma, mask, width, height) in wrong {
        let failure = restorer
            .restore(&vec![0; luma], &vec![0; mask], width, height)
            .unwrap_err();
        assert!(failure.to_string().contains("one byte a pixel"), "{failure}");
    }
}

#[test]
fn pictures_with_missing_blocks_come_nearer_to_the_scene() {
    for (name, data, least) in [("face", FACE, 4.0), ("page", PAGE, 3.0)] {
        let scene = jpeg::decode(data).unwrap();
        let (luma, mask) = with_missing_blocks(&scene, 17);
        let restored = restorer().restore(&luma, &mask, scene.width, scene.height).unwrap();
        let (before, after) = (psnr(&luma, &scene.y), psnr(&restored, &scene.y));
        println!("{name}: {before:.2} dB, restored {after:.2} dB");
        assert!(after > before + least, "{name}: {before} dB, restored {after} dB");
    }
}

#[test]
fn noise_is_not_restored_to_anything_better_than_a_flat_picture() {
    let scene = jpeg::decode(FACE).unwrap();
    let size = scene.y.len();
    let mean = scene.y.iter().map(|&value| u64::from(value)).sum::<u64>() / size as u64;
    let flat = psnr(&vec![mean as u8; size], &scene.y);
    let blank = vec![0; size];
    let restored = restorer()
        .restore(&noise(size, 5), &blank, scene.width, scene.height)
        .unwrap();
    let after = psnr(&restored, &scene.y);
    println!("flat {flat:.2} dB, restored noise {after:.2} dB");
    assert!(after <= flat, "flat {flat} dB, restored noise {after} dB");
}
