//! Carries objects from sealcast to the relay.

use std::time::Duration;

use moq_net::bytes::Bytes;
use moq_net::{Timestamp, broadcast, group, origin, track};

use crate::pipe::Track;

/// Time for which the relay keeps a group after the next one began, in the time of the objects. The newest group of
/// each track is kept for as long as the broadcast lasts, so that a late viewer gets it from its first object.
pub(crate) const KEPT: Duration = Duration::from_secs(10);

/// The broadcast of this end.
pub(crate) struct Publisher {
    broadcast: broadcast::Producer,
    tracks: [PublishedTrack; Track::ALL.len()],
}

struct PublishedTrack {
    track: Track,
    producer: track::Producer,
    group: Option<OpenGroup>,
}

/// The group that objects of a track go to.
struct OpenGroup {
    number: u64,
    producer: group::Producer,
    objects: usize,
    bytes: u64,
    /// Whether it has been said that the rest of it is left out.
    full: bool,
}

impl Publisher {
    /// Announces the broadcast, with its tracks. The second value has the requests for others.
    ///
    /// # Errors
    /// The library refuses the name; in words.
    pub(crate) fn new(origin: &origin::Producer, name: &str) -> Result<(Self, broadcast::Dynamic), String> {
        let refused = |error: moq_net::Error| format!("broadcast {name} cannot be published ({error})");
        let broadcast = origin.create_broadcast(name).map_err(refused)?;
        let create = |track: Track| {
            let info = track::Info::default().with_max_age(KEPT);
            let producer = broadcast.create_track(track.name(), info).map_err(refused)?;
            Ok::<_, String>(PublishedTrack {
                track,
                producer,
                group: None,
            })
        };
        let [video, keys, proofs, sound] = Track::ALL;
        let tracks = [create(video)?, create(keys)?, create(proofs)?, create(sound)?];
        let requests = broadcast.dynamic();
        // Who sees the broadcast finds all of its tracks.
        broadcast.announce(origin::Route::default()).map_err(refused)?;
        Ok((Self { broadcast, tracks }, requests))
    }

    /// Begins a group. The one before is complete.
    ///
    /// # Errors
    /// The number is not higher than that of the group before; in words.
    pub(crate) fn begin(&mut self, track: Track, number: u64) -> Result<(), String> {
        self.tracks[track.index()].begin(number)
    }

    /// Adds an object to the group of a track.
    ///
    /// # Errors
    /// The track has no group yet; in words.
    pub(crate) fn add(&mut self, track: Track, object: Bytes) -> Result<(), String> {
        self.tracks[track.index()].add(object)
    }

    /// Ends the tracks and the broadcast. Who watches is told at once, and gets what is still on its way.
    pub(crate) fn close(self) {
        for mut track in self.tracks {
            track.finish();
            // Fails only if the track has ended.
            let _ = track.producer.finish();
        }
        self.broadcast.close();
    }
}

impl PublishedTrack {
    fn begin(&mut self, number: u64) -> Result<(), String> {
        let name = self.track.name();
        if let Some(group) = &self.group
            && number <= group.number
        {
            return Err(format!(
                "group {number} of track {name} is not higher than {}, the one before",
                group.number
            ));
        }
        self.finish();
        let group = group::Info { sequence: number };
        let producer = self.producer.create_group(group);
        let producer = producer.map_err(|error| format!("group {number} of track {name} cannot begin ({error})"))?;
        self.group = Some(OpenGroup {
            number,
            producer,
            objects: 0,
            bytes: 0,
            full: false,
        });
        Ok(())
    }

    fn add(&mut self, object: Bytes) -> Result<(), String> {
        let name = self.track.name();
        let Some(group) = &mut self.group else {
            return Err(format!("there is an object of track {name} before its first group"));
        };
        if let Err(reason) = group.add(object)
            && !group.full
        {
            group.full = true;
            // What it has stays readable, which it would not if the library refused the object.
            eprintln!(
                "sealcast-moq: group {} of track {name} {reason}: the rest of it is left out; begin the next earlier",
                group.number
            );
        }
        Ok(())
    }

    /// The group is complete: no object is added to it any more.
    fn finish(&mut self) {
        if let Some(group) = &self.group {
            // Fails only if the group has ended.
            let _ = group.producer.finish();
        }
    }
}

impl OpenGroup {
    fn add(&mut self, object: Bytes) -> Result<(), String> {
        if self.full || self.objects == group::MAX_GROUP_FRAMES {
            return Err(format!("has more than {} objects", group::MAX_GROUP_FRAMES));
        }
        let bytes = self.bytes + object.len() as u64;
        if bytes > group::MAX_CACHE_BYTES {
            return Err(format!("has more than {} bytes", group::MAX_CACHE_BYTES));
        }
        self.producer
            .write_frame(Timestamp::now(), object)
            .map_err(|error| format!("takes no object ({error})"))?;
        self.objects += 1;
        self.bytes = bytes;
        Ok(())
    }
}
