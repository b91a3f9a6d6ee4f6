//! Carries objects from the relay to sealcast.

use std::collections::BTreeMap;
use std::time::Duration;

use moq_net::track::{Position, Subscription};
use moq_net::{broadcast, group, origin, track};
use moq_tokio::Connection;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::pipe::{MAX_OBJECT, Outgoing, State, Track};
use crate::publish::KEPT;

/// Maximum of groups of a track that wait for the one before. Further ones stay with the library, whose memory is
/// bounded.
const MAX_WAITING: usize = 64;
/// Time for which a group waits for one with a number in between, since a relay sends the newest of several groups
/// first.
const REORDERED: Duration = Duration::from_millis(50);
/// Wait before a track or a broadcast that failed is asked for again.
const RETRY: Duration = Duration::from_millis(250);
/// Time for which the rest of a broadcast is awaited after it ended, unless its tracks end, too. Another publisher may
/// have taken its place.
const REST: Duration = Duration::from_millis(500);

/// The watched broadcast.
pub(crate) struct Watcher {
    name: String,
    output: Sender<Outgoing>,
    tracks: [WatchedTrack; Track::ALL.len()],
}

impl Watcher {
    /// Nothing has been given yet.
    pub(crate) fn new(name: String, patience: Duration, output: Sender<Outgoing>) -> Self {
        let tracks = Track::ALL.map(|track| WatchedTrack {
            track,
            patience,
            begun: None,
            output: output.clone(),
        });
        Self { name, output, tracks }
    }

    /// Gives what comes over this connection, until it ends.
    ///
    /// # Errors
    /// Why the connection ended.
    pub(crate) async fn follow(&mut self, connection: &Connection, origin: origin::Producer) -> moq_tokio::Result<()> {
        let origin = origin.consume();
        loop {
            let broadcast = tokio::select! {
                ended = connection.closed() => return ended,
                found = origin.routed_broadcast(self.name.as_str()) => found,
            };
            let Ok(broadcast) = broadcast else {
                sleep(RETRY).await;
                continue;
            };
            self.say(State::Present, "is there").await;
            self.give(connection, &broadcast).await;
            self.say(State::Gone, "is gone").await;
        }
    }

    /// Gives the tracks of a broadcast until it ends.
    async fn give(&mut self, connection: &Connection, broadcast: &broadcast::Consumer) {
        let over = || broadcast.is_closed() || !connection.connected();
        let [video, keys, proofs, sound] = &mut self.tracks;
        let tracks = async {
            tokio::join!(
                video.give(broadcast, over),
                keys.give(broadcast, over),
                proofs.give(broadcast, over),
                sound.give(broadcast, over)
            )
        };
        tokio::pin!(tracks);
        tokio::select! {
            _ = &mut tracks => return,
            _ = broadcast.closed() => {}
            _ = connection.closed() => {}
        }
        // The end of a broadcast overtakes its last objects.
        let _ = timeout(REST, tracks).await;
    }

    async fn say(&self, state: State, words: &str) {
        let words = format!("broadcast {} {words}", self.name);
        // The output ends only when sealcast does.
        let _ = self.output.send(Outgoing::State(state, words)).await;
    }
}

struct WatchedTrack {
    track: Track,
    patience: Duration,
    /// The newest group of which something was given. No other connection gives it, or an older one, again.
    begun: Option<u64>,
    output: Sender<Outgoing>,
}

impl WatchedTrack {
    /// Gives the groups of this track until the broadcast is over.
    async fn give(&mut self, broadcast: &broadcast::Consumer, over: impl Fn() -> bool) {
        while !over() {
            // A track can fail while its broadcast lasts, such as when a relay hands over to another.
            let _ = self.subscribe(broadcast).await;
            if !over() {
                sleep(RETRY).await;
            }
        }
    }

    /// Gives the groups of one subscription until it ends.
    async fn subscribe(&mut self, broadcast: &broadcast::Consumer) -> moq_net::Result<()> {
        let above = self.begun.map(|number| Position::group(number + 1));
        // With an age of zero, delivery begins with the newest group.
        let newest = Subscription::default()
            .with_priority(priority(self.track))
            .with_start(above);
        let track = broadcast.track(self.track.name())?;
        let mut subscriber = track.subscribe(newest.clone()).await?;
        let mut reading = Reading::default();
        loop {
            let deadline = reading.deadline(self.patience);
            tokio::select! {
                // Groups first, so that of those that are there the oldest is next.
                biased;
                group = subscriber.recv_group(), if reading.takes_more() => match group {
                    Ok(Some(group)) => {
                        if !reading.started {
                            reading.started = true;
                            keep_older(&mut subscriber, &newest, group.sequence);
                        }
                        reading.add(group, self.begun);
                    }
                    // What waits is still given.
                    Ok(None) | Err(_) => reading.ended = true,
                },
                object = next_object(&mut reading.group) => match object {
                    Ok(Some(object)) if object.len() <= MAX_OBJECT => {
                        self.say(Outgoing::Object(self.track, object)).await;
                        reading.progress = Instant::now();
                    }
                    // The rest of a group is left out if the relay or the publisher gave it up, or from an object on
                    // that no publisher of ours can have made.
                    Ok(_) | Err(_) => reading.group = None,
                },
                () = sleep_until(deadline), if !reading.waiting.is_empty() => reading.group = None,
            }
            if reading.group.is_none() {
                if let Some(group) = reading.next(self.begun) {
                    self.begun = Some(group.sequence);
                    self.say(Outgoing::Group(self.track, group.sequence)).await;
                    reading.begin(group);
                } else if reading.ended {
                    return Ok(());
                }
            }
        }
    }

    async fn say(&self, message: Outgoing) {
        // The output ends only when sealcast does.
        let _ = self.output.send(message).await;
    }
}

/// From the first group on, groups are given in order, so those that the next one overtakes are wanted, too.
fn keep_older(subscriber: &mut track::Subscriber, newest: &Subscription, first: u64) {
    let all = newest.clone().with_max_age(KEPT).with_start(Position::group(first));
    // Fails only if the track has ended.
    let _ = subscriber.update(all);
}

/// Keys before proofs before video: each is useless without those before it, and they are small. So is sound.
fn priority(track: Track) -> u8 {
    match track {
        Track::Keys => 3,
        Track::Proofs | Track::Sound => 2,
        Track::Video => 1,
    }
}

/// The next object of the group, `None` at its end. Waits for ever if there is no group.
pub(crate) async fn next_object(group: &mut Option<group::Consumer>) -> moq_net::Result<Option<moq_net::bytes::Bytes>> {
    match group {
        Some(group) => Ok(group.read_frame().await?.map(|frame| frame.payload)),
        None => std::future::pending().await,
    }
}

/// The group of a track that is being given, and those that wait for it.
struct Reading {
    group: Option<group::Consumer>,
    waiting: BTreeMap<u64, group::Consumer>,
    /// Whether a group has come.
    started: bool,
    /// Whether no further group will come.
    ended: bool,
    /// When something of the group was given last.
    progress: Instant,
    /// When the first of those that wait came, or got in the way of the next one.
    overtaken: Instant,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            group: None,
            waiting: BTreeMap::new(),
            started: false,
            ended: false,
            progress: Instant::now(),
            overtaken: Instant::now(),
        }
    }
}

impl Reading {
    fn takes_more(&self) -> bool {
        !self.ended && self.waiting.len() < MAX_WAITING
    }

    /// When a group that waits comes to its turn if nothing else comes.
    fn deadline(&self, patience: Duration) -> Instant {
        match self.group {
            Some(_) => self.progress.max(self.overtaken) + patience,
            None => self.overtaken + REORDERED,
        }
    }

    /// Keeps a group that came, unless it is older than what was given, or without its beginning.
    fn add(&mut self, group: group::Consumer, begun: Option<u64>) {
        let number = group.sequence;
        if begun.is_some_and(|begun| number <= begun) || group.index() != 0 {
            return;
        }
        if self.waiting.is_empty() {
            self.overtaken = Instant::now();
        }
        self.waiting.insert(number, group);
    }

    /// The oldest of those that wait, unless one in between can still come.
    fn next(&mut self, begun: Option<u64>) -> Option<group::Consumer> {
        let oldest = self.waiting.first_entry()?;
        let in_turn = begun.is_none_or(|begun| *oldest.key() == begun + 1);
        let late = self.overtaken.elapsed() >= REORDERED;
        (in_turn || late || self.ended).then(|| oldest.remove())
    }

    fn begin(&mut self, group: group::Consumer) {
        self.group = Some(group);
        self.progress = Instant::now();
        self.overtaken = self.progress;
    }
}

#[cfg(test)]
mod tests {
    use moq_net::Timestamp;
    use moq_net::bytes::Bytes;
    use tokio::sync::mpsc::{self, Receiver};

    use super::*;

    /// A broadcast of this process with a video track, and the delivery of it.
    struct Delivery {
        broadcast: broadcast::Producer,
        video: track::Producer,
        output: Receiver<Outgoing>,
        // Broadcasts end with it.
        _origin: origin::Producer,
    }

    impl Delivery {
        async fn with_patience(patience: Duration) -> Self {
            let origin = crate::connect::origin();
            let broadcast = origin.create_broadcast("door").unwrap();
            let video = broadcast.create_track("video", None).unwrap();
            broadcast.announce(origin::Route::default()).unwrap();
            let found = origin.consume().routed_broadcast("door").await.unwrap();
            let (sender, output) = mpsc::channel(1);
            let [mut track, ..] = Watcher::new("door".to_owned(), patience, sender).tracks;
            tokio::spawn(async move { track.give(&found, || found.is_closed()).await });
            Self {
                broadcast,
                video,
                output,
                _origin: origin,
            }
        }

        fn begin(&self, number: u64, objects: &[&'static str]) -> group::Producer {
            let mut group = self.video.create_group(number.into()).unwrap();
            for text in objects {
                add(&mut group, text);
            }
            group
        }

        fn whole(&self, number: u64, objects: &[&'static str]) {
            self.begin(number, objects).finish().unwrap();
        }

        async fn expect_group(&mut self, number: u64) {
            assert_eq!(self.output.recv().await, Some(Outgoing::Group(Track::Video, number)));
        }

        async fn expect_object(&mut self, text: &'static str) {
            let object = Bytes::from_static(text.as_bytes());
            assert_eq!(self.output.recv().await, Some(Outgoing::Object(Track::Video, object)));
        }
    }

    fn add(group: &mut group::Producer, text: &'static str) {
        group.write_frame(Timestamp::now(), text).unwrap();
    }

    #[tokio::test]
    async fn groups_are_given_whole_and_in_order() {
        let mut delivery = Delivery::with_patience(Duration::from_secs(600)).await;
        let mut slow = delivery.begin(5, &["5a"]);
        delivery.expect_group(5).await;
        delivery.expect_object("5a").await;
        delivery.whole(8, &["8a"]);
        delivery.whole(6, &["6a", "6b"]);
        add(&mut slow, "5b");
        delivery.expect_object("5b").await;
        add(&mut slow, "5c");
        slow.finish().unwrap();
        delivery.expect_object("5c").await;
        delivery.expect_group(6).await;
        delivery.expect_object("6a").await;
        delivery.expect_object("6b").await;
        delivery.expect_group(8).await;
        delivery.expect_object("8a").await;
        // Too late: a later one has been given.
        delivery.whole(7, &["7a"]);
        delivery.whole(9, &["9a"]);
        delivery.expect_group(9).await;
        delivery.expect_object("9a").await;
        delivery.broadcast.close();
    }

    #[tokio::test]
    async fn the_rest_of_a_group_that_stalls_is_left_out() {
        let mut delivery = Delivery::with_patience(Duration::from_millis(20)).await;
        let mut stalled = delivery.begin(5, &["5a"]);
        delivery.expect_group(5).await;
        delivery.expect_object("5a").await;
        delivery.whole(6, &["6a"]);
        delivery.expect_group(6).await;
        delivery.expect_object("6a").await;
        add(&mut stalled, "5b");
        delivery.whole(7, &["7a"]);
        delivery.expect_group(7).await;
        delivery.expect_object("7a").await;
    }

    #[tokio::test]
    async fn the_newest_group_comes_first() {
        let mut delivery = Delivery::with_patience(Duration::from_secs(600)).await;
        // The delivery subscribes when this test waits for the first time.
        delivery.whole(1, &["1a"]);
        delivery.whole(2, &["2a"]);
        let _open = delivery.begin(3, &["3a", "3b"]);
        delivery.expect_group(3).await;
        delivery.expect_object("3a").await;
        delivery.expect_object("3b").await;
    }
}
