//! AV1 parsing for sources and sinks: OBUs, contents of the sequence header, and detection of keyframes. Chapters are
//! those of the AV1 bitstream specification, version 1.0.0 with errata 1.

use bytes::{BufMut, Bytes, BytesMut};
use h264_reader::rbsp::{BitRead, BitReader, BitReaderError};

use super::coded::{ASSUMED_RATE, MAX_FRAME_BYTES, MediaError, Result, sane_rate};
use super::h264::too_large;
use crate::media::{Codec, FrameRate, StreamInfo};

/// The temporal delimiter, which begins each temporal unit of a byte stream. Frames are without it.
pub const DELIMITER: [u8; 2] = [0x12, 0x00];

/// Sequence headers with more content are refused: real ones have about a dozen bytes.
const MAX_SEQUENCE_BYTES: usize = 1000;

/// Bytes of a size (leb128) at most (4.10.5).
const MAX_SIZE_BYTES: usize = 8;

/// OBU types (6.2.2).
mod obu_type {
    pub(super) const SEQUENCE_HEADER: u8 = 1;
    pub(super) const TEMPORAL_DELIMITER: u8 = 2;
    pub(super) const FRAME_HEADER: u8 = 3;
    pub(super) const FRAME: u8 = 6;
}

/// An OBU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Obu<'a> {
    /// Its header of one or two bytes, in which a size may be announced.
    header: &'a [u8],
    /// All its bytes.
    whole: &'a [u8],
    /// Bytes after header and size.
    content: &'a [u8],
}

impl Obu<'_> {
    fn kind(&self) -> u8 {
        self.header.first().map_or(0, |first| first >> 3 & 0x0f)
    }

    pub(super) fn is_delimiter(&self) -> bool {
        self.kind() == obu_type::TEMPORAL_DELIMITER
    }

    fn has_size(&self) -> bool {
        self.header.first().is_some_and(|first| first & 2 != 0)
    }

    /// Number of all its bytes.
    pub(super) fn len(&self) -> usize {
        self.whole.len()
    }

    /// Writes it with a size.
    fn put_sized(&self, out: &mut BytesMut) {
        if self.has_size() {
            out.put_slice(self.whole);
            return;
        }
        let (first, extension) = self.header.split_first().unwrap_or((&0, &[]));
        out.put_u8(first | 2);
        out.put_slice(extension);
        let mut size = self.content.len();
        while size >= 0x80 {
            out.put_u8((size & 0x7f) as u8 | 0x80);
            size >>= 7;
        }
        out.put_u8(size as u8);
        out.put_slice(self.content);
    }
}

/// Beginning of some data.
pub(super) enum Begin<'a> {
    /// An OBU.
    Obu(Obu<'a>),
    /// The beginning of an OBU with so many bytes, or of one whose size is not complete.
    Cut(Option<usize>),
    /// No OBU.
    Nonsense,
}

/// Finds the OBU at the beginning of `data`. One without a size goes on to the end.
pub(super) fn first_obu(data: &[u8]) -> Begin<'_> {
    let Some(&first) = data.first() else {
        return Begin::Cut(None);
    };
    if first & 0x80 != 0 {
        return Begin::Nonsense;
    }
    let head = 1 + usize::from(first & 4 != 0);
    let Some(header) = data.get(..head) else {
        return Begin::Cut(None);
    };
    if first & 2 == 0 {
        return Begin::Obu(Obu {
            header,
            whole: data,
            content: &data[head..],
        });
    }
    let mut size: u64 = 0;
    for at in 0..MAX_SIZE_BYTES {
        let Some(byte) = data.get(head + at) else {
            return Begin::Cut(None);
        };
        size |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 != 0 {
            continue;
        }
        let begin = head + at + 1;
        let Some(end) = usize::try_from(size).ok().and_then(|size| begin.checked_add(size)) else {
            return Begin::Nonsense;
        };
        return match data.get(..end) {
            Some(whole) => Begin::Obu(Obu {
                header,
                whole,
                content: &whole[begin..],
            }),
            None => Begin::Cut(Some(end)),
        };
    }
    Begin::Nonsense
}

/// The OBUs of a temporal unit.
fn obus(unit: &[u8]) -> impl Iterator<Item = Result<Obu<'_>>> {
    let mut rest = unit;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Begin::Obu(obu) = first_obu(rest) else {
            rest = &[];
            return Some(Err(MediaError::Damaged("an OBU is longer than its frame".into())));
        };
        rest = &rest[obu.len()..];
        Some(Ok(obu))
    })
}

/// Contents of a sequence header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// Width in pixels.
    pub width: u16,
    /// Height in pixels.
    pub height: u16,
    /// Frames per second, if stated.
    pub rate: Option<FrameRate>,
    /// `seq_profile`, 0 to 2.
    pub profile: u8,
    /// `seq_level_idx[0]`.
    pub level: u8,
    /// `seq_tier[0]`.
    pub tier: bool,
    /// `high_bitdepth`: 10 or 12 bits for each sample.
    pub high_depth: bool,
    /// `twelve_bit`.
    pub twelve_bits: bool,
    /// `mono_chrome`.
    pub monochrome: bool,
    /// `subsampling_x` and `subsampling_y`.
    pub subsampling: [bool; 2],
    /// `chroma_sample_position`, 0 to 3.
    pub chroma_position: u8,
    /// `reduced_still_picture_header`: every frame is a keyframe.
    reduced: bool,
}

/// Reads the content of a sequence header (5.5.1).
///
/// # Errors
/// A message if it is too short, or its size is implausible.
pub fn read_sequence(content: &[u8]) -> Result<Sequence> {
    let damaged = |what: String| MediaError::Damaged(format!("its sequence header {what}"));
    if content.len() > MAX_SEQUENCE_BYTES {
        return Err(damaged(format!("has {} bytes", content.len())));
    }
    let mut bits = BitReader::new(content);
    let (sequence, sides) = read_fields(&mut bits).map_err(|e| damaged(format!("is wrong: {e:?}")))?;
    let [width, height] = sides.map(|side| u16::try_from(side).ok().filter(|side| *side <= 16_384));
    let (Some(width), Some(height)) = (width, height) else {
        return Err(damaged(format!(
            "asks for pictures of {}x{} pixels",
            sides[0], sides[1]
        )));
    };
    Ok(Sequence {
        width,
        height,
        ..sequence
    })
}

type Bits<T> = std::result::Result<T, BitReaderError>;

fn read_fields(bits: &mut impl BitRead) -> Bits<(Sequence, [u32; 2])> {
    let mut sequence = Sequence {
        profile: bits.read::<u8>(3, "seq_profile")?,
        ..Sequence::default()
    };
    bits.skip(1, "still_picture")?;
    sequence.reduced = bits.read_bool("reduced_still_picture_header")?;
    if sequence.reduced {
        sequence.level = bits.read::<u8>(5, "seq_level_idx")?;
    } else {
        read_operating_points(bits, &mut sequence)?;
    }
    let widths = [
        bits.read::<u32>(4, "frame_width_bits")? + 1,
        bits.read::<u32>(4, "frame_height_bits")? + 1,
    ];
    let mut sides = [0; 2];
    for (side, width) in sides.iter_mut().zip(widths) {
        *side = bits.read::<u32>(width, "max_frame_size_minus_1")? + 1;
    }
    if !sequence.reduced && bits.read_bool("frame_id_numbers_present_flag")? {
        bits.skip(4 + 3, "delta_frame_id_length and additional_frame_id_length")?;
    }
    bits.skip(
        3,
        "use_128x128_superblock, enable_filter_intra and enable_intra_edge_filter",
    )?;
    if !sequence.reduced {
        read_tools(bits)?;
    }
    bits.skip(3, "enable_superres, enable_cdef and enable_restoration")?;
    read_colour(bits, &mut sequence)?;
    Ok((sequence, sides))
}

/// Reads from `timing_info_present_flag` to the end of the operating points.
fn read_operating_points(bits: &mut impl BitRead, sequence: &mut Sequence) -> Bits<()> {
    let mut delay_bits = None;
    if bits.read_bool("timing_info_present_flag")? {
        let tick = bits.read::<u32>(32, "num_units_in_display_tick")?;
        let scale = bits.read::<u32>(32, "time_scale")?;
        if bits.read_bool("equal_picture_interval")? {
            // uvlc() is written as ue(v).
            let ticks = bits.read_ue("num_ticks_per_picture_minus_1")?;
            let units = ticks.checked_add(1).and_then(|ticks| ticks.checked_mul(tick));
            sequence.rate = units.and_then(|units| sane_rate(scale, units));
        }
        if bits.read_bool("decoder_model_info_present_flag")? {
            delay_bits = Some(bits.read::<u32>(5, "buffer_delay_length_minus_1")? + 1);
            bits.skip(32 + 5 + 5, "decoder_model_info")?;
        }
    }
    let delays = bits.read_bool("initial_display_delay_present_flag")?;
    let last = bits.read::<u8>(5, "operating_points_cnt_minus_1")?;
    for point in 0..=last {
        bits.skip(12, "operating_point_idc")?;
        let level = bits.read::<u8>(5, "seq_level_idx")?;
        let tier = level > 7 && bits.read_bool("seq_tier")?;
        if point == 0 {
            (sequence.level, sequence.tier) = (level, tier);
        }
        if let Some(delay_bits) = delay_bits
            && bits.read_bool("decoder_model_present_for_this_op")?
        {
            bits.skip(2 * delay_bits + 1, "operating_parameters_info")?;
        }
        if delays && bits.read_bool("initial_display_delay_present_for_this_op")? {
            bits.skip(4, "initial_display_delay_minus_1")?;
        }
    }
    Ok(())
}

/// Reads from `enable_interintra_compound` to `order_hint_bits_minus_1`.
fn read_tools(bits: &mut impl BitRead) -> Bits<()> {
    bits.skip(4, "enable_interintra_compound to enable_dual_filter")?;
    let order_hint = bits.read_bool("enable_order_hint")?;
    if order_hint {
        bits.skip(2, "enable_jnt_comp and enable_ref_frame_mvs")?;
    }
    let screen =
        bits.read_bool("seq_choose_screen_content_tools")? || bits.read_bool("seq_force_screen_content_tools")?;
    if screen && !bits.read_bool("seq_choose_integer_mv")? {
        bits.skip(1, "seq_force_integer_mv")?;
    }
    if order_hint {
        bits.skip(3, "order_hint_bits_minus_1")?;
    }
    Ok(())
}

/// Reads the colour configuration (5.5.2) up to the position of chroma samples.
fn read_colour(bits: &mut impl BitRead, sequence: &mut Sequence) -> Bits<()> {
    /// BT.709, sRGB, identity (6.4.2): RGB, which has no subsampling.
    const RGB: [u8; 3] = [1, 13, 0];
    sequence.high_depth = bits.read_bool("high_bitdepth")?;
    sequence.twelve_bits = sequence.profile == 2 && sequence.high_depth && bits.read_bool("twelve_bit")?;
    sequence.monochrome = sequence.profile != 1 && bits.read_bool("mono_chrome")?;
    let mut colour = [2; 3];
    if bits.read_bool("color_description_present_flag")? {
        for part in &mut colour {
            *part = bits.read::<u8>(8, "color_description")?;
        }
    }
    if sequence.monochrome {
        sequence.subsampling = [true; 2];
        return Ok(());
    }
    if colour == RGB {
        return Ok(());
    }
    bits.skip(1, "color_range")?;
    sequence.subsampling = match sequence.profile {
        0 => [true; 2],
        1 => [false; 2],
        _ if sequence.twelve_bits => {
            let across = bits.read_bool("subsampling_x")?;
            [across, across && bits.read_bool("subsampling_y")?]
        }
        _ => [true, false],
    };
    if sequence.subsampling == [true; 2] {
        sequence.chroma_position = bits.read::<u8>(2, "chroma_sample_position")?;
    }
    Ok(())
}

/// True if the frame header at the beginning of this content (5.9.2) is of a key frame that is shown.
fn is_key_frame(content: &[u8], reduced: bool) -> bool {
    const KEY_FRAME: u8 = 0;
    let Some(&first) = content.first() else { return false };
    // show_existing_frame, two bits of frame_type, show_frame.
    let (existing, kind, shown) = (first & 0x80 != 0, first >> 5 & 3, first & 0x10 != 0);
    reduced || (!existing && kind == KEY_FRAME && shown)
}

/// Converts the temporal units of one stream to self-contained frames: detects keyframes, leaves temporal delimiters
/// out, gives every OBU its size, and adds the sequence header to keyframes that lack it.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// The sequence header with its own header and size.
    header: Bytes,
    sequence: Option<Sequence>,
}

impl Stream {
    /// Takes the sequence header among the OBUs of a description.
    ///
    /// # Errors
    /// The OBUs are damaged, or it cannot be used.
    pub fn learn(&mut self, description: &[u8]) -> Result<()> {
        for obu in obus(description) {
            self.take(obu?)?;
        }
        Ok(())
    }

    /// Takes an OBU if it is a sequence header; returns true if it is one.
    fn take(&mut self, obu: Obu<'_>) -> Result<bool> {
        if obu.kind() != obu_type::SEQUENCE_HEADER {
            return Ok(false);
        }
        // Without an extension and without superfluous bytes in its size, whatever came.
        let plain = Obu {
            header: &[obu_type::SEQUENCE_HEADER << 3],
            ..obu
        };
        let mut header = BytesMut::new();
        plain.put_sized(&mut header);
        if self.header != header {
            self.sequence = Some(read_sequence(obu.content)?);
            self.header = header.freeze();
        }
        Ok(true)
    }

    /// Contents of the latest sequence header.
    pub fn sequence(&self) -> Option<Sequence> {
        self.sequence
    }

    /// True if a decoder could start at a keyframe now.
    pub fn is_decodable(&self) -> bool {
        self.sequence.is_some()
    }

    /// Description of the stream; `rate` overrides the rate that the stream states.
    pub fn info(&self, rate: Option<FrameRate>) -> StreamInfo {
        let sequence = self.sequence.unwrap_or_default();
        StreamInfo {
            codec: Codec::Av1,
            width: sequence.width,
            height: sequence.height,
            rate: rate.or(sequence.rate).unwrap_or(ASSUMED_RATE),
            parameters: self.header.to_vec(),
        }
    }

    /// Inspects a temporal unit; returns the frame to deliver, and true if it is a keyframe.
    ///
    /// # Errors
    /// It is no sequence of OBUs, its sequence header cannot be used, or it is too large.
    pub fn finish(&mut self, unit: Bytes) -> Result<(Bytes, bool)> {
        let (mut key, mut described, mut as_it_is) = (None, false, true);
        for obu in obus(&unit) {
            let obu = obu?;
            as_it_is &= obu.has_size() && !obu.is_delimiter();
            // The first frame decides: what depends on others comes after it.
            if matches!(obu.kind(), obu_type::FRAME | obu_type::FRAME_HEADER) && key.is_none() {
                let reduced = self.sequence.is_some_and(|sequence| sequence.reduced);
                key = Some(is_key_frame(obu.content, reduced));
            }
            described |= self.take(obu)?;
        }
        let keyframe = key == Some(true);
        let insert = keyframe && !described;
        let unit = match as_it_is && !insert {
            true => unit,
            false => {
                let mut out = BytesMut::with_capacity(unit.len() + self.header.len() + MAX_SIZE_BYTES);
                if insert {
                    out.put_slice(&self.header);
                }
                for obu in obus(&unit).flatten().filter(|obu| !obu.is_delimiter()) {
                    obu.put_sized(&mut out);
                }
                out.freeze()
            }
        };
        if unit.len() > MAX_FRAME_BYTES {
            return Err(too_large(unit.len()));
        }
        Ok((unit, keyframe))
    }
}
