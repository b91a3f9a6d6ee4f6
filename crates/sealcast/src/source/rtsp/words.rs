//! Failures of a camera in words.

use sealcast_proto::rtsp::CameraError;

use super::super::rtp::lost;
use crate::failure::{Failure, FailureKind, SourceFault};
use crate::rtsp::{LinkError, PASSWORD_VARIABLE, RtspOptions};

/// Status of a camera that does not support the requested transport.
const UNSUPPORTED_TRANSPORT: u16 = 461;

/// The failure for a camera that said nothing in time.
pub(super) fn silent(options: &RtspOptions) -> Failure {
    Failure::new(
        FailureKind::Source,
        format!("{} does not answer", options.shown()),
        "check that the camera is on, and that its address and port are right",
    )
    .of_source(SourceFault::Unreachable)
}

/// The failure for a camera whose connection ended.
pub(super) fn ended(options: &RtspOptions, error: &LinkError) -> Failure {
    match error {
        LinkError::Client(CameraError::Auth(_)) => refused(options),
        LinkError::Client(CameraError::Status(status)) => answered(options, *status),
        LinkError::Client(CameraError::NotRtsp(_)) => Failure::new(
            FailureKind::Source,
            format!(
                "{} is no RTSP camera: what answers there speaks something else",
                options.shown()
            ),
            "check the port: cameras have RTSP at 554, and their web page at 80 or 8080",
        ),
        error => lost(options.shown(), &error.to_string()),
    }
}

/// The failure for a camera that does not accept the login.
fn refused(options: &RtspOptions) -> Failure {
    let (what, hint) = match &options.credentials {
        None => (
            "wants a user and a password",
            "write rtsp://USER:PASSWORD@HOST/…, or ?credentials=@FILE with a line USER:PASSWORD in FILE".into(),
        ),
        Some(_) => (
            "does not accept this user and password",
            format!("check both; a password may also come from a file (?credentials=@FILE) or {PASSWORD_VARIABLE}"),
        ),
    };
    Failure::new(FailureKind::Refused, format!("{} {what}", options.shown()), hint)
}

/// The failure for a camera that answered with this status.
pub(super) fn answered(options: &RtspOptions, status: u16) -> Failure {
    let (what, hint) = match status {
        401 | 403 => return refused(options),
        404 => (
            "has no such stream".to_owned(),
            "look up the path of the stream in the camera's manual, or in ONVIF",
        ),
        453 => ("has no bandwidth left".to_owned(), "close other viewers of the camera"),
        UNSUPPORTED_TRANSPORT => (
            "does not send this way".to_owned(),
            "choose the other way: ?transport=udp or ?transport=tcp",
        ),
        // What a web server says to a request of RTSP.
        400 | 405 | 501 | 505 => (
            format!("answered with status {status}"),
            "check the port: cameras have RTSP at 554, and their web page at 80 or 8080; then the path of its URL",
        ),
        500.. => (format!("reports an error of its own ({status})"), "restart the camera"),
        _ => (
            format!("answered with status {status}"),
            "check the path of its URL, and the camera's settings",
        ),
    };
    let failure = Failure::new(FailureKind::Source, format!("{} {what}", options.shown()), hint);
    match status {
        404 => failure.of_source(SourceFault::NoSuchStream),
        _ => failure,
    }
}

/// A text without the camera's address.
pub(crate) fn without_address(options: &RtspOptions, text: &str) -> String {
    let text = text.replace(options.shown(), "the camera");
    let url = options.url();
    text.replace(&format!("{}:{}", url.host, url.port), "HOST")
        .replace(&url.host, "HOST")
}
