//! Attendance: the sessions of a listening end that stand, with their figures, and when peers were here last.
//!
//! A session enters when it is established and leaves when it ends. Its task tells its figures twice a second, into
//! atomics: who asks waits for nobody.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use sealcast_proto::keys::{Peer, PeerId};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::connection::Connection;
use crate::keys::peers::LastSeen;
use crate::overview::SessionRow;
use crate::platform::wall_time::wall_time;
use crate::run::media::away::utc;
use crate::transport::Transport;

/// Interval at which a session tells its figures.
const TELLING: Duration = Duration::from_millis(500);
/// Minimum time between two writes of when peers were here.
const WRITE_REST: Duration = Duration::from_secs(120);
/// Maximum time between two writes while somebody is here: so much is forgotten after a loss of power.
const WRITE_INTERVAL: Duration = Duration::from_secs(300);
/// A figure that is not known.
const UNKNOWN: u64 = u64::MAX;

/// The sessions of a listening end that stand.
pub(crate) struct Attendance {
    here: Mutex<Here>,
    /// A session has ended.
    left: Arc<Notify>,
}

#[derive(Default)]
struct Here {
    next: u64,
    /// In the order in which they came.
    sessions: BTreeMap<u64, Arc<Attending>>,
    seen: LastSeen,
    /// True once there is a task that writes down when peers were here, or if there is nowhere to write it.
    kept: bool,
    /// The user knows that it cannot be written.
    warned: bool,
}

/// A session that stands.
struct Attending {
    peer: PeerId,
    /// The name of the camera that it is of; empty for none in particular.
    camera: String,
    /// In ns since 1970.
    since: u64,
    carrier: &'static str,
    /// The address, or the relay in words.
    remote: Mutex<String>,
    behind_relay: bool,
    /// Media, bit/s.
    bit_rate: AtomicU64,
    /// Packets that the path loses, of a million.
    loss: AtomicU64,
    /// In ns.
    round_trip: AtomicU64,
    /// Since when it has its keys, in ns since 1970.
    keys_since: AtomicU64,
}

/// A session's place among those that stand. Dropping it is its end.
pub(crate) struct Presence {
    attendance: Arc<Attendance>,
    number: u64,
    attending: Arc<Attending>,
    /// When figures were told last, and the bytes of media until then.
    told: Instant,
    bytes: u64,
}

impl Attendance {
    /// Nobody is here; the file in this folder says who was.
    pub(crate) fn new(folder: Option<&Path>) -> Arc<Self> {
        let here = Here {
            seen: folder.map_or_else(LastSeen::default, LastSeen::at),
            kept: folder.is_none(),
            ..Here::default()
        };
        Arc::new(Self {
            here: Mutex::new(here),
            left: Arc::default(),
        })
    }

    fn here(&self) -> MutexGuard<'_, Here> {
        // Each statement leaves the state consistent, so a panic in another thread does no harm.
        self.here.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session stands: that of `peer` over this connection, which came from `remote`.
    pub(crate) fn enter<T: Transport>(
        self: &Arc<Self>,
        peer: &Peer,
        camera: &str,
        remote: &str,
        connection: &Connection<T>,
    ) -> Presence {
        let now = connection.clock.now().wall;
        let attending = Arc::new(Attending {
            peer: peer.id,
            camera: camera.to_owned(),
            since: now,
            carrier: connection.transport.carrier(),
            remote: Mutex::new(remote.to_owned()),
            behind_relay: !connection.carries_media(),
            bit_rate: AtomicU64::new(UNKNOWN),
            loss: AtomicU64::new(UNKNOWN),
            round_trip: AtomicU64::new(UNKNOWN),
            keys_since: AtomicU64::new(now),
        });
        let mut here = self.here();
        let number = here.next;
        here.next += 1;
        here.sessions.insert(number, Arc::clone(&attending));
        if !here.kept
            && let Ok(runtime) = Handle::try_current()
        {
            here.kept = true;
            runtime.spawn(keep(Arc::downgrade(self), Arc::clone(&self.left)));
        }
        drop(here);
        Presence {
            attendance: Arc::clone(self),
            number,
            attending,
            told: connection.arrived,
            bytes: connection.media_bytes(),
        }
    }

    /// The sessions, in the order in which they came. What their peers are called is left out.
    pub(crate) fn sessions(&self) -> Vec<(PeerId, SessionRow)> {
        let here: Vec<Arc<Attending>> = self.here().sessions.values().cloned().collect();
        here.iter().map(|attending| (attending.peer, attending.row())).collect()
    }

    /// Number of sessions of this camera, or of all.
    pub(crate) fn count_of(&self, camera: Option<&str>) -> usize {
        let here = self.here();
        let of_camera = |session: &&Arc<Attending>| camera.is_none_or(|name| session.camera == name);
        here.sessions.values().filter(of_camera).count()
    }

    /// When a peer that is not here was here last.
    pub(crate) fn last_seen(&self, peer: &PeerId) -> Option<jiff::Timestamp> {
        self.here().seen.of(peer)
    }

    /// Forget when others were here than these.
    pub(crate) fn forget_others(&self, keep: impl Fn(&PeerId) -> bool) {
        self.here().seen.keep(keep);
    }

    /// Write down when peers were here, if that is news. A full disk hurts nobody: it is logged once.
    fn write(&self) {
        let mut here = self.here();
        let (now, present) = (
            wall_time(),
            here.sessions.values().map(|one| one.peer).collect::<Vec<_>>(),
        );
        present.into_iter().for_each(|peer| here.seen.note(peer, now));
        let unwritten = here.seen.take_unwritten();
        drop(here);
        if let Some(Err(error)) = unwritten.map(|unwritten| unwritten.write())
            && !std::mem::replace(&mut self.here().warned, true)
        {
            tracing::warn!(
                "when peers were here last cannot be written ({error}): it is known until this program ends"
            );
        }
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        self.write();
    }
}

/// Write down when peers were here: when a session ends and each few minutes while one stands, but not more often.
async fn keep(attendance: Weak<Attendance>, left: Arc<Notify>) {
    loop {
        tokio::select! {
            () = left.notified() => {}
            () = tokio::time::sleep(WRITE_INTERVAL) => {}
        }
        let Some(attendance) = attendance.upgrade() else { return };
        // It fails only if the program ends, and then it is written as this is dropped.
        let _ = tokio::task::spawn_blocking(move || attendance.write()).await;
        tokio::time::sleep(WRITE_REST).await;
    }
}

impl Attending {
    fn row(&self) -> SessionRow {
        let known = |figure: &AtomicU64| Some(figure.load(Ordering::Relaxed)).filter(|&figure| figure != UNKNOWN);
        let remote = self.remote.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (address, relay) = match self.behind_relay {
            true => (None, Some(remote)),
            false => (Some(remote), None),
        };
        SessionRow {
            peer: self.peer.to_string(),
            label: String::new(),
            camera: self.camera.clone(),
            since: utc(self.since).to_string(),
            address,
            relay,
            carrier: self.carrier.to_owned(),
            bit_rate: known(&self.bit_rate),
            loss: known(&self.loss).map(|loss| loss as f64 / 1e6),
            round_trip_ms: known(&self.round_trip).map(|nanos| (nanos / 10_000) as f64 / 100.0),
            keys_since: utc(self.keys_since.load(Ordering::Relaxed)).to_string(),
        }
    }
}

impl Presence {
    /// Tell the figures of the session, if that is due.
    pub(crate) fn tell<T: Transport>(&mut self, connection: &Connection<T>) {
        let past = connection.arrived.saturating_duration_since(self.told);
        if past < TELLING {
            return;
        }
        let (bytes, session, attending) = (connection.media_bytes(), &connection.session, &self.attending);
        if !attending.behind_relay {
            let bits = bytes.saturating_sub(self.bytes) as f64 * 8.0;
            attending
                .bit_rate
                .store((bits / past.as_secs_f64()) as u64, Ordering::Relaxed);
        }
        (self.told, self.bytes) = (connection.arrived, bytes);
        if let Some((share, _)) = session.path_loss() {
            attending.loss.store((share * 1e6) as u64, Ordering::Relaxed);
        }
        if let Some(trip) = session.measured_round_trip() {
            let nanos = u64::try_from(trip.as_nanos()).unwrap_or(UNKNOWN);
            attending.round_trip.store(nanos, Ordering::Relaxed);
        }
        if let Some(address) = connection.moved_to {
            self.moved(address);
        }
    }

    fn moved(&self, address: SocketAddr) {
        let mut remote = self.attending.remote.lock().unwrap_or_else(PoisonError::into_inner);
        let address = address.to_string();
        if *remote != address {
            *remote = address;
        }
    }

    /// The session has new keys, since `now` in ns since 1970.
    pub(crate) fn rekeyed(&self, now: u64) {
        self.attending.keys_since.store(now, Ordering::Relaxed);
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut here = self.attendance.here();
        here.sessions.remove(&self.number);
        here.seen.note(self.attending.peer, wall_time());
        drop(here);
        self.attendance.left.notify_one();
    }
}
