//! Broadcasts that the relay takes of those that are announced to it.

use std::time::Duration;

use moq_net::Patterns;
use moq_net::stats::{Config, Registry, Report, Session, Tier};
use tokio::time::sleep;

/// Time that a relay may take to ask for announcements. It does so at once, or never if it would not take them.
const PATIENCE: Duration = Duration::from_secs(10);

/// Counts the announcements of one connection. A relay asks for those that the client's token allows, and says nothing
/// about the others: that nobody asked is all that there is to know.
pub(crate) struct Offers(Registry);

impl Offers {
    /// Nothing has been asked for. Broadcasts that come and go without end are left out of the count.
    pub(crate) fn new(left_out: Patterns) -> Self {
        let mut config = Config::new();
        config.exclude = left_out;
        Self(Registry::new(config))
    }

    /// Session in which the connection counts.
    pub(crate) fn counter(&self) -> Session {
        self.0.tier(Tier::default()).session("")
    }

    /// Whether the relay asked for this broadcast.
    pub(crate) fn taken(&self, path: &str) -> bool {
        // This forgets broadcasts that are no more, so what is counted stays small.
        let mut report = Report::default();
        self.0.report(&mut report);
        let mut asked = report
            .traffic
            .iter()
            .filter(|entry| entry.publisher.announces_started > 0);
        asked.any(|entry| entry.path.as_str() == path)
    }

    /// Resolves if the relay has not asked for this broadcast in good time.
    pub(crate) async fn refused(&self, path: &str) {
        sleep(PATIENCE).await;
        if self.taken(path) {
            std::future::pending().await
        }
    }
}
