//! HTTP server for the metrics, which Prometheus fetches.

use std::future::Future;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use rustls::ServerConfig;
use tokio::net::TcpListener;

use super::metrics::Metrics;
use super::url::MetricsUrl;
use crate::failure::{Failure, FailureKind, Result};
use crate::transport::page_tls;
use crate::web::guard::hardened;
use crate::web::guarded;
use crate::web::serve::{Port, serve_until};
use crate::web::token::{PageToken, admitting};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A bound address to serve the metrics on.
pub struct MetricsServer {
    listener: TcpListener,
    address: SocketAddr,
    metrics: Metrics,
    token: Option<PageToken>,
    tls: Option<Arc<ServerConfig>>,
}

impl MetricsServer {
    /// Binds the address of `url`; port 0 takes a free port.
    ///
    /// # Errors
    /// Other machines can reach the address and need no token (kind `Usage`), the token or certificate cannot be used
    /// (kind `Keys`), or the address cannot be bound, for instance because the port is in use (kind `Network`).
    pub async fn bind(url: &MetricsUrl, metrics: Metrics) -> Result<Self> {
        url.check()?;
        let address = url.address;
        let token = url.token_file.as_deref().map(PageToken::read).transpose()?;
        let tls = url
            .tls
            .then(|| page_tls(address, url.certificate.clone()))
            .transpose()?;
        let listener = TcpListener::bind(address).await.map_err(|error| {
            let hint = match error.kind() {
                ErrorKind::AddrInUse => {
                    "another program uses this port; choose another one, or port 0 for any free port"
                }
                ErrorKind::PermissionDenied => "ports below 1024 need privileges; choose a higher one",
                ErrorKind::AddrNotAvailable => "this machine does not have that address; use 127.0.0.1",
                _ => "choose another address",
            };
            Failure::new(
                FailureKind::Network,
                format!("cannot serve metrics on {address}: {error}"),
                hint,
            )
        })?;
        let address = listener.local_addr().unwrap_or(address);
        if tls.is_none() && !address.ip().is_loopback() {
            tracing::warn!(
                "the metrics at {address} go over the network in clear, and so does their token: use https://{address}"
            );
        }
        Ok(Self {
            listener,
            address,
            metrics,
            token,
            tls,
        })
    }

    /// The URL of the metrics, without the token.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/metrics", self.address)
    }

    /// The bound address, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves `/metrics` and `/health` until `stop` completes, to who shows the token, if there is one. Without one
    /// they are for this machine, under its address alone: they contain no secret and no picture, and Prometheus
    /// fetches them.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let port = Port {
            listener: self.listener,
            tls: self.tls,
            metrics: Some(self.metrics.clone()),
        };
        let (within_tls, router) = (port.tls.is_some(), router(self.metrics));
        let router = match self.token {
            Some(token) => hardened(admitting(router, token, self.address.port(), within_tls)),
            None => guarded(router),
        };
        serve_until(port, router, stop).await;
    }
}

fn router(metrics: Metrics) -> Router {
    Router::new()
        .route("/metrics", get(metrics_page))
        .route("/health", get(|| async { "ok\n" }))
        .with_state(metrics)
}

async fn metrics_page(State(metrics): State<Metrics>) -> impl IntoResponse {
    ([(CONTENT_TYPE, OPEN_METRICS)], metrics.encode())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use rustls::crypto::aws_lc_rs::default_provider;
    use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio_rustls::TlsConnector;

    use super::super::build_info::BuildInfo;
    use super::*;

    async fn bind(url: &str, metrics: &Metrics) -> Result<MetricsServer> {
        MetricsServer::bind(&url.parse().expect("a URL"), metrics.clone()).await
    }

    async fn fetch(address: SocketAddr, path: &str, header: &str) -> String {
        ask(TcpStream::connect(address).await.unwrap(), path, header).await
    }

    /// Asks under a name that is not this machine's if there is a header, with a token.
    async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin, path: &str, header: &str) -> String {
        let host = if header.is_empty() {
            "localhost"
        } else {
            "camera.example"
        };
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{header}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn within_tls_they_have_the_certificate_that_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let [chain, key] = ["chain", "key"].map(|name| folder.path().join(name));
        std::fs::write(&chain, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let token = folder.path().join("token");
        std::fs::write(&token, "sixteen-or-more-letters").unwrap();
        for secret in [&key, &token] {
            std::fs::set_permissions(secret, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let url = format!(
            "https://127.0.0.1:0?cert={}&key={}&token=@{}",
            chain.display(),
            key.display(),
            token.display()
        );
        let server = bind(&url, &Metrics::new(BuildInfo::default())).await.unwrap();
        let address = server.address();
        assert_eq!(server.url(), format!("https://{address}/metrics"));
        tokio::spawn(server.serve(std::future::pending()));
        let mut roots = rustls::RootCertStore::empty();
        roots.add(made.cert.der().clone()).unwrap();
        let config = rustls::ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(config));
        for (header, path, words) in [
            (
                "Authorization: Bearer sixteen-or-more-letters\r\n",
                "/metrics",
                "sealcast_viewers",
            ),
            (
                "",
                "/metrics?token=sixteen-or-more-letters",
                "; SameSite=Strict; Secure\r\n",
            ),
        ] {
            let stream = TcpStream::connect(address).await.unwrap();
            let stream = connector.connect("localhost".try_into().unwrap(), stream).await;
            let page = ask(stream.unwrap(), path, header).await;
            assert!(page.contains(words), "{page}");
        }
    }

    #[tokio::test]
    async fn metrics_and_health_are_served_until_stopped() {
        let metrics = Metrics::new(BuildInfo::default());
        let server = bind("127.0.0.1:0", &metrics).await.unwrap();
        let address = server.address();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving = tokio::spawn(server.serve(async {
            let _ = stopped.await;
        }));
        assert!(fetch(address, "/health", "").await.ends_with("ok\n"));
        metrics.set_viewers(3);
        let page = fetch(address, "/metrics", "").await;
        assert!(
            page.contains(OPEN_METRICS) && page.contains("sealcast_viewers 3"),
            "{page}"
        );
        assert!(fetch(address, "/other", "").await.starts_with("HTTP/1.1 404"));
        stop.send(()).unwrap();
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn other_machines_show_the_token_under_whatever_name() {
        let token = "sixteen-or-more-letters";
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), token).unwrap();
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
        let metrics = Metrics::new(BuildInfo::default());
        let url = format!("0.0.0.0:0?token=@{}", file.path().display());
        let server = bind(&url, &metrics).await.unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], server.address().port()));
        tokio::spawn(server.serve(std::future::pending()));
        for (header, path, answer) in [
            ("", "/metrics", "HTTP/1.1 403"),
            ("", "/health", "HTTP/1.1 403"),
            (
                "Authorization: Bearer wrong-token-wrong-token\r\n",
                "/metrics",
                "HTTP/1.1 403",
            ),
            (
                &format!("Authorization: Bearer {token}\r\n"),
                "/metrics",
                "HTTP/1.1 200",
            ),
            ("", &format!("/metrics?token={token}"), "HTTP/1.1 303"),
        ] {
            let page = fetch(address, path, header).await;
            assert!(page.starts_with(answer), "{header}{path}: {page}");
            assert!(answer.ends_with("200") || !page.contains("sealcast_viewers"), "{page}");
            assert!(!page.contains("Secure"), "the browser would not send it: {page}");
        }
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o644)).unwrap();
        let failure = bind(&url, &metrics).await.err().expect("a token that others can read");
        assert_eq!(failure.kind, FailureKind::Keys);
    }

    #[tokio::test]
    async fn a_port_in_use_is_refused_in_words() {
        let metrics = Metrics::new(BuildInfo::default());
        let first = bind("127.0.0.1:0", &metrics).await.unwrap();
        let failure = bind(&first.address().to_string(), &metrics).await.err().expect("taken");
        assert_eq!(failure.kind, FailureKind::Network);
        assert!(
            failure.to_string().contains("another program uses this port"),
            "{failure}"
        );
    }
}
