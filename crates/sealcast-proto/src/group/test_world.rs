//! Helpers that the tests of groups share.

use std::sync::Arc;
use std::time::Duration;

use super::secret::{Group, GroupName, MemberKey, RUN_LEN};
use super::{Announcement, InForce, Leader, LeaderConfig, Member, MemberConfig, MemberId, Terms};
use crate::keys::Identity;
use crate::seal::suite::{AES_128_GCM, AES_256_GCM};
use crate::seal::{RecordMeta, Refusal, SealLimits, Sealed, Sealer};
use crate::sign::SignMode;
use crate::wire::{Accept, CameraName, Flags};

pub(super) const STREAM: u32 = 1;

pub(super) fn camera() -> Identity {
    Identity::from_seed(&[7; 32])
}

pub(super) fn name() -> GroupName {
    GroupName {
        camera: camera().peer_id(),
        stream: STREAM,
    }
}

/// Bytes that no other number gives.
pub(super) fn seed(number: u64) -> [u8; 32] {
    let mut seed = [0x5E; 32];
    seed[..8].copy_from_slice(&number.to_be_bytes());
    seed
}

pub(super) fn key(member: u64) -> MemberKey {
    MemberKey::derive(&seed(member | 1 << 63), &name())
}

/// A member with the terms of the first run.
pub(super) fn member(number: u64) -> Member {
    let config = MemberConfig {
        group: name(),
        suites: vec![AES_128_GCM, AES_256_GCM],
    };
    let mut member = Member::new(config, key(number));
    agree(&mut member, 1);
    member
}

/// Tells a member the terms of the run with this number.
pub(super) fn agree(member: &mut Member, run: u8) {
    let group = Group {
        name: name(),
        run: [run; RUN_LEN],
    };
    let terms = Terms::new(group, SignMode::Off, AES_128_GCM.id, CameraName::NONE);
    member.agree(terms).expect("they are the camera's");
}

pub(super) fn config() -> LeaderConfig {
    LeaderConfig {
        identity: Arc::new(camera()),
        stream: STREAM,
        suite: AES_128_GCM,
        limits: SealLimits::COUNTER,
    }
}

/// A leader whose clock moves by a second with each change, so that each is in force before the next.
pub(super) struct World {
    pub(super) leader: Leader,
    pub(super) now: Duration,
    pub(super) group: u64,
    pub(super) sealer: Sealer,
}

impl World {
    pub(super) fn new() -> Self {
        Self::run(0, 1)
    }

    /// The leader's run with this number, which begins with epoch `first`.
    pub(super) fn run(first: u64, run: u8) -> Self {
        let numbers = first..first + (1 << 20);
        let made = Leader::new(config(), numbers, 0, [run; 16], &seed(u64::from(run) << 32));
        let (leader, InForce { sealer, .. }) = made.expect("there are numbers");
        Self {
            leader,
            now: Duration::ZERO,
            group: 0,
            sealer,
        }
    }

    pub(super) fn admit(&mut self, members: impl IntoIterator<Item = u64>) {
        for number in members {
            let admitted = self.leader.admit(self.now, MemberId(number), key(number));
            admitted.expect("it is new and fits");
        }
    }

    pub(super) fn remove(&mut self, members: impl IntoIterator<Item = u64>) {
        for number in members {
            self.leader.remove(self.now, MemberId(number)).expect("it is one");
        }
    }

    /// Announces what waits, and puts it in force.
    pub(super) fn change(&mut self) -> Announcement {
        self.group += 1;
        let seed = seed(self.leader.epoch() + 1);
        let announced = self.leader.announce(self.now, self.group, &seed);
        let announced = announced.expect("there are numbers").expect("a change waits");
        self.now += Duration::from_secs(1);
        let InForce { epoch, sealer, .. } = self.leader.switch(self.now, true).expect("it is announced");
        assert_eq!(epoch, announced.epoch);
        self.sealer = sealer;
        announced
    }

    pub(super) fn path(&self, member: u64) -> Vec<u8> {
        self.leader.path_sheet(MemberId(member)).expect("it is a member")
    }

    /// A member that has its path sheet.
    pub(super) fn joined(&self, number: u64) -> Member {
        let mut member = member(number);
        member.take(&self.path(number)).expect("it is for this member");
        member
    }

    pub(super) fn record(&mut self) -> Vec<u8> {
        seal(&mut self.sealer)
    }
}

pub(super) fn seal(sealer: &mut Sealer) -> Vec<u8> {
    let meta = RecordMeta {
        flags: Flags::frame(true, true, true),
        stream: STREAM,
        timestamp: 1,
    };
    let mut record = Vec::new();
    sealer
        .seal(meta, &[b"picture"], &mut record)
        .expect("within the limits");
    record
}

/// Opens a record; returns its epoch.
pub(super) fn open(member: &mut Member, record: &[u8]) -> Result<u64, Refusal> {
    let mut record = record.to_vec();
    let sealed = Sealed::parse(&mut record, Accept::EncryptedOnly).expect("it is one");
    let (opened, epoch) = member.open(sealed)?;
    assert_eq!(opened.payload(), b"picture");
    Ok(epoch)
}
