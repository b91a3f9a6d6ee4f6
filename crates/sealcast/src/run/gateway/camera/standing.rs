//! Whether a gateway's camera is there.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::run::media::away::{Away, SourceStanding};

/// Whether a camera is there, as far as its task knows: it connects when somebody asks for the camera.
#[derive(Default)]
pub(super) struct CameraStanding(Mutex<Option<SourceStanding>>);

impl CameraStanding {
    fn lock(&self) -> MutexGuard<'_, Option<SourceStanding>> {
        // It is set as a whole, so a panic in another thread does no harm.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Present standing, if it is known.
    pub(super) fn now(&self) -> Option<SourceStanding> {
        self.lock().clone()
    }

    /// The camera is there, or away for this reason.
    pub(super) fn set(&self, away: Option<Away>) {
        let mut standing = self.lock();
        let before = standing
            .as_ref()
            .filter(|before| before.away.is_some() == away.is_some());
        let since = before.map_or_else(Instant::now, |before| before.since);
        let away = away.map(std::sync::Arc::new);
        *standing = Some(SourceStanding { since, away });
    }

    /// Nobody needs the camera, so nobody knows.
    pub(super) fn unknown(&self) {
        *self.lock() = None;
    }
}
