//! The program for browsers: files that are made from `web/` and checked in, so that a build needs no Node.
//! `cargo xtask web` checks that they are what the sources give, byte for byte.

use std::fmt::Write;
use std::sync::LazyLock;

use aws_lc_rs::digest::{Context, SHA256};
use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::web::guard::harden;

/// A file of the page.
struct File {
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

/// The part that decrypts. It alone connects to other machines than this server.
const WORKER: &str = "/worker.js";
/// Script that the worker loads when a ticket names a relay.
const RELAY_PART: &str = "/relay.js";
/// Script that the page loads into the browser's audio thread when its user switches sound on.
const SOUND_PART: &str = "/sound.js";

/// The files, in the order in which they are hashed.
const FILES: [File; 7] = [
    File {
        path: "/",
        kind: "text/html; charset=utf-8",
        bytes: include_bytes!("bundle/index.html"),
    },
    File {
        path: "/page.css",
        kind: "text/css; charset=utf-8",
        bytes: include_bytes!("bundle/page.css"),
    },
    File {
        path: "/page.js",
        kind: "text/javascript; charset=utf-8",
        bytes: include_bytes!("bundle/page.js"),
    },
    File {
        path: WORKER,
        kind: "text/javascript; charset=utf-8",
        bytes: include_bytes!("bundle/worker.js"),
    },
    File {
        path: RELAY_PART,
        kind: "text/javascript; charset=utf-8",
        bytes: include_bytes!("bundle/relay.js"),
    },
    File {
        path: SOUND_PART,
        kind: "text/javascript; charset=utf-8",
        bytes: include_bytes!("bundle/sound.js"),
    },
    File {
        path: "/icon.svg",
        kind: "image/svg+xml",
        bytes: include_bytes!("bundle/icon.svg"),
    },
];

/// Everything comes from this server, and nothing is inline. The page's own policy allows its worker, and no other
/// script that is made at run time.
macro_rules! policy {
    ($connections:literal) => {
        concat!(
            "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self'; connect-src ",
            $connections,
            "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
             require-trusted-types-for 'script'; trusted-types sealcast"
        )
    };
}

/// Connections go to this server alone, by WebSocket too.
const CONTENT_POLICY: &str = policy!("'self'");
/// The worker's: which relay a ticket names is not known when it is served.
const WORKER_POLICY: &str = policy!("'self' https: wss:");

/// This page may use camera, microphone and screen, nothing else; the browser asks its user for each.
const PERMISSIONS: (HeaderName, &str) = (
    HeaderName::from_static("permissions-policy"),
    "camera=(self), display-capture=(self), microphone=(self), geolocation=(), usb=(), serial=()",
);

/// SHA-256 of the files, in hexadecimal: for each its length as 32 bits, big-endian, and its bytes. The page computes
/// the same of what it was given.
pub fn hash() -> &'static str {
    static HASH: LazyLock<String> = LazyLock::new(|| {
        let mut context = Context::new(&SHA256);
        for file in &FILES {
            let length = u32::try_from(file.bytes.len()).expect("the page is small");
            context.update(&length.to_be_bytes());
            context.update(file.bytes);
        }
        context.finish().as_ref().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    });
    &HASH
}

/// Serves the files.
pub(crate) fn router() -> Router {
    serving(|_| true)
}

/// Serves those of the files that the demo's page needs too.
pub(crate) fn shared() -> Router {
    serving(|path| ["/worker.js", "/icon.svg"].contains(&path))
}

fn serving(of: impl Fn(&str) -> bool) -> Router {
    let chosen = FILES.iter().filter(|file| of(file.path));
    chosen.fold(Router::new(), |router, file| {
        let answer = || async { ([(header::CONTENT_TYPE, file.kind)], file.bytes).into_response() };
        router.route(file.path, get(answer))
    })
}

/// Adds the page's security headers to every answer.
pub(crate) fn hardened(router: Router) -> Router {
    router.layer(middleware::from_fn(headers))
}

async fn headers(request: Request, next: Next) -> Response {
    let policy = match request.uri().path() {
        WORKER => WORKER_POLICY,
        _ => CONTENT_POLICY,
    };
    let mut answer = next.run(request).await;
    harden(&mut answer, policy);
    let (name, value) = PERMISSIONS;
    answer.headers_mut().insert(name, HeaderValue::from_static(value));
    answer
}
