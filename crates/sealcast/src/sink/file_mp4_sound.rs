//! The sound of an MP4 file: its sample entry, and packets with their durations.

use std::num::NonZeroU32;
use std::time::Duration;

use sealcast_proto::unit::sound_headers::samples;
use shiguredo_mp4::boxes::{AudioSampleEntryFields, EsdsBox, Mp4aBox, SampleEntry, UnknownBox};
use shiguredo_mp4::descriptors::{DecoderConfigDescriptor, DecoderSpecificInfo, EsDescriptor, SlConfigDescriptor};
use shiguredo_mp4::{BoxSize, BoxType, Encode, FixedPointNumber, Uint};

use super::file_mp4_boxes::{Run, SOUND, Track, sample};
use crate::media::{Orientation, ReceivedFrame, SoundCodec, SoundInfo};
use crate::source::dops;

/// A packet this much earlier or later than the end of the one before it moves in the file. Within it, packets follow
/// each other as they were made, since the times of a camera's packets are not exact.
const TOLERANCE: Duration = Duration::from_millis(10);

/// The packets of sound since the last fragment.
pub(super) struct SoundTrack {
    info: SoundInfo,
    entry: SampleEntry,
    timescale: NonZeroU32,
    /// Media time of the first packet.
    first: Option<Duration>,
    /// A packet whose duration is not known yet.
    held: Option<Vec<u8>>,
    /// Samples since the first packet, up to the held one.
    ticks: u64,
    samples: Vec<(u64, usize)>,
    payload: Vec<u8>,
}

impl SoundTrack {
    /// A track of such sound.
    pub(super) fn new(info: SoundInfo) -> Result<Self, String> {
        Ok(Self {
            entry: entry(&info).map_err(|e| e.to_string())?,
            timescale: NonZeroU32::new(info.samples_per_second).unwrap_or(NonZeroU32::MIN),
            info,
            first: None,
            held: None,
            ticks: 0,
            samples: Vec::new(),
            payload: Vec::new(),
        })
    }

    /// True if it is a track of such sound.
    pub(super) fn is_of(&self, info: &SoundInfo) -> bool {
        self.info == *info
    }

    /// Media time of the first packet, if one came.
    pub(super) fn first(&self) -> Option<Duration> {
        self.first
    }

    /// Bytes of packets that are in no fragment yet.
    pub(super) fn bytes(&self) -> usize {
        self.payload.len()
    }

    /// Takes the next packet.
    pub(super) fn push(&mut self, packet: &ReceivedFrame) {
        let first = *self.first.get_or_insert(packet.media_time);
        let at = self.to_ticks(packet.media_time.saturating_sub(first));
        if let Some(before) = self.held.replace(packet.data.to_vec()) {
            let usual = samples(&self.info, &before);
            let tolerance = self.to_ticks(TOLERANCE);
            let in_place = at.abs_diff(self.ticks + usual) <= tolerance && usual > 0;
            let duration = if in_place {
                usual
            } else {
                at.saturating_sub(self.ticks).max(1)
            };
            self.add(&before, duration);
        }
    }

    /// Ends the last packet, whose successor does not come.
    pub(super) fn finish(&mut self) {
        if let Some(last) = self.held.take() {
            let usual = samples(&self.info, &last).max(1);
            self.add(&last, usual);
        }
    }

    fn add(&mut self, packet: &[u8], duration: u64) {
        let duration = duration.min(u32::MAX.into());
        self.samples.push((duration, packet.len()));
        self.payload.extend_from_slice(packet);
        self.ticks += duration;
    }

    /// The time as a number of samples, rounded.
    fn to_ticks(&self, time: Duration) -> u64 {
        let ticks = (time.as_nanos() * u128::from(self.timescale.get()) + 500_000_000) / 1_000_000_000;
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    /// The track as the header describes it.
    pub(super) fn track(&self) -> Track {
        Track {
            number: SOUND,
            entry: self.entry.clone(),
            timescale: self.timescale,
            size: None,
            orientation: Orientation::default(),
        }
    }

    /// Takes the samples out, which begin in the file this much later than it, and their payload.
    pub(super) fn take(&mut self, later: Duration) -> (Run, Vec<u8>) {
        let samples = std::mem::take(&mut self.samples);
        let duration = samples.iter().map(|(duration, _)| duration).sum::<u64>();
        let run = Run {
            track: SOUND,
            from: self.to_ticks(later) + (self.ticks - duration),
            samples: samples
                .into_iter()
                .map(|(duration, bytes)| sample(duration, bytes, true, 0))
                .collect(),
            bytes: self.payload.len(),
        };
        (run, std::mem::take(&mut self.payload))
    }
}

/// The sample entry. MP4 has one for AAC and Opus; for G.711 it is that of QuickTime, which players know in MP4 too.
fn entry(info: &SoundInfo) -> shiguredo_mp4::Result<SampleEntry> {
    let audio = AudioSampleEntryFields {
        data_reference_index: AudioSampleEntryFields::DEFAULT_DATA_REFERENCE_INDEX,
        channelcount: info.channels,
        samplesize: AudioSampleEntryFields::DEFAULT_SAMPLESIZE,
        // Rates that do not fit stand in the codec's own configuration.
        samplerate: FixedPointNumber::new(u16::try_from(info.samples_per_second).unwrap_or(0), 0),
    };
    let unknown = |kind: &[u8; 4], rest: &[u8]| -> shiguredo_mp4::Result<SampleEntry> {
        let payload = [&audio.encode_to_vec()?, rest].concat();
        let box_type = BoxType::Normal(*kind);
        Ok(SampleEntry::Unknown(UnknownBox {
            box_type,
            box_size: BoxSize::with_payload_size(box_type, payload.len() as u64),
            payload,
        }))
    };
    match info.codec {
        SoundCodec::Aac => Ok(SampleEntry::Mp4a(Mp4aBox {
            audio,
            esds_box: EsdsBox {
                es: EsDescriptor {
                    es_id: EsDescriptor::MIN_ES_ID,
                    stream_priority: EsDescriptor::LOWEST_STREAM_PRIORITY,
                    depends_on_es_id: None,
                    url_string: None,
                    ocr_es_id: None,
                    dec_config_descr: DecoderConfigDescriptor {
                        object_type_indication: DecoderConfigDescriptor::OBJECT_TYPE_INDICATION_AUDIO_ISO_IEC_14496_3,
                        stream_type: DecoderConfigDescriptor::STREAM_TYPE_AUDIO,
                        up_stream: DecoderConfigDescriptor::UP_STREAM_FALSE,
                        buffer_size_db: Uint::new(0),
                        max_bitrate: 0,
                        avg_bitrate: 0,
                        dec_specific_info: Some(DecoderSpecificInfo {
                            payload: info.parameters.clone(),
                        }),
                    },
                    sl_config_descr: SlConfigDescriptor,
                },
            },
            unknown_boxes: Vec::new(),
        })),
        SoundCodec::Opus => {
            let dops = dops(&info.parameters);
            let size = u32::try_from(dops.len() + 8).unwrap_or(0);
            unknown(b"Opus", &[&size.to_be_bytes()[..], b"dOps", &dops].concat())
        }
        SoundCodec::Ulaw => unknown(b"ulaw", &[]),
        SoundCodec::Alaw => unknown(b"alaw", &[]),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn track() -> SoundTrack {
        SoundTrack::new(SoundInfo {
            codec: SoundCodec::Ulaw,
            channels: 1,
            samples_per_second: 8000,
            samples_per_frame: 0,
            parameters: Vec::new(),
        })
        .expect("an entry")
    }

    fn packet(millis: u64) -> ReceivedFrame {
        ReceivedFrame {
            number: 0,
            keyframe: true,
            media_time: Duration::from_millis(millis),
            opened: Instant::now(),
            data: vec![0x7f; 160].into(),
        }
    }

    fn durations(millis: &[u64]) -> Vec<u32> {
        let mut track = track();
        millis.iter().for_each(|&millis| track.push(&packet(millis)));
        track.finish();
        let samples = track.take(Duration::ZERO).0.samples;
        samples.iter().filter_map(|sample| sample.duration).collect()
    }

    #[test]
    fn packets_follow_each_other_though_their_times_are_not_exact() {
        assert_eq!(durations(&[50, 71, 89, 112]), [160; 4]);
    }

    #[test]
    fn a_missing_packet_leaves_its_time_and_drift_is_caught_up() {
        assert_eq!(durations(&[0, 20, 60, 80]), [160, 320, 160, 160]);
        let drifting: Vec<u64> = (0..40).map(|number| number * 21).collect();
        let total: u32 = durations(&drifting)[..39].iter().sum();
        assert!(total.abs_diff(39 * 21 * 8) <= 80, "{total}");
    }
}
