//! A viewer's side of a group: it takes key sheets, and opens records (groups.md §6 and §8).

use std::time::Duration;

use super::MAX_RATCHET;
use super::epochs::{Base, Epochs};
use super::node::{DEPTH, Node};
use super::refusal::{SheetRefusal, TermsRefusal};
use super::secret::{Group, GroupName, MemberKey, NodeSecret};
use super::sheet::{Head, Scope, Sheet};
use super::terms::Terms;
use crate::seal::{Opened, Refusal, Sealed, Suite};
use crate::wire::Kind;

/// Settings of a member.
#[derive(Clone)]
pub struct MemberConfig {
    /// The group: the camera that is pinned, and the stream of it that is watched.
    pub group: GroupName,
    /// The suites that this end accepts.
    pub suites: Vec<Suite>,
}

/// Contents of a sheet that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Part of the tree that it shows.
    pub scope: Scope,
    /// Its epoch.
    pub epoch: u64,
    /// The number of the first group of pictures of which nothing is sealed under an earlier epoch.
    pub effect: u64,
}

/// Terms that were agreed on, and their suite.
type Agreed = (Terms, Suite);

/// Knowledge of a member since the last sheet.
struct State {
    group: Group,
    suite: Suite,
    epoch: u64,
    effect: u64,
    leaf: Node,
    /// Secrets of the inner nodes above the leaf, the root's last.
    path: [NodeSecret; DEPTH],
}

/// A viewer's side of a group. It is deterministic: the program passes the monotonic clock in.
pub struct Member {
    config: MemberConfig,
    key: MemberKey,
    /// Of the run of the last sheet.
    terms: Option<Agreed>,
    /// Of the run that begins with its first sheet.
    next: Option<Agreed>,
    state: Option<State>,
    epochs: Option<Epochs>,
    keeps: bool,
}

impl Member {
    /// Creates a member that has neither terms nor a sheet yet.
    pub fn new(config: MemberConfig, key: MemberKey) -> Self {
        Self {
            config,
            key,
            terms: None,
            next: None,
            state: None,
            epochs: None,
            keeps: false,
        }
    }

    /// Media records of epochs after this are kept as they come. To be called before the first sheet.
    pub(crate) fn keep_sealed(&mut self) {
        self.keeps = true;
    }

    /// Agrees on terms of the group. Those of another run than the last sheet's hold from the first sheet of theirs on,
    /// and replace others that wait for this. Returns true if they were unknown.
    ///
    /// # Errors
    /// [`TermsRefusal::Suite`] or [`TermsRefusal::Changed`]; nothing has changed then.
    pub fn agree(&mut self, terms: Terms) -> Result<bool, TermsRefusal> {
        let mut suites = self.config.suites.iter();
        let suite = suites.find(|suite| suite.id == terms.suite());
        let suite = *suite.ok_or(TermsRefusal::Suite)?;
        match self.agreed(&terms.group) {
            Some((known, _)) if known != terms => Err(TermsRefusal::Changed),
            Some(_) => Ok(false),
            None => {
                self.next = Some((terms, suite));
                Ok(true)
            }
        }
    }

    /// Returns the terms of the last sheet's run.
    pub fn terms(&self) -> Option<&Terms> {
        self.terms.as_ref().map(|(terms, _)| terms)
    }

    /// The terms of a run.
    fn agreed(&self, group: &Group) -> Option<Agreed> {
        let known = [self.terms, self.next].into_iter().flatten();
        known.into_iter().find(|(terms, _)| terms.group == *group)
    }

    /// Takes a sheet, from whatever way it came.
    ///
    /// # Errors
    /// [`SheetRefusal`]; nothing has changed then.
    pub fn take(&mut self, sheet: &[u8]) -> Result<Taken, SheetRefusal> {
        let sheet = Sheet::parse(sheet).map_err(|_| SheetRefusal::Malformed)?;
        let agreed = self.check(&sheet)?;
        let suite = agreed.1;
        let (leaf, path) = match sheet.head.scope {
            Scope::Full | Scope::Path => self.open_from_leaf(&sheet)?,
            Scope::Update => self.open_update(&sheet)?,
        };
        let Head {
            scope,
            group,
            epoch,
            effect,
            ..
        } = sheet.head;
        let base = Base {
            group,
            suite,
            epoch,
            secret: path[DEPTH - 1].clone(),
            keeps: self.keeps,
        };
        match &mut self.epochs {
            Some(epochs) => epochs.rebase(base),
            None => self.epochs = Some(Epochs::new(base)),
        }
        if self.terms != Some(agreed) {
            (self.terms, self.next) = (Some(agreed), None);
        }
        self.state = Some(State {
            group,
            suite,
            epoch,
            effect,
            leaf,
            path,
        });
        Ok(Taken { scope, epoch, effect })
    }

    /// Opens a media record of the group, of its stream or of the sound beside it, and returns the number of its epoch
    /// as well. Everybody in the group could have sealed it.
    ///
    /// # Errors
    /// [`Refusal::UnknownEpoch`] if it is of another stream, or of an epoch that the last sheet does not lead to: a
    /// sheet was missed, or is late. [`Refusal::Replay`] and [`Refusal::Tag`] as in a session.
    pub fn open<'b>(&mut self, record: Sealed<'b>) -> Result<(Opened<'b>, u64), Refusal> {
        let header = record.unverified_header();
        let name = self.config.group;
        let ours = header.kind == Kind::Media && (header.stream == name.stream || name.has_sound(header.stream));
        let epochs = self.epochs.as_mut().filter(|_| ours);
        epochs.ok_or(Refusal::UnknownEpoch)?.open(record)
    }

    /// Returns true if a record with these low bits of an epoch is of a later one than the last sheet, or there is no
    /// sheet yet.
    pub fn is_ahead(&self, low_bits: u16) -> bool {
        self.epochs.as_ref().is_none_or(|epochs| epochs.is_ahead(low_bits))
    }

    /// Returns true if a record of the group does not open under any key that the last sheet leads to, and is of a
    /// later epoch: its sheet may be under way. The record is not to be used any more.
    pub fn waits_for_key(&self, record: Sealed<'_>) -> bool {
        self.epochs.as_ref().is_none_or(|epochs| epochs.waits_for_key(record))
    }

    /// Says that a frame under this epoch is the camera's: it was verified by its signature, or frames are not signed.
    /// The openers of earlier epochs are wiped 5 s later.
    pub fn confirm(&mut self, now: Duration, epoch: u64) {
        if let Some(epochs) = &mut self.epochs {
            epochs.confirm(now, epoch);
        }
    }

    /// Returns false if the camera has sealed nothing of this group of pictures under this epoch, as its last sheet
    /// says. `group` must be known by the camera's signature.
    pub fn allows(&self, epoch: u64, group: u64) -> bool {
        let state = self.state.as_ref();
        state.is_some_and(|state| epoch >= state.epoch || group < state.effect)
    }

    /// Returns the epoch of the last sheet that was taken.
    pub fn sheet_epoch(&self) -> Option<u64> {
        self.state.as_ref().map(|state| state.epoch)
    }

    /// Returns the suite of the group's records.
    pub fn suite(&self) -> Option<Suite> {
        self.state.as_ref().map(|state| state.suite)
    }

    /// Returns true if so many records failed under one key that a forgery is no longer unlikely enough (keys.md §6).
    pub fn integrity_spent(&self) -> bool {
        self.epochs.as_ref().is_some_and(Epochs::integrity_spent)
    }

    /// Wipes the openers of earlier epochs whose time is over.
    pub fn retire(&mut self, now: Duration) {
        if let Some(epochs) = &mut self.epochs {
            epochs.retire(now);
        }
    }

    /// Returns the time at which [`retire`](Self::retire) is due.
    pub fn deadline(&self) -> Option<Duration> {
        self.epochs.as_ref().and_then(Epochs::deadline)
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> Vec<u64> {
        self.epochs.as_ref().map(Epochs::held).unwrap_or_default()
    }

    /// Checks everything that needs no secret. Returns the terms.
    fn check(&self, sheet: &Sheet<'_>) -> Result<Agreed, SheetRefusal> {
        let head = &sheet.head;
        if head.group.name.camera != self.config.group.camera {
            return Err(SheetRefusal::WrongCamera);
        }
        if head.group.name.stream != self.config.group.stream {
            return Err(SheetRefusal::WrongStream);
        }
        if !sheet.verifies() {
            return Err(SheetRefusal::Signature);
        }
        let agreed = self.agreed(&head.group).ok_or(SheetRefusal::WrongRun)?;
        if head.suite != agreed.0.suite() {
            return Err(SheetRefusal::Suite);
        }
        if let Some(last) = &self.state {
            if head.epoch <= last.epoch {
                return Err(SheetRefusal::Stale);
            }
            if head.group.run == last.group.run && head.effect < last.effect {
                return Err(SheetRefusal::Backwards);
            }
        }
        Ok(agreed)
    }

    /// Opens a full or a path sheet: finds the leaf whose wrap the member's key opens, and goes up from there.
    fn open_from_leaf(&self, sheet: &Sheet<'_>) -> Result<(Node, [NodeSecret; DEPTH]), SheetRefusal> {
        let Head { group, epoch, .. } = &sheet.head;
        let key = self.key.0.wrap_key(group);
        let try_leaf = |leaf: Node| {
            let secret = key.unwrap(*epoch, leaf, sheet.wrap(leaf)?)?;
            Some((leaf, secret))
        };
        let last = self.state.as_ref().and_then(|state| try_leaf(state.leaf));
        let mut leaves = sheet
            .wraps
            .iter()
            .map(|(node, _)| *node)
            .take_while(|node| node.is_leaf());
        let found = last.or_else(|| leaves.find_map(try_leaf));
        let (leaf, parent) = found.ok_or(SheetRefusal::NoSlot)?;
        let mut path = std::array::from_fn(|_| parent.clone());
        climb(sheet, leaf, &mut path, 0)?;
        Ok((leaf, path))
    }

    /// Opens an update: steps the secrets to its epoch, and takes the new ones of the nodes that were drawn anew.
    fn open_update(&self, sheet: &Sheet<'_>) -> Result<(Node, [NodeSecret; DEPTH]), SheetRefusal> {
        let Head { group, epoch, .. } = &sheet.head;
        let known = self.state.as_ref().filter(|last| last.group.run == group.run);
        let known = known.filter(|last| epoch - last.epoch <= MAX_RATCHET);
        let known = known.ok_or(SheetRefusal::Missed)?;
        // Nodes above the leaf up to the root, and below each of them the node whose secret is known first.
        let above: Vec<Node> = known.leaf.above().collect();
        let lowest = above.iter().position(|node| sheet.renews(*node));
        let lowest = lowest.ok_or(SheetRefusal::NoSlot)?;
        let mut path = known.path.clone();
        for (node, secret) in above.iter().zip(&mut path).take(lowest) {
            *secret = secret.ratcheted(group, *node, known.epoch, *epoch);
        }
        let (below, secret) = match lowest.checked_sub(1) {
            None => (known.leaf, &self.key.0),
            Some(at) => (above[at], &path[at]),
        };
        let wrapped = sheet.wrap(below).ok_or(SheetRefusal::NoSlot)?;
        let opened = secret.wrap_key(group).unwrap(*epoch, below, wrapped);
        path[lowest] = opened.ok_or(SheetRefusal::Unopened)?;
        climb(sheet, known.leaf, &mut path, lowest)?;
        Ok((known.leaf, path))
    }
}

/// Opens the wraps from a node above the leaf, whose secret is known, up to the root.
fn climb(sheet: &Sheet<'_>, leaf: Node, path: &mut [NodeSecret; DEPTH], from: usize) -> Result<(), SheetRefusal> {
    let Head { group, epoch, .. } = &sheet.head;
    for (at, node) in leaf.above().enumerate().take(DEPTH - 1).skip(from) {
        // The form of a sheet is right only if the wraps up to the root are there.
        let wrapped = sheet.wrap(node).ok_or(SheetRefusal::Malformed)?;
        let opened = path[at].wrap_key(group).unwrap(*epoch, node, wrapped);
        path[at + 1] = opened.ok_or(SheetRefusal::Unopened)?;
    }
    Ok(())
}
