//! HTTP server for the metrics, which Prometheus fetches.

use std::future::Future;
use std::io::ErrorKind;
use std::net::SocketAddr;

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;

use super::metrics::Metrics;
use crate::failure::{Failure, FailureKind, Result};
use crate::web::guarded;
use crate::web::serve::serve_until;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Allowed reach of the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This machine only: an address other than a loopback address is refused.
    Loopback,
    /// Every machine that can reach the address, because the user explicitly asked for it.
    Anyone,
}

/// A bound address to serve the metrics on.
#[derive(Debug)]
pub struct MetricsServer {
    listener: TcpListener,
    address: SocketAddr,
    metrics: Metrics,
}

impl MetricsServer {
    /// Binds `address`; port 0 takes a free port.
    ///
    /// # Errors
    /// The address is not a loopback address and `reach` does not allow others (kind `Usage`), or it cannot be bound,
    /// for instance because the port is in use (kind `Network`).
    pub async fn bind(address: SocketAddr, reach: Reach, metrics: Metrics) -> Result<Self> {
        if reach == Reach::Loopback && !address.ip().is_loopback() {
            return Err(Failure::new(
                FailureKind::Usage,
                format!("the metrics address {address} can be reached from other machines"),
                "anyone there could read the metrics; use 127.0.0.1, or allow it explicitly",
            ));
        }
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
        Ok(Self {
            listener,
            address,
            metrics,
        })
    }

    /// The bound address, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves `/metrics` and `/health` until `stop` completes. They need no token: they contain no secret and no
    /// picture, and Prometheus fetches them.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        serve_until(self.listener, guarded(router(self.metrics)), stop).await;
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
    use std::net::{Ipv4Addr, Ipv6Addr};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::super::metrics::BuildInfo;
    use super::*;

    fn loopback(port: u16) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, port).into()
    }

    async fn fetch(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn metrics_and_health_are_served_until_stopped() {
        let metrics = Metrics::new(BuildInfo::default());
        let server = MetricsServer::bind(loopback(0), Reach::Loopback, metrics.clone())
            .await
            .unwrap();
        let address = server.address();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving = tokio::spawn(server.serve(async {
            let _ = stopped.await;
        }));
        assert!(fetch(address, "/health").await.ends_with("ok\n"));
        metrics.set_viewers(3);
        let page = fetch(address, "/metrics").await;
        assert!(
            page.contains(OPEN_METRICS) && page.contains("sealcast_viewers 3"),
            "{page}"
        );
        assert!(fetch(address, "/other").await.starts_with("HTTP/1.1 404"));
        stop.send(()).unwrap();
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn a_port_in_use_is_refused_in_words() {
        let metrics = Metrics::new(BuildInfo::default());
        let first = MetricsServer::bind(loopback(0), Reach::Loopback, metrics.clone())
            .await
            .unwrap();
        let failure = MetricsServer::bind(first.address(), Reach::Loopback, metrics)
            .await
            .unwrap_err();
        assert_eq!(failure.kind, FailureKind::Network);
        assert!(
            failure.to_string().contains("another program uses this port"),
            "{failure}"
        );
    }

    #[tokio::test]
    async fn other_machines_are_let_in_only_when_asked_for() {
        let metrics = Metrics::new(BuildInfo::default());
        for address in [(Ipv4Addr::UNSPECIFIED, 0).into(), (Ipv6Addr::UNSPECIFIED, 0).into()] {
            let failure = MetricsServer::bind(address, Reach::Loopback, metrics.clone())
                .await
                .unwrap_err();
            assert_eq!(failure.kind, FailureKind::Usage);
        }
        let open = (Ipv4Addr::UNSPECIFIED, 0).into();
        assert!(MetricsServer::bind(open, Reach::Anyone, metrics).await.is_ok());
    }
}
