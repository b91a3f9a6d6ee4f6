//! Scenes painted for a camera that stands still: a room with the noise of a sensor, in which something happens at
//! known times.

use std::f64::consts::TAU;
use std::io::{self, Write};

use sealcast_proto::sim::Random;

/// Distance by which the picture can shake, in pixels.
const MARGIN: usize = 8;
/// Random numbers of noise kept beyond a picture's, so that each picture can begin at another one.
const SPARE_NOISE: usize = 1 << 16;
/// Share of the picture that the patch covers which blinks.
const PATCH_SHARE: f64 = 0.06;
/// Luma of that patch while it is there: white in video range.
const WHITE: i16 = 235;
/// Width and height of the moving object as shares of the picture's height.
const BODY: (f64, f64) = (0.22, 0.7);
/// Share by which a light that is switched changes the picture's luma.
const LIGHT: f64 = 0.25;

/// Act in a span of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Nothing but noise.
    Still,
    /// A white patch comes and goes.
    Flicker,
    /// A textured object as large as a person comes in, walks about and leaves.
    Walking,
    /// The camera shakes.
    Shake,
    /// The light is dimmed and raised again, slowly.
    Light,
}

/// Frames during which something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: usize,
    pub(super) frames: usize,
    pub(super) act: Act,
}

/// A scene.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Pictures a second.
    pub(super) rate: usize,
    pub(super) frames: usize,
    /// In order, without gaps between them.
    pub(super) spans: Vec<Span>,
    /// Frames between two changes of the patch, and the number of a frame with a change.
    pub(super) between: usize,
    pub(super) phase: usize,
    /// Standard deviation of the noise, in steps of luma.
    pub(super) noise: f64,
    pub(super) seed: u64,
}

impl Scene {
    /// Spans of `length` frames each, after `lead` frames in which nothing happens. Each of `acts` is there equally
    /// often, as far as the number of spans allows, in random order.
    pub(super) fn spans(acts: &[Act], lead: usize, length: usize, count: usize, random: &mut Random) -> Vec<Span> {
        let mut order: Vec<Act> = (0..count).map(|at| acts[at % acts.len()]).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, random.uniform(0..at as u64 + 1) as usize);
        }
        let spans = order.into_iter().enumerate();
        spans
            .map(|(at, act)| Span {
                from: lead + at * length,
                frames: length,
                act,
            })
            .collect()
    }

    /// Writes the scene as YUV4MPEG2.
    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let (width, height) = (self.width, self.height);
        writeln!(to, "YUV4MPEG2 W{width} H{height} F{}:1 Ip A1:1 C420jpeg", self.rate)?;
        let room = self.room();
        let noise = self.noise();
        let mut random = Random::new(self.seed ^ 0x9e37);
        let mut luma = vec![0; width * height];
        let chroma = vec![128; width * height / 2];
        for frame in 0..self.frames {
            let fresh = random.uniform(0..SPARE_NOISE as u64) as usize;
            self.paint(frame, &room, &mut luma);
            let noisy = luma.iter_mut().zip(&noise[fresh..]);
            noisy.for_each(|(luma, noise)| *luma = (*luma + i16::from(*noise)).clamp(16, 235));
            to.write_all(b"FRAME\n")?;
            to.write_all(&luma.iter().map(|luma| *luma as u8).collect::<Vec<u8>>())?;
            to.write_all(&chroma)?;
        }
        to.flush()
    }

    /// The act in a frame, and how far it is, from 0 to 1.
    pub(super) fn act(&self, frame: usize) -> (Act, f64) {
        let span = self
            .spans
            .iter()
            .find(|span| (span.from..span.from + span.frames).contains(&frame));
        span.map_or((Act::Still, 0.0), |span| {
            (span.act, (frame - span.from) as f64 / span.frames as f64)
        })
    }

    /// True while the patch is there.
    pub(super) fn patch(&self, frame: usize) -> bool {
        (frame + 2 * self.between - self.phase % self.between) / self.between % 2 == 1
    }

    fn paint(&self, frame: usize, room: &[i16], luma: &mut [i16]) {
        let (width, stride) = (self.width, self.width + 2 * MARGIN);
        let (act, along) = self.act(frame);
        let (x, y) = match act {
            Act::Shake => shaken(frame),
            _ => (MARGIN, MARGIN),
        };
        for (row, line) in luma.chunks_exact_mut(width).enumerate() {
            line.copy_from_slice(&room[(row + y) * stride + x..][..width]);
        }
        match act {
            Act::Flicker if self.patch(frame) => self.white(luma),
            Act::Light => {
                let gain = 1.0 - LIGHT * (along * TAU / 2.0).sin();
                luma.iter_mut()
                    .for_each(|luma| *luma = (f64::from(*luma) * gain) as i16);
            }
            Act::Walking => self.body(along, room, luma),
            _ => {}
        }
    }

    fn white(&self, luma: &mut [i16]) {
        let share = PATCH_SHARE.sqrt();
        let (width, height) = (self.width as f64 * share, self.height as f64 * share);
        for line in luma
            .chunks_exact_mut(self.width)
            .skip(self.height / 3)
            .take(height as usize)
        {
            line[self.width / 2..][..width as usize].fill(WHITE);
        }
    }

    /// Somebody comes in at the left, walks to the right and goes out there, nodding.
    fn body(&self, along: f64, room: &[i16], luma: &mut [i16]) {
        let (width, height) = (BODY.0 * self.height as f64, BODY.1 * self.height as f64);
        let left = along * (self.width as f64 + width) - width;
        let top = self.height as f64 - height + 4.0 * (along * TAU * 6.0).sin();
        for (row, line) in luma
            .chunks_exact_mut(self.width)
            .enumerate()
            .skip(top.max(0.0) as usize)
        {
            for (column, pixel) in line.iter_mut().enumerate() {
                let (x, y) = (column as f64 - left, row as f64 - top);
                // An ellipse, darker than the room, with clothes of the room's own texture.
                let (u, v) = (x / width - 0.5, y / height - 0.5);
                if u * u + v * v < 0.25 {
                    let (x, y) = (x.max(0.0) as usize, y.max(0.0) as usize);
                    *pixel = 200 - room[(y * 2 % self.height) * (self.width + 2 * MARGIN) + x * 2 % self.width];
                }
            }
        }
    }

    /// The room: soft light, furniture with edges, and fine texture. Larger than the picture on all sides, for shaking.
    fn room(&self) -> Vec<i16> {
        let (width, height) = (self.width + 2 * MARGIN, self.height + 2 * MARGIN);
        let mut random = Random::new(self.seed);
        let mut room: Vec<i16> = (0..width * height)
            .map(|at| {
                let (x, y) = ((at % width) as f64 / width as f64, (at / width) as f64 / height as f64);
                (110.0 + 30.0 * (2.1 * x + 0.4).sin() - 25.0 * y) as i16
            })
            .collect();
        for _ in 0..24 {
            let mut within = |most: usize| random.uniform(0..most as u64) as usize;
            let (left, top) = (within(width), within(height));
            let (wide, high) = (8 + within(width / 4), 8 + within(height / 4));
            let (shade, stripes) = (50 + within(130) as i16, 2 + within(9));
            for line in room.chunks_exact_mut(width).skip(top).take(high) {
                for (column, pixel) in line.iter_mut().enumerate().skip(left).take(wide) {
                    *pixel = shade + if column / stripes % 2 == 0 { 8 } else { -8 };
                }
            }
        }
        room
    }

    /// Noise of a normal distribution, nearly: the sum of four uniform numbers.
    fn noise(&self) -> Vec<i8> {
        let mut random = Random::new(self.seed ^ 0x6e01);
        let scale = self.noise * 3.0_f64.sqrt();
        let mut one = || (0..4).map(|_| random.unit() - 0.5).sum::<f64>() * scale;
        (0..self.width * self.height + SPARE_NOISE)
            .map(|_| one().round().clamp(-127.0, 127.0) as i8)
            .collect()
    }
}

/// Where the picture is taken from while the camera shakes: two slow waves and a fast one.
fn shaken(frame: usize) -> (usize, usize) {
    let at = frame as f64;
    let wave = |period: f64, far: f64| far * (at / period * TAU).sin();
    let place = |off: f64| (MARGIN as f64 + off.round()) as usize;
    (
        place(wave(9.0, 4.0) + wave(4.3, 2.0)),
        place(wave(11.0, 4.0) + wave(3.7, 2.0)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene(act: Act) -> Scene {
        Scene {
            width: 64,
            height: 48,
            rate: 25,
            frames: 60,
            spans: Scene::spans(&[act], 20, 40, 1, &mut Random::new(1)),
            between: 10,
            phase: 3,
            noise: 2.0,
            seed: 4,
        }
    }

    /// The pictures' luma.
    fn pictures(scene: &Scene) -> Vec<Vec<u8>> {
        let mut bytes = Vec::new();
        scene.write(&mut bytes).expect("memory");
        let head = bytes.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
        let picture = b"FRAME\n".len() + 64 * 48 * 3 / 2;
        assert_eq!((bytes.len() - head) % picture, 0);
        let pictures = bytes[head..].chunks(picture);
        pictures.map(|picture| picture[6..6 + 64 * 48].to_vec()).collect()
    }

    /// Mean difference of each picture from the one before, in steps of luma.
    fn changes(scene: &Scene) -> Vec<f64> {
        let pictures = pictures(scene);
        let off = |pair: &[Vec<u8>]| {
            let pixels = pair[0].iter().zip(&pair[1]);
            pixels.map(|(a, b)| f64::from(a.abs_diff(*b))).sum::<f64>() / (64.0 * 48.0)
        };
        pictures.windows(2).map(off).collect()
    }

    #[test]
    fn a_still_scene_has_nothing_but_noise_of_its_deviation() {
        let changes = changes(&scene(Act::Still));
        assert_eq!(changes.len(), 59);
        // The mean distance of two values with a deviation of 2 each is 2 * 2 / sqrt(pi) = 2.26.
        assert!(changes.iter().all(|change| (1.9..2.6).contains(change)), "{changes:?}");
    }

    #[test]
    fn a_patch_changes_at_its_phase_and_only_in_its_span() {
        let changes = changes(&scene(Act::Flicker));
        let seen: Vec<usize> = (1..60).filter(|frame| changes[frame - 1] > 5.0).collect();
        // In its span from 20 to 59, at 3 and each 10 later; at 20 if it begins with the patch there.
        let expected: Vec<usize> = [23, 33, 43, 53].into();
        assert_eq!(
            seen.iter().copied().filter(|frame| *frame != 20).collect::<Vec<_>>(),
            expected
        );
    }

    #[test]
    fn other_acts_move_more_than_noise_and_end() {
        for act in [Act::Walking, Act::Shake, Act::Light] {
            let changes = changes(&scene(act));
            let mean = |range: std::ops::Range<usize>| changes[range.clone()].iter().sum::<f64>() / range.len() as f64;
            assert!(mean(22..57) > mean(0..18) * 1.04, "{act:?}: {changes:?}");
        }
    }

    #[test]
    fn acts_are_there_equally_often_and_follow_one_another() {
        let acts = [Act::Still, Act::Walking];
        let spans = Scene::spans(&acts, 100, 50, 10, &mut Random::new(7));
        let walking = spans.iter().filter(|span| span.act == Act::Walking);
        assert_eq!((walking.count(), spans[0].from, spans[9].from), (5, 100, 550));
        let other = Scene::spans(&acts, 100, 50, 10, &mut Random::new(8));
        assert_ne!(spans, other, "the order is random");
    }
}
