//! The operations with handshakes, the key tree and its sheets.

use std::sync::Arc;
use std::time::Duration;

use sealcast::failure::Result;
use sealcast_proto::group::MemberId;
use sealcast_proto::group_media::{GroupOpener, GroupSealer};
use sealcast_proto::keys::Mechanism;
use sealcast_proto::sign::SignMode;

use super::super::cast::{self, at, broken};
use super::cost::{Cost, Operations, mean, timed};
use crate::experiments::handshake::ends::in_memory;

/// Number of viewers whose side of sheets is computed, as many as of MLS.
const SAMPLED: usize = 2;

/// The camera, whose clock moves by a second with each operation, so that each is in force before the next.
struct Camera {
    sealer: GroupSealer,
    now: Duration,
    seeds: u8,
}

impl Camera {
    /// Announces what waits; returns the sheet for everybody. Whatever waits is announced, since the epoch before is
    /// in force.
    fn announce(&mut self) -> Result<Option<Vec<u8>>> {
        self.now += Duration::from_secs(1);
        self.seeds += 1;
        let announced = self.sealer.announce(at(self.now), &[self.seeds; 32]);
        let announced = announced.map_err(|error| broken(&error))?;
        Ok(announced.ok_or_else(|| broken(&"nothing waits"))?.sheet)
    }

    /// Makes members of viewers; returns the sheet of each.
    fn admit(&mut self, viewers: std::ops::Range<u64>) -> Result<Vec<Vec<u8>>> {
        for number in viewers.clone() {
            let admitted = self
                .sealer
                .admit(at(self.now), MemberId(number), cast::member_key(number));
            admitted.map_err(|error| broken(&error))?;
        }
        self.announce()?;
        let sheets = viewers.map(|number| self.sealer.path_sheet(MemberId(number)));
        sheets.collect::<Option<_>>().ok_or_else(|| broken(&"no member"))
    }
}

/// All operations in a group of `viewers`. A handshake is part of each join; its two ends take turns.
pub(super) fn operations(viewers: usize, mechanism: &Arc<dyn Mechanism>) -> Result<Operations> {
    let sealer = cast::sealer(SignMode::Off).map_err(|error| broken(&error))?;
    let mut camera = Camera {
        sealer,
        now: Duration::ZERO,
        seeds: 0,
    };
    let count = viewers as u64;
    let (create, sheets) = join(&mut camera, 0..count, mechanism)?;
    let members = (0..count)
        .take(SAMPLED)
        .map(|number| cast::opener(number, &camera.sealer));
    let mut members: Vec<GroupOpener> = members.collect::<Result<_>>()?;
    for (member, sheet) in members.iter_mut().zip(&sheets) {
        member.take_sheet(sheet).map_err(|refusal| broken(&refusal))?;
    }
    let (add, _) = join(&mut camera, count..count + 1, mechanism)?;
    let (sheet, time) = timed(|| {
        let removed = camera.sealer.remove(at(camera.now), MemberId(count));
        removed.map_err(|error| broken(&error))?;
        camera.announce()
    });
    let remove = taken(&mut members, sheet?, time)?;
    let (sheet, time) = timed(|| {
        camera.sealer.rekey(at(camera.now));
        camera.announce()
    });
    let rekey = taken(&mut members, sheet?, time)?;
    Ok(Operations {
        create,
        add,
        remove,
        rekey,
    })
}

/// Viewers join: a handshake each, one epoch, and a sheet for each.
fn join(
    camera: &mut Camera,
    viewers: std::ops::Range<u64>,
    mechanism: &Arc<dyn Mechanism>,
) -> Result<(Cost, Vec<Vec<u8>>)> {
    let count = viewers.end - viewers.start;
    let mut cost = Cost::default();
    let (mut theirs, first) = (Duration::ZERO, viewers.start);
    for _ in viewers.clone() {
        let made = in_memory(mechanism)?;
        cost.camera += made.responder.cpu;
        cost.sent += made.responder.sent;
        cost.received += made.responder.received;
        theirs += made.initiator.cpu + made.keygen;
    }
    let (sheets, time) = timed(|| camera.admit(viewers));
    let sheets = sheets?;
    cost.camera += time;
    cost.sent += sheets.iter().map(Vec::len).sum::<usize>();
    let mut joiner = cast::opener(first, &camera.sealer)?;
    let (taken, taking) = timed(|| joiner.take_sheet(&sheets[0]));
    taken.map_err(|refusal| broken(&refusal))?;
    let each = u32::try_from(count).map_or(theirs, |count| theirs / count);
    cost.joiner = Some(each + taking);
    Ok((cost, sheets))
}

/// Cost of a sheet for everybody that took the camera `camera`; the members take it.
fn taken(members: &mut [GroupOpener], sheet: Option<Vec<u8>>, camera: Duration) -> Result<Cost> {
    let sheet = sheet.ok_or_else(|| broken(&"there is no sheet"))?;
    let mut taking = Vec::new();
    for member in members {
        let (taken, time) = timed(|| member.take_sheet(&sheet));
        taken.map_err(|refusal| broken(&refusal))?;
        taking.push(time);
    }
    Ok(Cost {
        camera,
        member: mean(&taking),
        sent: sheet.len(),
        ..Cost::default()
    })
}
