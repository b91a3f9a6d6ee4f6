//! The sample entry of an MP4 file, which describes its video.

use sealcast_proto::unit::nal_units;
use shiguredo_mp4::Uint;
use shiguredo_mp4::boxes::{
    Av01Box, Av1cBox, Avc1Box, AvccBox, Hev1Box, Hvc1Box, HvccBox, HvccNalUintArray, SampleEntry, UnknownBox,
    VisualSampleEntryFields,
};
use shiguredo_mp4::{BoxSize, BoxType, Encode};

use super::file_mp4_boxes::{AVC3, BOX_HEADER};
use crate::media::{Codec, StreamInfo};
use crate::source::JPEG_OBJECT_TYPE;
use crate::source::h264::{self, read_sps};
use crate::source::{av1, h265};

type Result<T> = std::result::Result<T, String>;

/// The sample entry, and what was learned while creating it.
#[derive(Debug)]
pub(super) struct Description {
    pub(super) entry: SampleEntry,
    /// Width and height of the pictures.
    pub(super) size: [u16; 2],
    /// The parameter sets in the sample entry.
    sets: Vec<Vec<u8>>,
    /// Number of pictures that may be reordered before another one.
    pub(super) reorder: usize,
}

impl Description {
    /// True if the NAL unit is one of the parameter sets in the sample entry.
    pub(super) fn has(&self, nal: &[u8]) -> bool {
        self.sets.iter().any(|set| set == nal)
    }

    /// The parameter sets of a frame that the sample entry does not have.
    pub(super) fn others<'a>(&self, codec: Codec, frame: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        nal_units(frame).filter(move |nal| is_parameter_set(codec, nal) && !self.has(nal))
    }

    /// The codec's own description, as Matroska has it too, of pictures in which parameter sets may change.
    pub(super) fn private(&self) -> Result<Vec<u8>> {
        let boxed = match (&self.entry, self.in_band()?) {
            (SampleEntry::Avc1(entry), _) => entry.avcc_box.encode_to_vec(),
            (_, SampleEntry::Hev1(entry)) => entry.hvcc_box.encode_to_vec(),
            (SampleEntry::Av01(entry), _) => entry.av1c_box.encode_to_vec(),
            _ => return Ok(Vec::new()),
        };
        let mut boxed = boxed.map_err(|e| e.to_string())?;
        Ok(boxed.split_off(BOX_HEADER))
    }

    /// The sample entry of the same length that lets parameter sets change in the pictures (`avc3`, `hev1`).
    pub(super) fn in_band(&self) -> Result<SampleEntry> {
        match &self.entry {
            SampleEntry::Avc1(entry) => {
                let payload = entry.encode_to_vec().map_err(|e| e.to_string())?.split_off(BOX_HEADER);
                let box_size = BoxSize::with_payload_size(AVC3, payload.len() as u64);
                Ok(SampleEntry::Unknown(UnknownBox {
                    box_type: AVC3,
                    box_size,
                    payload,
                }))
            }
            SampleEntry::Hvc1(entry) => {
                let mut hvcc_box = entry.hvcc_box.clone();
                for array in &mut hvcc_box.nalu_arrays {
                    array.array_completeness = Uint::new(0);
                }
                Ok(SampleEntry::Hev1(Hev1Box {
                    visual: entry.visual.clone(),
                    hvcc_box,
                    unknown_boxes: Vec::new(),
                }))
            }
            entry => Ok(entry.clone()),
        }
    }
}

/// The NAL units, each behind its length in place of a start code. `room` is about how long they are together.
pub(super) fn with_lengths<'a>(nals: impl Iterator<Item = &'a [u8]>, room: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(room + 16);
    for nal in nals {
        out.extend_from_slice(&u32::try_from(nal.len()).unwrap_or(0).to_be_bytes());
        out.extend_from_slice(nal);
    }
    out
}

fn is_parameter_set(codec: Codec, nal: &[u8]) -> bool {
    match codec {
        Codec::H264 => h264::ParameterSets::default().learn(nal),
        Codec::H265 => h265::ParameterSets::default().learn(nal),
        Codec::Av1 | Codec::Mjpeg => false,
    }
}

/// The number of pictures that may be reordered before another one, if the NAL unit is a sequence parameter set.
pub(super) fn reordering(codec: Codec, nal: &[u8]) -> Option<usize> {
    match codec {
        Codec::H264 => {
            let mut sets = h264::ParameterSets::default();
            sets.learn(nal);
            Some(read_sps(sets.sps().next()?).ok()?.reorder)
        }
        Codec::H265 => {
            let mut sets = h265::ParameterSets::default();
            sets.learn(nal);
            Some(h265::read_sps(sets.lists()[1].first()?).ok()?.reorder)
        }
        Codec::Av1 | Codec::Mjpeg => None,
    }
}

/// Describes the stream that begins with `keyframe`.
pub(super) fn describe(info: &StreamInfo, keyframe: &[u8]) -> Result<Description> {
    match info.codec {
        Codec::H264 => describe_h264(info, keyframe),
        Codec::H265 => describe_h265(info, keyframe),
        Codec::Av1 => describe_av1(info, keyframe),
        Codec::Mjpeg => {
            let entry = jpeg_entry(info).map_err(|e| e.to_string())?;
            Ok(Description {
                entry,
                size: [info.width, info.height],
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
    let mut sets = h264::ParameterSets::default();
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
        size: [sequence.width, sequence.height],
        sets: [sps_list, pps_list].concat(),
        reorder: sequence.reorder,
    })
}

fn describe_h265(info: &StreamInfo, keyframe: &[u8]) -> Result<Description> {
    /// ISO/IEC 14496-15: all parameter sets of the stream's beginning are in the array.
    const COMPLETE: u8 = 1;
    let mut sets = h265::ParameterSets::default();
    for nal in nal_units(&info.parameters).chain(nal_units(keyframe)) {
        sets.learn(nal);
    }
    if !sets.is_complete() {
        return Err("its first keyframe comes without its parameter sets (VPS, SPS and PPS)".into());
    }
    let lists = sets.lists();
    let sequence = h265::read_sps(&lists[1][0]).map_err(|e| format!("the stream {e}"))?;
    let [general, compatibility @ .., level] = sequence.profile;
    let flags = compatibility
        .iter()
        .fold(0_u128, |flags, byte| flags << 8 | u128::from(*byte));
    let nalu_arrays = lists
        .iter()
        .zip(h265::PARAMETER_SETS)
        .map(|(nalus, kind)| HvccNalUintArray {
            array_completeness: Uint::new(COMPLETE),
            nal_unit_type: Uint::new(kind),
            nalus: nalus.clone(),
        });
    let hvcc_box = HvccBox {
        general_profile_space: Uint::new(general >> 6),
        general_tier_flag: Uint::new(general >> 5 & 1),
        general_profile_idc: Uint::new(general & 0x1f),
        general_profile_compatibility_flags: (flags >> 48) as u32,
        general_constraint_indicator_flags: Uint::new(flags as u64 & 0xffff_ffff_ffff),
        general_level_idc: level,
        // What is 0 here is not known, which the standard allows.
        min_spatial_segmentation_idc: Uint::new(0),
        parallelism_type: Uint::new(0),
        chroma_format_idc: Uint::new(sequence.chroma),
        bit_depth_luma_minus8: Uint::new(sequence.luma_bits - 8),
        bit_depth_chroma_minus8: Uint::new(sequence.chroma_bits - 8),
        avg_frame_rate: 0,
        constant_frame_rate: Uint::new(0),
        num_temporal_layers: Uint::new(sequence.layers),
        temporal_id_nested: Uint::new(sequence.nested.into()),
        length_size_minus_one: Uint::new(3),
        nalu_arrays: nalu_arrays.collect(),
    };
    let entry = SampleEntry::Hvc1(Hvc1Box {
        visual: visual(sequence.width, sequence.height),
        hvcc_box,
        unknown_boxes: Vec::new(),
    });
    Ok(Description {
        entry,
        size: [sequence.width, sequence.height],
        sets: lists.concat(),
        reorder: sequence.reorder,
    })
}

fn describe_av1(info: &StreamInfo, keyframe: &[u8]) -> Result<Description> {
    let mut stream = av1::Stream::default();
    let told = |e| format!("the stream {e}");
    stream.learn(&info.parameters).map_err(told)?;
    stream.learn(keyframe).map_err(told)?;
    let sequence = stream
        .sequence()
        .ok_or("its first keyframe comes without a sequence header")?;
    let av1c_box = Av1cBox {
        seq_profile: Uint::new(sequence.profile),
        seq_level_idx_0: Uint::new(sequence.level),
        seq_tier_0: Uint::new(sequence.tier.into()),
        high_bitdepth: Uint::new(sequence.high_depth.into()),
        twelve_bit: Uint::new(sequence.twelve_bits.into()),
        monochrome: Uint::new(sequence.monochrome.into()),
        chroma_subsampling_x: Uint::new(sequence.subsampling[0].into()),
        chroma_subsampling_y: Uint::new(sequence.subsampling[1].into()),
        chroma_sample_position: Uint::new(sequence.chroma_position),
        initial_presentation_delay_minus_one: None,
        config_obus: stream.info(None).parameters,
    };
    let entry = SampleEntry::Av01(Av01Box {
        visual: visual(sequence.width, sequence.height),
        av1c_box,
        unknown_boxes: Vec::new(),
    });
    // Temporal units come in the order in which they are shown.
    Ok(Description {
        entry,
        size: [sequence.width, sequence.height],
        sets: Vec::new(),
        reorder: 0,
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
