//! What strangers at the port must not disturb: a publisher, and a viewer who watches all the time.

use serde_json::Value;

use super::{Clip, Home, Program, Proxy, order};

/// A publisher with a viewer who watches all the time and must not notice anything.
pub struct Stage {
    /// The publisher.
    pub publisher: Program,
    /// Those of the publisher and of the viewer.
    pub homes: (Home, Home),
    /// What is published.
    pub clip: Clip,
    /// The ticket that the publisher printed.
    pub ticket: String,
    viewer: Program,
}

impl Stage {
    /// Let `publish` publish a clip of so many frames, given its URL, with a report to `report.json`, and watch it.
    pub fn new(frames: usize, publish: impl FnOnce(&Home, &str) -> (Program, String)) -> Self {
        let homes = (Home::new(), Home::new());
        let clip = Clip::make(homes.0.path(), frames);
        let (publisher, ticket) = publish(&homes.0, &clip.url(50, ""));
        let viewer = homes
            .1
            .start(&format!("watch {ticket} --to file:out.h264 --no-reconnect"));
        homes.1.flows(&viewer);
        Self {
            publisher,
            homes,
            clip,
            ticket,
            viewer,
        }
    }

    /// The publisher's port.
    pub fn port(&self) -> u16 {
        Proxy::port_of(&self.ticket)
    }

    /// Fails if the publisher, which had `memory` KiB, has now more than `most` on top.
    pub fn assert_small(&self, memory: u64, most: u64) {
        let grown = self.publisher.rss().saturating_sub(memory);
        println!("the publisher grew by {grown} KiB");
        assert!(grown < most, "the publisher grew by {grown} KiB");
    }

    /// A new viewer gets in, and the viewer still watches in its first session. How many frames it lacks, and the
    /// publisher's report.
    pub fn unharmed(mut self) -> (usize, Value) {
        let late = Home::new();
        let mut another = late.start(&format!("watch {} --to file:out.h264 --seconds 2", self.ticket));
        assert_eq!(another.ends(), 0, "{}", another.said());
        assert!(!order(&late.recorded(), &self.clip.frames).is_empty());
        assert!(self.publisher.running() && self.viewer.running());
        assert_eq!(self.viewer.stop(), 0, "{}", self.viewer.said());
        assert_eq!(self.viewer.count("INFO watching"), 1, "{}", self.viewer.said());
        let frames = order(&self.homes.1.recorded(), &self.clip.frames);
        assert_eq!(self.publisher.stop(), 0);
        assert!(!self.publisher.said().contains("panicked"));
        let missing = frames.windows(2).map(|pair| pair[1] - pair[0] - 1).sum();
        (missing, self.homes.0.report("report.json"))
    }
}
