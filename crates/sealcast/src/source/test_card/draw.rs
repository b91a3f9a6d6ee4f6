//! Draws the test card directly into I420: colour bars below a sweeping line and a bouncing block, a scrolling
//! texture that is hard to compress, numbers for people, and the strip for machines.

use std::time::Duration;

use jiff::Timestamp;

use super::clock::{self, CardClock, Layout};
use super::font;
use crate::media::Picture;

/// Bars at 75 % in BT.601 video range: white, yellow, cyan, green, magenta, red, blue.
const BARS: [[u8; 3]; 7] = [
    [180, 128, 128],
    [162, 44, 142],
    [131, 156, 44],
    [112, 72, 58],
    [84, 184, 198],
    [65, 100, 212],
    [35, 212, 114],
];
/// The dark background of the numbers.
const PANEL: [u8; 3] = [24, 132, 126];
/// The bouncing block: orange.
const BLOCK: [u8; 3] = [150, 60, 180];
const BLACK: [u8; 3] = [16, 128, 128];
const WHITE: u8 = 235;
/// Duration of one sweep of the line across the bars.
const SWEEP: Duration = Duration::from_secs(4);

/// Position of an animation in whole pixels: `span * elapsed / period`, repeated every period.
fn along(span: usize, elapsed: Duration, period: Duration) -> usize {
    let part = elapsed.as_nanos() % period.as_nanos();
    usize::try_from(span as u128 * part / period.as_nanos()).unwrap_or(0)
}

/// Position in a triangle wave: from 0 to `span` and back within `period`.
fn bounce(span: usize, elapsed: Duration, period: Duration) -> usize {
    let there = along(2 * span, elapsed, period);
    there.min(2 * span - there)
}

/// Fill a rectangle. Its sides are rounded down to even pixels, the resolution of 4:2:0.
fn fill(picture: &mut Picture, (x, y): (usize, usize), (w, h): (usize, usize), colour: [u8; 3]) {
    let (width, x, y, w, h) = (picture.width, x & !1, y & !1, w & !1, h & !1);
    for line in picture.y.chunks_exact_mut(width).skip(y).take(h) {
        line[x..x + w].fill(colour[0]);
    }
    for (plane, value) in [(&mut picture.u, colour[1]), (&mut picture.v, colour[2])] {
        for line in plane.chunks_exact_mut(width / 2).skip(y / 2).take(h / 2) {
            line[x / 2..(x + w) / 2].fill(value);
        }
    }
}

/// A texture that repeats horizontally, with details of every size, like natural pictures.
fn texture(width: usize, height: usize) -> Vec<u8> {
    // Any fixed hash of the coordinates would do; this one is the finalizer of MurmurHash3.
    let noise = |x: usize, y: usize, octave: usize| {
        let mut h = (x as u32).wrapping_mul(0x9E37_79B1) ^ (y as u32).wrapping_mul(0x85EB_CA77) ^ octave as u32;
        h = (h ^ h >> 16).wrapping_mul(0x85EB_CA6B);
        h = (h ^ h >> 13).wrapping_mul(0xC2B2_AE35);
        i32::from((h >> 24) as u8) - 128
    };
    let mut out = vec![0u8; width * height];
    for (y, line) in out.chunks_exact_mut(width).enumerate() {
        for (x, pixel) in line.iter_mut().enumerate() {
            let mut sum = 0;
            for (octave, step) in [64usize, 32, 16, 8, 4].into_iter().enumerate() {
                let columns = width.div_ceil(step);
                let (cx, cy, fx, fy) = (x / step, y / step, (x % step) as i32, (y % step) as i32);
                let (next, step) = ((cx + 1) % columns, step as i32);
                let upper = noise(cx, cy, octave) * (step - fx) + noise(next, cy, octave) * fx;
                let lower = noise(cx, cy + 1, octave) * (step - fx) + noise(next, cy + 1, octave) * fx;
                sum += ((upper * (step - fy) + lower * fy) / (step * step)) >> octave;
            }
            *pixel = (118 + sum * 5 / 12).clamp(24, 227) as u8;
        }
    }
    out
}

/// Sensor-like noise (grain), longer than `len` by `GRAIN_STARTS`, in the range of -8 to 7 above a base of 8.
fn grain(len: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let step = |state: &mut u64| {
        // xorshift64: fast, and the quality of the noise does not matter.
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 60) as u8
    };
    (0..len + GRAIN_STARTS).map(|_| step(&mut state)).collect()
}

/// Adds grain to the texture. The texture's range leaves room for it, so that no sum overflows a byte.
fn add_grain(to: &mut [u8], texture: &[u8], grain: &[u8]) {
    for ((to, texture), grain) in to.iter_mut().zip(texture).zip(grain) {
        *to = texture - 8 + grain;
    }
}

/// Number of offsets at which the grain of a picture may begin, so that consecutive pictures have different grain.
const GRAIN_STARTS: usize = 4096;

/// Draws the cards of one stream, always into the same picture.
pub(super) struct Card {
    picture: Picture,
    /// The parts that do not move: bars and panel.
    background: Picture,
    texture: Vec<u8>,
    grain: Vec<u8>,
    layout: Layout,
    /// First rows of the texture, of the panel, and of the strip's field.
    rows: [usize; 3],
    moving: bool,
}

impl Card {
    /// A card for pictures of that size, or `None` if the clock does not fit. Without `moving`, only clock and
    /// numbers change.
    pub(super) fn new(width: usize, height: usize, moving: bool) -> Option<Self> {
        let layout = Layout::new(width, height)?;
        let strip = (layout.y - layout.cell / 2) & !1;
        let rows = [(strip / 2) & !1, (strip * 7 / 10) & !1, strip];
        let mut background = Picture::black(width, height);
        for (bar, colour) in BARS.into_iter().enumerate() {
            let (from, to) = ((width * bar / 7) & !1, (width * (bar + 1) / 7) & !1);
            fill(&mut background, (from, 0), (to - from, rows[0]), colour);
        }
        fill(&mut background, (0, rows[0]), (width, rows[1] - rows[0]), BLACK);
        fill(&mut background, (0, rows[1]), (width, rows[2] - rows[1]), PANEL);
        let texture = texture(width, rows[1] - rows[0]);
        background.y[width * rows[0]..width * rows[1]].copy_from_slice(&texture);
        let grain = grain(texture.len());
        Some(Self {
            picture: background.clone(),
            background,
            texture,
            grain,
            layout,
            rows,
            moving,
        })
    }

    /// Draw everything except the clock, as it looks `elapsed` after the start.
    pub(super) fn draw_scene(&mut self, elapsed: Duration) {
        let (width, rows) = (self.picture.width, self.rows);
        let (upper, panel) = (width * rows[0], width * rows[1]..width * rows[2]);
        self.picture.y[..upper].copy_from_slice(&self.background.y[..upper]);
        self.picture.y[panel.clone()].copy_from_slice(&self.background.y[panel]);
        self.picture.u[..upper / 4].copy_from_slice(&self.background.u[..upper / 4]);
        self.picture.v[..upper / 4].copy_from_slice(&self.background.v[..upper / 4]);
        if !self.moving {
            return;
        }
        self.draw_texture(elapsed);
        let bar = (width / 48).max(2);
        fill(
            &mut self.picture,
            (along(width - bar, elapsed, SWEEP), 0),
            (bar, rows[0]),
            [WHITE, 128, 128],
        );
        let block = (rows[0] / 3).min(width / 3) & !1;
        let x = bounce(width - block, elapsed, Duration::from_millis(5300));
        let y = bounce(rows[0] - block, elapsed, Duration::from_millis(1900));
        fill(&mut self.picture, (x, y), (block, block), BLOCK);
        fill(
            &mut self.picture,
            (x + block / 4, y + block / 4),
            (block / 2, block / 2),
            BLACK,
        );
    }

    /// Draw the scrolling texture with new grain: without grain the codec would not use its full bit rate.
    fn draw_texture(&mut self, elapsed: Duration) {
        let (width, upper) = (self.picture.width, self.picture.width * self.rows[0]);
        let shift = along(width, elapsed, 2 * SWEEP);
        // Multiplying by an odd number turns consecutive times into very different values.
        let scrambled = (elapsed.as_micros() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let start = usize::try_from(scrambled >> 52).unwrap_or(0);
        let lines = self.picture.y[upper..]
            .chunks_exact_mut(width)
            .zip(self.texture.chunks_exact(width));
        for ((line, texture), grain) in lines.zip(self.grain[start..].chunks_exact(width)) {
            let (right, left) = (&texture[shift..], &texture[..shift]);
            let (line_left, line_right) = line.split_at_mut(width - shift);
            let (grain_left, grain_right) = grain.split_at(width - shift);
            add_grain(line_left, right, grain_left);
            add_grain(line_right, left, grain_right);
        }
    }

    /// Draw the clock as digits, as a hand that turns once per second, and as the strip.
    pub(super) fn draw_clock(&mut self, clock: CardClock) -> &Picture {
        let (width, panel, strip) = (self.picture.width, self.rows[1], self.rows[2]);
        let room = strip - panel;
        let small = (width / (font::ADVANCE * 28)).min(room / 28).max(1);
        let large = ((room - small * (font::HEIGHT + 2)) * 4 / 5 / font::HEIGHT)
            .min(width / (font::ADVANCE * 12))
            .max(1);
        let left = self.layout.x.max(2);
        let event = format!("{:08}", clock.event);
        let time = i64::try_from(clock.wall_us)
            .ok()
            .and_then(|us| Timestamp::from_microsecond(us).ok());
        let time = time
            .map(|t| t.strftime("%Y-%m-%d %H:%M:%S.%3f UTC").to_string())
            .unwrap_or_default();
        let gap = (room - (large + small) * font::HEIGHT) / 3;
        font::write(&mut self.picture, event.as_bytes(), (left, panel + gap), large, WHITE);
        let below = panel + 2 * gap + large * font::HEIGHT;
        font::write(&mut self.picture, time.as_bytes(), (left, below), small, 200);
        self.draw_hand(clock.wall_us, room);
        clock::draw(&mut self.picture, self.layout, clock);
        &self.picture
    }

    /// A dial at the right end of the panel, with one turn per second.
    fn draw_hand(&mut self, wall_us: u64, room: usize) {
        let radius = (room / 3).min(self.picture.width / 6) as f64;
        let (x, y) = (
            (self.picture.width - self.layout.x) as f64 - radius,
            (self.rows[1] + room / 2) as f64,
        );
        let dot = (radius as usize / 12).max(2);
        let mut at = |turn: f64, r: f64, dot: usize, value: u8| {
            let (sin, cos) = (turn * std::f64::consts::TAU).sin_cos();
            let (px, py) = ((x + r * sin) as usize - dot / 2, (y - r * cos) as usize - dot / 2);
            for line in self.picture.y.chunks_exact_mut(self.picture.width).skip(py).take(dot) {
                line[px..px + dot].fill(value);
            }
        };
        (0..12).for_each(|hour| at(f64::from(hour) / 12.0, radius, dot, 120));
        let turn = (wall_us % 1_000_000) as f64 / 1e6;
        let steps = 12 + radius as usize / 2;
        (0..steps).for_each(|step| at(turn, radius * 0.9 * step as f64 / steps as f64, dot + 1, WHITE));
    }
}
