//! The cast of every part of the experiment: a camera, its stream, viewers and frames.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind};
use sealcast_proto::clock::Now;
use sealcast_proto::group::{GroupName, LeaderError, MemberConfig, MemberKey, Terms};
use sealcast_proto::group_media::{GroupOpener, GroupOpenerConfig, GroupSealer, GroupSealerConfig, SealedFrame};
use sealcast_proto::keys::Identity;
use sealcast_proto::seal::suite::AES_256_GCM;
use sealcast_proto::session::OutgoingFrame;
use sealcast_proto::sign::SignMode;
use sealcast_proto::unit::{Codec, FrameRate, Preamble, StreamInfo, Unit};
use sealcast_proto::wire::{CameraName, LENGTH_PREFIX};

const STREAM: u16 = 1;
/// Epoch numbers of a run.
const NUMBERS: Range<u64> = 1..1 << 20;
/// The wall clock at the start; any other would do.
const EPOCH_NS: u64 = 1_700_000_000_000_000_000;

/// The clocks after this time.
pub(crate) fn at(monotonic: Duration) -> Now {
    Now {
        monotonic,
        wall: EPOCH_NS + u64::try_from(monotonic.as_nanos()).unwrap_or(0),
    }
}

/// The camera's identity; not secret, since it protects nothing.
pub(crate) fn identity() -> Arc<Identity> {
    Arc::new(Identity::from_seed(&[7; 32]))
}

fn group() -> GroupName {
    GroupName {
        camera: identity().peer_id(),
        stream: STREAM.into(),
    }
}

/// Key that a viewer and the camera share, in place of what their handshake gives.
pub(crate) fn member_key(number: u64) -> MemberKey {
    let mut shared = [0x5E; 32];
    shared[..8].copy_from_slice(&number.to_be_bytes());
    MemberKey::derive(&shared, &group())
}

/// The camera's side of a group without members.
pub(crate) fn sealer(sign: SignMode) -> Result<GroupSealer, LeaderError> {
    let config = GroupSealerConfig {
        identity: identity(),
        stream: STREAM,
        suite: AES_256_GCM,
        sign,
        camera_name: CameraName::NONE,
        unit: Unit::Frame,
        selection_seed: 0,
    };
    GroupSealer::new(at(Duration::ZERO), config, NUMBERS, [9; 16], &[3; 32])
}

/// The side of the viewer of this number, by the terms of the camera's side.
pub(crate) fn opener(number: u64, sealer: &GroupSealer) -> Result<GroupOpener, Failure> {
    let config = GroupOpenerConfig {
        member: MemberConfig {
            group: group(),
            suites: vec![AES_256_GCM],
        },
        tell_units: false,
    };
    let mut opener = GroupOpener::new(config, member_key(number));
    let terms = Terms::verified(sealer.terms(), &group(), &CameraName::NONE);
    let agreed = terms.and_then(|terms| opener.agree(terms));
    agreed.map_err(|refusal| broken(&refusal))?;
    Ok(opener)
}

pub(crate) fn info() -> StreamInfo {
    StreamInfo {
        codec: Codec::Mjpeg,
        width: 1280,
        height: 720,
        rate: FrameRate {
            numerator: 25,
            denominator: 1,
        },
        parameters: Vec::new(),
    }
}

/// The frame of this number.
pub(crate) fn frame(number: u64, keyframe: bool, data: &[u8]) -> OutgoingFrame<'_> {
    OutgoingFrame {
        stream: STREAM.into(),
        codec: Codec::Mjpeg,
        keyframe,
        preamble: Preamble {
            frame: number,
            ..Preamble::default()
        },
        data,
    }
}

/// The records of a frame, each without its length.
pub(crate) fn records(frame: &SealedFrame) -> Vec<Vec<u8>> {
    let mut rest = &frame.bytes[..];
    let mut records = Vec::new();
    while let Some((length, more)) = rest.split_first_chunk::<LENGTH_PREFIX>() {
        let (record, more) = more.split_at(u32::from_be_bytes(*length) as usize);
        records.push(record.to_vec());
        rest = more;
    }
    records
}

/// A part of the protocol did what it must not.
pub(crate) fn broken(what: &dyn std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Internal, format!("groups: {what}"), "please report this")
}
