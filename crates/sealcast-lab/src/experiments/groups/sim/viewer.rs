//! A simulated viewer: it takes sheets, opens frames, and keeps those that came before their key.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use sealcast::failure::Result;
use sealcast::meter::resources::thread_cpu_time;
use sealcast_proto::group::SheetRefusal;
use sealcast_proto::group_media::{GroupOpener, GroupRefusal, GroupSealer};
use sealcast_proto::seal::Refusal;

use super::super::cast;

/// Time for which a frame waits for its key. One that has waited longer is lost.
const HOLD: Duration = Duration::from_secs(1);

/// A frame under way.
pub(super) struct Frame {
    pub(super) epoch: u64,
    pub(super) records: Vec<Vec<u8>>,
}

/// Outcome of frames at all viewers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Frames {
    /// Frames that reached a viewer that should have their key.
    pub(super) expected: u64,
    /// Those that had to wait for it.
    pub(super) late: u64,
    /// Those for which it never came.
    pub(super) lost: u64,
}

/// Cost of sheets to all viewers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taking {
    pub(super) sheets: u64,
    pub(super) cpu: Duration,
}

/// Wish of a viewer after a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Nothing,
    /// A sheet that it cannot do without is missing.
    Sheet,
}

/// One viewer.
pub(super) struct Viewer {
    opener: GroupOpener,
    /// The first epoch of which it is a member.
    from: Option<u64>,
    /// The first of which it is none any more.
    until: Option<u64>,
    /// Epochs whose keys it waits for.
    waiting: Vec<u64>,
    held: VecDeque<(Duration, Rc<Frame>)>,
    /// Number of the next sheet of its session, and those that came before it.
    next_sheet: u64,
    early: BTreeMap<u64, Rc<[u8]>>,
}

impl Viewer {
    /// Of the camera that this is.
    pub(super) fn new(number: u64, camera: &GroupSealer) -> Result<Self> {
        Ok(Self {
            opener: cast::opener(number, camera)?,
            from: None,
            until: None,
            waiting: Vec::new(),
            held: VecDeque::new(),
            next_sheet: 0,
            early: BTreeMap::new(),
        })
    }

    /// It is a member from this epoch on.
    pub(super) fn admitted(&mut self, epoch: u64) {
        self.from = Some(epoch);
    }

    /// It is no member any more from this epoch on.
    pub(super) fn removed(&mut self, epoch: u64) {
        self.until = Some(epoch);
        self.waiting.clear();
    }

    pub(super) fn is_member(&self) -> bool {
        self.from.is_some() && self.until.is_none()
    }

    /// It needs a sheet for the key of this epoch.
    pub(super) fn waits_for(&mut self, epoch: u64) {
        self.waiting.push(epoch);
    }

    /// Epochs whose keys never came.
    pub(super) fn waiting(&self) -> &[u64] {
        &self.waiting
    }

    fn should_open(&self, epoch: u64) -> bool {
        self.from.is_some_and(|from| from <= epoch) && self.until.is_none_or(|until| epoch < until)
    }

    /// A sheet of its session arrives; those after one that is missing wait. Returns which came in order.
    pub(super) fn in_order(&mut self, number: u64, sheet: Rc<[u8]>) -> Vec<Rc<[u8]>> {
        if number >= self.next_sheet {
            self.early.insert(number, sheet);
        }
        let mut due = Vec::new();
        while let Some(sheet) = self.early.remove(&self.next_sheet) {
            due.push(sheet);
            self.next_sheet += 1;
        }
        due
    }

    /// Number of sheets that came without a gap.
    pub(super) fn acknowledged(&self) -> u64 {
        self.next_sheet
    }

    /// Takes a sheet. Returns the epochs whose keys it now has and waited for, and what it wants.
    pub(super) fn take(&mut self, sheet: &[u8], taking: &mut Taking) -> (Vec<u64>, Wish) {
        let before = thread_cpu_time();
        let taken = self.opener.take_sheet(sheet);
        taking.cpu += thread_cpu_time().saturating_sub(before);
        taking.sheets += 1;
        match taken {
            Ok(taken) => {
                let has = |epoch: &mut u64| *epoch <= taken.epoch;
                (self.waiting.extract_if(.., has).collect(), Wish::Nothing)
            }
            Err(SheetRefusal::Missed | SheetRefusal::Unopened) => (Vec::new(), Wish::Sheet),
            Err(_) => (Vec::new(), Wish::Nothing),
        }
    }

    /// True if it can take this sheet, which it should not.
    pub(super) fn takes(&mut self, sheet: &[u8]) -> bool {
        self.opener.take_sheet(sheet).is_ok()
    }

    /// A frame arrives.
    pub(super) fn frame(&mut self, now: Duration, frame: &Rc<Frame>, counts: &mut Frames) -> Wish {
        if !self.should_open(frame.epoch) {
            return Wish::Nothing;
        }
        counts.expected += 1;
        if self.opens(now, frame) {
            return Wish::Nothing;
        }
        counts.late += 1;
        self.held.push_back((now + HOLD, Rc::clone(frame)));
        Wish::Sheet
    }

    /// Opens held frames whose key came, and gives up those that waited too long.
    pub(super) fn retry(&mut self, now: Duration, counts: &mut Frames) {
        for (until, frame) in std::mem::take(&mut self.held) {
            if until < now {
                counts.lost += 1;
            } else if !self.opens(now, &frame) {
                self.held.push_back((until, frame));
            }
        }
    }

    /// True if it opens all records of the frame.
    pub(super) fn opens(&mut self, now: Duration, frame: &Frame) -> bool {
        let mut all = true;
        for record in &frame.records {
            let opened = self.opener.open(now, &mut record.clone());
            all &= !matches!(opened, Err(GroupRefusal::Record(Refusal::UnknownEpoch | Refusal::Tag)));
        }
        while self.opener.next_media().is_some() {}
        all
    }

    /// Frames that never opened.
    pub(super) fn left(&self) -> u64 {
        self.held.len() as u64
    }
}
