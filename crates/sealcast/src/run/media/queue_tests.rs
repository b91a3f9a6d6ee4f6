use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake};

use super::*;

impl Queued for (u32, bool) {
    fn keyframe(&self) -> bool {
        self.1
    }

    fn size(&self) -> usize {
        10
    }
}

fn queue(frames: usize) -> FrameQueue<(u32, bool)> {
    FrameQueue::new(QueueLimits { frames, bytes: 1000 })
}

fn drain(queue: &FrameQueue<(u32, bool)>) -> Vec<u32> {
    std::iter::from_fn(|| queue.pop()).map(|frame| frame.0).collect()
}

#[test]
fn sound_comes_in_its_place_and_outlives_dropped_pictures() {
    let queue = queue(3);
    queue.push_sound((100, true));
    assert!(queue.pop().is_none(), "there is no sound before the picture");
    queue.push((0, true));
    queue.push_sound((101, true));
    for number in 1..3 {
        queue.push((number, false));
    }
    queue.push_sound((102, true));
    assert_eq!(
        (0..2)
            .filter_map(|_| queue.pop())
            .map(|frame| frame.0)
            .collect::<Vec<_>>(),
        [100, 0]
    );
    for number in 3..6 {
        queue.push((number, false));
    }
    queue.push_sound((103, true));
    queue.push((6, true));
    queue.close();
    assert!(!queue.finished());
    assert_eq!(drain(&queue), [101, 102, 103, 6]);
    assert!(queue.finished());
}

#[test]
fn too_much_sound_loses_the_oldest_and_no_picture() {
    let queue = queue(3);
    queue.push((0, true));
    let dropped = (0..MAX_SOUND as u32 + 2)
        .filter(|number| queue.push_sound((1000 + number, true)))
        .count();
    assert_eq!(dropped, 2);
    let left = drain(&queue);
    assert_eq!((left.len(), left[0], left[1]), (1 + MAX_SOUND, 0, 1002));
}

#[test]
fn a_consumer_that_lost_the_picture_asks_once_and_a_keyframe_is_an_answer() {
    let queue = queue(5);
    let asks = |number, keyframe| queue.push((number, keyframe)).wants_keyframe;
    assert!(!asks(0, true));
    queue.ask_for_keyframe();
    assert!(asks(1, false) && !asks(2, false));
    queue.ask_for_keyframe();
    assert!(!asks(3, true) && !asks(4, false));
}

#[test]
fn a_queue_begins_with_a_keyframe() {
    let queue = queue(5);
    assert_eq!(
        queue.push((0, false)),
        Pushed {
            dropped: 0,
            wants_keyframe: true
        }
    );
    queue.push((1, true));
    queue.push((2, false));
    assert_eq!(drain(&queue), [1, 2]);
}

#[test]
fn a_full_queue_keeps_the_newest_group_of_pictures() {
    let queue = queue(5);
    for number in 0..5 {
        queue.push((number, number % 3 == 0));
    }
    assert_eq!(
        queue.push((5, false)),
        Pushed {
            dropped: 3,
            wants_keyframe: false
        }
    );
    assert_eq!(drain(&queue), [3, 4, 5]);
}

#[test]
fn a_group_longer_than_the_queue_is_dropped_whole_and_the_next_keyframe_wanted() {
    let queue = queue(3);
    for number in 0..3 {
        queue.push((number, number == 0));
    }
    assert_eq!(
        queue.push((3, false)),
        Pushed {
            dropped: 4,
            wants_keyframe: true
        }
    );
    assert_eq!(
        queue.push((4, false)),
        Pushed {
            dropped: 1,
            wants_keyframe: true
        }
    );
    queue.push((5, true));
    assert_eq!(drain(&queue), [5]);
}

#[test]
fn a_consumer_that_fell_behind_goes_on_at_the_newest_keyframe() {
    let queue = queue(20);
    for number in 0..9 {
        queue.push((number, number % 4 == 0));
    }
    let first = queue.pop().expect("queued");
    let skipped = queue.skip_to_keyframe(first);
    assert_eq!((skipped.dropped, skipped.next.map(|frame| frame.0)), (8, Some(8)));
    queue.push((9, false));
    let late = queue.pop().expect("queued");
    let skipped = queue.skip_to_keyframe(late);
    assert_eq!((skipped.dropped, skipped.next), (1, None));
    queue.push((10, false));
    queue.push((11, true));
    assert_eq!(drain(&queue), [11]);
}

#[test]
fn room_is_made_by_forgetting_everything_and_only_where_there_is_none() {
    let queue = FrameQueue::new(QueueLimits { frames: 2, bytes: 25 });
    assert_eq!(queue.make_room(1000), (0, 0));
    queue.push((0, true));
    assert_eq!(queue.make_room(15), (0, 0));
    assert_eq!(queue.make_room(16), (1, 1));
    queue.push((1, true));
    queue.push((2, false));
    assert_eq!(queue.make_room(0), (2, 2));
    assert!(drain(&queue).is_empty());
}

#[test]
fn bytes_are_bounded_too() {
    let queue = FrameQueue::new(QueueLimits {
        frames: 1000,
        bytes: 45,
    });
    for number in 0..10 {
        queue.push((number, true));
    }
    assert!(drain(&queue).len() <= 4);
}

/// A kept frame.
struct Kept(u32, bool);

impl Queued for Kept {
    fn keyframe(&self) -> bool {
        self.0 == 0
    }

    fn size(&self) -> usize {
        1
    }

    fn kept(&self) -> bool {
        self.1
    }
}

#[test]
fn kept_frames_take_no_places_of_others_as_long_as_there_are_not_too_many() {
    let limits = QueueLimits {
        frames: 3,
        bytes: 10_000,
    };
    let queue = FrameQueue::new(limits);
    let most = MAX_KEPT_FRAMES as u32;
    for number in 0..most {
        assert_eq!(queue.push(Kept(number, true)).dropped, 0);
    }
    for number in 0..3 {
        assert_eq!(queue.push(Kept(most + number, false)).dropped, 0);
    }
    assert_eq!(queue.pop().map(|frame| frame.0), Some(0));
    assert_eq!(queue.push(Kept(most + 3, false)).dropped, MAX_KEPT_FRAMES + 3);
    // Who calls everything kept gets no more room.
    for number in 0..most + 3 {
        assert_eq!(queue.push(Kept(number, true)).dropped, 0, "{number}");
    }
    assert_eq!(queue.push(Kept(most + 3, true)).dropped, MAX_KEPT_FRAMES + 4);
}

#[test]
fn a_closed_queue_gives_what_it_holds_and_then_nothing() {
    let queue = queue(5);
    queue.push((0, true));
    queue.close();
    assert!(!queue.finished());
    assert_eq!(
        (queue.wait_pop().map(|frame| frame.0), queue.wait_pop()),
        (Some(0), None)
    );
    assert!(queue.finished());
}

/// Counts how often a task is woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn frames_that_come_together_wake_the_consumer_once_and_leave_no_empty_turn() {
    let queue = queue(50);
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let is_news = || {
        let waiting = std::pin::pin!(queue.changed());
        waiting.poll(&mut Context::from_waker(&waker)).is_ready()
    };
    assert!(!is_news());
    for number in 0..20 {
        queue.push((number, true));
    }
    assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
    assert_eq!(drain(&queue).len(), 20);
    assert!(!is_news(), "all was taken");
    queue.push((20, true));
    queue.push((21, true));
    assert_eq!(wakes.0.load(Ordering::Relaxed), 2);
    assert!(queue.pop().is_some());
    assert!(is_news(), "one is left");
    assert!(!is_news(), "it was told");
    queue.close();
    assert_eq!(wakes.0.load(Ordering::Relaxed), 3);
    assert_eq!(drain(&queue).len(), 1);
    assert!(is_news(), "the end is told after the last frame was taken");
    assert!(queue.finished());
}
