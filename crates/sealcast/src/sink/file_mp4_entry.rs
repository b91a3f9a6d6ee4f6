//! The sample entry of an MP4 file, which describes its video.

use shiguredo_mp4::Uint;
use shiguredo_mp4::boxes::{Avc1Box, AvccBox, SampleEntry, UnknownBox, VisualSampleEntryFields};
use shiguredo_mp4::{BoxSize, BoxType, Encode};

use crate::media::{Codec, StreamInfo};
use crate::source::JPEG_OBJECT_TYPE;
use crate::source::h264::{ParameterSets, nal_units, read_sps};

type Result<T> = std::result::Result<T, String>;

/// The sample entry, and what was learned while creating it.
#[derive(Debug)]
pub(super) struct Description {
    pub(super) entry: SampleEntry,
    /// The parameter sets in the sample entry.
    pub(super) sets: Vec<Vec<u8>>,
    /// Number of pictures that may be reordered before another one.
    pub(super) reorder: usize,
}

/// Describes the stream that begins with `keyframe`.
pub(super) fn describe(info: &StreamInfo, keyframe: &[u8]) -> Result<Description> {
    match info.codec {
        Codec::H264 => describe_h264(info, keyframe),
        Codec::Mjpeg => {
            let entry = jpeg_entry(info).map_err(|e| e.to_string())?;
            Ok(Description {
                entry,
                sets: Vec::new(),
                reorder: 0,
            })
        }
    }
}

fn visual(width: u16, height: u16) -> VisualSampleEntryFields {
    VisualSampleEntryFields {
        data_reference_index: VisualSampleEntryFields::DEFAULT_DATA_REFERENCE_INDEX,
        width,
        height,
        horizresolution: VisualSampleEntryFields::DEFAULT_HORIZRESOLUTION,
        vertresolution: VisualSampleEntryFields::DEFAULT_VERTRESOLUTION,
        frame_count: VisualSampleEntryFields::DEFAULT_FRAME_COUNT,
        compressorname: VisualSampleEntryFields::NULL_COMPRESSORNAME,
        depth: VisualSampleEntryFields::DEFAULT_DEPTH,
    }
}

fn describe_h264(info: &StreamInfo, keyframe: &[u8]) -> Result<Description> {
    let mut sets = ParameterSets::default();
    for nal in nal_units(&info.parameters).chain(nal_units(keyframe)) {
        sets.learn(nal);
    }
    let list = |nals: &mut dyn Iterator<Item = &bytes::Bytes>| nals.map(|nal| nal.to_vec()).collect::<Vec<_>>();
    let (sps_list, pps_list) = (list(&mut sets.sps()), list(&mut sets.pps()));
    let [_, profile, compatibility, level, ..] = sps_list.first().map(Vec::as_slice).unwrap_or_default() else {
        return Err("its first keyframe comes without a sequence parameter set".into());
    };
    if pps_list.is_empty() {
        return Err("its first keyframe comes without a picture parameter set".into());
    }
    let sequence = read_sps(&sps_list[0]).map_err(|e| format!("the stream {e}"))?;
    // ISO/IEC 14496-15: these profiles have no chroma fields.
    let chroma = sequence.chroma.filter(|_| !matches!(profile, 66 | 77 | 88));
    let avcc_box = AvccBox {
        avc_profile_indication: *profile,
        profile_compatibility: *compatibility,
        avc_level_indication: *level,
        length_size_minus_one: Uint::new(3),
        chroma_format: chroma.map(|chroma| Uint::new(chroma.format)),
        bit_depth_luma_minus8: chroma.map(|chroma| Uint::new(chroma.luma_bits - 8)),
        bit_depth_chroma_minus8: chroma.map(|chroma| Uint::new(chroma.chroma_bits - 8)),
        sps_ext_list: Vec::new(),
        sps_list: sps_list.clone(),
        pps_list: pps_list.clone(),
    };
    let visual = visual(sequence.width, sequence.height);
    let entry = SampleEntry::Avc1(Avc1Box {
        visual,
        avcc_box,
        unknown_boxes: Vec::new(),
    });
    Ok(Description {
        entry,
        sets: [sps_list, pps_list].concat(),
        reorder: sequence.reorder,
    })
}

/// The standard has no sample entry for JPEG; MPEG-4 Systems assigns it a number (`mp4v` with an `esds` box).
fn jpeg_entry(info: &StreamInfo) -> shiguredo_mp4::Result<SampleEntry> {
    const VISUAL_STREAM: u8 = 4 << 2 | 1;
    const PREDEFINED_MP4: u8 = 2;
    let decoder_config = [&[4, 13, JPEG_OBJECT_TYPE, VISUAL_STREAM][..], &[0; 11]].concat();
    let sl_config = [6, 1, PREDEFINED_MP4];
    let inner = [&[0, 1, 0][..], &decoder_config, &sl_config].concat();
    let descriptor = [&[3, u8::try_from(inner.len()).unwrap_or(0)][..], &inner].concat();
    let size = u32::try_from(12 + descriptor.len()).unwrap_or(0);
    let esds = [&size.to_be_bytes()[..], b"esds", &[0; 4], &descriptor].concat();
    let payload = [visual(info.width, info.height).encode_to_vec()?, esds].concat();
    let kind = BoxType::Normal(*b"mp4v");
    let box_size = BoxSize::with_payload_size(kind, payload.len() as u64);
    Ok(SampleEntry::Unknown(UnknownBox {
        box_type: kind,
        box_size,
        payload,
    }))
}
