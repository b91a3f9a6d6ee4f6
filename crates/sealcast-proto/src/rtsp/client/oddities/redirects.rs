//! Cameras that refer to another place.

use super::{Call, Camera, Deviation, plays, status, watch};
use crate::rtsp::client::{CameraError, CameraUrl, MAX_REDIRECTS};
use crate::rtsp::message::{Method, Request, Response};

/// The answer that refers to a URL, to each method for the URL asked for, unless that ends with `/there`.
pub(super) fn refer(asked: &Request, right: &Response, code: u16, to: &str) -> Vec<u8> {
    if asked.url.contains("/there") {
        return right.to_bytes();
    }
    let mut response = status(asked, code);
    response.headers.add("Location", to);
    response.to_bytes()
}

/// Outcome of a session with a camera.
enum End {
    Plays,
    /// It refers to this URL of another server.
    Refers(&'static str),
    Fails(CameraError),
}

/// Name, scheme, deviation, and what comes of it.
const REDIRECTS: &[(&str, &str, Deviation, End)] = &[
    (
        "302",
        "rtsp",
        |_, asked, right| refer(asked, &right, 302, "rtsp://192.0.2.7/there"),
        End::Plays,
    ),
    (
        "301, a path",
        "rtsp",
        |_, asked, right| refer(asked, &right, 301, "/there"),
        End::Plays,
    ),
    (
        "308 within TLS",
        "rtsps",
        |_, asked, right| refer(asked, &right, 308, "rtsps://x:y@192.0.2.7:322/there"),
        End::Plays,
    ),
    (
        "at DESCRIBE",
        "rtsp",
        |_, asked, right| match asked.method {
            Method::Describe => refer(asked, &right, 303, "rtsp://192.0.2.7:554/there"),
            _ => right.to_bytes(),
        },
        End::Plays,
    ),
    (
        "at SETUP",
        "rtsp",
        |_, asked, right| match asked.method {
            Method::Setup => refer(asked, &right, 307, &format!("{}/there", asked.url)),
            _ => right.to_bytes(),
        },
        End::Plays,
    ),
    (
        "at SETUP, elsewhere",
        "rtsp",
        |_, asked, right| match asked.method {
            Method::Setup => refer(asked, &right, 302, "rtsp://192.0.2.8/live/trackID=0"),
            _ => right.to_bytes(),
        },
        End::Refers("rtsp://192.0.2.8/live"),
    ),
    (
        "in a circle",
        "rtsp",
        |_, asked, right| refer(asked, &right, 302, "/s"),
        End::Fails(CameraError::Redirects),
    ),
    (
        "another host",
        "rtsp",
        |_, asked, right| refer(asked, &right, 302, "rtsp://u:p@192.0.2.8/there"),
        End::Refers("rtsp://192.0.2.8/there"),
    ),
    (
        "another port",
        "rtsp",
        |_, asked, right| refer(asked, &right, 302, "rtsp://192.0.2.7:8554/there"),
        End::Refers("rtsp://192.0.2.7:8554/there"),
    ),
    (
        "into TLS",
        "rtsp",
        |_, asked, right| refer(asked, &right, 302, "rtsps://192.0.2.7/there"),
        End::Refers("rtsps://192.0.2.7/there"),
    ),
    (
        "out of TLS",
        "rtsps",
        |_, asked, right| refer(asked, &right, 302, "rtsp://192.0.2.7/there"),
        End::Fails(CameraError::Downgrade),
    ),
    (
        "nowhere",
        "rtsp",
        |_, asked, right| refer(asked, &right, 302, ""),
        End::Fails(CameraError::Status(302)),
    ),
    (
        "a proxy",
        "rtsp",
        |_, asked, right| refer(asked, &right, 305, "/there"),
        End::Fails(CameraError::Status(305)),
    ),
];

#[test]
fn redirects_are_followed_a_few_times_and_never_out_of_tls() {
    for (name, scheme, deviation, end) in REDIRECTS {
        let url = match *scheme {
            "rtsp" => Call::default().url,
            _ => "rtsps://admin:pw@192.0.2.7/s",
        };
        let call = Call { url, ..Call::default() };
        let came = watch(Camera::new(*deviation), call);
        println!("{name}");
        match end {
            End::Plays => plays(&came),
            End::Fails(error) => assert_eq!(came.error.as_ref(), Some(error)),
            End::Refers(url) => {
                let (to, _) = CameraUrl::parse(url).unwrap();
                assert_eq!(came.error, Some(CameraError::Redirected { to, redirects: 1 }));
            }
        }
    }
    let call = Call {
        redirects: MAX_REDIRECTS,
        ..Call::default()
    };
    let came = watch(
        Camera::new(|_, asked: &Request, right| refer(asked, &right, 302, "/there")),
        call,
    );
    assert_eq!(
        came.error,
        Some(CameraError::Redirects),
        "those on other connections count"
    );
}
