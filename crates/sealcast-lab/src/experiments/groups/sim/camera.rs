//! The simulated camera: frames, changes, announcements, and what they cost it.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use sealcast::failure::Result;
use sealcast::meter::resources::thread_cpu_time;
use sealcast_proto::group::{Announcement, MemberId};
use sealcast_proto::group_media::GroupSealer;
use sealcast_proto::sign::SignMode;
use sealcast_proto::sim::Random;

use super::super::cast::{self, at, broken};
use super::viewer::{Frame, Viewer};

/// Frames of a group of pictures: two seconds at 25 frames a second.
const GROUP: u64 = 50;
/// Time between frames.
pub(super) const FRAME: Duration = Duration::from_millis(40);
/// Bytes of a frame. Keys do not depend on it, and ten thousand viewers copy each.
const FRAME_BYTES: usize = 64;

/// Work of the camera on keys.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    pub(super) cpu: Duration,
    pub(super) announcements: u64,
    /// Sheets for everybody, and their bytes: each once, as to a relay.
    pub(super) sheets: u64,
    pub(super) sheet_bytes: u64,
    pub(super) longest_sheet: usize,
    /// Sheets for single viewers.
    pub(super) paths: u64,
    pub(super) path_bytes: u64,
    /// Longest time from a change that was asked for until it was in force.
    pub(super) in_force: Duration,
}

/// The camera.
pub(super) struct Camera {
    sealer: GroupSealer,
    random: Random,
    frames: u64,
    /// When the first of the changes that wait was asked for.
    asked: Option<Duration>,
    /// The same of the epochs that are announced and not in force.
    announced: BTreeMap<u64, Duration>,
    pub(super) work: Work,
}

impl Camera {
    /// A camera whose members are those with the numbers below `members`. What this took does not count.
    pub(super) fn new(members: u64, seed: u64) -> Result<Self> {
        let sealer = cast::sealer(SignMode::Off).map_err(|error| broken(&error))?;
        let mut camera = Self {
            sealer,
            random: Random::new(seed),
            frames: 0,
            asked: None,
            announced: BTreeMap::new(),
            work: Work::default(),
        };
        for number in 0..members {
            camera.admit(Duration::ZERO, number)?;
        }
        Ok(camera)
    }

    /// A viewer with the terms of this group, who is no member yet.
    pub(super) fn viewer(&self, number: u64) -> Result<Viewer> {
        Viewer::new(number, &self.sealer)
    }

    /// Forgets what the work was until now.
    pub(super) fn reset(&mut self) {
        self.work = Work::default();
    }

    fn timed<R>(&mut self, work: impl FnOnce(&mut GroupSealer) -> R) -> R {
        let before = thread_cpu_time();
        let result = work(&mut self.sealer);
        self.work.cpu += thread_cpu_time().saturating_sub(before);
        result
    }

    pub(super) fn admit(&mut self, now: Duration, number: u64) -> Result<()> {
        self.asked.get_or_insert(now);
        let key = cast::member_key(number);
        let admitted = self.timed(|sealer| sealer.admit(at(now), MemberId(number), key));
        admitted.map_err(|error| broken(&error))
    }

    pub(super) fn remove(&mut self, now: Duration, number: u64) -> Result<()> {
        self.asked.get_or_insert(now);
        let removed = self.timed(|sealer| sealer.remove(at(now), MemberId(number)));
        removed.map_err(|error| broken(&error))
    }

    pub(super) fn rekey(&mut self, now: Duration) {
        self.asked.get_or_insert(now);
        self.timed(|sealer| sealer.rekey(at(now)));
    }

    /// Announces what waits, if it can be announced now.
    pub(super) fn announce(&mut self, now: Duration) -> Result<Option<Announcement>> {
        let mut seed = [0; 32];
        for part in seed.chunks_exact_mut(8) {
            part.copy_from_slice(&self.random.next_u64().to_be_bytes());
        }
        let announced = self.timed(|sealer| sealer.announce(at(now), &seed));
        self.note_in_force(now);
        let announced = announced.map_err(|error| broken(&error))?;
        if let Some(announced) = &announced {
            self.work.announcements += 1;
            self.announced.insert(announced.epoch, self.asked.take().unwrap_or(now));
            if let Some(sheet) = &announced.sheet {
                self.work.sheets += 1;
                self.work.sheet_bytes += sheet.len() as u64;
                self.work.longest_sheet = self.work.longest_sheet.max(sheet.len());
            }
        }
        Ok(announced)
    }

    /// The sheet for one viewer; `None` if it is no member.
    pub(super) fn path_sheet(&mut self, number: u64) -> Option<Rc<[u8]>> {
        let sheet = self.timed(|sealer| sealer.path_sheet(MemberId(number)))?;
        self.work.paths += 1;
        self.work.path_bytes += sheet.len() as u64;
        Some(sheet.into())
    }

    pub(super) fn deadline(&self) -> Duration {
        self.sealer.deadline()
    }

    /// The next frame, sealed once.
    pub(super) fn frame(&mut self, now: Duration) -> Result<Frame> {
        let data = [0; FRAME_BYTES];
        let frame = cast::frame(self.frames, self.frames.is_multiple_of(GROUP), &data);
        self.frames += 1;
        let sealed = self.sealer.seal(at(now), &cast::info(), &frame);
        let sealed = sealed.map_err(|error| broken(&error))?;
        let sealed = sealed.ok_or_else(|| broken(&"a stream begins with a keyframe"))?;
        self.note_in_force(now);
        Ok(Frame {
            epoch: self.sealer.epoch(),
            records: cast::records(&sealed.frame),
        })
    }

    fn note_in_force(&mut self, now: Duration) {
        let later = self.announced.split_off(&(self.sealer.epoch() + 1));
        for since in std::mem::replace(&mut self.announced, later).into_values() {
            self.work.in_force = self.work.in_force.max(now.saturating_sub(since));
        }
    }
}
