//! The tracks of an MP4 file: format and positions of their frames.

use std::borrow::Cow;
use std::num::NonZeroU32;

use shiguredo_mp4::Decode;
use shiguredo_mp4::aux::SampleTableAccessor;
use shiguredo_mp4::boxes::{Avc1Box, EdtsBox, Mp4aBox, MvexBox, MvhdBox, SampleEntry, StblBox, StsdBox, TrakBox};

use super::coded::{MediaError, Result, sane_rate};
use super::entry::Entry;
use super::mp4_boxes::{Child, child, children, contents};
use super::mp4_fragments::Defaults;
use super::sound;
use crate::media::{FrameRate, Orientation, SoundInfo};

/// Length in bytes of the fixed fields of a visual sample entry, before its boxes.
const VISUAL_FIELDS_BYTES: usize = 78;
/// The same of a sample entry of sound.
const SOUND_FIELDS_BYTES: usize = 28;
/// Length in bytes of what stands before the entries in a box `stsd`: version, flags and their number.
const STSD_FIELDS_BYTES: usize = 8;

/// Name of a sample entry of Opus for the library, which refuses the whole track if it has more than two channels, and
/// passes over what it does not know.
const OPUS_UNREAD: &[u8] = b"opus";

/// Object type of JPEG in MPEG-4 Systems.
pub(crate) const JPEG_OBJECT_TYPE: u8 = 0x6c;

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

/// A track.
pub(super) struct Track {
    pub(super) id: u32,
    pub(super) timescale: NonZeroU32,
    pub(super) rate: Option<FrameRate>,
    pub(super) entries: Vec<Entry>,
    /// Orientation of the picture.
    pub(super) orientation: Orientation,
    /// Time that the edit list adds to those of the samples, in nanoseconds.
    pub(super) edit: i128,
    table: SampleTableAccessor<StblBox>,
}

impl Track {
    /// Presentation time of a sample on the movie's timeline, in nanoseconds.
    pub(super) fn presented(&self, sample: &SampleAt) -> i128 {
        sample.shown() * 1_000_000_000 / i128::from(self.timescale.get()) + self.edit
    }

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
    pub(super) picture: (Track, Option<Defaults>),
    /// The sound, if there is some that sealcast carries.
    pub(super) sound: Option<(Track, Option<Defaults>, SoundInfo)>,
    /// Sound that is left out, and why.
    pub(super) left_out: Vec<String>,
}

/// Reads the box `moov`.
pub(super) fn read_movie(index: &[u8]) -> Result<Movie> {
    let body = children(index).next().map(|moov| moov.body).unwrap_or_default();
    let (mut others, mut left_out) = (Vec::new(), Vec::new());
    let (mut found, mut heard) = (None, None);
    let movie_timescale = child(body, b"mvhd")
        .and_then(|mvhd| MvhdBox::decode(mvhd.whole).ok())
        .map_or(NonZeroU32::MIN, |(mvhd, _)| mvhd.timescale);
    for trak in children(body).filter(|child| &child.kind == b"trak") {
        // Skip other tracks without checking them: an error in them is no reason to refuse the video.
        match handler(&trak) {
            Some(kind) if &kind == b"vide" => {}
            Some(kind) if &kind == b"soun" => {
                others.push("audio".to_owned());
                match read_sound(&trak, movie_timescale) {
                    Ok(_) if heard.is_some() => left_out.push("another track of sound".to_owned()),
                    Ok(sound) => heard = Some(sound),
                    Err(why) => left_out.push(why),
                }
                continue;
            }
            Some(kind) => {
                others.push(String::from_utf8_lossy(&kind).escape_default().to_string());
                continue;
            }
            None => continue,
        }
        let track = read_track(trak.whole, movie_timescale)?;
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
    let defaults_of = |track: &Track| defaults.as_ref().map(|(mvex, _)| Defaults::of(mvex, track.id));
    let (of_picture, of_sound) = (
        defaults_of(&track),
        heard.as_ref().and_then(|(track, _)| defaults_of(track)),
    );
    Ok(Movie {
        sound: heard.map(|(track, info)| (track, of_sound, info)),
        picture: (track, of_picture),
        left_out,
    })
}

/// Reads a track of sound, or says in words why it is left out.
fn read_sound(trak: &Child<'_>, movie_timescale: NonZeroU32) -> std::result::Result<(Track, SoundInfo), String> {
    let track = read_track(&without_opus(trak.whole), movie_timescale).map_err(|error| {
        let form = "sound in a form that is not read here, as QuickTime writes it: rewrap the file with ffmpeg";
        format!("{form} -i IN -c copy OUT.mp4 (it {error})")
    })?;
    match &track.entries[..] {
        [Entry::Sound(info)] => {
            let info = info.clone();
            Ok((track, info))
        }
        // What is not known here is named like a picture.
        [Entry::Other(name)] => {
            let name = name.strip_suffix(" video").unwrap_or(name);
            Err(format!("{name}, which is not carried"))
        }
        _ => Err("sound that changes its form".to_owned()),
    }
}

/// Time that an edit list adds to those of samples, in nanoseconds: empty edits delay them, and the first other edit
/// says which of them is at its beginning.
fn edit_of(edts: Option<&EdtsBox>, movie_timescale: NonZeroU32, timescale: NonZeroU32) -> i128 {
    const SECOND: i128 = 1_000_000_000;
    let entries = edts
        .and_then(|edts| edts.elst_box.as_ref())
        .map(|elst| &elst.entries[..]);
    let mut delay = 0;
    for entry in entries.unwrap_or_default() {
        if entry.media_time >= 0 {
            return delay - i128::from(entry.media_time) * SECOND / i128::from(timescale.get());
        }
        delay += i128::from(entry.edit_duration) * SECOND / i128::from(movie_timescale.get());
    }
    delay
}

/// The error for a box that the library could not parse.
pub(super) fn damaged(error: shiguredo_mp4::Error) -> MediaError {
    MediaError::Damaged(format!("its index cannot be understood ({})", error.reason))
}

fn handler(trak: &Child<'_>) -> Option<[u8; 4]> {
    let mdia = child(trak.body, b"mdia")?;
    child(mdia.body, b"hdlr")?.body.get(8..)?.first_chunk().copied()
}

/// The box `trak`, with a sample entry of Opus under the name by which the library passes over it.
fn without_opus(trak: &[u8]) -> Cow<'_, [u8]> {
    let kind = contents(trak, &[b"trak", b"mdia", b"minf", b"stbl", b"stsd"])
        .map(|stsd| stsd.start + STSD_FIELDS_BYTES + 4)
        .map(|kind| kind..kind + OPUS_UNREAD.len());
    match kind {
        Some(kind) if trak.get(kind.clone()) == Some(b"Opus") => {
            let mut trak = trak.to_vec();
            trak[kind].copy_from_slice(OPUS_UNREAD);
            trak.into()
        }
        _ => trak.into(),
    }
}

fn read_track(trak: &[u8], movie_timescale: NonZeroU32) -> Result<Track> {
    let (trak, _) = TrakBox::decode(trak).map_err(damaged)?;
    let timescale = trak.mdia_box.mdhd_box.timescale;
    let stbl = trak.mdia_box.minf_box.stbl_box;
    let common = stbl.stts_box.entries.iter().max_by_key(|entry| entry.sample_count);
    let samples = common.map_or(0, |entry| entry.sample_delta);
    let describe = |entry| describe(entry, samples);
    let entries = stbl.stsd_box.entries.iter().map(describe).collect::<Result<Vec<_>>>()?;
    let edit = edit_of(trak.edts_box.as_ref(), movie_timescale, timescale);
    let rate = common.and_then(|entry| sane_rate(timescale.get(), entry.sample_delta));
    check_descriptions(&stbl.stsd_box, &entries)?;
    let table = SampleTableAccessor::new(stbl)
        .map_err(|e| MediaError::Damaged(format!("its index contradicts itself ({e})")))?;
    Ok(Track {
        id: trak.tkhd_box.track_id,
        orientation: orientation_of(&trak.tkhd_box.matrix),
        timescale,
        rate,
        entries,
        edit,
        table,
    })
}

/// The turn of a track's matrix. Players scale and shear by others, which cameras do not write.
fn orientation_of(&[a, b, _, c, d, ..]: &[i32; 9]) -> Orientation {
    let signs = [a, b, c, d].map(i32::signum);
    let turns = (0..4).flat_map(|turns| [false, true].map(|mirrored| Orientation::new(turns, mirrored)));
    turns
        .into_iter()
        .find(|turn| matrix_of(*turn) == signs)
        .unwrap_or_default()
}

/// Factors of a picture's coordinates, x and y each, for x and for y.
pub(crate) fn matrix_of(orientation: Orientation) -> [i32; 4] {
    let [a, b, c, d] = match orientation.quarter_turns() {
        0 => [1, 0, 0, 1],
        1 => [0, 1, -1, 0],
        2 => [-1, 0, 0, -1],
        _ => [0, -1, 1, 0],
    };
    let flip = if orientation.mirrored() { -1 } else { 1 };
    [a * flip, b * flip, c, d]
}

/// Refuses tracks that change from one codec to another, which exist only in test suites.
fn check_descriptions(stsd: &StsdBox, entries: &[Entry]) -> Result<()> {
    let codecs = entries.iter().map(std::mem::discriminant).collect::<Vec<_>>();
    match codecs.iter().all(|codec| Some(codec) == codecs.first()) && !stsd.entries.is_empty() {
        true => Ok(()),
        false => Err(MediaError::Unsupported("a track without one codec".into())),
    }
}

/// `samples` is how many ticks most samples last.
fn describe(entry: &SampleEntry, samples: u32) -> Result<Entry> {
    let name = |kind: &str| Entry::Other(format!("{kind} video"));
    Ok(match entry {
        SampleEntry::Avc1(avc) => Entry::avc(&avc.avcc_box),
        SampleEntry::Hev1(hev) => Entry::hevc(&hev.hvcc_box),
        SampleEntry::Hvc1(hvc) => Entry::hevc(&hvc.hvcc_box),
        SampleEntry::Vp08(_) => name("VP8"),
        SampleEntry::Vp09(_) => name("VP9"),
        SampleEntry::Av01(av1) => Entry::av1(&av1.av1c_box),
        SampleEntry::Mp4a(mp4a) => aac_entry(mp4a),
        SampleEntry::Flac(_) => Entry::Other("FLAC sound".into()),
        SampleEntry::Unknown(unknown) => match unknown.box_type.as_bytes() {
            // As avc1, but parameter sets may also be stored between the frames.
            b"avc3" => {
                let size = u32::try_from(unknown.payload.len() + 8).unwrap_or(0);
                let avc1 = [&size.to_be_bytes()[..], b"avc1", &unknown.payload].concat();
                Entry::avc(&Avc1Box::decode(&avc1).map_err(damaged)?.0.avcc_box)
            }
            OPUS_UNREAD => opus_entry(&unknown.payload, samples),
            b"jpeg" | b"mjpa" => Entry::Jpeg,
            b"mp4v" if object_type(&unknown.payload) == Some(JPEG_OBJECT_TYPE) => Entry::Jpeg,
            b"mp4v" => name("MPEG-4 part 2"),
            b"encv" => name("encrypted"),
            other => name(&String::from_utf8_lossy(other).escape_default().to_string()),
        },
        _ => name("unknown"),
    })
}

fn sound_entry(name: &str, info: Option<SoundInfo>) -> Entry {
    info.map_or_else(
        || Entry::Other(format!("{name} sound of an unknown kind")),
        Entry::Sound,
    )
}

/// `samples` is how many of them most packets have.
fn opus_entry(payload: &[u8], samples: u32) -> Entry {
    let boxes = payload.get(SOUND_FIELDS_BYTES..).unwrap_or_default();
    sound_entry(
        "Opus",
        child(boxes, b"dOps").and_then(|dops| sound::opus(dops.body, samples)),
    )
}

fn aac_entry(mp4a: &Mp4aBox) -> Entry {
    /// Object types of AAC in MPEG-4 Systems: MPEG-4, and the three profiles of MPEG-2.
    const AAC: [u8; 4] = [0x40, 0x66, 0x67, 0x68];
    let config = &mp4a.esds_box.es.dec_config_descr;
    if !AAC.contains(&config.object_type_indication) {
        return Entry::Other(format!("MPEG sound of type {:#x}", config.object_type_indication));
    }
    let specific = config.dec_specific_info.as_ref().map_or(&[][..], |info| &info.payload);
    sound_entry("AAC", sound::aac(specific, mp4a.audio.channelcount))
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
