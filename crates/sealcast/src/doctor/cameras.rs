//! Whether the configured cameras can be reached.

use std::time::Duration;

use sealcast_proto::rtsp::CameraUrl;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::finding::Finding;
use crate::failure::{Failure, FailureKind, Result};
use crate::rtsp::RtspOptions;
use crate::transport::ByteStream;
use crate::transport::tcp::connect_stream;
use crate::transport::tls::connect_pinned;

const CHECK: &str = "camera";
/// Time for a camera to answer.
const PATIENCE: Duration = Duration::from_secs(6);
/// Length of the beginning of an answer, `RTSP/1.0 200`.
const BEGINNING: usize = 12;

/// Connects to a camera and asks for its options, without user and password. Only host and port are shown: paths and
/// their options can hold secrets.
pub(super) async fn check(options: &RtspOptions) -> Finding {
    let url = match CameraUrl::parse(options.shown()) {
        Ok((url, _)) => url,
        Err(error) => return Finding::wrong(CHECK, FailureKind::Usage, error.to_string(), "correct the camera's URL"),
    };
    let asked = timeout(PATIENCE, ask(&url, options)).await;
    judge(&url, asked.ok())
}

/// The beginning of the camera's answer.
async fn ask(url: &CameraUrl, options: &RtspOptions) -> Result<Vec<u8>> {
    let stream = connect_stream(&url.host, url.port).await?;
    let mut stream: Box<dyn ByteStream> = match url.tls {
        true => Box::new(connect_pinned(stream, (&url.host, url.port), options.fingerprint).await?),
        false => Box::new(stream),
    };
    let request = format!(
        "OPTIONS {} RTSP/1.0\r\nCSeq: 1\r\nUser-Agent: sealcast\r\n\r\n",
        url.as_str()
    );
    let broke = |error: std::io::Error| {
        let what = format!("the connection to {}:{} broke ({error})", url.host, url.port);
        Failure::new(FailureKind::Source, what, "check that this is the camera's RTSP port")
    };
    stream.write_all(request.as_bytes()).await.map_err(broke)?;
    stream.flush().await.map_err(broke)?;
    let mut answer = Vec::with_capacity(BEGINNING);
    let mut beginning = stream.take(BEGINNING as u64);
    beginning.read_to_end(&mut answer).await.map_err(broke)?;
    Ok(answer)
}

/// Judges the beginning of an answer; `None` if none came in time.
fn judge(url: &CameraUrl, asked: Option<Result<Vec<u8>>>) -> Finding {
    let camera = format!("{}:{}", url.host, url.port);
    let wrong = |saw: String, advice: &str| Finding::wrong(CHECK, FailureKind::Source, saw, advice);
    let answer = match asked {
        Some(Ok(answer)) => answer,
        Some(Err(failure)) if failure.kind == FailureKind::Refused => return Finding::failed(CHECK, &failure),
        Some(Err(failure)) => return wrong(failure.what, &failure.hint),
        None => {
            let saw = format!("{camera} does not answer within {} s", PATIENCE.as_secs());
            return wrong(saw, "check that it is on, its address, and firewalls between");
        }
    };
    let text = String::from_utf8_lossy(&answer);
    let status = text.strip_prefix("RTSP/1.").and_then(|rest| rest.split(' ').nth(1));
    let Some(status) = status.filter(|status| status.len() == 3) else {
        let saw = format!("{camera} is reached, and what it says is not RTSP");
        return wrong(saw, "check the port: cameras use 554 for rtsp:// and 322 for rtsps://");
    };
    let within = match url.tls {
        true => " within TLS, with the pinned certificate",
        false => "",
    };
    let saw = format!(
        "{camera} speaks RTSP{within} (status {status}); whether it takes user, password and path is not tried"
    );
    Finding::ok(CHECK, saw)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;

    use super::*;
    use crate::doctor::Verdict;

    /// Finding at a port where each connection gets this answer.
    async fn found_at(answer: &'static [u8]) -> (Finding, String) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let camera = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut request = [0; 1024];
            let length = stream.read(&mut request).expect("a request");
            stream.write_all(answer).expect("sent");
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        let url = format!("rtsp://admin:hunter2@127.0.0.1:{port}/live?pass=swordfish");
        let found = check(&RtspOptions::parse(&url).expect("a URL")).await;
        (found, camera.join().expect("asked"))
    }

    #[tokio::test]
    async fn a_camera_that_answers_is_well_and_its_secrets_stay_here() {
        let (found, request) = found_at(b"RTSP/1.0 401 Unauthorized\r\n\r\n").await;
        assert!(
            found.verdict == Verdict::Ok && found.saw.contains("status 401"),
            "{found:?}"
        );
        assert!(!format!("{found:?}").contains("hunter2") && !format!("{found:?}").contains("swordfish"));
        assert!(
            request.starts_with("OPTIONS rtsp://127.0.0.1") && !request.contains("hunter2"),
            "{request}"
        );
    }

    #[tokio::test]
    async fn a_port_that_speaks_something_else_or_nothing_is_wrong() {
        for answer in [&b"HTTP/1.0 400 Bad Request\r\n\r\n"[..], b"", b"RTSP/1."] {
            let (found, _) = found_at(answer).await;
            assert_eq!(
                (found.verdict, found.kind),
                (Verdict::Wrong, Some(FailureKind::Source)),
                "{found:?}"
            );
        }
        let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let url = format!("rtsp://{}/", closed.expect("a port"));
        let found = check(&RtspOptions::parse(&url).expect("a URL")).await;
        assert!(
            found.verdict == Verdict::Wrong && found.saw.contains("cannot reach"),
            "{found:?}"
        );
    }

    #[test]
    fn a_camera_that_is_silent_or_has_another_certificate_is_wrong() {
        let (url, _) = CameraUrl::parse("rtsps://camera/").expect("a URL");
        assert_eq!(judge(&url, None).verdict, Verdict::Wrong);
        let other = Failure::new(FailureKind::Refused, "it shows another certificate", "compare it");
        assert_eq!(judge(&url, Some(Err(other))).kind, Some(FailureKind::Refused));
    }
}
