//! The direction of a session that the other end sends.

use std::collections::BTreeMap;
use std::fmt::Display;

use moq_net::bytes::Bytes;
use moq_net::track::{Position, Subscription};
use moq_net::{broadcast, group, track};
use tokio::time::{Instant, sleep_until};

use super::object::Object;
use super::{APPEARANCE, GROUP_BYTES, GROUP_OBJECTS, KEPT, PRIORITY};
use crate::watch::next_object;

/// Groups that came before one whose turn it is. The window of the other end has fewer.
const MAX_EARLY: usize = 8;

/// The track of the other end, whose objects are read in order, without a gap.
pub(super) struct Inlet {
    subscriber: track::Subscriber,
    /// The number of the group whose turn it is.
    turn: u64,
    group: Option<group::Consumer>,
    /// Objects and bytes of it that were read.
    objects: usize,
    bytes: usize,
    early: BTreeMap<u64, group::Consumer>,
    /// When the first of those that are early came, or the last turn ended.
    overtaken: Instant,
    ended: bool,
}

impl Inlet {
    /// Subscribes, and waits until the other end is there.
    ///
    /// # Errors
    /// There is no such track, or not one of a session; in words.
    pub(super) async fn open(broadcast: &broadcast::Consumer, track: &str) -> Result<Self, String> {
        let whole = Subscription::default()
            .with_priority(PRIORITY)
            .with_max_age(KEPT)
            .with_start(Position::group(0));
        let refused = |error: moq_net::Error| error.to_string();
        let track = broadcast.track(track).map_err(refused)?;
        let mut inlet = Self::new(track.subscribe(whole).await.map_err(refused)?);
        match inlet.next().await? {
            Object::Taken(0) => Ok(inlet),
            _ => Err(UNINTELLIGIBLE.to_owned()),
        }
    }

    fn new(subscriber: track::Subscriber) -> Self {
        Self {
            subscriber,
            turn: 0,
            group: None,
            objects: 0,
            bytes: 0,
            early: BTreeMap::new(),
            overtaken: Instant::now(),
            ended: false,
        }
    }

    /// Returns the next object. If this is not awaited to its end, nothing is lost.
    ///
    /// # Errors
    /// Something is missing, or is not what an end of a session sends; in words. Then there is no next one.
    pub(super) async fn next(&mut self) -> Result<Object, String> {
        loop {
            if self.group.is_none() {
                self.group = self.early.remove(&self.turn);
            }
            if self.ended && self.group.is_none() {
                return Err(given_up(&"its track ended"));
            }
            tokio::select! {
                biased;
                object = next_object(&mut self.group) => match object {
                    Ok(Some(object)) => return self.read(&object),
                    Ok(None) => self.next_turn(),
                    Err(error) => return Err(given_up(&error)),
                },
                group = self.subscriber.recv_group(), if !self.ended => match group {
                    Ok(Some(group)) => self.add(group)?,
                    Ok(None) => self.ended = true,
                    Err(error) => return Err(given_up(&error)),
                },
                () = sleep_until(self.overtaken + APPEARANCE), if self.group.is_none() && !self.early.is_empty() => {
                    return Err(lost("a group is missing"));
                }
            }
        }
    }

    fn read(&mut self, object: &Bytes) -> Result<Object, String> {
        self.objects += 1;
        self.bytes += object.len();
        if self.objects > GROUP_OBJECTS || self.bytes > GROUP_BYTES {
            return Err(UNINTELLIGIBLE.to_owned());
        }
        Object::parse(object).ok_or_else(|| UNINTELLIGIBLE.to_owned())
    }

    fn next_turn(&mut self) {
        self.group = None;
        self.objects = 0;
        self.bytes = 0;
        self.turn += 1;
        self.overtaken = Instant::now();
    }

    fn add(&mut self, group: group::Consumer) -> Result<(), String> {
        // A relay that takes over from another one may give the rest of a group alone.
        if group.index() != 0 || group.sequence < self.turn {
            return Err(lost("a group came in parts"));
        }
        if self.early.is_empty() {
            self.overtaken = Instant::now();
        }
        self.early.insert(group.sequence, group);
        match self.early.len() <= MAX_EARLY {
            true => Ok(()),
            false => Err(lost("a group is missing")),
        }
    }
}

const UNINTELLIGIBLE: &str = "the other end sent what is not of a session";

fn given_up(why: &impl Display) -> String {
    format!("the other end, or a relay on the way, gave it up ({why})")
}

fn lost(why: &str) -> String {
    format!("bytes of it were lost on the way ({why})")
}
