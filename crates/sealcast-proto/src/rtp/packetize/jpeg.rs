//! Motion JPEG into payloads (RFC 2435).

use crate::rtp::HUFFMAN_TABLES;

const SOF0: u8 = 0xC0;
const DHT: u8 = 0xC4;
const SOI: u8 = 0xD8;
const EOI: u8 = 0xD9;
const SOS: u8 = 0xDA;
const DQT: u8 = 0xDB;
const DRI: u8 = 0xDD;
/// Other frame headers than that of baseline images.
const OTHER_FRAMES: [u8; 12] = [0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF];
/// Most pixels of a side: a field of 8 bits counts blocks of 8.
const MAX_SIDE: usize = 2040;
/// The tables come with each picture.
const TABLES_FOLLOW: u8 = 255;
/// Added to the type of pictures with restart markers.
const RESTARTS: u8 = 64;
/// Says of a packet that it need not begin with a restart interval.
const ANY_RESTART: u16 = 0xffff;

const NO_IMAGE: &str = "it is no JPEG image";
const NOT_BASELINE: &str = "it is no baseline JPEG image of three components with 8 bits";
const SAMPLING: &str = "its colours are sampled otherwise than 4:2:2 or 4:2:0";
const TOO_LARGE: &str = "it is larger than 2040 pixels, which RTP cannot say";
const HUFFMAN: &str = "its Huffman tables are its own, which RTP cannot carry: encode it with the standard ones";
const QUANTIZATION: &str = "its colours have two quantization tables, or ones of 16 bits, which RTP cannot carry";

/// Facts in the headers of an image.
#[derive(Default)]
struct Head<'a> {
    tables: [Option<&'a [u8; 64]>; 4],
    /// Type, width and height in blocks, and the tables of luma and chroma.
    frame: Option<(u8, u8, u8, [usize; 2])>,
    restart: u16,
}

/// Cuts one image into payloads of so many bytes at most.
pub(super) fn cut(data: &[u8], longest: usize, out: &mut Vec<Vec<u8>>) -> Result<(), &'static str> {
    let (head, scan) = parse(data)?;
    let (kind, width, height, tables) = head.frame.ok_or(NO_IMAGE)?;
    let mut quantization = vec![0, 0, 0, 128];
    for table in tables {
        quantization.extend_from_slice(head.tables[table].ok_or(QUANTIZATION)?);
    }
    let restarts = head.restart > 0;
    let kind = kind + if restarts { RESTARTS } else { 0 };
    let mut offset = 0;
    while offset < scan.len() {
        let [_, o0, o1, o2] = (offset as u32).to_be_bytes();
        let mut payload = vec![0, o0, o1, o2, kind, TABLES_FOLLOW, width, height];
        if restarts {
            payload.extend_from_slice(&head.restart.to_be_bytes());
            payload.extend_from_slice(&ANY_RESTART.to_be_bytes());
        }
        if offset == 0 {
            payload.extend_from_slice(&quantization);
        }
        let length = (scan.len() - offset).min(longest - payload.len());
        payload.extend_from_slice(&scan[offset..offset + length]);
        offset += length;
        out.push(payload);
    }
    Ok(())
}

/// The headers of an image, and its scan without the end.
fn parse(data: &[u8]) -> Result<(Head<'_>, &[u8]), &'static str> {
    let mut rest = data.strip_prefix(&[0xFF, SOI]).ok_or(NO_IMAGE)?;
    let mut head = Head::default();
    loop {
        while let [0xFF, 0xFF, ..] = rest {
            rest = &rest[1..];
        }
        let [0xFF, code, high, low, ..] = *rest else {
            return Err(NO_IMAGE);
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        let segment = rest.get(4..2 + length).ok_or(NO_IMAGE)?;
        rest = &rest[2 + length..];
        match code {
            DQT => head.quantization(segment)?,
            SOF0 => head.frame(segment)?,
            DRI => head.restart = u16::from_be_bytes(*segment.first_chunk().ok_or(NO_IMAGE)?),
            DHT => standard(segment)?,
            SOS => break,
            _ if OTHER_FRAMES.contains(&code) => return Err(NOT_BASELINE),
            _ => {}
        }
    }
    let end = rest.windows(2).rposition(|pair| pair == [0xFF, EOI]);
    let scan = &rest[..end.unwrap_or(rest.len())];
    if scan.is_empty() || scan.len() >= 1 << 24 {
        return Err(NO_IMAGE);
    }
    Ok((head, scan))
}

impl<'a> Head<'a> {
    fn quantization(&mut self, mut segment: &'a [u8]) -> Result<(), &'static str> {
        while let Some((&which, after)) = segment.split_first() {
            let (table, after) = after.split_first_chunk().ok_or(NO_IMAGE)?;
            let place = self.tables.get_mut(usize::from(which)).ok_or(QUANTIZATION)?;
            (*place, segment) = (Some(table), after);
        }
        Ok(())
    }

    fn frame(&mut self, segment: &[u8]) -> Result<(), &'static str> {
        let [8, h0, h1, w0, w1, 3, _, luma, q0, _, 0x11, q1, _, 0x11, q2] = *segment else {
            return Err(match segment.first_chunk() {
                Some([8, _, _, _, _, 3]) => SAMPLING,
                _ => NOT_BASELINE,
            });
        };
        let kind = match luma {
            0x21 => 0,
            0x22 => 1,
            _ => return Err(SAMPLING),
        };
        let [height, width] = [[h0, h1], [w0, w1]].map(|side| usize::from(u16::from_be_bytes(side)));
        if width.max(height) > MAX_SIDE || width.min(height) == 0 {
            return Err(TOO_LARGE);
        }
        let table = |which: u8| self.tables.get(usize::from(which)).copied().flatten();
        if table(q1) != table(q2) || q0 > 3 || q1 > 3 {
            return Err(QUANTIZATION);
        }
        let blocks = |side: usize| side.div_ceil(8) as u8;
        self.frame = Some((kind, blocks(width), blocks(height), [q0.into(), q1.into()]));
        Ok(())
    }
}

/// Refuses Huffman tables that are not those of annex K.3, which players use.
fn standard(mut segment: &[u8]) -> Result<(), &'static str> {
    while !segment.is_empty() {
        let counts = segment.get(1..17).ok_or(NO_IMAGE)?;
        let length = 17 + counts.iter().map(|count| usize::from(*count)).sum::<usize>();
        let table = segment.get(..length).ok_or(NO_IMAGE)?;
        if !HUFFMAN_TABLES.windows(length).any(|known| known == table) {
            return Err(HUFFMAN);
        }
        segment = &segment[length..];
    }
    Ok(())
}
