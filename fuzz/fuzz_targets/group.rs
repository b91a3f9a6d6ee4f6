//! A group whose terms, sheets and records are lost, repeated, mixed up and altered: none that was altered is taken, no
//! old sheet leads back, who is a member opens everything after its path sheet, and who is none, or has no terms, opens
//! nothing.
#![no_main]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_fuzz::Edit;
use sealcast_proto::group::{
    GroupName, InForce, Leader, LeaderConfig, Member, MemberConfig, MemberId, MemberKey, SheetRefusal, Terms,
    TermsRefusal,
};
use sealcast_proto::keys::Identity;
use sealcast_proto::seal::{RecordMeta, SealLimits, Sealed, suite};
use sealcast_proto::sign::SignMode;
use sealcast_proto::wire::{Accept, CameraName, Flags};

/// Members by name.
const MEMBERS: u8 = 16;
/// Sheets and records that are kept.
const MOST: usize = 64;

#[derive(Debug, Arbitrary)]
enum Step {
    Admit(u8),
    Remove(u8),
    Rekey,
    /// Announces what waits, and seals a frame under it.
    Change {
        full: bool,
    },
    /// The terms of the run arrive at a member, perhaps altered.
    Agree {
        member: u8,
        edit: Option<Edit>,
    },
    /// A sheet arrives at a member, perhaps altered.
    Tell {
        which: u8,
        member: u8,
        edit: Option<Edit>,
    },
    /// A record arrives at a member, perhaps altered.
    Show {
        which: u8,
        member: u8,
        edit: Option<Edit>,
        genuine: bool,
    },
    /// Bytes of a stranger arrive at a member.
    Noise {
        member: u8,
        bytes: Vec<u8>,
    },
    /// The camera starts anew.
    Restart,
}

struct World {
    leader: Leader,
    in_force: InForce,
    run: u8,
    now: Duration,
    members: Vec<Member>,
    /// Members, as of the announced epoch and as asked for.
    announced: BTreeSet<u8>,
    asked: BTreeSet<u8>,
    sheets: Vec<Vec<u8>>,
    records: Vec<Vec<u8>>,
}

fn seed(number: u64) -> [u8; 32] {
    let mut seed = [0x5E; 32];
    seed[..8].copy_from_slice(&number.to_be_bytes());
    seed
}

fn name() -> GroupName {
    GroupName {
        camera: Identity::from_seed(&[7; 32]).peer_id(),
        stream: 1,
    }
}

fn key(member: u8) -> MemberKey {
    MemberKey::derive(&seed(1 << 63 | u64::from(member)), &name())
}

fn member(number: u8) -> Member {
    let config = MemberConfig {
        group: name(),
        suites: vec![suite::AES_128_GCM],
    };
    Member::new(config, key(number))
}

/// Takes terms as a viewer does.
fn agree(member: &mut Member, terms: &[u8]) -> Result<bool, TermsRefusal> {
    member.agree(Terms::verified(terms, &name(), &CameraName::NONE)?)
}

fn leader(run: u8) -> (Leader, InForce) {
    let config = LeaderConfig {
        identity: Arc::new(Identity::from_seed(&[7; 32])),
        stream: 1,
        suite: suite::AES_128_GCM,
        limits: SealLimits::COUNTER,
    };
    let first = u64::from(run) << 20;
    Leader::new(config, first..first + (1 << 20), 0, [run; 16], &seed(first)).expect("there are numbers")
}

impl World {
    fn new() -> Self {
        let (leader, in_force) = leader(0);
        Self {
            leader,
            in_force,
            run: 0,
            now: Duration::ZERO,
            members: (0..MEMBERS).map(member).collect(),
            announced: BTreeSet::new(),
            asked: BTreeSet::new(),
            sheets: Vec::new(),
            records: Vec::new(),
        }
    }

    fn restart(&mut self) {
        self.run += 1;
        (self.leader, self.in_force) = leader(self.run);
        for member in &self.asked {
            let admitted = self.leader.admit(self.now, MemberId((*member).into()), key(*member));
            admitted.expect("the new leader knows nobody");
        }
        self.announced.clear();
        self.change(true);
    }

    fn change(&mut self, full: bool) {
        let seed = seed(self.leader.epoch() + 1);
        let Some(announced) = self.leader.announce(self.now, 1, &seed).expect("there are numbers") else {
            return;
        };
        self.now += Duration::from_secs(1);
        self.in_force = self.leader.switch(self.now, false).expect("it is a second later");
        self.announced.clone_from(&self.asked);
        assert_eq!(self.leader.members(), self.announced.len());
        self.sheets.extend(announced.sheet);
        self.sheets.extend(full.then(|| self.leader.full_sheet()));
        let record = self.record();
        self.records.push(record);
        self.check();
        for kept in [&mut self.sheets, &mut self.records] {
            let old = kept.len().saturating_sub(MOST);
            kept.drain(..old);
        }
    }

    fn record(&mut self) -> Vec<u8> {
        let meta = RecordMeta {
            flags: Flags::frame(true, true, true),
            stream: 1,
            timestamp: 1,
        };
        let mut record = Vec::new();
        self.in_force
            .sealer
            .seal(meta, &[b"picture"], &mut record)
            .expect("within the limits");
        record
    }

    /// A member is helped by its path sheet, and nobody else by any sheet.
    fn check(&mut self) {
        let record = self.record();
        let full = self.leader.full_sheet();
        for number in 0..MEMBERS {
            let mut fresh = member(number);
            assert!(agree(&mut fresh, &self.terms()).is_ok());
            let path = self.leader.path_sheet(MemberId(number.into()));
            assert_eq!(path.is_some(), self.announced.contains(&number));
            match path {
                Some(path) => fresh.take(&path).map(drop).expect("it is for this member"),
                None => assert_eq!(fresh.take(&full), Err(SheetRefusal::NoSlot)),
            }
            let opens = open(&mut fresh, record.clone());
            assert_eq!(opens.is_some(), self.announced.contains(&number));
            let known = open(&mut self.members[usize::from(number)], record.clone());
            assert!(
                known.is_none() || self.announced.contains(&number),
                "{number} is no member"
            );
        }
    }

    fn terms(&self) -> Vec<u8> {
        self.leader.terms(SignMode::Off, CameraName::NONE)
    }

    fn agree(&mut self, member: u8, edit: Option<Edit>) {
        let original = self.terms();
        let mut terms = original.clone();
        if let Some(edit) = edit {
            edit.apply(&mut terms);
        }
        let agreed = agree(&mut self.members[usize::from(member % MEMBERS)], &terms);
        assert_eq!(agreed.is_ok(), terms == original, "{agreed:?}");
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Admit(member) => {
                let member = member % MEMBERS;
                let admitted = self.leader.admit(self.now, MemberId(member.into()), key(member));
                assert_eq!(admitted.is_ok(), self.asked.insert(member));
            }
            Step::Remove(member) => {
                let member = member % MEMBERS;
                let removed = self.leader.remove(self.now, MemberId(member.into()));
                assert_eq!(removed.is_ok(), self.asked.remove(&member));
            }
            Step::Rekey => self.leader.rekey(self.now),
            Step::Change { full } => self.change(full),
            Step::Restart if self.run < 8 => self.restart(),
            Step::Restart => {}
            Step::Agree { member, edit } => self.agree(member, edit),
            Step::Tell { which, member, edit } => self.tell(which, member, edit),
            Step::Show {
                which,
                member,
                edit,
                genuine,
            } => self.show(which, member, edit, genuine),
            Step::Noise { member, mut bytes } => {
                let member = &mut self.members[usize::from(member % MEMBERS)];
                assert!(self.sheets.contains(&bytes) || member.take(&bytes).is_err());
                let sealed = Sealed::parse(&mut bytes, Accept::EncryptedOnly);
                let _ = sealed.map(|sealed| member.open(sealed).map(drop));
            }
        }
    }

    fn tell(&mut self, which: u8, member: u8, edit: Option<Edit>) {
        let Some(original) = self.sheets.get(usize::from(which) % self.sheets.len().max(1)) else {
            return;
        };
        let mut sheet = original.clone();
        if let Some(edit) = edit {
            edit.apply(&mut sheet);
        }
        let member = &mut self.members[usize::from(member % MEMBERS)];
        let before = member.sheet_epoch();
        match member.take(&sheet) {
            Ok(taken) => {
                assert_eq!(sheet, *original, "an altered sheet was taken");
                assert!(Some(taken.epoch) > before && member.sheet_epoch() == Some(taken.epoch));
            }
            Err(_) => assert_eq!(member.sheet_epoch(), before),
        }
    }

    fn show(&mut self, which: u8, member: u8, edit: Option<Edit>, genuine: bool) {
        let Some(original) = self.records.get(usize::from(which) % self.records.len().max(1)) else {
            return;
        };
        let mut record = original.clone();
        if let Some(edit) = edit {
            edit.apply(&mut record);
        }
        let altered = record != *original;
        let member = &mut self.members[usize::from(member % MEMBERS)];
        let opened = open(member, record);
        assert!(opened.is_none() || !altered, "an altered record was opened");
        if let Some(epoch) = opened.filter(|_| genuine) {
            member.confirm(self.now, epoch);
        }
        member.retire(self.now);
    }
}

/// The epoch of a record, if it opens.
fn open(member: &mut Member, mut record: Vec<u8>) -> Option<u64> {
    let sealed = Sealed::parse(&mut record, Accept::EncryptedOnly).ok()?;
    let (opened, epoch) = member.open(sealed).ok()?;
    assert_eq!(opened.payload(), b"picture");
    Some(epoch)
}

fuzz_target!(|steps: Vec<Step>| {
    let mut world = World::new();
    for step in steps.into_iter().take(96) {
        world.take(step);
    }
});
