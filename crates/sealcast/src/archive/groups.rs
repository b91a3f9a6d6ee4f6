//! Proof by the signatures of groups of pictures in an archive (archive.md §5).

use std::time::Duration;

use sealcast_proto::keys::PeerId;
use sealcast_proto::sign::{Certificate, GopOutcome, GopRefusal, GopSignature, GopVerifiers, Statement, Taken};
use sealcast_proto::unit::{PICTURE_STREAM, SOUND_STREAM};

/// A part of the stream that one signature covers: a group of pictures, or up to 256 frames of a longer one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedGroup {
    /// Number of the segment in which the signature stands.
    pub segment: u64,
    /// True for a group of packets of sound.
    pub sound: bool,
    /// Number of the group of pictures.
    pub group: u64,
    /// Index of its first frame in the group.
    pub first: u32,
    /// Number of its frames.
    pub frames: u32,
    /// Number of those that are in the archive, and proven.
    pub proven: u32,
}

impl SignedGroup {
    /// True if it covers this frame.
    pub(super) fn covers(&self, statement: &Statement) -> bool {
        let sound = u32::from(statement.stream) == SOUND_STREAM;
        let indexes = self.first..self.first + self.frames;
        (sound, statement.group) == (self.sound, self.group) && indexes.contains(&statement.index)
    }
}

/// Fault of a signature, or of the frames that it covers.
pub(super) enum Wrong {
    /// There is no certificate of the camera's before it, or it is not by that key.
    NotTheCameras,
    /// Frames are not those that the camera signed: so many.
    Forged(usize),
}

/// Verifies the signatures of one camera after the other, as they come.
pub(super) struct Groups {
    camera: Option<PeerId>,
    certificate: Option<Certificate>,
    verifiers: Option<GopVerifiers>,
    /// Frames that were proven after their signature had come. They are to be taken.
    pub(super) late: Vec<Statement>,
}

impl Groups {
    pub(super) fn new() -> Self {
        Self {
            camera: None,
            certificate: None,
            verifiers: None,
            late: Vec::new(),
        }
    }

    /// The segment that begins was recorded in another session than the one before.
    pub(super) fn resume(&mut self) {
        self.verifiers = None;
    }

    /// The certificate stands here.
    pub(super) fn key(&mut self, certificate: &[u8]) {
        let certificate = Certificate::parse(certificate).ok();
        if certificate != self.certificate {
            self.certificate = certificate;
            // Frames that came before any are judged by this one.
            self.verifiers.take_if(|verifiers| verifiers.is_certified());
        }
        self.certify();
    }

    /// A frame of this camera stands here. Returns false if its group's signature says that it is not the camera's.
    pub(super) fn took(&mut self, camera: PeerId, statement: &Statement) -> bool {
        if self.camera.replace(camera) != Some(camera) {
            self.resume();
        }
        let sound = u32::from(statement.stream) == SOUND_STREAM;
        let picture = if sound { PICTURE_STREAM as u16 } else { statement.stream };
        let verifiers = self.verifiers.get_or_insert_with(|| GopVerifiers::new(picture));
        // Nobody waits here: signatures stand where they were recorded.
        let taken = verifiers.took(Duration::ZERO, statement);
        if taken == Taken::Proven {
            self.late.push(*statement);
        }
        self.certify();
        taken != Taken::Forged
    }

    /// Tells the verifiers the camera's key, if it is known.
    fn certify(&mut self) {
        if let (Some(verifiers), Some(certificate), Some(camera)) =
            (&mut self.verifiers, &self.certificate, &self.camera)
            && !verifiers.is_certified()
            && let Ok(key) = certificate.verify(camera, None)
        {
            verifiers.certified(&key);
        }
    }

    /// A signature stands in this segment. `None` if it says nothing new. The flag is false if a signature before it is
    /// missing.
    pub(super) fn signature(&mut self, segment: u64, message: &[u8]) -> Result<Option<(SignedGroup, bool)>, Wrong> {
        let Some(verifiers) = &mut self.verifiers else {
            return Err(Wrong::NotTheCameras);
        };
        let verdict = match verifiers.verify(message) {
            Ok(verdict) => verdict,
            Err(GopRefusal::Repeated) => return Ok(None),
            Err(_) => return Err(Wrong::NotTheCameras),
        };
        let indexes = GopSignature::parse(message).map_or(0..0, |signature| signature.indexes());
        let frames = indexes.end - indexes.start;
        let proven = match verdict.outcome {
            GopOutcome::Proven => frames,
            GopOutcome::Incomplete { missing } => frames.saturating_sub(missing.len() as u32),
            GopOutcome::Forged { forged } => return Err(Wrong::Forged(forged.len())),
        };
        let group = SignedGroup {
            segment,
            sound: u32::from(verdict.stream) == SOUND_STREAM,
            group: verdict.group,
            first: indexes.start,
            frames,
            proven,
        };
        Ok(Some((group, verdict.follows)))
    }
}

#[cfg(test)]
mod tests {
    use sealcast_proto::keys::Identity;
    use sealcast_proto::sign::{FrameHasher, GopSigner};

    use super::*;
    use crate::keys::gop_key::GopSigningKey;

    fn statement(group: u64, index: u32, picture: u8) -> Statement {
        let mut hasher = FrameHasher::new();
        hasher.push(&[picture]);
        Statement {
            stream: 1,
            index,
            epoch: 7,
            group,
            frame: group * 3 + u64::from(index),
            digest: hasher.finish().expect("one record"),
            liveness: None,
        }
    }

    /// The signatures of groups of three frames each.
    fn signed(key: &GopSigningKey, camera: PeerId, groups: std::ops::Range<u64>) -> Vec<Vec<u8>> {
        let mut parts = GopSigner::new(camera);
        groups
            .map(|group| {
                for index in 0..3 {
                    assert!(parts.push(&statement(group, index, 1)).is_none());
                }
                let part = parts.close().expect("three frames");
                key.sign(part).expect("it signs").to_bytes()
            })
            .collect()
    }

    fn took(groups: &mut Groups, camera: PeerId, group: u64, pictures: &[u8]) -> bool {
        let indexes = 0..pictures.len() as u32;
        let statements = indexes
            .zip(pictures)
            .map(|(index, picture)| statement(group, index, *picture));
        statements.fold(true, |all, statement| groups.took(camera, &statement) & all)
    }

    #[test]
    fn a_signature_proves_its_frames_wherever_the_certificate_stands_and_no_others() {
        let identity = Identity::from_seed(&[1; 32]);
        let camera = identity.peer_id();
        let key = GopSigningKey::of(&identity).expect("it works");
        let certificate = key.certificate().to_bytes();
        let [first, second, third] = signed(&key, camera, 0..3).try_into().expect("three");
        let mut groups = Groups::new();
        assert!(took(&mut groups, camera, 0, &[1, 1, 1]));
        assert!(
            matches!(groups.signature(1, &first), Err(Wrong::NotTheCameras)),
            "by whom?"
        );
        groups.key(&certificate);
        let proven = |signed: Result<Option<(SignedGroup, bool)>, Wrong>| {
            let signed = signed.unwrap_or_else(|_| panic!("it is the camera's"));
            signed.map(|(signed, follows)| (signed.segment, signed.group, signed.proven, signed.frames, follows))
        };
        assert_eq!(proven(groups.signature(1, &first)), Some((1, 0, 3, 3, true)));
        assert_eq!(proven(groups.signature(1, &first)), None, "it says nothing new");
        // One frame comes late, the second group's signature is missing, and of the third a frame is somebody else's.
        assert!(took(&mut groups, camera, 2, &[1, 2, 1]));
        assert!(matches!(groups.signature(2, &third), Err(Wrong::Forged(1))));
        assert_eq!(proven(groups.signature(2, &second)), Some((2, 1, 0, 3, false)));
        assert!(took(&mut groups, camera, 1, &[1, 1]));
        let late: Vec<u32> = groups.late.drain(..).map(|statement| statement.index).collect();
        assert_eq!(late, [0, 1]);
        assert!(
            !took(&mut groups, camera, 1, &[9]),
            "a frame that the signature contradicts"
        );
        // Another session begins.
        groups.resume();
        assert!(took(&mut groups, camera, 2, &[1, 1]));
        assert_eq!(proven(groups.signature(3, &third)), Some((3, 2, 2, 3, true)));
    }

    #[test]
    fn another_cameras_certificate_and_an_altered_signature_prove_nothing() {
        let [identity, other] = [[1; 32], [2; 32]].map(|seed| Identity::from_seed(&seed));
        let camera = identity.peer_id();
        let keys = [&identity, &other].map(|identity| GopSigningKey::of(identity).expect("it works"));
        let [message] = signed(&keys[0], camera, 0..1).try_into().expect("one");
        let [forged] = signed(&keys[1], camera, 0..1).try_into().expect("one");
        let mut groups = Groups::new();
        groups.key(&keys[1].certificate().to_bytes());
        assert!(took(&mut groups, camera, 0, &[1, 1, 1]));
        for message in [&message, &forged] {
            assert!(matches!(groups.signature(1, message), Err(Wrong::NotTheCameras)));
        }
        groups.key(&keys[0].certificate().to_bytes());
        let mut altered = message.clone();
        altered[200] ^= 1;
        for message in [&altered, &forged] {
            assert!(matches!(groups.signature(1, message), Err(Wrong::NotTheCameras)));
        }
        assert!(matches!(groups.signature(1, &message), Ok(Some(_))));
    }
}
