//! A machine-readable clock in the picture: a strip of black and white cells along the lower edge.
//!
//! `docs/test-card.md` describes how to decode it without this program.

use crate::media::Picture;

/// Luma of a black cell.
const BLACK: u8 = 16;
/// Luma of a white cell.
const WHITE: u8 = 235;
/// Cells from left to right: two marks, a word of 32 bits, two marks.
pub(super) const COLUMNS: usize = 36;
/// Cells from top to bottom: frame number, wall clock (two rows), checksum.
pub(super) const ROWS: usize = 4;
/// Columns of marks on each side.
const MARKS: usize = 2;
/// Smallest cell in pixels: in smaller ones the chroma planes and the codecs' blocks blur neighbours into each other.
const MIN_CELL: usize = 4;
/// Cells of at least this size are aligned to the codecs' macroblocks, so that no cell disturbs another.
const MACROBLOCK: usize = 16;
/// Minimum difference between white and black marks for a strip to be recognised.
const MIN_CONTRAST: usize = 40;

/// The values in the strip of one picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardClock {
    /// The frame's number (the low 32 bits).
    pub event: u32,
    /// The wall clock when the picture was drawn, in microseconds since 1970-01-01 00:00 UTC.
    pub wall_us: u64,
}

/// Position of the strip in a picture. It depends only on the picture's size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Left edge of the first cell.
    pub(super) x: usize,
    /// Upper edge of the first cell.
    pub(super) y: usize,
    /// Side of a cell.
    pub(super) cell: usize,
}

impl Layout {
    /// The layout for a picture size, or `None` if the strip does not fit.
    pub(super) fn new(width: usize, height: usize) -> Option<Self> {
        // The strip and the margin below it are five cells high: at most a quarter of the picture's height.
        let cell = (width / COLUMNS).min(height / (4 * (ROWS + 1)));
        let grid = if cell >= MACROBLOCK { MACROBLOCK } else { 2 };
        let cell = cell / grid * grid;
        if cell < MIN_CELL {
            return None;
        }
        let x = (width - COLUMNS * cell) / 2 / grid * grid;
        let y = (height - (ROWS + 1) * cell) / grid * grid;
        Some(Self { x, y, cell })
    }
}

/// True if a cell of the marks is white: a chequered pattern, with a white cell in the upper left corner.
fn mark(column: usize, row: usize) -> bool {
    (column + row).is_multiple_of(2)
}

fn words(clock: CardClock) -> [u32; ROWS] {
    let mut bytes = [0u8; 12];
    bytes[..4].copy_from_slice(&clock.event.to_be_bytes());
    bytes[4..].copy_from_slice(&clock.wall_us.to_be_bytes());
    // The two casts take the upper and the lower half of the time; nothing is lost.
    [
        clock.event,
        (clock.wall_us >> 32) as u32,
        clock.wall_us as u32,
        crc32(&bytes),
    ]
}

/// CRC-32 as in Ethernet, ZIP and PNG. For twelve bytes per picture a table is not worthwhile.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 }
        })
    })
}

/// The upper left corners of the strip's cells, and whether they are white.
pub(super) fn cells(layout: Layout, clock: CardClock) -> impl Iterator<Item = ((usize, usize), bool)> {
    words(clock).into_iter().enumerate().flat_map(move |(row, word)| {
        (0..COLUMNS).map(move |column| {
            let white = match column.checked_sub(MARKS) {
                Some(bit @ 0..32) => word >> (31 - bit) & 1 == 1,
                _ => mark(column, row),
            };
            let corner = (layout.x + column * layout.cell, layout.y + row * layout.cell);
            (corner, white)
        })
    })
}

/// Draw the strip into a picture whose luma is black at its place.
pub(super) fn draw(picture: &mut Picture, layout: Layout, clock: CardClock) {
    for ((x, y), white) in cells(layout, clock) {
        let value = if white { WHITE } else { BLACK };
        for line in picture.y.chunks_exact_mut(picture.width).skip(y).take(layout.cell) {
            line[x..x + layout.cell].fill(value);
        }
    }
}

/// Mean luma of the inner half of a cell, which neither codec ringing nor a small shift affects.
fn level(picture: &Picture, layout: Layout, column: usize, row: usize) -> usize {
    let (inset, side) = (layout.cell / 4, layout.cell - 2 * (layout.cell / 4));
    let (x, y) = (
        layout.x + column * layout.cell + inset,
        layout.y + row * layout.cell + inset,
    );
    let lines = picture.y.chunks_exact(picture.width).skip(y).take(side);
    lines
        .flat_map(|line| &line[x..x + side])
        .map(|&p| usize::from(p))
        .sum::<usize>()
        / (side * side)
}

/// Cells of the marks, and those that carry data, of a strip.
const MARK_CELLS: usize = ROWS * 2 * MARKS;
/// Bits of a clock: four words of 32.
pub const CLOCK_BITS: usize = ROWS * 32;

/// The levels of the marks, each with the colour that it must have.
fn mark_levels(picture: &Picture, layout: Layout) -> Vec<(bool, usize)> {
    let places = (0..ROWS).flat_map(|row| {
        (0..MARKS)
            .chain(COLUMNS - MARKS..COLUMNS)
            .map(move |column| (column, row))
    });
    places
        .map(|(column, row)| (mark(column, row), level(picture, layout, column, row)))
        .collect()
}

/// Mean levels of the white and of the black marks. There are as many of each colour.
fn mark_means(marks: &[(bool, usize)]) -> (usize, usize) {
    let sum = |white: bool| marks.iter().filter(|m| m.0 == white).map(|m| m.1).sum::<usize>();
    (sum(true) / (MARK_CELLS / 2), sum(false) / (MARK_CELLS / 2))
}

/// Read the clock of a test card from the picture alone. `None` if there is no clock, or it is too damaged to be
/// sure: the marks must be present and the checksum correct.
pub fn read_clock(picture: &Picture) -> Option<CardClock> {
    let layout = Layout::new(picture.width, picture.height)?;
    let marks = mark_levels(picture, layout);
    let (white, black) = mark_means(&marks);
    let threshold = (white + black) / 2;
    if white < black + MIN_CONTRAST || marks.iter().any(|&(white, level)| white != (level > threshold)) {
        return None;
    }
    let mut read = [0u32; ROWS];
    for (row, word) in read.iter_mut().enumerate() {
        for bit in 0..32 {
            *word = *word << 1 | u32::from(level(picture, layout, MARKS + bit, row) > threshold);
        }
    }
    let clock = CardClock {
        event: read[0],
        wall_us: u64::from(read[1]) << 32 | u64::from(read[2]),
    };
    (words(clock) == read).then_some(clock)
}

/// Reads the [`CLOCK_BITS`] bits of the strip one by one, however damaged it is: true for a white cell. A cell is white
/// above the middle between the marks; where these differ too little, above the mean of all cells. `None` if a strip
/// does not fit the picture.
pub fn read_clock_bits(picture: &Picture) -> Option<Vec<bool>> {
    let layout = Layout::new(picture.width, picture.height)?;
    let cells = (0..ROWS).flat_map(|row| (0..32).map(move |bit| (MARKS + bit, row)));
    let levels: Vec<usize> = cells.map(|(column, row)| level(picture, layout, column, row)).collect();
    let (white, black) = mark_means(&mark_levels(picture, layout));
    let threshold = match white >= black + MIN_CONTRAST {
        true => (white + black) / 2,
        false => levels.iter().sum::<usize>() / CLOCK_BITS,
    };
    Some(levels.into_iter().map(|level| level > threshold).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_everybody_knows() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn reads_what_was_drawn_at_every_size() {
        for (width, height) in [
            (160, 120),
            (176, 144),
            (320, 240),
            (640, 480),
            (854, 480),
            (1080, 1920),
            (3840, 2160),
        ] {
            let layout = Layout::new(width, height).expect("room for the strip");
            for clock in [
                CardClock { event: 0, wall_us: 0 },
                CardClock {
                    event: u32::MAX,
                    wall_us: u64::MAX,
                },
                CardClock {
                    event: 0x0123_4567,
                    wall_us: 0x89AB_CDEF_0011_2233,
                },
            ] {
                let mut picture = Picture::black(width, height);
                assert_eq!(read_clock(&picture), None);
                draw(&mut picture, layout, clock);
                assert_eq!(read_clock(&picture), Some(clock), "{width}x{height}");
            }
        }
        assert!(Layout::new(142, 480).is_none() && Layout::new(640, 78).is_none());
    }

    #[test]
    fn bits_of_a_strip_are_read_one_by_one_though_its_marks_are_gone() {
        let layout = Layout::new(320, 240).expect("room for the strip");
        let mut picture = Picture::black(320, 240);
        draw(
            &mut picture,
            layout,
            CardClock {
                event: 0x8000_0001,
                wall_us: 3,
            },
        );
        let bits = read_clock_bits(&picture).expect("a strip");
        let set: Vec<usize> = (0..96).filter(|&bit| bits[bit]).collect();
        assert_eq!((bits.len(), set), (CLOCK_BITS, vec![0, 31, 94, 95]));
        for line in picture.y.chunks_exact_mut(320).skip(layout.y).take(ROWS * layout.cell) {
            line[layout.x..layout.x + MARKS * layout.cell].fill(BLACK);
        }
        assert_eq!((read_clock(&picture), read_clock_bits(&picture)), (None, Some(bits)));
    }

    #[test]
    fn a_damaged_strip_is_no_clock() {
        let layout = Layout::new(640, 480).expect("room for the strip");
        let mut picture = Picture::black(640, 480);
        draw(&mut picture, layout, CardClock { event: 5, wall_us: 6 });
        for column in 0..COLUMNS {
            let mut damaged = picture.clone();
            for line in damaged.y.chunks_exact_mut(640).skip(layout.y).take(layout.cell) {
                let x = layout.x + column * layout.cell;
                line[x..x + layout.cell]
                    .iter_mut()
                    .for_each(|p| *p = WHITE - (*p - BLACK));
            }
            assert_eq!(read_clock(&damaged), None, "column {column}");
        }
    }
}
