//! The simulated world: a virtual clock, packets that are lost and delayed, and who receives them.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sealcast::failure::Result;
use sealcast_proto::sim::Random;
use serde::Deserialize;

use super::camera::{Camera, FRAME};
use super::scenario::{Change, Scenario};
use super::viewer::{Frame, Frames, Taking, Viewer, Wish};
use crate::harness::process::{Stop, stopped};

/// Delay of a packet, and by how much it varies either way.
const DELAY: Duration = Duration::from_millis(20);
const JITTER: Duration = Duration::from_millis(5);
/// Time after which a sheet that was not acknowledged is sent again: more than a round trip.
const REPEAT_AFTER: Duration = Duration::from_millis(60);
/// Time for which the world goes on after the last change.
const AFTER: Duration = Duration::from_secs(3);
/// Number of removed viewers that go on listening.
const LISTENERS: usize = 64;
/// Number of those to whom the relay also gives the sheets of others who join.
const COLLUDING: usize = 8;

/// Way in which sheets reach viewers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in super::super) enum Carriage {
    /// Over the viewer's session: repeated until it is acknowledged, in order.
    Session,
    /// Once. Who cannot open a frame or an update asks for a path sheet.
    Asked,
}

/// Something that may happen next.
enum Next {
    Frame,
    Change(Change),
    /// The camera's deadline.
    Deadline,
    /// A frame arrives at these viewers, who need not be members any more.
    Arrives(Vec<u64>, Rc<Frame>),
    /// A sheet with its number in the viewer's session.
    Sheet(u64, u64, Rc<[u8]>),
    /// A viewer has all sheets before this number.
    Acknowledged(u64, u64),
    /// A sheet is sent again if it is not acknowledged.
    Repeat(u64, u64),
    /// A viewer asks for a path sheet.
    Asked(u64),
}

/// A viewer, and the camera's end of its session.
struct Connected {
    viewer: Viewer,
    unacknowledged: VecDeque<(u64, Rc<[u8]>)>,
    next_sheet: u64,
    /// When it asked last.
    asked: Option<Duration>,
    /// True once the camera was told to remove it.
    leaving: bool,
}

/// Course of a run.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) frames: Frames,
    pub(super) taking: Taking,
    /// Times from the announcement until a viewer had the key, ms.
    pub(super) keyed_ms: Vec<f64>,
    /// Sheets sent again, and path sheets asked for.
    pub(super) repeated: u64,
    pub(super) asked: u64,
    pub(super) changes: u64,
    /// Frames and sheets of which removed viewers opened nothing, and those of which they opened something.
    pub(super) refused: u64,
    pub(super) breaches: u64,
    /// Viewers whose key never came.
    pub(super) keyless: u64,
}

/// A run that goes on.
pub(super) struct World<'a> {
    carriage: Carriage,
    loss: f64,
    random: Random,
    now: Duration,
    queue: BTreeMap<(Duration, u64), Next>,
    scheduled: u64,
    pub(super) camera: Camera,
    viewers: BTreeMap<u64, Connected>,
    next_viewer: u64,
    /// Removed viewers, and the last epoch that each was given a frame of.
    listeners: Vec<(Viewer, u64, u64)>,
    announced_at: BTreeMap<u64, Duration>,
    deadline: Option<Duration>,
    ends: Duration,
    pub(super) seen: Seen,
    stop: Stop<'a>,
}

impl<'a> World<'a> {
    pub(super) fn new(scenario: &Scenario, carriage: Carriage, seed: u64, stop: Stop<'a>) -> Result<Self> {
        let members = scenario.at_start() as u64;
        let mut random = Random::new(seed);
        let changes = scenario.changes(&mut random);
        let mut world = Self {
            carriage,
            loss: scenario.loss,
            camera: Camera::new(members, random.next_u64())?,
            random,
            now: Duration::ZERO,
            queue: BTreeMap::new(),
            scheduled: 0,
            viewers: BTreeMap::new(),
            next_viewer: members,
            listeners: Vec::new(),
            announced_at: BTreeMap::new(),
            deadline: None,
            ends: changes.last().map_or(Duration::ZERO, |(at, _)| *at) + AFTER,
            seen: Seen {
                changes: changes.len() as u64,
                ..Seen::default()
            },
            stop,
        };
        world.seat(members)?;
        for (at, change) in changes {
            world.schedule(at, Next::Change(change));
        }
        world.schedule(Duration::ZERO, Next::Frame);
        Ok(world)
    }

    /// Gives the members at the start their sheets, without losses. It does not count.
    fn seat(&mut self, members: u64) -> Result<()> {
        let announced = self.camera.announce(Duration::ZERO)?;
        for number in 0..members {
            let mut viewer = self.camera.viewer(number)?;
            if let (Some(announced), Some(sheet)) = (&announced, self.camera.path_sheet(number)) {
                viewer.admitted(announced.epoch);
                viewer.take(&sheet, &mut Taking::default());
            }
            self.viewers.insert(number, Connected::new(viewer));
        }
        self.camera.reset();
        Ok(())
    }

    fn schedule(&mut self, at: Duration, next: Next) {
        self.queue.insert((at, self.scheduled), next);
        self.scheduled += 1;
    }

    /// Sends a packet, which may be lost.
    fn send(&mut self, packet: Next) {
        let (lost, varies) = (self.random.chance(self.loss), self.random.unit());
        if !lost {
            let delay = DELAY - JITTER + 2 * JITTER.mul_f64(varies);
            self.schedule(self.now + delay, packet);
        }
    }

    /// Lets everything happen.
    pub(super) fn run(&mut self) -> Result<()> {
        while let Some(((at, _), next)) = self.queue.pop_first() {
            self.now = at;
            self.step(next)?;
        }
        for connected in self.viewers.values() {
            self.seen.frames.lost += connected.viewer.left();
            self.seen.keyless += u64::from(connected.viewer.is_member() && !connected.viewer.waiting().is_empty());
        }
        Ok(())
    }

    fn step(&mut self, next: Next) -> Result<()> {
        match next {
            Next::Frame => self.frame()?,
            Next::Change(change) => {
                self.change(change)?;
                self.announce()?;
            }
            Next::Deadline => {
                self.deadline = None;
                self.announce()?;
            }
            Next::Arrives(viewers, frame) => {
                for viewer in viewers {
                    self.arrives(viewer, &frame);
                }
            }
            Next::Sheet(viewer, number, sheet) => self.sheet(viewer, number, sheet),
            Next::Acknowledged(viewer, before) => {
                if let Some(to) = self.viewers.get_mut(&viewer) {
                    to.unacknowledged.retain(|(number, _)| *number >= before);
                }
            }
            Next::Repeat(viewer, number) => self.repeat(viewer, number),
            Next::Asked(viewer) => {
                if let Some(sheet) = self.camera.path_sheet(viewer) {
                    self.seen.asked += 1;
                    self.tell(viewer, &sheet);
                }
            }
        }
        Ok(())
    }

    /// The camera seals a frame, and everybody is sent it.
    fn frame(&mut self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(stopped());
        }
        // What waits is announced before the frame.
        self.announce()?;
        let frame = Rc::new(self.camera.frame(self.now)?);
        self.announce()?;
        self.broadcast(&frame);
        for (listener, until, last) in &mut self.listeners {
            if frame.epoch >= *until && frame.epoch > *last {
                *last = frame.epoch;
                let opened = listener.opens(self.now, &frame);
                self.seen.breaches += u64::from(opened);
                self.seen.refused += u64::from(!opened);
            }
        }
        if self.now < self.ends {
            self.schedule(self.now + FRAME, Next::Frame);
        }
        Ok(())
    }

    /// Sends a frame to everybody. Its delay is a whole number of milliseconds, so that it arrives at many at once.
    fn broadcast(&mut self, frame: &Rc<Frame>) {
        let varies = 2 * JITTER.as_millis() as u64 + 1;
        let mut arriving: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for viewer in self.viewers.keys() {
            let (lost, late) = (self.random.chance(self.loss), self.random.uniform(0..varies));
            if !lost {
                arriving.entry(late).or_default().push(*viewer);
            }
        }
        for (late, viewers) in arriving {
            let at = self.now + DELAY - JITTER + Duration::from_millis(late);
            self.schedule(at, Next::Arrives(viewers, Rc::clone(frame)));
        }
    }

    fn change(&mut self, change: Change) -> Result<()> {
        match change {
            Change::Join => {
                let number = self.next_viewer;
                self.next_viewer += 1;
                let viewer = self.camera.viewer(number)?;
                self.viewers.insert(number, Connected::new(viewer));
                self.camera.admit(self.now, number)
            }
            Change::Leave => {
                let mut members: Vec<u64> = self.viewers.keys().copied().collect();
                members.retain(|number| !self.viewers[number].leaving && self.viewers[number].viewer.is_member());
                if members.is_empty() {
                    return Ok(());
                }
                let chosen = members[self.random.uniform(0..members.len() as u64) as usize];
                if let Some(leaves) = self.viewers.get_mut(&chosen) {
                    leaves.leaving = true;
                }
                self.camera.remove(self.now, chosen)
            }
            Change::Rekey => {
                self.camera.rekey(self.now);
                Ok(())
            }
        }
    }

    /// The camera announces what waits, and says when it wants to be asked again.
    fn announce(&mut self) -> Result<()> {
        if let Some(announced) = self.camera.announce(self.now)? {
            self.announced_at.insert(announced.epoch, self.now);
            for removed in &announced.removed {
                self.removed(removed.0, announced.epoch);
            }
            if let Some(sheet) = announced.sheet {
                self.for_everybody(announced.epoch, &sheet.into());
            }
            for admitted in &announced.admitted {
                self.admitted(admitted.0, announced.epoch);
            }
        }
        let due = self.camera.deadline().max(self.now);
        if self.deadline.is_none_or(|deadline| due < deadline) && due <= self.ends {
            self.deadline = Some(due);
            self.schedule(due, Next::Deadline);
        }
        Ok(())
    }

    fn removed(&mut self, number: u64, epoch: u64) {
        if let Some(mut gone) = self.viewers.remove(&number) {
            gone.viewer.retry(self.now, &mut self.seen.frames);
            gone.viewer.removed(epoch);
            if self.listeners.len() < LISTENERS {
                self.listeners.push((gone.viewer, epoch, 0));
            }
        }
    }

    fn for_everybody(&mut self, epoch: u64, sheet: &Rc<[u8]>) {
        self.overhear(LISTENERS, sheet);
        let members: Vec<u64> = self.viewers.keys().copied().collect();
        for number in members {
            let Some(to) = self.viewers.get_mut(&number).filter(|to| to.viewer.is_member()) else {
                continue;
            };
            to.viewer.waits_for(epoch);
            self.tell(number, sheet);
        }
    }

    fn admitted(&mut self, number: u64, epoch: u64) {
        let Some(sheet) = self.camera.path_sheet(number) else {
            return;
        };
        self.overhear(COLLUDING, &sheet);
        if let Some(to) = self.viewers.get_mut(&number) {
            to.viewer.admitted(epoch);
            to.viewer.waits_for(epoch);
            self.tell(number, &sheet);
        }
    }

    /// Removed viewers try a sheet.
    fn overhear(&mut self, count: usize, sheet: &[u8]) {
        for (listener, ..) in self.listeners.iter_mut().take(count) {
            let taken = listener.takes(sheet);
            self.seen.breaches += u64::from(taken);
            self.seen.refused += u64::from(!taken);
        }
    }

    /// Sends a sheet to a viewer.
    fn tell(&mut self, viewer: u64, sheet: &Rc<[u8]>) {
        let Some(to) = self.viewers.get_mut(&viewer) else {
            return;
        };
        let number = to.next_sheet;
        to.next_sheet += 1;
        if self.carriage == Carriage::Session {
            to.unacknowledged.push_back((number, Rc::clone(sheet)));
            self.schedule(self.now + REPEAT_AFTER, Next::Repeat(viewer, number));
        }
        self.send(Next::Sheet(viewer, number, Rc::clone(sheet)));
    }

    fn repeat(&mut self, viewer: u64, number: u64) {
        let waiting = self.viewers.get(&viewer).map(|to| &to.unacknowledged);
        let sheet = waiting.and_then(|waiting| waiting.iter().find(|(other, _)| *other == number));
        if let Some(sheet) = sheet.map(|(_, sheet)| Rc::clone(sheet)) {
            self.seen.repeated += 1;
            self.schedule(self.now + REPEAT_AFTER, Next::Repeat(viewer, number));
            self.send(Next::Sheet(viewer, number, sheet));
        }
    }

    fn sheet(&mut self, viewer: u64, number: u64, sheet: Rc<[u8]>) {
        let Some(to) = self.viewers.get_mut(&viewer) else {
            return;
        };
        let due = match self.carriage {
            Carriage::Session => to.viewer.in_order(number, sheet),
            Carriage::Asked => vec![sheet],
        };
        let mut wish = Wish::Nothing;
        for sheet in due {
            let (keyed, wants) = to.viewer.take(&sheet, &mut self.seen.taking);
            let since = keyed.iter().filter_map(|epoch| self.announced_at.get(epoch));
            let times = since.map(|since| self.now.saturating_sub(*since).as_secs_f64() * 1e3);
            self.seen.keyed_ms.extend(times);
            wish = wants;
        }
        to.viewer.retry(self.now, &mut self.seen.frames);
        let before = to.viewer.acknowledged();
        if self.carriage == Carriage::Session {
            self.send(Next::Acknowledged(viewer, before));
        }
        self.grant(viewer, wish);
    }

    fn arrives(&mut self, viewer: u64, frame: &Rc<Frame>) {
        if let Some(to) = self.viewers.get_mut(&viewer) {
            let wish = to.viewer.frame(self.now, frame, &mut self.seen.frames);
            self.grant(viewer, wish);
        }
    }

    /// A viewer asks for a sheet that it misses, at most once in a time in which it could have come.
    fn grant(&mut self, viewer: u64, wish: Wish) {
        let Some(to) = self.viewers.get_mut(&viewer) else {
            return;
        };
        let again = to.asked.is_none_or(|asked| asked + REPEAT_AFTER <= self.now);
        if self.carriage == Carriage::Asked && wish == Wish::Sheet && again {
            to.asked = Some(self.now);
            self.send(Next::Asked(viewer));
        }
    }
}

impl Connected {
    fn new(viewer: Viewer) -> Self {
        Self {
            viewer,
            unacknowledged: VecDeque::new(),
            next_sheet: 0,
            asked: None,
            leaving: false,
        }
    }
}
