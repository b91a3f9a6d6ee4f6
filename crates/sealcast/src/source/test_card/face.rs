//! The face of a clock that shows events: a colour, the event's number, and the strip, as areas of one colour each. The
//! page in `web/clock` draws the same.

use super::clock::{self, CardClock, Layout};
use super::font;

/// An area: left, top, width, height.
pub(crate) type Area = (usize, usize, usize, usize);

const PANEL: usize = 6;
const BLACK: usize = 7;
const WHITE: usize = 8;

/// A picture of a clock.
pub(crate) struct EventFace {
    size: (usize, usize),
    clock: CardClock,
}

impl EventFace {
    /// Red, green and blue of every colour: those of events, the panel of the number, black and white. The event with
    /// number n has colour n mod 6.
    pub(crate) const COLOURS: [[u8; 3]; 9] = [
        [255, 0, 0],
        [0, 255, 0],
        [0, 0, 255],
        [255, 255, 0],
        [255, 0, 255],
        [0, 255, 255],
        [20, 24, 29],
        [0, 0, 0],
        [255, 255, 255],
    ];

    /// A picture of this size that shows an event; 0 is none.
    pub(crate) fn new(width: usize, height: usize, clock: CardClock) -> Self {
        Self {
            size: (width, height),
            clock,
        }
    }

    /// The areas in the order of drawing, by index of their colour. In a picture that is too small for the strip there
    /// is only the colour.
    pub(crate) fn areas(&self) -> Vec<(usize, Vec<Area>)> {
        let (width, height) = self.size;
        let event = self.clock.event;
        let colour = if event > 0 { event as usize % PANEL } else { PANEL };
        // Pictures have even sides.
        let Some(layout) = Layout::new(width & !1, height & !1) else {
            return vec![(colour, vec![(0, 0, width, height)])];
        };
        let strip = layout.y - layout.cell / 2;
        let panel = strip * 3 / 5;
        let room = strip - panel;
        let number = if event > 0 { event.to_string() } else { "-".to_owned() };
        let across = number.len() * font::ADVANCE - 1;
        let dot = (room * 4 / 5 / font::HEIGHT).min(width * 4 / 5 / across).max(1);
        let (left, top) = (
            (width - (across * dot).min(width)) / 2,
            panel + (room - font::HEIGHT * dot) / 2,
        );
        let dots = font::dots(number.as_bytes()).map(|(x, y)| (left + x * dot, top + y * dot, dot, dot));
        let cells = clock::cells(layout, self.clock).filter(|(_, white)| *white);
        let cells = cells.map(|((x, y), _)| (x, y, layout.cell, layout.cell));
        vec![
            (colour, vec![(0, 0, width, panel)]),
            (PANEL, vec![(0, panel, width, room)]),
            (BLACK, vec![(0, strip, width, height - strip)]),
            (WHITE, dots.chain(cells).collect()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::clock::read_clock;
    use super::*;
    use crate::media::Picture;

    #[test]
    fn the_strip_of_a_face_is_read_back_and_nothing_lies_outside_of_it() {
        for (width, height) in [
            (160, 120),
            (640, 480),
            (1279, 719),
            (1280, 720),
            (1080, 1920),
            (3840, 2160),
        ] {
            for event in [0, 1, 123_456, u32::MAX] {
                let clock = CardClock {
                    event,
                    wall_us: 1_795_153_107_123_456,
                };
                let mut picture = Picture::black(width & !1, height & !1);
                for (colour, areas) in EventFace::new(width, height, clock).areas() {
                    let [r, g, b] = EventFace::COLOURS[colour].map(u32::from);
                    let luma = (16 + (66 * r + 129 * g + 25 * b) / 256) as u8;
                    for (x, y, across, down) in areas {
                        assert!(x + across <= width && y + down <= height, "{width}x{height}, {event}");
                        let across = across.min(picture.width - x);
                        for line in picture.y.chunks_exact_mut(picture.width).skip(y).take(down) {
                            line[x..x + across].fill(luma);
                        }
                    }
                }
                assert_eq!(read_clock(&picture), Some(clock), "{width}x{height}");
            }
        }
        let small = EventFace::new(20, 20, CardClock { event: 1, wall_us: 0 });
        assert_eq!(small.areas(), [(1, vec![(0, 0, 20, 20)])]);
    }
}
