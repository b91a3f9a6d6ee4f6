//! Protection that everything served over HTTP needs: no page on the web may see the answers.

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;

/// All content comes from this server, nothing is inline, and no page may put it into a frame.
const CONTENT_POLICY: &str = "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; \
                              connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Headers of every response, beside its content policy.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    // Without it any page on the web could display our picture in an image of its own.
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    // Alone in its process a page gets clocks of 5 µs.
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"),
];

/// Accepts only requests that address this server by an IP address or as localhost and, of those that may change
/// something, only its own pages'; and adds security headers to every response.
///
/// A page on the web can make its own name point to our address (DNS rebinding) and then read our content as if it
/// were its own. Such a request has the page's name as its host; a request typed by the user has an address.
pub(crate) fn guarded(router: Router) -> Router {
    router.layer(middleware::from_fn(guard))
}

/// Adds the security headers of [`guarded`] to every response, of what is shown only to who has a token: under whatever
/// name it is asked for, a page on the web has none.
pub(crate) fn hardened(router: Router) -> Router {
    router.layer(middleware::map_response(|mut answer: Response| async {
        harden(&mut answer, CONTENT_POLICY);
        answer
    }))
}

/// Adds security headers to a response: the content policy, and those that every page needs.
pub(crate) fn harden(answer: &mut Response, content_policy: &'static str) {
    let policy = (header::CONTENT_SECURITY_POLICY, content_policy);
    for (name, value) in HEADERS.into_iter().chain([policy]) {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
}

async fn guard(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    let mut answer = if !names_this_machine(request.headers()) {
        let text = "This page answers to its address only, such as http://127.0.0.1 with the port, not to a name.\n";
        (StatusCode::FORBIDDEN, text).into_response()
    } else if changes && !is_same_origin(request.headers(), host) {
        (StatusCode::FORBIDDEN, "Only this page itself may do that.\n").into_response()
    } else {
        next.run(request).await
    };
    harden(&mut answer, CONTENT_POLICY);
    if answer.status() == StatusCode::FORBIDDEN {
        // Who is refused keeps no connection.
        answer
            .headers_mut()
            .insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}

/// False if a browser says that a request to `host` comes from another page. Browsers tell the origin of each request
/// that may change something.
pub(crate) fn is_same_origin(headers: &HeaderMap, host: Option<&str>) -> bool {
    let value = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let site = value("sec-fetch-site").is_none_or(|site| matches!(site, "same-origin" | "none"));
    let origin = value("origin").is_none_or(|origin| {
        let (scheme, authority) = origin.split_once("://").unwrap_or_default();
        let port = if scheme == "https" { ":443" } else { ":80" };
        let whole = |authority: &str| {
            let has_port = authority
                .rsplit_once(':')
                .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            let port = if has_port { "" } else { port };
            format!("{}{port}", authority.to_ascii_lowercase())
        };
        !authority.is_empty() && host.is_some_and(|host| whole(host) == whole(authority))
    });
    site && origin
}

fn names_this_machine(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(Ok(host)), None) = (hosts.next().map(HeaderValue::to_str), hosts.next()) else {
        return false;
    };
    // Ignore the port: a forwarded one (ssh -L) is legitimate, and a rebinding page has the right one anyway.
    let host = match host.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']').map_or("", |(address, _)| address),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::routing::get;
    use hyper::service::Service as _;
    use hyper_util::service::TowerToHyperService;

    use super::*;

    #[tokio::test]
    async fn what_may_change_something_is_taken_from_this_page_alone() {
        let router = guarded(Router::new().route("/", get(|| async {}).post(|| async {}).put(|| async {})));
        for (method, origin, site, taken) in [
            ("GET", Some("http://evil.example"), Some("cross-site"), true),
            ("HEAD", Some("http://evil.example"), None, true),
            ("POST", None, None, true),
            ("POST", Some("http://127.0.0.1:9882"), Some("same-origin"), true),
            ("PUT", Some("http://127.0.0.1:9882"), None, true),
            ("POST", Some("http://127.0.0.1:9883"), Some("same-site"), false),
            ("POST", Some("http://127.0.0.1:9883"), None, false),
            ("PUT", None, Some("cross-site"), false),
            ("POST", Some("null"), None, false),
        ] {
            let mut request = Request::builder()
                .method(method)
                .uri("/")
                .header("host", "127.0.0.1:9882");
            for (name, value) in [("origin", origin), ("sec-fetch-site", site)] {
                request = value
                    .into_iter()
                    .fold(request, |request, value| request.header(name, value));
            }
            let request = request.body(Body::empty()).expect("a request");
            let answer = TowerToHyperService::new(router.clone()).call(request).await;
            let answer = answer.expect("an answer");
            assert_eq!(answer.status() == StatusCode::OK, taken, "{method} {origin:?} {site:?}");
        }
    }

    #[test]
    fn names_are_refused_and_addresses_are_not() {
        for (host, ours) in [
            ("127.0.0.1:9880", true),
            ("localhost:9880", true),
            ("LOCALHOST", true),
            ("[::1]:9880", true),
            ("192.168.1.7:9880", true),
            ("evil.example:9880", false),
            ("127.0.0.1.evil.example", false),
            ("localhost.evil.example:9880", false),
            ("[::1", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().expect("a header"));
            assert_eq!(names_this_machine(&headers), ours, "{host}");
            headers.append(header::HOST, "localhost".parse().expect("a header"));
            assert!(!names_this_machine(&headers), "two hosts are one too many");
        }
        assert!(!names_this_machine(&HeaderMap::new()));
    }
}
