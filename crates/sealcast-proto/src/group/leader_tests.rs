//! Announcements of the leader, when they are in force, and what they cost.

use std::sync::Arc;
use std::time::Duration;

use super::pending::LeaderError;
use super::test_world::{World, config, key, member, open, seal, seed};
use super::*;
use crate::keys::Identity;
use crate::seal::suite::AES_256_GCM;

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn with_members(count: u64) -> World {
    let mut world = World::new();
    world.admit(0..count);
    world.change();
    world
}

/// Bytes of the sheet for everybody when this member leaves.
fn leave(count: u64, who: u64) -> usize {
    let mut world = with_members(count);
    world.remove([who]);
    world.change().sheet.expect("a leave is told").len()
}

#[test]
fn one_leave_costs_the_camera_few_bytes() {
    assert_eq!([leave(2, 0), leave(10, 3), leave(100, 50)], [502, 1022, 7_210]);
    assert_eq!(leave(1_000, 500), 1_230);
    assert_eq!(leave(10_000, 5_000), 1_490);
    let dearest = leave(MAX_MEMBERS as u64, 9_999);
    assert_eq!(dearest, 74 + 27 * 52 + 64);
}

#[test]
fn leaves_that_are_announced_together_share_a_sheet() {
    let mut world = with_members(1_000);
    world.remove([100, 101, 102, 103, 104]);
    let announced = world.change();
    assert_eq!(announced.removed.len(), 5);
    assert_eq!(world.leader.members(), 995);
    let one = leave(1_000, 100);
    assert!(announced.sheet.expect("a leave is told").len() < 2 * one);
}

#[test]
fn a_join_costs_nobody_else_a_byte() {
    let mut world = with_members(1_000);
    world.admit([5_000]);
    let announced = world.change();
    assert_eq!(announced.admitted, [MemberId(5_000)]);
    assert!(announced.sheet.is_none());
    assert_eq!(world.path(5_000).len(), 502);
}

#[test]
fn sheets_are_full_up_to_256_members() {
    for (members, full) in [(255, true), (256, true), (257, false), (258, false)] {
        let mut world = with_members(members + 1);
        let mut last = world.joined(members);
        world.remove([0]);
        let sheet = world.change().sheet.expect("a leave is told");
        let taken = last.take(&sheet).expect("it is a member");
        assert_eq!(taken.scope == Scope::Full, full, "{members}");
        assert_eq!(member(1).take(&sheet).is_ok(), full, "{members}");
        assert!(open(&mut last, &world.record()).is_ok());
    }
}

#[test]
fn a_full_group_fits_a_sheet_and_admits_nobody_else() {
    let mut world = with_members(MAX_MEMBERS as u64);
    assert_eq!(world.leader.full_sheet().len(), MAX_SHEET);
    let next = MemberId(MAX_MEMBERS as u64);
    let refused = world.leader.admit(world.now, next, key(next.0));
    assert_eq!(refused, Err(LeaderError::Full));
    world.remove([3]);
    assert_eq!(world.leader.admit(world.now, next, key(next.0)), Ok(()));
    world.change();
    assert_eq!(world.leader.members(), MAX_MEMBERS);
    let last = MAX_MEMBERS as u64 - 1;
    assert!(world.leader.path_sheet(MemberId(last)).is_some());
}

#[test]
fn members_are_known_by_name() {
    let mut world = with_members(3);
    let (leader, now) = (&mut world.leader, world.now);
    assert_eq!(leader.admit(now, MemberId(1), key(1)), Err(LeaderError::Known));
    assert_eq!(leader.remove(now, MemberId(9)), Err(LeaderError::Unknown));
    assert_eq!(leader.remove(now, MemberId(1)), Ok(()));
    assert_eq!(leader.remove(now, MemberId(1)), Err(LeaderError::Unknown));
    assert_eq!(leader.path_sheet(MemberId(9)), None);
}

#[test]
fn a_join_that_is_taken_back_changes_nothing() {
    let mut world = with_members(3);
    let epoch = world.leader.epoch();
    world.admit([9]);
    world.remove([9]);
    assert_eq!(world.leader.deadline(), None);
    assert!(
        world
            .leader
            .announce(world.now, 1, &seed(1))
            .expect("numbers")
            .is_none()
    );
    assert_eq!(world.leader.epoch(), epoch);
}

#[test]
fn who_leaves_and_joins_at_once_has_its_new_key() {
    let mut world = with_members(3);
    let mut old = world.joined(1);
    world.remove([1]);
    let admitted = world.leader.admit(world.now, MemberId(1), key(77));
    admitted.expect("its old membership ends");
    world.change();
    assert_eq!(world.leader.members(), 3);
    let path = world.path(1);
    assert_eq!(old.take(&path), Err(SheetRefusal::NoSlot));
    assert!(member(77).take(&path).is_ok());
}

#[test]
fn a_removal_is_in_force_at_the_next_group_of_pictures() {
    let mut world = with_members(3);
    world.remove([1]);
    assert!(world.leader.switch(world.now, true).is_none(), "nothing is announced");
    let announced = world.leader.announce(world.now, 9, &seed(9));
    assert!(announced.expect("numbers").is_some());
    assert!(world.leader.switch(world.now, false).is_none());
    assert!(world.leader.switch(world.now + millis(20), true).is_some());
    assert_eq!(world.leader.deadline(), None);
}

#[test]
fn a_removal_is_in_force_within_a_second_without_a_group_of_pictures() {
    let mut world = with_members(5);
    let start = world.now;
    world.remove([1]);
    assert_eq!(world.leader.deadline(), Some(start));
    world.leader.announce(start, 9, &seed(9)).expect("numbers");
    assert_eq!(world.leader.deadline(), Some(start + SWITCH_WITHIN));
    // A second one must wait for the first.
    let asked = start + millis(1);
    world.leader.remove(asked, MemberId(2)).expect("a member");
    let early = world.leader.announce(asked, 9, &seed(10));
    assert!(early.expect("numbers").is_none());
    assert!(world.leader.switch(start + millis(499), false).is_none());
    let first = world.leader.switch(start + millis(500), false).expect("due");
    assert_eq!(world.leader.deadline(), Some(asked));
    let second = world.leader.announce(start + millis(500), 9, &seed(10));
    let second = second.expect("numbers").expect("it waited");
    let due = world.leader.deadline().expect("one is under way");
    assert!(due <= asked + IN_FORCE_WITHIN, "{due:?}");
    assert_eq!(second.epoch, first.epoch + 1);
    assert!(world.leader.switch(due, false).is_some());
}

#[test]
fn a_late_announcement_has_less_time() {
    let mut world = with_members(3);
    let start = world.now;
    world.remove([1]);
    let announced = world.leader.announce(start + millis(900), 9, &seed(9));
    assert!(announced.expect("numbers").is_some());
    assert_eq!(world.leader.deadline(), Some(start + IN_FORCE_WITHIN));
}

#[test]
fn a_sheet_comes_at_the_latest_with_the_64th_epoch() {
    let mut world = with_members(300);
    let mut watching = world.joined(0);
    let first = world.leader.epoch();
    for joiner in 0..200 {
        world.admit([1_000 + joiner]);
        let announced = world.change();
        let due = (announced.epoch - first + 1).is_multiple_of(MAX_RATCHET);
        assert_eq!(announced.sheet.is_some(), due, "{}", announced.epoch);
        if let Some(sheet) = announced.sheet {
            assert_eq!(watching.take(&sheet).expect("a member").scope, Scope::Update);
        }
        assert_eq!(open(&mut watching, &world.record()), Ok(announced.epoch));
    }
}

#[test]
fn without_reserved_numbers_nothing_is_announced() {
    let make = |numbers| Leader::new(config(), numbers, 0, [1; 16], &seed(1));
    assert_eq!(make(5..5).err(), Some(LeaderError::NoNumbers));
    let (mut leader, first) = make(5..6).expect("there is one");
    assert_eq!((first.epoch, leader.numbers_left()), (5, 0));
    leader.rekey(Duration::ZERO);
    let none = leader.announce(Duration::ZERO, 1, &seed(2));
    assert_eq!(none.err(), Some(LeaderError::NoNumbers));
    leader.reserve(8);
    let announced = leader.announce(Duration::ZERO, 1, &seed(2));
    assert_eq!(announced.expect("reserved").expect("it waited").epoch, 6);
}

/// Everything of two first epochs that a receiver could see, with the same record.
fn seen(numbers: u64, run: u8, entropy: u64) -> (Vec<u8>, Vec<u8>) {
    let numbers = numbers..numbers + 10;
    let (mut leader, _) = Leader::new(config(), numbers, 0, [run; 16], &seed(entropy)).expect("numbers");
    let admitted = leader.admit(Duration::ZERO, MemberId(1), key(1));
    admitted.expect("it is new");
    leader.announce(Duration::ZERO, 1, &seed(entropy + 1)).expect("numbers");
    let mut in_force = leader.switch(Duration::ZERO, true).expect("announced");
    let sheet = leader.full_sheet();
    (
        sheet[74..sheet.len() - 64].to_vec(),
        seal(&mut in_force.sealer)[24..].to_vec(),
    )
}

#[test]
fn a_restart_repeats_no_key_even_if_one_of_its_two_guards_fails() {
    let before = seen(0, 1, 1);
    assert!(before == seen(0, 1, 1), "the leader is deterministic");
    for (why, after) in [
        ("the file of numbers is lost", seen(0, 2, 2)),
        ("the same, and only the run is fresh", seen(0, 2, 1)),
        ("the generator repeats itself", seen(1 << 20, 1, 1)),
    ] {
        let wraps = before.0.chunks(52).zip(after.0.chunks(52));
        for (old, new) in wraps {
            assert_eq!(old[..4], new[..4], "{why}: the same nodes");
            assert_ne!(old[4..], new[4..], "{why}: a wrap");
        }
        assert_ne!(before.1, after.1, "{why}: a record");
    }
}

#[test]
fn cameras_streams_and_suites_share_no_key_even_with_the_same_secrets() {
    let sealed = |config: LeaderConfig| {
        let (_, mut first) = Leader::new(config, 5..6, 0, [1; 16], &seed(1)).expect("a number");
        seal(&mut first.sealer)[24..].to_vec()
    };
    let usual = sealed(config());
    assert!(usual == sealed(config()), "the leader is deterministic");
    let identity = Arc::new(Identity::from_seed(&[8; 32]));
    let suite = AES_256_GCM;
    assert_ne!(usual, sealed(LeaderConfig { identity, ..config() }));
    assert_ne!(usual, sealed(LeaderConfig { stream: 2, ..config() }));
    assert_ne!(usual, sealed(LeaderConfig { suite, ..config() }));
}
