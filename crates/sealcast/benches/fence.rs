//! Cost of the fence around the decoder for a frame: the same frames of 720p decoded in this process and in one of
//! their own, in turns. Processor time is that of both processes. `cargo bench -p sealcast --bench fence [-- ROUNDS]`

use std::path::Path;
use std::time::{Duration, Instant};

use sealcast::codec::{BareDecoder, Decoder, H264Encoder, H264Settings, decoders_cpu_time, jpeg};
use sealcast::media::{Codec, FrameRate, Picture};
use sealcast::meter::resources::thread_cpu_time;
use sealcast::source::test_card::{CardClock, CardPainter};

/// Frames of a round.
const FRAMES: u32 = 60;
/// Rounds, if nothing is said.
const ROUNDS: usize = 20;
/// The bit rate of the H.264.
const BITRATE: u32 = 3_000_000;
const QUALITY: u8 = 80;
const SIZE: (usize, usize) = (1280, 720);

fn main() {
    // `cargo test` runs benchmarks too, with this argument missing: once round is enough to know that it works.
    let measured = std::env::args().any(|argument| argument == "--bench");
    let asked = std::env::args().filter_map(|argument| argument.parse().ok()).next();
    let rounds = if measured { asked.unwrap_or(ROUNDS) } else { 1 };
    let pictures = pictures();
    let jpegs: Vec<_> = pictures
        .iter()
        .map(|picture| jpeg::encode(picture, QUALITY).expect("a JPEG"))
        .collect();
    println!("{}x{}, times of one frame in µs", SIZE.0, SIZE.1);
    println!(
        "{:<14}{:>8}{:>10}{:>8}{:>12}{:>8}{:>11}{:>8}{:>10}{:>11}",
        "codec", "frames", "bare p50", "p95", "fenced p50", "p95", "added p50", "p95", "CPU bare", "CPU added"
    );
    measure("H.264", Codec::H264, &h264(&pictures), rounds);
    measure("Motion JPEG", Codec::Mjpeg, &jpegs, rounds);
}

fn pictures() -> Vec<Picture> {
    let mut painter = CardPainter::new(SIZE.0, SIZE.1).expect("a size that holds a clock");
    let clock = |event| CardClock { event, wall_us: 0 };
    (0..FRAMES)
        .map(|event| painter.paint(clock(event), Duration::from_secs(1) * event / 30).clone())
        .collect()
}

fn h264(pictures: &[Picture]) -> Vec<Vec<u8>> {
    let rate = FrameRate {
        numerator: 30,
        denominator: 1,
    };
    let mut encoder = H264Encoder::new(H264Settings::new(SIZE.0, SIZE.1, rate, BITRATE)).expect("an encoder");
    pictures
        .iter()
        .map(|picture| encoder.encode(picture).expect("a frame").0)
        .collect()
}

/// Decode each frame in both ways, the first way first every other time, and print what was seen. The first round warms
/// up and is not counted.
fn measure(name: &str, codec: Codec, frames: &[Vec<u8>], rounds: usize) {
    let mut bare = BareDecoder::new(codec).expect("a decoder");
    let program = Path::new(env!("CARGO_BIN_EXE_sealcast"));
    let mut fenced = Decoder::by_program(program, codec).expect("a decoder behind the fence");
    let (mut here, mut there, mut added) = (Vec::new(), Vec::new(), Vec::new());
    let (mut cpu_here, mut cpu_added) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        for (index, frame) in frames.iter().enumerate() {
            let mut inside = || timed(|| bare.decode(frame).expect("a frame that decodes"));
            let mut behind = || timed(|| fenced.decode(frame).expect("a frame that decodes"));
            let (first, second) = if index % 2 == round % 2 {
                let first = inside();
                (first, behind())
            } else {
                let second = behind();
                (inside(), second)
            };
            assert!(first.picture == second.picture && first.picture.is_some());
            if round > 0 {
                here.push(first.wall);
                there.push(second.wall);
                added.push(second.wall - first.wall);
                cpu_here.push(first.cpu);
                cpu_added.push(second.cpu - first.cpu);
            }
        }
    }
    let count = here.len();
    let [here, there, added, cpu_here, cpu_added] = [here, there, added, cpu_here, cpu_added].map(|mut times| {
        times.sort_by(f64::total_cmp);
        [0.5, 0.95].map(|part| times[((times.len() - 1) as f64 * part).round() as usize])
    });
    println!(
        "{name:<14}{count:>8}{:>10.0}{:>8.0}{:>12.0}{:>8.0}{:>11.0}{:>8.0}{:>10.0}{:>11.0}",
        here[0], here[1], there[0], there[1], added[0], added[1], cpu_here[0], cpu_added[0]
    );
}

/// One frame decoded, and the microseconds that it took.
struct Decoded {
    wall: f64,
    cpu: f64,
    picture: Option<Picture>,
}

fn timed(decode: impl FnOnce() -> Option<Picture>) -> Decoded {
    let cpu = || thread_cpu_time() + decoders_cpu_time();
    let (cpu_before, began) = (cpu(), Instant::now());
    let picture = decode();
    let (wall, cpu) = (began.elapsed(), cpu() - cpu_before);
    Decoded {
        wall: wall.as_secs_f64() * 1e6,
        cpu: cpu.as_secs_f64() * 1e6,
        picture,
    }
}
