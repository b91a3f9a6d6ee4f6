//! The camera's half for the sound beside the picture: it has keys, numbers and signatures of its own, so that what is
//! lost of one stream leaves the other whole (groups.md §3).

use crate::keys::PeerId;
use crate::sign::{FrameSigner, GopSigner, MAX_PART_FRAMES, SignMode};
use crate::unit::{SOUND_STREAM, SoundInfo};

/// Packets of sound after which its description stands again, where no group of pictures begins before: some five
/// seconds. It is the length of a part that is signed with ML-DSA, so both are cut at the same places.
const DESCRIBED_EVERY: u32 = MAX_PART_FRAMES as u32;

/// State of the sound so far.
pub(super) struct SoundSealer {
    pub(super) signer: FrameSigner,
    gops: Option<GopSigner>,
    /// The description before the last packet that had one.
    described: Option<SoundInfo>,
    /// The group of pictures in which the last packet was made, and its index there.
    last: Option<(u64, u32)>,
    /// Number of the next packets that begin with a description.
    pub(super) next: u64,
}

impl SoundSealer {
    /// No sound yet. `first` is the number of the first group of pictures.
    pub(super) fn new(camera: PeerId, sign: SignMode, first: u64) -> Self {
        Self {
            signer: FrameSigner::new(SOUND_STREAM as u16, first),
            gops: sign.gops().then(|| GopSigner::new(camera)),
            described: None,
            last: None,
            next: first,
        }
    }

    /// Signer that collects packets for the signature of groups of pictures.
    pub(super) fn gops(&mut self) -> Option<&mut GopSigner> {
        self.gops.as_mut()
    }

    /// Counts a packet in this group of pictures. Returns true if its description stands before it.
    pub(super) fn count(&mut self, group: u64, info: &SoundInfo) -> bool {
        let index = match self.last {
            Some((last, index)) if last == group => index.wrapping_add(1),
            _ => 0,
        };
        self.last = Some((group, index));
        let begins = index.is_multiple_of(DESCRIBED_EVERY) || self.described.as_ref() != Some(info);
        if begins {
            self.described = Some(info.clone());
            self.next += 1;
        }
        begins
    }
}
