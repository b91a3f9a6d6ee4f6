//! The names under which a page is served. Who opens a session from another page, or from this one under a name that
//! somebody made to point here (DNS rebinding), is refused.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::HeaderMap;

use super::certificate::Certificates;
use crate::web::guard::is_same_origin;

/// Names that lead here, beside addresses.
#[derive(Clone, Default)]
pub(super) struct Names {
    /// Those that the user gave for tickets.
    pub(super) advertised: Vec<String>,
    /// Certificates, which vouch for names.
    pub(super) certificates: Option<Arc<Certificates>>,
}

impl Names {
    /// True if a request to `host`, with a port or without, comes from this server's page, or from no browser.
    pub(super) fn are_of_this_page(&self, headers: &HeaderMap, host: &str) -> bool {
        let name = match host.strip_prefix('[') {
            Some(bracketed) => bracketed.split_once(']').map_or("", |(address, _)| address),
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        is_same_origin(headers, Some(host)) && (!headers.contains_key("origin") || self.has(name))
    }

    fn has(&self, name: &str) -> bool {
        let is = |own: &str| own.eq_ignore_ascii_case(name);
        name.parse::<IpAddr>().is_ok()
            || is("localhost")
            || self.advertised.iter().any(|own| is(own))
            || self
                .certificates
                .as_ref()
                .is_some_and(|certificates| certificates.vouch_for(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_page_under_its_own_names_and_programs_open_a_session() {
        let names = Names {
            advertised: vec!["camera.example".to_owned()],
            certificates: None,
        };
        for (host, origin, site, ours) in [
            ("127.0.0.1:9443", Some("http://127.0.0.1:9443"), None, true),
            ("[::1]:9443", Some("https://[::1]:9443"), Some("same-origin"), true),
            ("camera.example", Some("https://camera.example"), None, true),
            ("camera.example:443", Some("https://CAMERA.example"), None, true),
            ("localhost:80", Some("http://localhost"), None, true),
            ("127.0.0.1:9443", None, None, true),
            ("evil.example:9443", None, None, true),
            ("127.0.0.1:9443", None, Some("cross-site"), false),
            (
                "127.0.0.1:9443",
                Some("http://127.0.0.1:9443"),
                Some("same-site"),
                false,
            ),
            ("127.0.0.1:9443", Some("http://127.0.0.1:9444"), None, false),
            ("127.0.0.1:9443", Some("http://127.0.0.2:9443"), None, false),
            ("127.0.0.1:9443", Some("https://evil.example"), None, false),
            (
                "evil.example:9443",
                Some("https://evil.example:9443"),
                Some("same-origin"),
                false,
            ),
            ("127.0.0.1:9443", Some("null"), None, false),
            ("127.0.0.1:9443", Some("http://"), None, false),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in [("origin", origin), ("sec-fetch-site", site)] {
                value.map(|value| headers.insert(name, value.parse().expect("a header")));
            }
            assert_eq!(
                names.are_of_this_page(&headers, host),
                ours,
                "{host} {origin:?} {site:?}"
            );
        }
    }
}
