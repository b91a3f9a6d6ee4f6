//! Address at which a page listens: by default one that only this machine can reach.

use std::io::{self, IsTerminal};
use std::net::{SocketAddr, TcpListener as StdListener};
use std::path::PathBuf;

use axum::Router;
use tokio::net::TcpListener;
use zeroize::Zeroizing;

use super::guard::guarded;
use super::serve::{Port, serve_until};
use super::token::{PageToken, admitting};
use crate::config::secrets::redact;
use crate::failure::{Failure, FailureKind, Result};
use crate::meter::metrics::Metrics;
use crate::output;
use crate::transport::parse_address;

/// The address to listen at, as the user writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Address and port; port 0 takes a free port.
    pub address: SocketAddr,
    /// True if other machines may access it.
    pub public: bool,
    /// File with the token that opens the page; without it, a new one is made.
    pub token_file: Option<PathBuf>,
}

impl Listen {
    /// Parse `http://127.0.0.1:9880[?public&token=@FILE]`; without a port, `default_port`. `content` names what would
    /// be open to the network, for the message that refuses an address beyond this machine.
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
        let (mut public, mut token_file) = (false, None);
        for option in query.split('&').filter(|option| !option.is_empty()) {
            match option.split_once("token=@") {
                Some(("", file)) if !file.is_empty() => token_file = Some(file.into()),
                _ if option == "public" => public = true,
                _ => return usage("the only options are ?public and ?token=@FILE", example),
            }
        }
        if !ip.is_loopback() && !public {
            return usage(
                &format!("{content} would be open to everybody who can reach this address"),
                format!("listen on 127.0.0.1, or add ?public if that is what you want: http://{address}?public"),
            );
        }
        Ok(Self {
            address,
            public,
            token_file,
        })
    }

    /// Bind the address, and make or read the token of the page.
    ///
    /// # Errors
    /// The address is taken, or does not belong to this machine: kind `Network`. The file has no token, or others can
    /// read it: kind `Keys`.
    pub fn bind(self) -> Result<Listener> {
        let address = self.address;
        let token = self
            .token_file
            .as_deref()
            .map_or_else(PageToken::random, PageToken::read)?;
        let bound = StdListener::bind(address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        });
        match bound {
            Ok((address, listener)) => Ok(Listener {
                listen: Self { address, ..self },
                listener,
                token,
                metrics: None,
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

/// A bound address with its token, to be passed to the runtime that serves the page.
pub struct Listener {
    listen: Listen,
    listener: StdListener,
    token: PageToken,
    metrics: Option<Metrics>,
}

impl Listener {
    /// The address that it listens at, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.listen.address
    }

    /// The same, which counts the answers that wait to be taken.
    #[must_use]
    pub fn counted_in(self, metrics: &Metrics) -> Self {
        Self {
            metrics: Some(metrics.clone()),
            ..self
        }
    }

    /// The URL that opens the page, with its token: for the user alone.
    pub fn reveal_url(&self) -> Zeroizing<String> {
        let address = self.listen.address;
        Zeroizing::new(format!("http://{address}/?token={}", self.token.reveal()))
    }

    /// Tell the user where the page is. The token is printed where a person reads it and not where it would end in a
    /// log.
    pub(crate) fn announce(&self) {
        let address = self.listen.address;
        let line = if let Some(file) = &self.listen.token_file {
            let file = file.display();
            format!("open http://{address}/?token=TOKEN in a browser, with the token in {file}\n")
        } else if io::stdout().is_terminal() {
            format!("open {} in a browser; stop with Ctrl-C\n", *self.reveal_url())
        } else {
            format!(
                "a page is at http://{address}; its token is printed on a terminal only, and ?token=@FILE sets one\n"
            )
        };
        // The page is there all the same if nobody reads the output.
        let _ = output::write(&Zeroizing::new(line));
    }

    /// Serve `router` to those who know the token, until `closed` completes.
    ///
    /// # Errors
    /// The listener cannot be used on this runtime.
    pub(crate) async fn serve_until(self, router: Router, closed: impl Future<Output = ()>) -> Result<()> {
        let address = self.listen.address;
        let listener = TcpListener::from_std(self.listener).map_err(|e| {
            Failure::new(
                FailureKind::Internal,
                format!("cannot serve on {address} ({e})"),
                "report it",
            )
        })?;
        let router = guarded(admitting(router, self.token, address.port(), false));
        let port = Port {
            listener,
            tls: None,
            metrics: self.metrics,
        };
        serve_until(port, router, closed).await;
        Ok(())
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
        let both = parse("http://0.0.0.0:9880?token=@a/b&public").expect("asked for");
        assert_eq!((both.public, both.token_file), (true, Some("a/b".into())));
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
            "http://127.0.0.1?token=abcdefghijklmnop",
            "http://127.0.0.1?token=@",
        ] {
            assert_eq!(parse(url).expect_err(url).kind, FailureKind::Usage);
        }
    }

    #[test]
    fn a_taken_port_is_said_in_words() {
        let first = parse("http://127.0.0.1:0").and_then(Listen::bind).expect("a port");
        let again = Listen {
            address: first.address(),
            public: false,
            token_file: None,
        }
        .bind()
        .err()
        .expect("taken");
        assert_eq!(again.kind, FailureKind::Network);
        assert!(again.to_string().contains("another port"), "{again}");
    }
}
