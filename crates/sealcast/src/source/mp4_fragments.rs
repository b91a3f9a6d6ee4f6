//! The fragments of an MP4 file (`moof`), and the positions of their samples.

use std::collections::VecDeque;

use shiguredo_mp4::boxes::{MoofBox, MvexBox, TrafBox};
use shiguredo_mp4::{Decode, SampleFlags};

use super::coded::{MediaError, Result};
use super::mp4_boxes::children;
use super::mp4_track::{SampleAt, damaged};

/// Maximum of samples in one fragment: hours of video.
const MAX_SAMPLES_PER_FRAGMENT: u64 = 1 << 20;

/// Defaults for samples of fragments that do not state their own values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Defaults {
    description: u32,
    duration: u32,
    size: u32,
    flags: SampleFlags,
}

impl Defaults {
    /// The defaults of track `id`.
    pub(super) fn of(mvex: &MvexBox, id: u32) -> Self {
        let trex = mvex.trex_boxes.iter().find(|trex| trex.track_id == id);
        Self {
            description: trex.map_or(1, |trex| trex.default_sample_description_index),
            duration: trex.map_or(0, |trex| trex.default_sample_duration),
            size: trex.map_or(0, |trex| trex.default_sample_size),
            flags: trex.map_or(SampleFlags::empty(), |trex| trex.default_sample_flags),
        }
    }
}

/// Returns the samples of track `id` in the fragment `moof`, which is at byte `at`. `time` is its start time if it
/// states none, and is set to its end time.
pub(super) fn fragment_samples(
    moof: &[u8],
    at: u64,
    id: u32,
    defaults: &Defaults,
    time: &mut u64,
) -> Result<VecDeque<SampleAt>> {
    check_sample_count(moof)?;
    let (moof, _) = MoofBox::decode(moof).map_err(damaged)?;
    let mut samples = VecDeque::new();
    for (number, traf) in moof
        .traf_boxes
        .iter()
        .enumerate()
        .filter(|(_, traf)| traf.tfhd_box.track_id == id)
    {
        // Without a base the offsets of the first track are relative to the fragment, those of a later one to the end
        // of the previous one's data. The latter is not supported, since nobody writes such files.
        let head = &traf.tfhd_box;
        if number > 0 && head.base_data_offset.is_none() && !head.default_base_is_moof {
            return Err(MediaError::Unsupported(
                "fragments that name no base for their offsets".into(),
            ));
        }
        if let Some(start) = &traf.tfdt_box {
            *time = start.base_media_decode_time;
        }
        add_samples(traf, head.base_data_offset.unwrap_or(at), defaults, time, &mut samples)?;
    }
    Ok(samples)
}

fn add_samples(
    traf: &TrafBox,
    base: u64,
    defaults: &Defaults,
    time: &mut u64,
    samples: &mut VecDeque<SampleAt>,
) -> Result<()> {
    let head = &traf.tfhd_box;
    let description = head.sample_description_index.unwrap_or(defaults.description);
    let description = usize::try_from(description.saturating_sub(1)).unwrap_or(usize::MAX);
    let mut offset = base;
    for run in &traf.trun_boxes {
        if let Some(shift) = run.data_offset {
            offset = base
                .checked_add_signed(i64::from(shift))
                .ok_or_else(|| MediaError::Damaged("a fragment points before the file".into()))?;
        }
        for (number, sample) in run.samples.iter().enumerate() {
            let size = sample.size.or(head.default_sample_size).unwrap_or(defaults.size);
            let duration = sample
                .duration
                .or(head.default_sample_duration)
                .unwrap_or(defaults.duration);
            let first = run.first_sample_flags.filter(|_| number == 0);
            let flags = first
                .or(sample.flags)
                .or(head.default_sample_flags)
                .unwrap_or(defaults.flags);
            samples.push_back(SampleAt {
                offset,
                size,
                decoded: *time,
                shift: sample.composition_time_offset.unwrap_or(0),
                duration,
                sync: !flags.sample_is_non_sync_sample(),
                description,
            });
            offset = offset.saturating_add(u64::from(size));
            *time = time.saturating_add(u64::from(duration));
        }
    }
    Ok(())
}

/// Checks the sample counts before the library creates a list of samples. A run whose samples all have default values
/// needs no bytes for them, so a few bytes could claim any number of samples.
fn check_sample_count(moof: &[u8]) -> Result<()> {
    let body = children(moof).next().map(|moof| moof.body).unwrap_or_default();
    let mut count = 0;
    for traf in children(body).filter(|child| &child.kind == b"traf") {
        for run in children(traf.body).filter(|child| child.kind == *b"trun") {
            let claimed = run
                .body
                .get(4..)
                .and_then(|body| body.first_chunk())
                .copied()
                .map_or(0, u32::from_be_bytes);
            count += u64::from(claimed);
        }
    }
    match count <= MAX_SAMPLES_PER_FRAGMENT {
        true => Ok(()),
        false => Err(MediaError::Damaged(format!(
            "a fragment claims to have {count} samples"
        ))),
    }
}
