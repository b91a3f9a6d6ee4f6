//! The end of a session on its carrier.

use std::time::Duration;

use sealcast_proto::session::{Input, Output};
use sealcast_proto::wire::write_framed;

use super::connection::Connection;
use crate::transport::{Progress, Transport};

impl<T: Transport> Connection<T> {
    /// Try to send the close message, for at most `patience`.
    pub async fn say_goodbye(mut self, patience: Duration) {
        // A session that failed has still to send its reason.
        loop {
            match self.session.poll() {
                Output::Transmit(message) => write_framed(self.transport.outgoing(), &message),
                Output::Event(_) | Output::Media(_) | Output::Challenge(_) | Output::Follow => {}
                Output::Timeout(_) => break,
            }
        }
        if !self.transport.is_datagram() {
            // The last cells leave at their times.
            let _ = tokio::time::timeout(patience, self.repeat_goodbye()).await;
        }
        // Stop once the other end has closed: `wait` would return at once, and the loop would spin.
        let flush = async {
            while self.flush().is_ok() && self.transport.backlog() > 0 {
                if !matches!(self.transport.wait().await, Ok(Progress::Read | Progress::Wrote)) {
                    break;
                }
            }
            self.transport.finish().await;
        };
        // Do not wait longer for a peer that no longer reads.
        let _ = tokio::time::timeout(patience, flush).await;
        self.repeat_goodbye().await;
    }

    /// Repeat the close message over datagrams, which may be lost. The session sets the times.
    async fn repeat_goodbye(&mut self) {
        loop {
            match self.session.poll() {
                Output::Transmit(message) => write_framed(self.transport.outgoing(), &message),
                Output::Event(_) | Output::Media(_) | Output::Challenge(_) | Output::Follow => {}
                Output::Timeout(Duration::MAX) => break,
                Output::Timeout(deadline) => {
                    // A message that cannot leave now is not worth another attempt.
                    let _ = self.flush();
                    let Some(at) = self.clock.instant(deadline).filter(|_| self.session.is_over()) else {
                        break;
                    };
                    tokio::time::sleep_until(at.into()).await;
                    let _ = self.session.handle(self.clock.now(), Input::Timeout);
                }
            }
        }
        let _ = self.flush();
    }
}
