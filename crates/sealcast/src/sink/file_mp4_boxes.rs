//! The boxes of a fragmented MP4 file.

use std::num::NonZeroU32;
use std::time::Duration;

use shiguredo_mp4::boxes::{
    Brand, DinfBox, FtypBox, HdlrBox, MdhdBox, MdiaBox, MediaHeader, MfhdBox, MinfBox, MoofBox, MoovBox, MvexBox,
    MvhdBox, SampleEntry, SmhdBox, StblBox, StcoBox, StscBox, StsdBox, StszBox, SttsBox, TfdtBox, TfhdBox, TkhdBox,
    TrafBox, TrakBox, TrexBox, TrunBox, TrunSample, VmhdBox,
};
use shiguredo_mp4::{BoxType, Either, Encode, FixedPointNumber, LanguageCode, Mp4FileTime, SampleFlags};

use crate::media::Orientation;
use crate::source::matrix_of;

/// Numbers of the tracks.
pub(super) const PICTURE: u32 = 1;
pub(super) const SOUND: u32 = 2;

/// The sample entry of H.264 whose parameter sets may change in the pictures.
pub(super) const AVC3: BoxType = BoxType::Normal(*b"avc3");

/// Size and type of a box without content.
pub(super) const BOX_HEADER: usize = 8;
/// The type of the box that says in words what must be known of the pictures. Players skip it.
const MARK: [u8; 16] = *b"sealcast remarks";

type Result<T> = shiguredo_mp4::Result<T>;

/// Track as the header describes it.
#[derive(Clone)]
pub(super) struct Track {
    pub(super) number: u32,
    pub(super) entry: SampleEntry,
    pub(super) timescale: NonZeroU32,
    /// Width and height of pictures; nothing of sound.
    pub(super) size: Option<[u16; 2]>,
    /// Orientation of the pictures.
    pub(super) orientation: Orientation,
}

/// Samples of a track, whose payload stands behind that of the tracks before it.
pub(super) struct Run {
    pub(super) track: u32,
    /// Decoding time of the first one.
    pub(super) from: u64,
    pub(super) samples: Vec<TrunSample>,
    /// Bytes of their payload.
    pub(super) bytes: usize,
}

/// A sample that is shown by `offset` later than it is decoded.
pub(super) fn sample(duration: u64, bytes: usize, keyframe: bool, offset: i64) -> TrunSample {
    let flags = match keyframe {
        true => SampleFlags::from_fields(0, 2, 0, 0, 0, false, 0),
        false => SampleFlags::from_fields(0, 1, 0, 0, 0, true, 0),
    };
    TrunSample {
        duration: Some(u32::try_from(duration).unwrap_or(u32::MAX)),
        size: Some(u32::try_from(bytes).unwrap_or(u32::MAX)),
        flags: Some(flags),
        composition_time_offset: Some(offset),
    }
}

/// The header of a file that begins at this time since 1970, in UTC.
pub(super) fn header(tracks: &[Track], created: Duration) -> Result<Vec<u8>> {
    let brand = |track: &Track| match &track.entry {
        SampleEntry::Avc1(_) => Some(Brand::AVC1),
        SampleEntry::Unknown(entry) if entry.box_type == AVC3 => Some(Brand::AVC1),
        SampleEntry::Hvc1(_) => Some(Brand::HVC1),
        SampleEntry::Hev1(_) => Some(Brand::HEV1),
        SampleEntry::Av01(_) => Some(Brand::AV01),
        _ => None,
    };
    let common = [Brand::ISOM, Brand::ISO5, Brand::ISO6, Brand::MP41];
    let ftyp = FtypBox {
        major_brand: Brand::ISO5,
        minor_version: 0,
        compatible_brands: common.into_iter().chain(tracks.iter().filter_map(brand)).collect(),
    };
    let created = Mp4FileTime::from_unix_time(created);
    let trex_boxes = tracks.iter().map(|track| TrexBox {
        track_id: track.number,
        default_sample_description_index: 1,
        default_sample_duration: 0,
        default_sample_size: 0,
        default_sample_flags: SampleFlags::new(0),
    });
    let moov = MoovBox {
        mvhd_box: MvhdBox {
            creation_time: created,
            modification_time: created,
            timescale: NonZeroU32::new(1000).unwrap_or(NonZeroU32::MIN),
            duration: 0,
            rate: MvhdBox::DEFAULT_RATE,
            volume: MvhdBox::DEFAULT_VOLUME,
            matrix: MvhdBox::DEFAULT_MATRIX,
            next_track_id: SOUND + 1,
        },
        trak_boxes: tracks.iter().map(|track| trak(track, created)).collect(),
        mvex_box: Some(MvexBox {
            mehd_box: None,
            trex_boxes: trex_boxes.collect(),
            unknown_boxes: Vec::new(),
        }),
        unknown_boxes: Vec::new(),
    };
    Ok([ftyp.encode_to_vec()?, moov.encode_to_vec()?].concat())
}

fn trak(track: &Track, created: Mp4FileTime) -> TrakBox {
    let pixels = |side: u16| FixedPointNumber::new(i16::try_from(side).unwrap_or(i16::MAX), 0);
    let [width, height] = track.size.unwrap_or_default().map(pixels);
    let (handler_type, media_header, volume) = match track.size {
        Some(_) => (
            HdlrBox::HANDLER_TYPE_VIDE,
            MediaHeader::Vmhd(VmhdBox::default()),
            TkhdBox::DEFAULT_VIDEO_VOLUME,
        ),
        None => (
            HdlrBox::HANDLER_TYPE_SOUN,
            MediaHeader::Smhd(SmhdBox::default()),
            TkhdBox::DEFAULT_AUDIO_VOLUME,
        ),
    };
    TrakBox {
        tkhd_box: TkhdBox {
            flag_track_enabled: true,
            flag_track_in_movie: true,
            flag_track_in_preview: false,
            flag_track_size_is_aspect_ratio: false,
            creation_time: created,
            modification_time: created,
            track_id: track.number,
            duration: 0,
            layer: TkhdBox::DEFAULT_LAYER,
            alternate_group: TkhdBox::DEFAULT_ALTERNATE_GROUP,
            volume,
            matrix: matrix(track.size.unwrap_or_default(), track.orientation),
            width,
            height,
        },
        edts_box: None,
        mdia_box: MdiaBox {
            mdhd_box: MdhdBox {
                creation_time: created,
                modification_time: created,
                timescale: track.timescale,
                duration: 0,
                language: LanguageCode::default(),
            },
            hdlr_box: HdlrBox {
                handler_type,
                name: vec![0],
            },
            minf_box: MinfBox {
                media_header: Some(media_header),
                dinf_box: DinfBox::LOCAL_FILE,
                stbl_box: samples_elsewhere(track.entry.clone()),
                unknown_boxes: Vec::new(),
            },
            unknown_boxes: Vec::new(),
        },
        unknown_boxes: Vec::new(),
    }
}

/// The matrix that turns pictures of this size, and moves them back to where the unturned ones were.
fn matrix(size: [u16; 2], orientation: Orientation) -> [i32; 9] {
    const ONE: i32 = 1 << 16;
    let [width, height] = size.map(i32::from);
    let [a, b, c, d] = matrix_of(orientation);
    let left = (a * width).min(0) + (c * height).min(0);
    let top = (b * width).min(0) + (d * height).min(0);
    // Sides have at most 16 384 pixels.
    let fixed = |number: i32| number.saturating_mul(ONE);
    [
        fixed(a),
        fixed(b),
        0,
        fixed(c),
        fixed(d),
        0,
        fixed(-left),
        fixed(-top),
        1 << 30,
    ]
}

/// A sample table without samples: they are in the fragments.
fn samples_elsewhere(entry: SampleEntry) -> StblBox {
    StblBox {
        stsd_box: StsdBox { entries: vec![entry] },
        stts_box: SttsBox { entries: Vec::new() },
        ctts_box: None,
        cslg_box: None,
        stsc_box: StscBox { entries: Vec::new() },
        stsz_box: StszBox::Variable {
            entry_sizes: Vec::new(),
        },
        stco_or_co64_box: Either::A(StcoBox {
            chunk_offsets: Vec::new(),
        }),
        stss_box: None,
        sdtp_box: None,
        unknown_boxes: Vec::new(),
    }
}

/// An empty box that fills `bytes`, if there is so much room.
pub(super) fn free(bytes: usize) -> Option<Vec<u8>> {
    let mut free = u32::try_from(bytes).ok()?.to_be_bytes().to_vec();
    free.extend_from_slice(b"free");
    free.resize(bytes.max(BOX_HEADER), 0);
    (bytes >= BOX_HEADER).then_some(free)
}

/// The box that says something of the pictures.
pub(super) fn mark(words: &str) -> Vec<u8> {
    let length = u32::try_from(BOX_HEADER + MARK.len() + words.len()).unwrap_or(0);
    [&length.to_be_bytes()[..], b"uuid", &MARK, words.as_bytes()].concat()
}

/// The beginning of a fragment, up to the payload.
pub(super) fn fragment(number: u32, runs: Vec<Run>) -> Result<Vec<u8>> {
    let payload = runs.iter().map(|run| run.bytes).sum::<usize>();
    let mut moof = MoofBox {
        mfhd_box: MfhdBox {
            sequence_number: number,
        },
        traf_boxes: Vec::new(),
        unknown_boxes: Vec::new(),
    };
    let mut at = BOX_HEADER;
    for mut run in runs {
        let in_order = |sample: &TrunSample| sample.composition_time_offset == Some(0);
        if run.samples.iter().all(in_order) {
            run.samples
                .iter_mut()
                .for_each(|sample| sample.composition_time_offset = None);
        }
        let trun_box = TrunBox {
            data_offset: Some(i32::try_from(at).unwrap_or(i32::MAX)),
            first_sample_flags: None,
            samples: run.samples,
        };
        moof.traf_boxes.push(TrafBox {
            tfhd_box: TfhdBox {
                track_id: run.track,
                base_data_offset: None,
                sample_description_index: None,
                default_sample_duration: None,
                default_sample_size: None,
                default_sample_flags: None,
                duration_is_empty: false,
                default_base_is_moof: true,
            },
            tfdt_box: Some(TfdtBox {
                version: 1,
                base_media_decode_time: run.from,
            }),
            trun_boxes: vec![trun_box],
            unknown_boxes: Vec::new(),
        });
        at += run.bytes;
    }
    // The length of the box does not depend on the offsets, which begin at the box.
    let length = i32::try_from(moof.encode_to_vec()?.len()).unwrap_or(i32::MAX);
    for trun in moof.traf_boxes.iter_mut().flat_map(|traf| &mut traf.trun_boxes) {
        trun.data_offset = trun.data_offset.map(|at| at.saturating_add(length));
    }
    let mut bytes = moof.encode_to_vec()?;
    let mdat = u32::try_from(BOX_HEADER + payload).unwrap_or(u32::MAX);
    bytes.extend_from_slice(&mdat.to_be_bytes());
    bytes.extend_from_slice(b"mdat");
    Ok(bytes)
}
