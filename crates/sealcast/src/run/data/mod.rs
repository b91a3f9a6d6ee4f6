//! Data channels: datagrams of programs at this machine, over the sessions of a publisher or a viewer (docs/data.md).

mod port;
mod published;
mod url;
mod watched;

pub use published::DataOptions;
pub(crate) use published::{PublishedData, ViewerData};
pub use url::DataUrl;
pub(crate) use watched::{WatchedData, WatchedSession};

use sealcast_proto::session::DataCounts;

use crate::meter::metrics::Metrics;
use crate::run::session::connection::Connection;
use crate::transport::Transport;

/// Counting of a session's data.
#[derive(Default)]
struct Counted(DataCounts);

impl Counted {
    /// Counts what is new, and holds data back while the peer reads none.
    fn look<T: Transport>(&mut self, connection: &mut Connection<T>, metrics: &Metrics) {
        connection.hold_data();
        if let Some(counts) = connection.session.data_counts() {
            metrics.data_counted(&mut self.0, counts);
        }
    }
}
