//! The rate that a sequence parameter set of H.265 states, which stands behind everything else in it: so all of it is
//! walked over (ITU-T H.265, 7.3.2.2.1, 7.3.4, 7.3.7 and E.2.1).

use h264_reader::rbsp::{BitRead, BitReaderError};

use super::coded::sane_rate;
use crate::media::FrameRate;

/// Most sets of short-term reference pictures, and most pictures of one of them before or after a picture.
const MAX_SETS: u32 = 64;
const MAX_PICTURES: u32 = 16;
/// Most long-term reference pictures.
const MAX_LONG_TERM: u32 = 32;
/// `aspect_ratio_idc` whose ratio follows.
const EXTENDED_RATIO: u8 = 255;

/// Distances of the reference pictures of one set in display order: those before a picture, and those after it, nearest
/// first.
#[derive(Default)]
struct References {
    before: Vec<i64>,
    after: Vec<i64>,
}

/// Reads the rate with `bits` behind the bit depths. `None` if none is stated, or what stands before it is damaged.
pub(super) fn rate_behind(bits: &mut impl BitRead, sub_layers: u8) -> Option<FrameRate> {
    let (units, scale) = timing(bits, sub_layers).ok()??;
    sane_rate(scale, units)
}

type Read<T> = Result<T, BitReaderError>;

/// Units in a tick and ticks a second.
fn timing(bits: &mut impl BitRead, sub_layers: u8) -> Read<Option<(u32, u32)>> {
    let order_bits = bits.read_ue("log2_max_pic_order_cnt_lsb_minus4")?;
    let each = bits.read_bool("sps_sub_layer_ordering_info_present_flag")?;
    skip_ue(bits, 3 * if each { u32::from(sub_layers) + 1 } else { 1 })?;
    // Sizes of blocks and depths of their trees.
    skip_ue(bits, 6)?;
    if bits.read_bool("scaling_list_enabled_flag")? && bits.read_bool("sps_scaling_list_data_present_flag")? {
        skip_scaling_lists(bits)?;
    }
    bits.skip(2, "amp_enabled_flag, sample_adaptive_offset_enabled_flag")?;
    if bits.read_bool("pcm_enabled_flag")? {
        bits.skip(8, "pcm_sample_bit_depth")?;
        skip_ue(bits, 2)?;
        bits.skip(1, "pcm_loop_filter_disabled_flag")?;
    }
    let sets = bits.read_ue("num_short_term_ref_pic_sets")?;
    let mut references = References::default();
    for number in 0..sets.min(MAX_SETS) {
        references = read_references(bits, (number > 0).then_some(&references))?;
    }
    if bits.read_bool("long_term_ref_pics_present_flag")? {
        for _ in 0..bits.read_ue("num_long_term_ref_pics_sps")?.min(MAX_LONG_TERM) {
            bits.skip(order_bits.min(12) + 4 + 1, "lt_ref_pic_poc_lsb_sps")?;
        }
    }
    bits.skip(2, "sps_temporal_mvp_enabled_flag, strong_intra_smoothing_enabled_flag")?;
    if !bits.read_bool("vui_parameters_present_flag")? {
        return Ok(None);
    }
    usability_timing(bits)
}

/// The timing in the usability information.
fn usability_timing(bits: &mut impl BitRead) -> Read<Option<(u32, u32)>> {
    if bits.read_bool("aspect_ratio_info_present_flag")? && bits.read::<u8>(8, "aspect_ratio_idc")? == EXTENDED_RATIO {
        bits.skip(32, "sar_width, sar_height")?;
    }
    if bits.read_bool("overscan_info_present_flag")? {
        bits.skip(1, "overscan_appropriate_flag")?;
    }
    if bits.read_bool("video_signal_type_present_flag")? {
        bits.skip(4, "video_format, video_full_range_flag")?;
        if bits.read_bool("colour_description_present_flag")? {
            bits.skip(24, "colour_description")?;
        }
    }
    if bits.read_bool("chroma_loc_info_present_flag")? {
        skip_ue(bits, 2)?;
    }
    bits.skip(
        3,
        "neutral_chroma_indication_flag, field_seq_flag, frame_field_info_present_flag",
    )?;
    if bits.read_bool("default_display_window_flag")? {
        skip_ue(bits, 4)?;
    }
    if !bits.read_bool("vui_timing_info_present_flag")? {
        return Ok(None);
    }
    let units = bits.read::<u32>(32, "vui_num_units_in_tick")?;
    Ok(Some((units, bits.read::<u32>(32, "vui_time_scale")?)))
}

fn skip_ue(bits: &mut impl BitRead, count: u32) -> Read<()> {
    (0..count).try_for_each(|_| bits.read_ue("skipped").map(drop))
}

fn skip_scaling_lists(bits: &mut impl BitRead) -> Read<()> {
    for size in 0..4_u32 {
        let matrices = if size == 3 { 2 } else { 6 };
        for _ in 0..matrices {
            if !bits.read_bool("scaling_list_pred_mode_flag")? {
                bits.read_ue("scaling_list_pred_matrix_id_delta")?;
                continue;
            }
            let coefficients = 64.min(1 << (4 + 2 * size)) + u32::from(size > 1);
            for _ in 0..coefficients {
                bits.read_se("scaling_list_delta_coef")?;
            }
        }
    }
    Ok(())
}

/// Reads one set of short-term reference pictures; `previous` is the one before it, from which it may be derived.
fn read_references(bits: &mut impl BitRead, previous: Option<&References>) -> Read<References> {
    if let Some(previous) = previous
        && bits.read_bool("inter_ref_pic_set_prediction_flag")?
    {
        return derive_references(bits, previous);
    }
    let counts = [bits.read_ue("num_negative_pics")?, bits.read_ue("num_positive_pics")?];
    let mut read = |count: u32, sign: i64| -> Read<Vec<i64>> {
        let mut distance = 0;
        let mut distances = Vec::new();
        for _ in 0..count.min(MAX_PICTURES) {
            distance += sign * (i64::from(bits.read_ue("delta_poc_minus1")?) + 1);
            bits.skip(1, "used_by_curr_pic_flag")?;
            distances.push(distance);
        }
        Ok(distances)
    };
    Ok(References {
        before: read(counts[0], -1)?,
        after: read(counts[1], 1)?,
    })
}

/// Reads a set that is the one before it, moved (equations 7-61 and 7-62).
fn derive_references(bits: &mut impl BitRead, previous: &References) -> Read<References> {
    let back = bits.read_bool("delta_rps_sign")?;
    let length = i64::from(bits.read_ue("abs_delta_rps_minus1")?) + 1;
    let moved = if back { -length } else { length };
    // The pictures of the set before in its order, and the picture itself.
    let all = previous.before.iter().chain(&previous.after).copied().chain([0]);
    let mut kept = Vec::new();
    for distance in all {
        let used = bits.read_bool("used_by_curr_pic_flag")?;
        if used || bits.read_bool("use_delta_flag")? {
            kept.push(distance + moved);
        }
    }
    let side = |sign: i64| {
        let mut side: Vec<i64> = kept
            .iter()
            .copied()
            .filter(|distance| distance.signum() == sign)
            .collect();
        side.sort_unstable_by_key(|distance| distance.abs());
        side.truncate(MAX_PICTURES as usize);
        side
    };
    Ok(References {
        before: side(-1),
        after: side(1),
    })
}
