//! Sheets that a member takes and refuses, and records that it opens.

use std::time::Duration;

use super::secret::KeyUse;
use super::sheet::signed;
use super::test_world::{World, agree, camera, key, member, name, open, seal, seed};
use super::*;
use crate::keys::Identity;
use crate::seal::Refusal;
use crate::seal::suite::AES_128_GCM;

fn joined(members: u64) -> World {
    let mut world = World::new();
    world.admit(0..members);
    world.change();
    world
}

type Change<'a> = &'a dyn Fn(&mut Vec<u8>);

/// Changes a sheet's bytes, and signs it as its camera would.
fn resigned(sheet: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut sheet = sheet[..sheet.len() - 64].to_vec();
    change(&mut sheet);
    let signature = camera().sign(&signed(&sheet));
    sheet.extend_from_slice(&signature);
    sheet
}

/// Asserts that a sheet is refused, and that the member goes on as if it had not come.
#[track_caller]
fn refuses(world: &mut World, member: &mut Member, sheet: &[u8], why: SheetRefusal) {
    let epoch = member.sheet_epoch();
    assert_eq!(member.take(sheet), Err(why));
    assert_eq!(member.sheet_epoch(), epoch);
    assert!(open(member, &world.record()).is_ok());
}

#[test]
fn who_joins_opens_what_comes_and_nothing_of_before() {
    let mut world = joined(3);
    let mut first = world.joined(0);
    let before = world.record();
    world.admit([9]);
    let epoch = world.change().epoch;
    let mut late = world.joined(9);
    let after = world.record();
    assert_eq!(open(&mut first, &before), Ok(epoch - 1));
    assert_eq!(open(&mut first, &after), Ok(epoch), "the others need no byte");
    assert_eq!(open(&mut late, &after), Ok(epoch));
    assert_eq!(open(&mut late, &before), Err(Refusal::UnknownEpoch));
}

#[test]
fn who_was_removed_opens_nothing_that_comes() {
    let mut world = joined(300);
    let (mut stays, mut leaves) = (world.joined(0), world.joined(1));
    world.remove([1]);
    let sheet = world.change().sheet.expect("a leave is told");
    assert_eq!(leaves.take(&sheet), Err(SheetRefusal::NoSlot));
    assert_eq!(leaves.take(&world.leader.full_sheet()), Err(SheetRefusal::NoSlot));
    stays.take(&sheet).expect("a member");
    let record = world.record();
    assert!(open(&mut stays, &record).is_ok());
    assert_eq!(open(&mut leaves, &record), Err(Refusal::Tag));
}

#[test]
fn malformed_sheets_are_refused() {
    let mut world = joined(20);
    let mut watching = world.joined(0);
    world.rekeyed();
    let good = world.path(0);
    for length in 0..good.len() {
        assert_eq!(watching.take(&good[..length]), Err(SheetRefusal::Malformed), "{length}");
    }
    let wrap = |number: usize| 74 + 52 * number;
    let changes: [(&str, Change<'_>); 15] = [
        ("another kind", &|sheet| sheet[0] = 0x10),
        ("another version", &|sheet| sheet[1] = 2),
        ("scope 0", &|sheet| sheet[2] = 0),
        ("scope 4", &|sheet| sheet[2] = 4),
        ("stream 0", &|sheet| sheet[7] = 0),
        ("stream 16", &|sheet| sheet[7] = 16),
        ("a byte more", &|sheet| sheet.push(0)),
        ("a wrap more than said", &|sheet| sheet[73] -= 1),
        ("a wrap less than said", &|sheet| sheet[73] += 1),
        ("a leaf that there is not", &|sheet| sheet[wrap(0) + 2] = 0x40),
        ("the root", &|sheet| sheet[wrap(6)] = 7),
        ("a level too many", &|sheet| sheet[wrap(6)] = 9),
        ("one node twice", &|sheet| sheet.copy_within(wrap(0)..wrap(1), wrap(1))),
        ("not in order", &|sheet| sheet[wrap(1)..wrap(3)].rotate_left(52)),
        ("a link is missing", &|sheet| {
            sheet.drain(wrap(3)..wrap(4));
            sheet[73] -= 1;
        }),
    ];
    for (why, change) in changes {
        let bad = resigned(&good, |sheet| change(sheet));
        assert_eq!(watching.take(&bad), Err(SheetRefusal::Malformed), "{why}");
    }
    let long = vec![0x20; MAX_SHEET + 1];
    assert_eq!(watching.take(&long), Err(SheetRefusal::Malformed));
    assert!(watching.take(&good).is_ok());
}

#[test]
fn sheets_of_others_are_refused_by_name() {
    let mut world = joined(3);
    let mut watching = world.joined(0);
    world.rekeyed();
    let good = world.path(0);
    let other = Identity::from_seed(&[8; 32]).peer_id();
    let foreign = resigned(&good, |sheet| sheet[8..40].copy_from_slice(&other.0));
    refuses(&mut world, &mut watching, &foreign, SheetRefusal::WrongCamera);
    let second = resigned(&good, |sheet| sheet[7] = 2);
    refuses(&mut world, &mut watching, &second, SheetRefusal::WrongStream);
    let suite = resigned(&good, |sheet| sheet[3] = 3);
    refuses(&mut world, &mut watching, &suite, SheetRefusal::Suite);
    let neighbours = world.path(1);
    refuses(&mut world, &mut watching, &neighbours, SheetRefusal::NoSlot);
}

impl World {
    /// Announces a new group secret. It is not in force yet.
    fn rekeyed(&mut self) {
        self.leader.rekey(self.now);
        let seed = seed(self.leader.epoch() + 1);
        let announced = self.leader.announce(self.now, self.group + 1, &seed);
        assert!(announced.expect("numbers").is_some());
    }
}

#[test]
fn no_flipped_bit_is_overlooked() {
    let mut world = joined(3);
    let mut watching = world.joined(0);
    world.rekeyed();
    let good = world.path(0);
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        let refused = watching.take(&bad).expect_err("it was altered");
        let named = [
            SheetRefusal::Malformed,
            SheetRefusal::WrongCamera,
            SheetRefusal::WrongStream,
            SheetRefusal::Signature,
        ];
        assert!(named.contains(&refused), "{at}: {refused}");
    }
    let own = Identity::from_seed(&[8; 32]).sign(&signed(&good[..good.len() - 64]));
    let stolen = [&good[..good.len() - 64], &own].concat();
    refuses(&mut world, &mut watching, &stolen, SheetRefusal::Signature);
    assert!(watching.take(&good).is_ok());
}

#[test]
fn an_old_sheet_is_refused_whoever_replays_it() {
    let mut world = joined(3);
    let mut watching = world.joined(0);
    let old = [world.path(0), world.leader.full_sheet()];
    for sheet in &old {
        refuses(&mut world, &mut watching, sheet, SheetRefusal::Stale);
    }
    world.remove([2]);
    let sheet = world.change().sheet.expect("a leave is told");
    watching.take(&sheet).expect("a member");
    for sheet in old.iter().chain([&sheet]) {
        refuses(&mut world, &mut watching, sheet, SheetRefusal::Stale);
    }
    // A run with numbers that were used before: the program lost its file.
    let mut again = World::run(0, 2);
    again.admit([0]);
    again.change();
    let lost = again.leader.full_sheet();
    agree(&mut watching, 2);
    refuses(&mut world, &mut watching, &lost, SheetRefusal::Stale);
}

#[test]
fn effects_do_not_go_back_within_a_run() {
    let mut world = joined(3);
    let mut watching = world.joined(0);
    world.rekeyed();
    let back = resigned(&world.path(0), |sheet| {
        sheet[64..72].copy_from_slice(&0_u64.to_be_bytes())
    });
    refuses(&mut world, &mut watching, &back, SheetRefusal::Backwards);
}

#[test]
fn an_update_needs_what_it_builds_on() {
    let mut world = joined(300);
    let mut watching = world.joined(0);
    world.rekeyed();
    let update = {
        let mut again = joined(300);
        again.leader.rekey(again.now);
        again.change().sheet.expect("a rekey is told")
    };
    assert_eq!(member(0).take(&update), Err(SheetRefusal::Missed));
    let far = watching.sheet_epoch().expect("it has one") + MAX_RATCHET + 1;
    let far = resigned(&update, |sheet| sheet[56..64].copy_from_slice(&far.to_be_bytes()));
    refuses(&mut world, &mut watching, &far, SheetRefusal::Missed);
    let other_run = resigned(&update, |sheet| sheet[40] ^= 1);
    refuses(&mut world, &mut watching, &other_run, SheetRefusal::WrongRun);
    assert!(watching.take(&update).is_ok());
}

#[test]
fn a_member_that_missed_an_update_recovers_from_one_sheet() {
    let mut world = joined(400);
    let members: Vec<Member> = (0..3).map(|_| world.joined(0)).collect();
    world.remove([1]);
    world.change();
    // The second update is below a node that the first one drew anew.
    world.remove([5]);
    let second = world.change().sheet.expect("a leave is told");
    let record = world.record();
    let full = world.leader.full_sheet();
    let path = world.path(0);
    for (mut member, recovery) in members.into_iter().zip([full, path, Vec::new()]) {
        assert_eq!(open(&mut member, &record), Err(Refusal::Tag));
        assert_eq!(member.take(&second), Err(SheetRefusal::Unopened));
        if !recovery.is_empty() {
            member.take(&recovery).expect("it needs nothing else");
            assert!(open(&mut member, &record).is_ok());
        }
    }
}

#[test]
fn a_missed_update_of_others_is_made_up_for_by_the_next() {
    let mut world = joined(400);
    let mut watching = world.joined(0);
    world.remove([399]);
    world.change();
    world.remove([1]);
    let second = world.change().sheet.expect("a leave is told");
    watching
        .take(&second)
        .expect("it draws everything anew that the first did");
    assert!(open(&mut watching, &world.record()).is_ok());
}

#[test]
fn an_enrolled_member_needs_nothing_but_a_cached_sheet_after_both_restarted() {
    let mut before = joined(20);
    before.remove([1]);
    before.change();
    let mut kept = before.joined(7);
    let mut world = World::run(1 << 20, 2);
    world.admit([90, 91, 92, 7, 3]);
    world.change();
    let (cached, record) = (world.leader.full_sheet(), world.record());
    for mut watching in [member(7), kept_on(&mut kept)] {
        agree(&mut watching, 2);
        watching.take(&cached).expect("its key is that of the enrolment");
        assert!(open(&mut watching, &record).is_ok());
    }
    let mut uninvited = member(1);
    assert_eq!(uninvited.take(&cached), Err(SheetRefusal::WrongRun));
    agree(&mut uninvited, 2);
    assert_eq!(uninvited.take(&cached), Err(SheetRefusal::NoSlot));
}

/// The member itself, out of a borrowed place.
fn kept_on(member: &mut Member) -> Member {
    let config = MemberConfig {
        group: name(),
        suites: vec![AES_128_GCM],
    };
    std::mem::replace(member, Member::new(config, key(0)))
}

#[test]
fn the_ratchet_is_followed_for_64_steps_and_no_further() {
    let mut world = joined(300);
    let mut watching = world.joined(0);
    let mut records = Vec::new();
    for joiner in 0..=MAX_RATCHET {
        world.admit([1_000 + joiner]);
        let announced = world.change();
        records.push((announced.epoch, world.record(), announced.sheet));
    }
    // The leader draws anew before it becomes too far, so the members that missed that sheet are the ones who notice.
    let at = records
        .iter()
        .position(|(_, _, sheet)| sheet.is_some())
        .expect("one of 65");
    let (epoch, record, sheet) = &records[at];
    assert_eq!(open(&mut watching, record), Err(Refusal::Tag));
    let (last, joined, _) = &records[at - 1];
    assert_eq!(open(&mut watching, joined), Ok(*last));
    watching
        .take(sheet.as_ref().expect("it is there"))
        .expect("64 steps at most");
    assert_eq!(open(&mut watching, record), Ok(*epoch));
    let mut far = world.record();
    let beyond = (epoch + MAX_RATCHET + 1) as u16;
    far[2..4].copy_from_slice(&beyond.to_be_bytes());
    assert_eq!(open(&mut watching, &far), Err(Refusal::UnknownEpoch));
    far[2..4].copy_from_slice(&(beyond - 1).to_be_bytes());
    assert_eq!(open(&mut watching, &far), Err(Refusal::Tag));
}

#[test]
fn epochs_count_on_where_their_low_bits_begin_again() {
    let mut world = World::run(65_533, 1);
    world.admit([0, 1]);
    world.change();
    let mut watching = world.joined(0);
    for (joiner, epoch) in (65_535..65_540).enumerate() {
        world.admit([10 + joiner as u64]);
        world.change();
        assert_eq!(open(&mut watching, &world.record()), Ok(epoch));
        watching.confirm(world.now, epoch);
    }
}

#[test]
fn earlier_epochs_are_opened_for_five_seconds() {
    let mut world = joined(3);
    let mut watching = world.joined(0);
    let epoch = world.leader.epoch();
    let [early, late, never] = [world.record(), world.record(), world.record()];
    assert_eq!(open(&mut watching, &early), Ok(epoch));
    assert_eq!(open(&mut watching, &early), Err(Refusal::Replay));
    world.admit([5]);
    world.change();
    let now = Duration::from_secs(100);
    assert_eq!(open(&mut watching, &world.record()), Ok(epoch + 1));
    assert_eq!(watching.deadline(), None, "that frame may be another member's");
    watching.confirm(now, epoch + 1);
    assert_eq!(watching.deadline(), Some(now + Duration::from_secs(5)));
    watching.retire(now + Duration::from_millis(4_999));
    assert_eq!(open(&mut watching, &late), Ok(epoch));
    watching.retire(now + Duration::from_secs(5));
    assert_eq!(open(&mut watching, &never), Err(Refusal::UnknownEpoch));
}

#[test]
fn records_under_way_are_opened_after_a_sheet_that_overtook_them() {
    let mut world = joined(300);
    let mut watching = world.joined(0);
    world.admit([1_000]);
    let joined = world.change().epoch;
    let under_way = world.record();
    world.remove([1]);
    let sheet = world.change().sheet.expect("a leave is told");
    watching.take(&sheet).expect("a member");
    assert_eq!(open(&mut watching, &under_way), Ok(joined));
    assert_eq!(open(&mut watching, &world.record()), Ok(joined + 1));
}

#[test]
fn a_full_sheet_of_the_epoch_in_use_forgets_no_record() {
    let mut world = joined(3);
    let mut watching = world.joined(0);
    world.admit([9]);
    world.change();
    let record = world.record();
    assert!(open(&mut watching, &record).is_ok());
    watching
        .take(&world.leader.full_sheet())
        .expect("a later epoch than its path sheet");
    assert_eq!(open(&mut watching, &record), Err(Refusal::Replay));
}

#[test]
fn a_member_that_seals_ahead_drives_nobody_away() {
    let mut world = joined(300);
    let mut watching = world.joined(0);
    // The insider knows the group secret, and steps it forward by itself.
    let (group, secret) = (*world.leader.tree().group(), world.leader.tree().group_secret().clone());
    let now = world.leader.epoch();
    for epoch in (now + 1..=now + MAX_RATCHET).rev() {
        let ahead = secret.ratcheted(&group, node::Node::ROOT, now, epoch);
        let mut sealer = ahead.sealer(
            &group,
            epoch,
            &AES_128_GCM,
            crate::seal::SealLimits::COUNTER,
            KeyUse::Media,
        );
        assert_eq!(open(&mut watching, &seal(&mut sealer)), Ok(epoch));
    }
    assert!(open(&mut watching, &world.record()).is_ok());
    // Even if frames are not signed, and the program believes the insider.
    watching.confirm(world.now, now + MAX_RATCHET);
    world.remove([1]);
    let sheet = world.change().sheet.expect("a leave is told");
    watching.take(&sheet).expect("a member");
    assert_eq!(open(&mut watching, &world.record()), Ok(now + 1));
}

#[test]
fn epochs_that_only_a_member_used_give_way_to_those_of_the_next_sheet() {
    let mut world = joined(300);
    let mut watching = world.joined(0);
    let (group, secret) = (*world.leader.tree().group(), world.leader.tree().group_secret().clone());
    let now = world.leader.epoch();
    for epoch in now + 1..=now + 4 {
        let ahead = secret.ratcheted(&group, node::Node::ROOT, now, epoch);
        let mut sealer = ahead.sealer(
            &group,
            epoch,
            &AES_128_GCM,
            crate::seal::SealLimits::COUNTER,
            KeyUse::Media,
        );
        assert_eq!(open(&mut watching, &seal(&mut sealer)), Ok(epoch));
    }
    for joiner in 0..6 {
        world.admit([1000 + joiner]);
        world.change();
    }
    world.remove([1]);
    let changed = world.change();
    watching
        .take(&changed.sheet.expect("a leave is told"))
        .expect("a member");
    let record = world.record();
    assert_eq!(open(&mut watching, &record), Ok(changed.epoch));
    // The opener is kept, so it knows what it opened.
    assert_eq!(open(&mut watching, &record), Err(Refusal::Replay));
}

#[test]
fn openers_are_few_however_many_epochs_there_are() {
    let mut world = joined(3);
    let mut watching = world.joined(0);
    for joiner in 0..50 {
        world.admit([10 + joiner]);
        let epoch = world.change().epoch;
        assert_eq!(open(&mut watching, &world.record()), Ok(epoch));
        watching.confirm(Duration::ZERO, epoch);
    }
    assert_eq!(watching.held().len(), 17);
}

#[test]
fn a_record_of_another_stream_is_not_opened() {
    let mut world = joined(3);
    let mut watching = world.joined(0);
    let mut record = world.record();
    record[7] = 3;
    assert_eq!(open(&mut watching, &record), Err(Refusal::UnknownEpoch));
    // That of the sound beside it has another key.
    record[7] = 2;
    assert_eq!(open(&mut watching, &record), Err(Refusal::Tag));
}

#[test]
fn a_superseded_epoch_is_not_allowed_from_the_effect_on() {
    let mut world = joined(3);
    let mut watching = world.joined(0);
    let epoch = world.leader.epoch();
    world.remove([1]);
    let sheet = world.change().sheet.expect("a leave is told");
    let taken = watching.take(&sheet).expect("a member");
    assert!(watching.allows(epoch, taken.effect - 1));
    assert!(!watching.allows(epoch, taken.effect));
    assert!(watching.allows(taken.epoch, taken.effect));
    assert!(watching.allows(taken.epoch + 1, taken.effect));
}

/// The camera announces the next epoch when one comes into force, so its sheet arrives before records of that one.
#[test]
fn epochs_are_in_use_although_the_next_sheet_always_comes_first() {
    let mut world = World::new();
    world.admit(0..20);
    world.change();
    let mut member = world.joined(0);
    for leaves in 1..12 {
        let record = world.record();
        world.remove([leaves]);
        let sheet = world.change().sheet.expect("one leaves");
        member.take(&sheet).expect("it stays");
        let epoch = open(&mut member, &record).expect("its opener is held");
        member.confirm(world.now, epoch);
    }
}
