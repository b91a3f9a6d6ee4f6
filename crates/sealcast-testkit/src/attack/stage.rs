//! The session that attacks on a port must not disturb: a publisher, and a viewer who watches all the time.

use std::time::Instant;

use serde_json::Value;

use super::{Clip, Home, Program, Proxy, excused, missing, order_looped, record, total};

/// Frames of the clip, which is published in a loop: six seconds.
const FRAMES: usize = 300;

/// A publisher and a viewer who watches all the time and must not be disturbed.
pub struct Stage {
    /// The publisher.
    pub publisher: Program,
    /// The homes of publisher and viewer.
    pub homes: (Home, Home),
    /// The published clip.
    pub clip: Clip,
    /// The ticket that the publisher printed.
    pub ticket: String,
    viewer: Program,
}

impl Stage {
    /// Lets `publish` publish a clip in a loop, given its URL, with a report in `report.json`; then starts a viewer.
    pub fn new(publish: impl FnOnce(&Home, &str) -> (Program, String)) -> Self {
        let home = Home::new();
        let clip = Clip::make(home.path(), FRAMES);
        let (publisher, ticket) = publish(&home, &clip.url(50, "&loop"));
        let (viewer_home, viewer) = record(&ticket, "");
        viewer_home.flows(&viewer);
        Self {
            publisher,
            homes: (home, viewer_home),
            clip,
            ticket,
            viewer,
        }
    }

    /// The publisher's port.
    pub fn port(&self) -> u16 {
        Proxy::port_of(&self.ticket)
    }

    /// Waits until the viewer has received one more round of the clip.
    pub fn plays_a_round(&self) {
        self.homes.1.grows_by(self.clip.bytes.len() as u64);
    }

    /// Fails unless a new viewer gets in without a single refusal. Prints how long it takes until its recording grows.
    pub fn admits_a_newcomer(&self) {
        let late = Home::new();
        let began = Instant::now();
        let mut viewer = late.start(&format!("watch {} --to file:out.h264", self.ticket));
        late.flows(&viewer);
        println!("a new viewer records after {} ms", began.elapsed().as_millis());
        assert_eq!(viewer.count("WARN"), 0, "it gets in at once: {}", viewer.said());
        assert_eq!(viewer.stop(), 0);
    }

    /// By how many KiB the publisher's memory has grown from `memory` KiB.
    pub fn grown(&self, memory: u64) -> u64 {
        let grown = self.publisher.rss().saturating_sub(memory);
        println!("the publisher grew by {grown} KiB");
        grown
    }

    /// Fails if the publisher's memory has grown from `memory` KiB by more than `most` KiB.
    pub fn assert_small(&self, memory: u64, most: u64) {
        let grown = self.grown(memory);
        assert!(grown < most, "the publisher grew by {grown} KiB");
    }

    /// Checks that a new viewer gets in, and that the first viewer is still in its first session and has received
    /// every frame. Returns the publisher's report.
    pub fn unharmed(self) -> Value {
        let (missing, excused, report) = self.harmed();
        assert!(missing <= excused, "{missing} frames are missing: {report}");
        report
    }

    /// As [`Stage::unharmed`], but frames may be missing. Returns the numbers of missing and of excused frames, and
    /// the publisher's report.
    pub fn harmed(mut self) -> (usize, usize, Value) {
        self.homes.1.grows_by(1);
        let late = Home::can_watch(&self.ticket);
        assert!(!order_looped(&late.recorded(), &self.clip.frames).is_empty());
        assert!(self.publisher.running() && self.viewer.running());
        assert_eq!(self.viewer.stop(), 0, "{}", self.viewer.said());
        self.viewer.watched_in_one_session();
        let frames = order_looped(&self.homes.1.recorded(), &self.clip.frames);
        assert_eq!(self.publisher.stop(), 0);
        assert!(!self.publisher.said().contains("panicked"));
        let report = self.homes.0.report("report.json");
        let sessions = self.publisher.count("a viewer watches") as u64;
        assert_eq!(total(&report, "handshakes", "established"), sessions, "{report}");
        let excused = excused([(&self.homes.0, &self.publisher), (&self.homes.1, &self.viewer)]);
        println!(
            "{} frames, {} missing, {excused} excused",
            frames.len(),
            missing(&frames)
        );
        (missing(&frames), excused, report)
    }
}
