//! The facts of a running end: for `status`, `peers list` and `control status` alike.

use std::collections::HashMap;
use std::fmt::Write as _;

use sealcast_proto::keys::PeerId;

use crate::overview::{CameraRow, PeersOverview, SessionRow, StatusOverview};
use crate::run::control::{CameraStatus, Controlled};
use crate::run::media::away::utc;

/// Status of the end.
pub(crate) fn status(end: &dyn Controlled) -> StatusOverview {
    let totals = end.observation().metrics.totals();
    let (mut encrypt, mut epoch) = (Vec::new(), 0);
    // Nothing that is done here fails.
    let _ = end.each(None, &mut |sealing| {
        encrypt.push(sealing.settings().selection().to_string());
        epoch = sealing.observation().metrics.epoch().max(epoch);
        Ok(())
    });
    let mut cameras: Vec<CameraRow> = end.cameras().into_iter().map(camera).collect();
    let all = encrypt
        .first()
        .filter(|first| encrypt.iter().all(|other| other == *first));
    let all = all.cloned();
    // A gateway encrypts all cameras alike.
    for (at, camera) in cameras.iter_mut().enumerate() {
        camera.encrypt = all.clone().or_else(|| encrypt.get(at).cloned());
    }
    let sessions = end.admission().sessions();
    // Times of the JSON are in their order as text.
    let oldest_keys_since = sessions.iter().map(|session| session.keys_since.clone()).min();
    StatusOverview {
        name: None,
        kind: end.kind().to_owned(),
        process: std::process::id(),
        encrypt: all,
        cameras,
        sessions,
        epoch,
        oldest_keys_since,
        records_out: totals.records_sealed,
        records_in_clear: totals.records_sealed_in_clear,
    }
}

fn camera(camera: CameraStatus) -> CameraRow {
    let state = camera.since.map(|_| match (camera.ended, &camera.away) {
        (true, _) => "ended",
        (false, Some(_)) => "off",
        (false, None) => "on",
    });
    let info = camera.info.as_ref();
    let rate = info.map(|info| f64::from(info.rate.numerator) / f64::from(info.rate.denominator.max(1)));
    CameraRow {
        name: camera.name,
        encrypt: None,
        state: state.map(str::to_owned),
        since: camera.since.map(|since| utc(since).to_string()),
        why: camera.away.map(|away| away.reason.clone()),
        codec: info.map(|info| info.codec.name().to_owned()),
        width: info.map(|info| info.width),
        height: info.map(|info| info.height),
        frame_rate: rate.filter(|rate| *rate > 0.0),
        frames: camera.frames,
        viewers: camera.viewers,
    }
}

/// Overview of whom the end admits, and who is here.
pub(crate) fn peers(end: &dyn Controlled) -> PeersOverview {
    let mut overview = end.admission().overview();
    for peer in &mut overview.peers {
        let id = PeerId::parse(&peer.id);
        peer.cameras = id.and_then(|id| end.cameras_for(&id));
    }
    overview
}

/// The sessions, each with what its peer is called.
pub(crate) fn with_labels(sessions: Vec<(PeerId, SessionRow)>, label: impl Fn(&PeerId) -> String) -> Vec<SessionRow> {
    let labelled = |(peer, session)| SessionRow {
        label: label(&peer),
        ..session
    };
    sessions.into_iter().map(labelled).collect()
}

/// The sessions of each peer.
pub(crate) fn by_peer(sessions: Vec<SessionRow>) -> HashMap<String, Vec<SessionRow>> {
    let mut by_peer: HashMap<String, Vec<SessionRow>> = HashMap::new();
    for session in sessions {
        by_peer.entry(session.peer.clone()).or_default().push(session);
    }
    by_peer
}

/// The status in one line, for scripts: words `NAME=VALUE`, in which only a reason at the end has blanks.
pub(crate) fn one_line(status: &StatusOverview) -> String {
    let frames: u64 = status.cameras.iter().map(|camera| camera.frames).sum();
    let each = status.cameras.iter().map_while(|camera| camera.encrypt.clone());
    let encrypt = status
        .encrypt
        .clone()
        .unwrap_or_else(|| each.collect::<Vec<_>>().join(","));
    if encrypt.is_empty() {
        return format!("frames={frames}");
    }
    let mut text = format!(
        "encrypt={encrypt} viewers={} frames={frames} epoch={} records_out={} records_in_clear={}",
        status.sessions.len(),
        status.epoch,
        status.records_out,
        status.records_in_clear,
    );
    for camera in &status.cameras {
        let label = if camera.name.is_empty() { "camera" } else { &camera.name };
        // Writing into a string cannot fail.
        let _ = match (&camera.state, &camera.since, &camera.why) {
            (Some(state), Some(since), Some(why)) => write!(text, " {label}={state} since={since} why={why}"),
            (Some(state), ..) => write!(text, " {label}={state}"),
            (None, ..) => Ok(()),
        };
    }
    text
}
