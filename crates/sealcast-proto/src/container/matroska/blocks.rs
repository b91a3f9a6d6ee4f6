//! Blocks: the frames of a track with their time.

use super::ebml::number;

/// Most frames of a block.
const MAX_LACED: usize = 256;

/// Ways in which a block has several frames.
const XIPH: u8 = 1;
const FIXED: u8 = 2;
const EBML: u8 = 3;

/// A block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block<'a> {
    pub(super) track: u64,
    /// Time from that of its cluster in ticks.
    pub(super) relative: i16,
    /// The flag of keyframes, which only a block has that stands alone.
    pub(super) keyframe: bool,
    pub(super) frames: Vec<&'a [u8]>,
}

impl<'a> Block<'a> {
    /// Reads a block. `None` if it is damaged.
    pub(super) fn parse(content: &'a [u8]) -> Option<Self> {
        let (track, length) = number(content).ok()?;
        let (head, rest) = content[length..].split_first_chunk::<3>()?;
        let frames = match head[2] >> 1 & 3 {
            0 => vec![rest],
            lacing => laced(lacing, rest)?,
        };
        Some(Self {
            track: track?,
            relative: i16::from_be_bytes([head[0], head[1]]),
            keyframe: head[2] & 0x80 != 0,
            frames,
        })
    }
}

/// The frames of a block that has several.
fn laced(lacing: u8, content: &[u8]) -> Option<Vec<&[u8]>> {
    let (count, mut rest) = content.split_first()?;
    let count = usize::from(*count) + 1;
    debug_assert!(count <= MAX_LACED);
    let mut sizes = Vec::with_capacity(count);
    match lacing {
        XIPH => {
            for _ in 1..count {
                let mut size = 0;
                loop {
                    let (byte, more) = rest.split_first()?;
                    size += usize::from(*byte);
                    rest = more;
                    if *byte != 255 {
                        break;
                    }
                }
                sizes.push(size);
            }
        }
        FIXED => {
            if !rest.len().is_multiple_of(count) {
                return None;
            }
            sizes.resize(count - 1, rest.len() / count);
        }
        EBML => {
            let mut size = 0_i64;
            for at in 1..count {
                let (value, length) = number(rest).ok()?;
                let value = i64::try_from(value?).ok()?;
                rest = &rest[length..];
                // All but the first are differences, written above the least that has their length.
                size = match at {
                    1 => value,
                    _ => size.checked_add(value - ((1 << (7 * length - 1)) - 1))?,
                };
                sizes.push(usize::try_from(size).ok()?);
            }
        }
        _ => return None,
    }
    let mut frames = Vec::with_capacity(count);
    for size in sizes {
        let (frame, more) = rest.split_at_checked(size)?;
        frames.push(frame);
        rest = more;
    }
    frames.push(rest);
    Some(frames)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_in_each_way_of_having_several() {
        let frames = [&[1; 300][..], &[2; 10], &[3; 12]];
        let content = frames.concat();
        let block = |flags: u8, sizes: &[u8], content: &[u8]| [&[0x81, 0xff, 0xfe, flags][..], sizes, content].concat();
        // 300 is 0x412c; -290 is 0x1fff - 290 in two bytes.
        let minus = (8191 - 290_u16) | 0x4000;
        let ebml = [&[2, 0x41, 0x2c][..], &minus.to_be_bytes()].concat();
        for bytes in [block(0x82, &[2, 255, 45, 10], &content), block(0x86, &ebml, &content)] {
            let read = Block::parse(&bytes).expect("a block");
            assert_eq!((read.track, read.relative, read.keyframe), (1, -2, true));
            assert_eq!(read.frames, frames);
        }
        let fixed = block(0x04, &[2], &[7; 30]);
        let read = Block::parse(&fixed).expect("a block");
        assert_eq!((read.frames, read.keyframe), (vec![&[7; 10][..]; 3], false));
        let single = block(0, &[], &[9; 5]);
        assert_eq!(Block::parse(&single).expect("a block").frames, [&[9; 5][..]]);
        for wrong in [
            block(0x04, &[2], &[7; 31]),
            block(0x82, &[2, 255], &[]),
            vec![0x81, 0, 0],
            vec![],
        ] {
            assert_eq!(Block::parse(&wrong), None, "{wrong:?}");
        }
    }
}
