//! Small groups as in a paper: the leader makes a handshake with each other member, and rekeys.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast::failure::Result;
use sealcast::meter::resources::thread_cpu_time;
use sealcast::meter::statistics::mean;
use sealcast_proto::group::MemberId;
use sealcast_proto::group_media::{GroupOpener, GroupSealer};
use sealcast_proto::keys::Mechanism;
use sealcast_proto::sign::SignMode;

use super::cast::{self, at, broken};
use crate::experiments::energy::Metered;
use crate::experiments::handshake::ends::in_memory;
use crate::harness::Sample;

/// Amount that is measured in a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Amount {
    /// Number of groups that are founded, and of pairs beside each.
    pub(super) groups: usize,
    /// Time for which groups are founded while the meter is read, and idle time before and after.
    pub(super) energy: Duration,
    pub(super) idle: Duration,
}

/// Cost of founding a group and of rekeying it once.
#[derive(Clone, Copy, Debug, Default)]
struct Founding {
    wall: Duration,
    /// Processor time of all members.
    cpu: Duration,
    leader: Duration,
    bytes: usize,
    rekey_leader: Duration,
    rekey_others: Duration,
    rekey_bytes: usize,
}

/// Founds groups of `members`, one after another, each after a pair.
///
/// # Errors
/// A handshake failed.
pub(super) fn measure(members: usize, mechanism: &Arc<dyn Mechanism>, amount: Amount) -> Result<Sample> {
    let (mut pairs, mut groups) = (Vec::new(), Vec::new());
    // The first of each is for the caches.
    for _ in 0..=amount.groups {
        pairs.push(found(2, mechanism)?);
        groups.push(found(members, mechanism)?);
    }
    Ok(sample(members, &pairs[1..], &groups[1..]))
}

/// Adds the energy of groups and of pairs, or the reason why there is none.
///
/// # Errors
/// A handshake failed.
pub(super) fn with_energy(
    sample: Sample,
    members: usize,
    mechanism: &Arc<dyn Mechanism>,
    amount: Amount,
    (meter, round): (&mut Metered, usize),
) -> Result<Sample> {
    let mut each = |members: usize, what: &str| -> std::result::Result<Result<f64>, String> {
        let many = || -> Result<usize> {
            let (began, mut count) = (Instant::now(), 0);
            while count == 0 || began.elapsed() < amount.energy {
                found(members, mechanism)?;
                count += 1;
            }
            Ok(count)
        };
        let (count, energy) = meter.measure(round, what, many, amount.idle)?;
        Ok(count.map(|count| energy.joules / count as f64 * 1e3))
    };
    match (each(members, "groups"), each(2, "pairs")) {
        (Ok(group), Ok(pair)) => {
            let (group, pair) = (group?, pair?);
            Ok(sample
                .with("mj_per_group", group)
                .with("energy_times_model", group / (others(members) * pair)))
        }
        (Err(why), _) | (_, Err(why)) => Ok(sample.lacking(why)),
    }
}

fn others(members: usize) -> f64 {
    (members - 1) as f64
}

fn sample(members: usize, pairs: &[Founding], groups: &[Founding]) -> Sample {
    let of = |all: &[Founding], what: fn(&Founding) -> Duration| {
        mean(&all.iter().map(|one| what(one).as_secs_f64()).collect::<Vec<_>>())
    };
    let count = |what: fn(&Founding) -> usize| {
        let all: Vec<f64> = groups.iter().map(|one| what(one) as f64).collect();
        mean(&all)
    };
    let times = |what: fn(&Founding) -> Duration| of(groups, what) / (others(members) * of(pairs, what));
    Sample::default()
        .with("group_ms", of(groups, |one| one.wall) * 1e3)
        .with("pair_ms", of(pairs, |one| one.wall) * 1e3)
        .with("group_cpu_ms", of(groups, |one| one.cpu) * 1e3)
        .with("pair_cpu_ms", of(pairs, |one| one.cpu) * 1e3)
        .with("leader_cpu_ms", of(groups, |one| one.leader) * 1e3)
        .with("group_bytes", count(|one| one.bytes))
        .with("time_times_model", times(|one| one.wall))
        .with("cpu_times_model", times(|one| one.cpu))
        .with("rekey_leader_us", of(groups, |one| one.rekey_leader) * 1e6)
        .with(
            "rekey_other_us",
            of(groups, |one| one.rekey_others) * 1e6 / others(members),
        )
        .with("rekey_sheet_bytes", count(|one| one.rekey_bytes))
}

/// Founds a group and rekeys it. All members take turns on this thread.
fn found(members: usize, mechanism: &Arc<dyn Mechanism>) -> Result<Founding> {
    let mut leader = cast::sealer(SignMode::Off).map_err(|error| broken(&error))?;
    let (began, cpu) = (Instant::now(), thread_cpu_time());
    let (mut founding, mut now) = (Founding::default(), Duration::ZERO);
    let mut spent = Duration::ZERO;
    for number in 1..members as u64 {
        let made = in_memory(mechanism)?;
        spent += made.responder.cpu;
        founding.bytes += made.responder.sent + made.responder.received;
        let key = cast::member_key(number);
        let admitted = by(&mut spent, || leader.admit(at(now), MemberId(number), key));
        admitted.map_err(|error| broken(&error))?;
    }
    by(&mut spent, || announce(&mut leader, now))?;
    let mut others = Vec::new();
    for number in 1..members as u64 {
        let sheet = by(&mut spent, || leader.path_sheet(MemberId(number)));
        let sheet = sheet.ok_or_else(|| broken(&"no member"))?;
        founding.bytes += sheet.len();
        let mut member = cast::opener(number, &leader)?;
        member.take_sheet(&sheet).map_err(|refusal| broken(&refusal))?;
        others.push(member);
    }
    founding.leader = spent;
    founding.cpu = thread_cpu_time().saturating_sub(cpu);
    founding.wall = began.elapsed();
    now += Duration::from_secs(1);
    rekey(&mut leader, &mut others, now, &mut founding)?;
    Ok(founding)
}

fn rekey(leader: &mut GroupSealer, others: &mut [GroupOpener], now: Duration, founding: &mut Founding) -> Result<()> {
    let sheet = by(&mut founding.rekey_leader, || {
        leader.rekey(at(now));
        announce(leader, now)
    })?;
    let sheet = sheet.ok_or_else(|| broken(&"there is no sheet"))?;
    founding.rekey_bytes = sheet.len();
    for member in others {
        let taken = by(&mut founding.rekey_others, || member.take_sheet(&sheet));
        taken.map_err(|refusal| broken(&refusal))?;
    }
    Ok(())
}

/// Announces what waits; returns the sheet for everybody.
fn announce(leader: &mut GroupSealer, now: Duration) -> Result<Option<Vec<u8>>> {
    let announced = leader.announce(at(now), &[now.as_secs() as u8 + 1; 32]);
    let announced = announced.map_err(|error| broken(&error))?;
    Ok(announced.ok_or_else(|| broken(&"nothing waits"))?.sheet)
}

/// The result of `work`, whose processor time is added to `spent`.
fn by<R>(spent: &mut Duration, work: impl FnOnce() -> R) -> R {
    let before = thread_cpu_time();
    let result = work();
    *spent += thread_cpu_time().saturating_sub(before);
    result
}

#[cfg(test)]
mod tests {
    use sealcast::keys::mechanism;

    use super::*;

    #[test]
    fn a_group_is_founded_by_a_handshake_and_a_sheet_for_each_other_member() {
        let mechanism = mechanism::by_name("x25519").expect("a known name");
        let [pair, group] = [2, 5].map(|members| found(members, &mechanism).expect("it is founded"));
        assert_eq!(group.bytes, 4 * pair.bytes);
        assert!(pair.leader > Duration::ZERO && pair.leader < pair.cpu);
        // A full sheet has a wrap a leaf, and one for each inner node below the root.
        assert_eq!(group.rekey_bytes - pair.rekey_bytes, 52 * 3);
    }
}
