//! The video track of an MP4 file: format and positions of its frames.

use std::num::NonZeroU32;

use shiguredo_mp4::Decode;
use shiguredo_mp4::aux::SampleTableAccessor;
use shiguredo_mp4::boxes::{Avc1Box, MvexBox, SampleEntry, StblBox, StsdBox, TrakBox};

use super::coded::{MediaError, Result, sane_rate};
use super::mp4_boxes::{Child, child, children};
use super::mp4_fragments::Defaults;
use crate::media::FrameRate;

/// Length in bytes of the fixed fields of a visual sample entry, before its boxes.
const VISUAL_FIELDS_BYTES: usize = 78;

/// Object type of JPEG in MPEG-4 Systems.
pub(crate) const JPEG_OBJECT_TYPE: u8 = 0x6c;

/// Format of the samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// H.264 with length fields of `length_bytes` bytes before NAL units, and these parameter sets.
    Avc { length_bytes: usize, sets: Vec<Vec<u8>> },
    /// One JPEG image each.
    Jpeg,
    /// A format that sealcast does not carry, by its name.
    Other(String),
}

/// Position and times of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampleAt {
    pub(super) offset: u64,
    pub(super) size: u32,
    /// Decoding time in ticks.
    pub(super) decoded: u64,
    /// Presentation time minus decoding time, in ticks.
    pub(super) shift: i64,
    pub(super) duration: u32,
    pub(super) sync: bool,
    /// Index of the sample entry that describes it, from 0.
    pub(super) description: usize,
}

impl SampleAt {
    /// Presentation time, in ticks.
    pub(super) fn shown(&self) -> i128 {
        i128::from(self.decoded) + i128::from(self.shift)
    }
}

/// The video track.
pub(super) struct Track {
    pub(super) id: u32,
    pub(super) timescale: NonZeroU32,
    pub(super) rate: Option<FrameRate>,
    pub(super) entries: Vec<Entry>,
    table: SampleTableAccessor<StblBox>,
}

impl Track {
    /// Returns the position of sample `number`, counted from 1.
    pub(super) fn sample(&self, number: NonZeroU32) -> Option<SampleAt> {
        let sample = self.table.get_sample(number)?;
        Some(SampleAt {
            offset: sample.data_offset(),
            size: sample.data_size(),
            decoded: sample.timestamp(),
            shift: sample.composition_time_offset().unwrap_or(0),
            duration: sample.duration(),
            sync: sample.is_sync_sample(),
            description: sample.chunk().sample_entry_index(),
        })
    }
}

/// Contents of the index.
pub(super) struct Movie {
    pub(super) track: Track,
    /// Present if fragments may follow.
    pub(super) defaults: Option<Defaults>,
}

/// Reads the box `moov`.
pub(super) fn read_movie(index: &[u8]) -> Result<Movie> {
    let body = children(index).next().map(|moov| moov.body).unwrap_or_default();
    let mut others = Vec::new();
    let mut found = None;
    for trak in children(body).filter(|child| &child.kind == b"trak") {
        // Skip other tracks without checking them: an error in them is no reason to refuse the video.
        match handler(&trak) {
            Some(kind) if &kind == b"vide" => {}
            Some(kind) => {
                others.push(match &kind {
                    b"soun" => "audio".to_owned(),
                    other => String::from_utf8_lossy(other).escape_default().to_string(),
                });
                continue;
            }
            None => continue,
        }
        let track = read_track(&trak)?;
        if let Some(Entry::Other(name)) = track.entries.first() {
            others.push(name.clone());
        } else if found.is_none() {
            found = Some(track);
        }
    }
    let Some(track) = found else {
        return Err(match others.is_empty() {
            true => MediaError::Empty("its index names no tracks"),
            false => MediaError::Unsupported(others.join(" and ")),
        });
    };
    let defaults = child(body, b"mvex")
        .map(|mvex| MvexBox::decode(mvex.whole))
        .transpose()
        .map_err(damaged)?;
    let defaults = defaults.map(|(mvex, _)| Defaults::of(&mvex, track.id));
    Ok(Movie { track, defaults })
}

/// The error for a box that the library could not parse.
pub(super) fn damaged(error: shiguredo_mp4::Error) -> MediaError {
    MediaError::Damaged(format!("its index cannot be understood ({})", error.reason))
}

fn handler(trak: &Child<'_>) -> Option<[u8; 4]> {
    let mdia = child(trak.body, b"mdia")?;
    child(mdia.body, b"hdlr")?.body.get(8..)?.first_chunk().copied()
}

fn read_track(trak: &Child<'_>) -> Result<Track> {
    let (trak, _) = TrakBox::decode(trak.whole).map_err(damaged)?;
    let timescale = trak.mdia_box.mdhd_box.timescale;
    let stbl = trak.mdia_box.minf_box.stbl_box;
    let entries = stbl.stsd_box.entries.iter().map(describe).collect::<Result<Vec<_>>>()?;
    let common = stbl.stts_box.entries.iter().max_by_key(|entry| entry.sample_count);
    let rate = common.and_then(|entry| sane_rate(timescale.get(), entry.sample_delta));
    check_descriptions(&stbl.stsd_box, &entries)?;
    let table = SampleTableAccessor::new(stbl)
        .map_err(|e| MediaError::Damaged(format!("its index contradicts itself ({e})")))?;
    Ok(Track {
        id: trak.tkhd_box.track_id,
        timescale,
        rate,
        entries,
        table,
    })
}

/// Refuses tracks that change from H.264 to JPEG, which exist only in test suites.
fn check_descriptions(stsd: &StsdBox, entries: &[Entry]) -> Result<()> {
    let codecs = entries.iter().map(std::mem::discriminant).collect::<Vec<_>>();
    match codecs.iter().all(|codec| Some(codec) == codecs.first()) && !stsd.entries.is_empty() {
        true => Ok(()),
        false => Err(MediaError::Unsupported("a track without one codec".into())),
    }
}

fn describe(entry: &SampleEntry) -> Result<Entry> {
    let name = |kind: &str| Entry::Other(format!("{kind} video"));
    Ok(match entry {
        SampleEntry::Avc1(avc) => avc_entry(avc),
        SampleEntry::Hev1(_) | SampleEntry::Hvc1(_) => name("HEVC (H.265)"),
        SampleEntry::Vp08(_) => name("VP8"),
        SampleEntry::Vp09(_) => name("VP9"),
        SampleEntry::Av01(_) => name("AV1"),
        SampleEntry::Unknown(unknown) => match unknown.box_type.as_bytes() {
            // As avc1, but parameter sets may also be stored between the frames.
            b"avc3" => {
                let size = u32::try_from(unknown.payload.len() + 8).unwrap_or(0);
                let avc1 = [&size.to_be_bytes()[..], b"avc1", &unknown.payload].concat();
                avc_entry(&Avc1Box::decode(&avc1).map_err(damaged)?.0)
            }
            b"jpeg" | b"mjpa" => Entry::Jpeg,
            b"mp4v" if object_type(&unknown.payload) == Some(JPEG_OBJECT_TYPE) => Entry::Jpeg,
            b"mp4v" => name("MPEG-4 part 2"),
            b"encv" => name("encrypted"),
            other => name(&String::from_utf8_lossy(other).escape_default().to_string()),
        },
        _ => name("unknown"),
    })
}

fn avc_entry(avc: &Avc1Box) -> Entry {
    let avcc = &avc.avcc_box;
    let sets = avcc.sps_list.iter().chain(&avcc.pps_list).cloned().collect();
    Entry::Avc {
        length_bytes: usize::from(avcc.length_size_minus_one.get()) + 1,
        sets,
    }
}

/// Returns the object type in the `esds` box of an MPEG-4 sample entry.
fn object_type(payload: &[u8]) -> Option<u8> {
    const ES_DESCRIPTOR: u8 = 3;
    const DECODER_CONFIG: u8 = 4;
    let esds = child(payload.get(VISUAL_FIELDS_BYTES..)?, b"esds")?;
    let rest = descriptor(esds.body.get(4..)?, ES_DESCRIPTOR)?;
    // Skip the id and flags; assume that no optional fields follow, since nobody writes them into MP4.
    descriptor(rest.get(3..)?, DECODER_CONFIG)?.first().copied()
}

/// Returns the contents of a descriptor with this tag.
fn descriptor(data: &[u8], tag: u8) -> Option<&[u8]> {
    let (first, mut rest) = data.split_first()?;
    // The length has up to four bytes; all but the last have their top bit set.
    for _ in 0..4 {
        let (byte, tail) = rest.split_first()?;
        rest = tail;
        if byte & 0x80 == 0 {
            break;
        }
    }
    (*first == tag).then_some(rest)
}
