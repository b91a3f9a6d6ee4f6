//! Listening for HTTP: by default on an address that only this machine can reach, and with a limited number of
//! connections.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::secrets::redact;
use crate::failure::{Failure, FailureKind, Result};

/// Maximum of concurrent connections; further ones wait in the system's backlog.
const MAX_CONNECTIONS: usize = 64;

/// Pause after accept() fails (too many open files), to avoid a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The address to listen at, as the user writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Address and port; port 0 takes a free port.
    pub address: SocketAddr,
    /// True if other machines may access it.
    pub public: bool,
}

impl Listen {
    /// Parse `http://127.0.0.1:9880[?public]`; without a port, `default_port`. `content` names what would be open to
    /// the network, for the message that refuses an address beyond this machine.
    ///
    /// # Errors
    /// The URL is invalid, or other machines could reach the address without `?public`: kind `Usage`.
    pub fn parse(url: &str, default_port: u16, content: &str) -> Result<Self> {
        // Do not print the text as it is: a mistyped URL may hold a secret.
        let shown = redact(url);
        let usage = |why: &str, hint: String| Err(Failure::new(FailureKind::Usage, format!("'{shown}': {why}"), hint));
        let example = format!("write an address such as http://127.0.0.1:{default_port}");
        let Some(rest) = url.strip_prefix("http://") else {
            return usage("only http:// is served", example);
        };
        let (authority, query) = rest.split_once('?').unwrap_or((rest, ""));
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        let local = authority
            .strip_prefix("localhost")
            .map(|port| format!("127.0.0.1{port}"));
        let Some(address) = parse_address(local.as_deref().unwrap_or(authority), default_port) else {
            return usage(
                "a page listens on an address and a port, not on a name or a path",
                example,
            );
        };
        let ip = address.ip();
        let public = match query {
            "" => false,
            "public" => true,
            _ => return usage("the only option is ?public", example),
        };
        if !ip.is_loopback() && !public {
            return usage(
                &format!("{content} would be open to everybody who can reach this address"),
                format!("listen on 127.0.0.1, or add ?public if that is what you want: http://{address}?public"),
            );
        }
        Ok(Self { address, public })
    }

    /// Bind the address.
    ///
    /// # Errors
    /// The address is taken, or does not belong to this machine: kind `Network`.
    pub fn bind(self) -> Result<Listener> {
        let address = self.address;
        let bound = StdListener::bind(address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        });
        match bound {
            Ok((address, listener)) => Ok(Listener {
                listen: Self { address, ..self },
                listener,
            }),
            Err(error) => {
                let hint = match error.kind() {
                    io::ErrorKind::AddrInUse => {
                        "another program has it; end that one or choose another port, or port 0 for any".into()
                    }
                    io::ErrorKind::PermissionDenied => {
                        "ports below 1024 need privileges; choose a higher one".to_owned()
                    }
                    io::ErrorKind::AddrNotAvailable => "this machine does not have that address; try 127.0.0.1".into(),
                    _ => "check the address and the port".into(),
                };
                Err(Failure::new(
                    FailureKind::Network,
                    format!("cannot listen on http://{address} ({error})"),
                    hint,
                ))
            }
        }
    }
}

/// Parses `127.0.0.1`, `127.0.0.1:80`, `[::1]` or `[::1]:80`.
fn parse_address(text: &str, default_port: u16) -> Option<SocketAddr> {
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    text.parse()
        .ok()
        .or_else(|| Some(SocketAddr::new(bare.parse().ok()?, default_port)))
}

/// A bound address, to be passed to the runtime that serves it.
#[derive(Debug)]
pub struct Listener {
    listen: Listen,
    listener: StdListener,
}

impl Listener {
    /// The address that it listens at, with the actual port.
    pub fn listen(&self) -> Listen {
        self.listen
    }

    /// Registers it with the current runtime.
    ///
    /// # Errors
    /// The runtime has no I/O.
    pub(crate) fn start(self) -> Result<Accepting> {
        let listener = TcpListener::from_std(self.listener).map_err(|e| {
            Failure::new(
                FailureKind::Internal,
                format!("cannot serve on {} ({e})", self.listen.address),
                "report it",
            )
        })?;
        Ok(Accepting {
            listener,
            room: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
        })
    }
}

/// Accepts connections up to the limit.
pub(crate) struct Accepting {
    listener: TcpListener,
    room: Arc<Semaphore>,
}

impl axum::serve::Listener for Accepting {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            // The semaphore is never closed; if it were, waiting for ever would be right.
            let Ok(permit) = Arc::clone(&self.room).acquire_owned().await else {
                std::future::pending::<()>().await;
                continue;
            };
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    // Pictures are written in one piece; Nagle's algorithm would only delay the last segment of each.
                    let _ = stream.set_nodelay(true);
                    return (
                        Connection {
                            stream,
                            _permit: permit,
                        },
                        peer,
                    );
                }
                Err(error) => {
                    tracing::warn!(%error, "a browser could not connect");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that counts against the limit until it is closed.
pub(crate) struct Connection {
    stream: TcpStream,
    _permit: OwnedSemaphorePermit,
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Listen> {
        Listen::parse(url, 9880, "the decrypted picture")
    }

    #[test]
    fn listens_on_this_machine_unless_told_otherwise() {
        for (url, address) in [
            ("http://127.0.0.1:9881", "127.0.0.1:9881"),
            ("http://127.0.0.1:80", "127.0.0.1:80"),
            ("http://127.0.0.1", "127.0.0.1:9880"),
            ("http://localhost:0/", "127.0.0.1:0"),
            ("http://[::1]:9881", "[::1]:9881"),
        ] {
            let listen = parse(url).unwrap_or_else(|failure| panic!("{failure}"));
            assert_eq!((listen.address.to_string().as_str(), listen.public), (address, false));
        }
        assert!(parse("http://0.0.0.0:9880?public").expect("asked for").public);
        assert!(
            parse("http://0.0.0.0:9880")
                .expect_err("open")
                .to_string()
                .contains("?public")
        );
        for url in [
            "127.0.0.1:9880",
            "https://127.0.0.1",
            "http://example.org:80",
            "http://127.0.0.1/x",
            "http://127.0.0.1?open",
        ] {
            assert_eq!(parse(url).expect_err(url).kind, FailureKind::Usage);
        }
    }

    #[test]
    fn a_taken_port_is_said_in_words() {
        let first = parse("http://127.0.0.1:0").and_then(Listen::bind).expect("a port");
        let again = Listen {
            address: first.listen().address,
            public: false,
        }
        .bind()
        .expect_err("taken");
        assert_eq!(again.kind, FailureKind::Network);
        assert!(again.to_string().contains("another port"), "{again}");
    }
}
