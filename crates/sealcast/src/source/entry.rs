//! Forms of frames in containers that describe them apart from the frames: MP4 and Matroska.

use bytes::{BufMut, Bytes, BytesMut};
use shiguredo_mp4::Decode;
use shiguredo_mp4::boxes::{Av1cBox, AvccBox, HvccBox};

use super::coded::{MediaError, Result};
use super::h264::START_CODE;
use super::mp4_track::damaged;
use super::predicted::Predicted;
use crate::media::{Codec, SoundInfo};

/// Form of the frames of a track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// H.264 with length fields of `length_bytes` bytes before NAL units, and these parameter sets.
    Avc { length_bytes: usize, sets: Vec<Vec<u8>> },
    /// The same for H.265.
    Hevc { length_bytes: usize, sets: Vec<Vec<u8>> },
    /// One temporal unit of AV1 each, with the OBUs that describe them.
    Av1 { description: Vec<u8> },
    /// One JPEG image each.
    Jpeg,
    /// One packet of sound each.
    Sound(SoundInfo),
    /// A format that sealcast does not carry, by its name.
    Other(String),
}

impl Entry {
    pub(super) fn avc(avcc: &AvccBox) -> Self {
        let sets = avcc.sps_list.iter().chain(&avcc.pps_list).cloned().collect();
        Self::Avc {
            length_bytes: usize::from(avcc.length_size_minus_one.get()) + 1,
            sets,
        }
    }

    pub(super) fn hevc(hvcc: &HvccBox) -> Self {
        let sets = hvcc.nalu_arrays.iter().flat_map(|array| &array.nalus).cloned();
        Self::Hevc {
            length_bytes: usize::from(hvcc.length_size_minus_one.get()) + 1,
            sets: sets.collect(),
        }
    }

    pub(super) fn av1(av1c: &Av1cBox) -> Self {
        Self::Av1 {
            description: av1c.config_obus.clone(),
        }
    }

    /// The form of pictures that are described by the content of the box `avcC`, `hvcC` or `av1C`.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn described(codec: Codec, content: &[u8]) -> Result<Self> {
        let kind: &[u8; 4] = match codec {
            Codec::H264 => b"avcC",
            Codec::H265 => b"hvcC",
            Codec::Av1 => b"av1C",
            Codec::Mjpeg => return Ok(Self::Jpeg),
        };
        let size = u32::try_from(content.len() + 8).unwrap_or(0);
        let boxed = [&size.to_be_bytes()[..], kind, content].concat();
        Ok(match codec {
            Codec::H264 => Self::avc(&AvccBox::decode(&boxed).map_err(damaged)?.0),
            Codec::H265 => Self::hevc(&HvccBox::decode(&boxed).map_err(damaged)?.0),
            _ => Self::av1(&Av1cBox::decode(&boxed).map_err(damaged)?.0),
        })
    }

    /// Stores the parameters that stand in it.
    ///
    /// # Errors
    /// They cannot be used.
    pub(super) fn learn(&self, stream: &mut Predicted) -> Result<()> {
        match self {
            Self::Avc { sets, .. } | Self::Hevc { sets, .. } => sets.iter().try_for_each(|nal| stream.learn(nal)),
            Self::Av1 { description } => stream.learn(description),
            Self::Jpeg | Self::Sound(_) | Self::Other(_) => Ok(()),
        }
    }

    /// The frame to deliver of one in this form, and true if it is a keyframe. `sync` is true if the container marks it
    /// as one.
    ///
    /// # Errors
    /// It is damaged, or of a codec that is not carried.
    pub(super) fn frame(&self, stream: &mut Predicted, data: Vec<u8>, sync: bool) -> Result<(Bytes, bool)> {
        let data = match self {
            Self::Jpeg => return Ok((data.into(), true)),
            Self::Avc { length_bytes, .. } | Self::Hevc { length_bytes, .. } => to_annex_b(&data, *length_bytes)?,
            Self::Av1 { .. } => data.into(),
            Self::Other(name) => return Err(MediaError::Unsupported(name.clone())),
            Self::Sound(_) => return Err(MediaError::Unsupported("a picture's track with sound in it".into())),
        };
        let (data, keyframe) = stream.finish(data, sync)?;
        Ok((data, keyframe && stream.is_decodable()))
    }
}

/// Replaces the lengths before NAL units with start codes.
fn to_annex_b(sample: &[u8], length_bytes: usize) -> Result<Bytes> {
    let mut out = BytesMut::with_capacity(sample.len() + 64);
    let mut rest = sample;
    while !rest.is_empty() {
        let cut = || MediaError::Damaged("a NAL unit is longer than its frame".into());
        let (length, tail) = rest.split_at_checked(length_bytes).ok_or_else(cut)?;
        let length = length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        let (nal, tail) = tail.split_at_checked(length).ok_or_else(cut)?;
        rest = tail;
        if !nal.is_empty() {
            out.put_slice(&START_CODE);
            out.put_slice(nal);
        }
    }
    Ok(out.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_become_start_codes() {
        let sample = [&[0, 0, 0, 2, 0x65, 1][..], &[0, 0, 0, 0], &[0, 0, 0, 1, 0x41]].concat();
        let expected = [0, 0, 0, 1, 0x65, 1, 0, 0, 0, 1, 0x41];
        assert_eq!(to_annex_b(&sample, 4).expect("a frame"), expected[..]);
        assert_eq!(to_annex_b(&[2, 0x65, 1, 1, 0x41], 1).expect("a frame"), expected[..]);
        assert!(to_annex_b(&[0, 0, 0, 3, 0x65, 1], 4).is_err());
        assert!(to_annex_b(&[0, 0], 4).is_err());
    }
}
