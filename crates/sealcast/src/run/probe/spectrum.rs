//! Detects events by the colours of the whole picture, as paper 000 does (section 4.5): the spectrum of each picture
//! is compared with a learnt one.

use std::sync::OnceLock;

use crate::media::Picture;

/// Bins of hue, 15° each.
const HUES: usize = 24;
/// The last bin is for what has no colour. How bright it is does not count: lamps, clouds and a camera's exposure
/// change that all the time.
const BINS: usize = HUES + 1;
/// Chroma below this distance from grey has no hue: noise would turn it any way.
const MIN_SATURATION: f64 = 24.0;
/// Maximum of samples of a picture along one axis: a large one says no more than one of this size.
const SAMPLES: usize = 160;
/// Pictures that are learnt before an event is believed.
const LEARNING: u32 = 5;
/// Share of the picture that must change its colour at least.
const MIN_CHANGE: f64 = 0.05;
/// A change is an event if it exceeds the usual one by this many mean deviations: noise is learnt like colours.
const DEVIATIONS: f64 = 8.0;
/// Share of a change that goes to a single colour: a display turns to one, other things in the picture to many.
const MIN_UNITY: f64 = 0.6;
/// Weight of a new picture in what is learnt: lamps and daylight may change within a second or so.
const LEARNING_RATE: f64 = 0.1;

/// Hues of the events' colours in the plane of chroma, in degrees: red, green, blue, yellow, magenta, cyan, as a
/// display's pure colours lie by BT.601. BT.709 turns them by a few degrees.
const EVENT_HUES: [f64; EVENT_COLOURS] = [108.7, 231.7, 350.8, 170.8, 51.7, 288.7];
/// Number of colours; the event with number n has the colour n mod 6.
pub(super) const EVENT_COLOURS: usize = 6;

type Histogram = [f64; BINS];

/// The change of a picture's colours that is taken for an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ColourEvent {
    /// Which of the events' colours the picture turned to.
    pub(super) colour: usize,
    /// Share of the picture that changed.
    pub(super) change: f64,
}

/// Learns the colours of a stream and finds events in it.
#[derive(Default)]
pub(super) struct Detector {
    learnt: Option<Histogram>,
    pictures: u32,
    /// Usual difference of a picture from what was learnt, and its mean deviation.
    usual: f64,
    deviation: f64,
    colour: Option<usize>,
}

impl Detector {
    /// Take a picture; returns an event if its colours say so.
    pub(super) fn take(&mut self, picture: &Picture) -> Option<ColourEvent> {
        let seen = spectrum(picture);
        let Some(learnt) = &mut self.learnt else {
            self.learnt = Some(seen);
            return None;
        };
        let change = learnt.iter().zip(&seen).map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0;
        let limit = MIN_CHANGE.max(self.usual + DEVIATIONS * self.deviation);
        self.pictures = self.pictures.saturating_add(1);
        if change <= limit {
            for (learnt, seen) in learnt.iter_mut().zip(&seen) {
                *learnt += LEARNING_RATE * (seen - *learnt);
            }
            self.learn_noise(change);
            return None;
        }
        let gained = gained_hue(learnt, &seen).filter(|(_, gain)| *gain >= MIN_UNITY * change);
        *learnt = seen;
        let Some((hue, _)) = gained else {
            // Noise beyond the usual becomes usual, but a cut to another scene does not at once.
            self.learn_noise(limit);
            return None;
        };
        // One event may take several pictures: the display shows no colour twice in turn.
        let colour = nearest_colour(hue);
        let new = self.colour.replace(colour) != Some(colour);
        (new && self.pictures >= LEARNING).then_some(ColourEvent { colour, change })
    }

    fn learn_noise(&mut self, change: f64) {
        self.deviation += LEARNING_RATE * ((change - self.usual).abs() - self.deviation);
        self.usual += LEARNING_RATE * (change - self.usual);
    }
}

/// The shares of the picture's colours; they add up to 1.
fn spectrum(picture: &Picture) -> Histogram {
    let (width, height) = (picture.width / 2, picture.height / 2);
    let (across, down) = (width.div_ceil(SAMPLES).max(1), height.div_ceil(SAMPLES).max(1));
    let bins = bins();
    let mut counts = [0_u32; BINS];
    let rows = picture.u.chunks_exact(width).zip(picture.v.chunks_exact(width));
    for (u, v) in rows.step_by(down) {
        for column in (0..width).step_by(across) {
            counts[usize::from(bins[usize::from(u[column]) << 8 | usize::from(v[column])])] += 1;
        }
    }
    let all = f64::from(counts.iter().sum::<u32>().max(1));
    counts.map(|count| f64::from(count) / all)
}

/// The bin of each pair of chroma values.
fn bins() -> &'static [u8] {
    static TABLE: OnceLock<Vec<u8>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let bin = |chroma: usize| {
            let (u, v) = ((chroma >> 8) as f64 - 128.0, (chroma & 0xFF) as f64 - 128.0);
            if u.hypot(v) < MIN_SATURATION {
                return HUES as u8;
            }
            let turn = v.atan2(u) / std::f64::consts::TAU;
            // The last bin also for a hair's breadth below a full turn, which rounds to one.
            ((turn - turn.floor()) * HUES as f64).min(HUES as f64 - 1.0) as u8
        };
        (0..1 << 16).map(bin).collect()
    })
}

/// The hue in degrees that gained most, over three neighbouring bins, and how much.
fn gained_hue(before: &Histogram, after: &Histogram) -> Option<(f64, f64)> {
    let gain = |bin: usize| (after[bin % HUES] - before[bin % HUES]).max(0.0);
    let around = |bin: usize| gain(bin + HUES - 1) + gain(bin) + gain(bin + 1);
    let best = (0..HUES).max_by(|&a, &b| around(a).total_cmp(&around(b)))?;
    let gained = around(best);
    if gained <= 0.0 {
        return None;
    }
    // The centre of gravity of the three, so that a hue at the border of two bins is not rounded away.
    let shift = (gain(best + 1) - gain(best + HUES - 1)) / gained;
    let width = 360.0 / HUES as f64;
    Some(((best as f64 + 0.5 + shift) * width, gained))
}

fn nearest_colour(hue: f64) -> usize {
    let apart = |other: f64| {
        let turn = (hue - other).rem_euclid(360.0);
        turn.min(360.0 - turn)
    };
    (0..EVENT_COLOURS)
        .min_by(|&a, &b| apart(EVENT_HUES[a]).total_cmp(&apart(EVENT_HUES[b])))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sealcast_proto::sim::Random;

    use super::*;
    use crate::source::test_card::{CardClock, CardPainter};

    /// Red, green, blue, yellow, magenta, cyan by BT.601 in video range.
    const COLOURS: [[u8; 3]; EVENT_COLOURS] = [
        [82, 90, 240],
        [145, 54, 34],
        [41, 240, 110],
        [210, 16, 146],
        [107, 202, 222],
        [169, 166, 16],
    ];

    /// A scene in which a display takes `share` of the width, with this much noise and light.
    fn filmed(colour: [u8; 3], share: f64, noise: u64, light: i32, random: &mut Random) -> Picture {
        let mut picture = Picture::black(320, 240);
        let mut shake = |value: i32| {
            let noise = random.uniform(0..2 * noise + 1) as i32 - noise as i32;
            (value + noise).clamp(0, 255) as u8
        };
        for (at, value) in picture.y.iter_mut().enumerate() {
            let inside = (at % 320) as f64 / 320.0 < share;
            *value = shake(if inside { i32::from(colour[0]) } else { 90 + light });
        }
        for at in 0..picture.u.len() {
            let inside = (at % 160) as f64 / 160.0 < share;
            let [_, u, v] = if inside { colour.map(i32::from) } else { [0, 120, 136] };
            (picture.u[at], picture.v[at]) = (shake(u), shake(v));
        }
        picture
    }

    #[test]
    fn each_change_of_the_display_is_one_event_of_its_colour_whatever_the_noise() {
        for (share, noise) in [(1.0, 0), (0.5, 8), (0.15, 20), (0.1, 4)] {
            let mut random = Random::new(noise);
            let (mut detector, mut found) = (Detector::default(), Vec::new());
            for picture in 0..400 {
                let event = picture / 20;
                let light = (picture as i32 / 4) - 50;
                let colour = COLOURS[event % EVENT_COLOURS];
                let seen = detector.take(&filmed(colour, share, noise, light, &mut random));
                found.extend(seen.map(|seen| (picture, seen.colour)));
            }
            let expected: Vec<_> = (1..20).map(|event| (event * 20, event % EVENT_COLOURS)).collect();
            assert_eq!(found, expected, "share {share}, noise {noise}");
        }
    }

    #[test]
    fn a_picture_between_two_colours_does_not_count_twice() {
        let mut random = Random::new(1);
        let mut detector = Detector::default();
        for _ in 0..20 {
            assert_eq!(detector.take(&filmed(COLOURS[0], 0.6, 3, 0, &mut random)), None);
        }
        let mut half = filmed(COLOURS[1], 0.6, 3, 0, &mut random);
        let before = filmed(COLOURS[0], 0.6, 3, 0, &mut random);
        let upper = half.u.len() / 2;
        half.u[..upper].copy_from_slice(&before.u[..upper]);
        half.v[..upper].copy_from_slice(&before.v[..upper]);
        assert_eq!(
            detector.take(&half).map(|event| event.colour),
            Some(1),
            "a rolling shutter"
        );
        assert_eq!(detector.take(&filmed(COLOURS[1], 0.6, 3, 0, &mut random)), None);
    }

    #[test]
    fn what_moves_in_a_test_card_is_no_event_and_neither_is_a_lamp() {
        let mut painter = CardPainter::new(320, 240).expect("a card");
        let mut detector = Detector::default();
        for number in 0..500_u32 {
            let clock = CardClock {
                event: number,
                wall_us: u64::from(number) * 40_000,
            };
            let picture = painter.paint(clock, Duration::from_millis(40 * u64::from(number)));
            assert_eq!(detector.take(picture), None, "picture {number}");
        }
        let mut random = Random::new(2);
        let mut detector = Detector::default();
        for number in 0..200 {
            let light = if number / 50 % 2 == 0 { 0 } else { 120 };
            assert_eq!(detector.take(&filmed(COLOURS[0], 0.3, 5, light, &mut random)), None);
        }
    }
}
