//! The token that opens a page: other users of the machine reach the page's port, but do not know the token.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use data_encoding::BASE64URL_NOPAD;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::failure::{Failure, FailureKind, Result};
use crate::keys::entropy;
use crate::private_file::read_secret_line;

/// Fewest characters of a token that the user chose; our own have 22 for their 128 bits.
const MIN_TOKEN: usize = 16;
/// Most characters of it.
const MAX_TOKEN: usize = 128;

const NO_TOKEN: &str = "This page needs its token: open the address that the program printed when it started, \
    or say Authorization: Bearer TOKEN.\n";
const WRONG_TOKEN: &str = "This is not the token of this page: open the address that the program printed last, \
    or look into its token file.\n";

/// A page's secret. Whoever shows it may see the page.
pub(crate) struct PageToken {
    text: Zeroizing<String>,
}

impl PageToken {
    /// A new token of 128 random bits.
    ///
    /// # Errors
    /// The operating system's generator failed.
    pub(crate) fn random() -> Result<Self> {
        let bits = Zeroizing::new(entropy::random::<16>()?);
        let text = Zeroizing::new(BASE64URL_NOPAD.encode(bits.as_ref()));
        Ok(Self { text })
    }

    /// The token in the first line of a secret file.
    ///
    /// # Errors
    /// The file cannot be read, is open to others, or holds no token: kind `Keys`.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let line = read_secret_line(path)?;
        let text = Zeroizing::new(line.trim().to_owned());
        // Only characters that need no escape in a URL or a cookie.
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if (MIN_TOKEN..=MAX_TOKEN).contains(&text.len()) && text.bytes().all(allowed) {
            return Ok(Self { text });
        }
        Err(Failure::new(
            FailureKind::Keys,
            format!("the first line of {} is no token for a page", path.display()),
            format!("write {MIN_TOKEN} to {MAX_TOKEN} letters, digits, - or _ into it, chosen at random"),
        ))
    }

    /// The token as text, for the user's eyes.
    pub(crate) fn reveal(&self) -> &str {
        &self.text
    }

    fn is(&self, shown: &str) -> bool {
        self.text.as_bytes().ct_eq(shown.as_bytes()).into()
    }
}

/// A page's token, and the name of the cookie that holds it in a browser. Browsers send cookies to all ports of a
/// host, so the name has the port: two pages do not overwrite each other's cookie.
struct Admission {
    token: PageToken,
    cookie: String,
    /// True within TLS: then the browser shows the cookie nowhere else.
    tls: bool,
}

/// Admits requests that show the token: in the URL, which is answered with a cookie and a redirection to the URL
/// without it, so that it is not left in the browser's history; in this cookie; or as `Authorization: Bearer`.
pub(crate) fn admitting(router: Router, token: PageToken, port: u16, tls: bool) -> Router {
    let cookie = format!("sealcast-{port}");
    router.layer(middleware::from_fn_with_state(
        Arc::new(Admission { token, cookie, tls }),
        admit,
    ))
}

async fn admit(State(admission): State<Arc<Admission>>, request: Request, next: Next) -> Response {
    if let Some((shown, elsewhere)) = without_token(request.uri()) {
        return match admission.token.is(&shown) {
            true => admission.redirection(&elsewhere),
            false => (StatusCode::FORBIDDEN, WRONG_TOKEN).into_response(),
        };
    }
    match admission.refusal(request.headers()) {
        None => next.run(request).await,
        Some(words) => (StatusCode::FORBIDDEN, words).into_response(),
    }
}

impl Admission {
    /// Reason why a request with these headers is refused; `None` if it shows the token.
    fn refusal(&self, headers: &HeaderMap) -> Option<&'static str> {
        let mut refusal = NO_TOKEN;
        for shown in bearer(headers).chain(cookies(headers, &self.cookie)) {
            if self.token.is(shown) {
                return None;
            }
            refusal = WRONG_TOKEN;
        }
        Some(refusal)
    }

    fn redirection(&self, elsewhere: &str) -> Response {
        let Self { token, cookie, tls } = self;
        let secure = if *tls { "; Secure" } else { "" };
        let set = Zeroizing::new(format!(
            "{cookie}={}; Path=/; HttpOnly; SameSite=Strict{secure}",
            token.reveal()
        ));
        match (HeaderValue::from_str(elsewhere), HeaderValue::from_str(&set)) {
            (Ok(elsewhere), Ok(set)) => {
                let headers = [(header::LOCATION, elsewhere), (header::SET_COOKIE, set)];
                (StatusCode::SEE_OTHER, headers).into_response()
            }
            // Neither a path that was parsed nor a token has characters that a header cannot hold.
            _ => StatusCode::BAD_REQUEST.into_response(),
        }
    }
}

/// The token in a URL, and the path with the rest of the query.
fn without_token(uri: &Uri) -> Option<(Zeroizing<String>, String)> {
    let pairs = || uri.query().unwrap_or_default().split('&');
    let shown = pairs().find_map(|pair| pair.strip_prefix("token="))?;
    let rest: Vec<_> = pairs().filter(|pair| !pair.starts_with("token=")).collect();
    // More than one slash at the beginning would name another host.
    let mut elsewhere = format!("/{}", uri.path().trim_start_matches('/'));
    if !rest.is_empty() {
        elsewhere = format!("{elsewhere}?{}", rest.join("&"));
    }
    Some((Zeroizing::new(shown.to_owned()), elsewhere))
}

/// The tokens that a script shows.
fn bearer(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(header::AUTHORIZATION).iter();
    values.filter_map(|value| {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("Bearer").then_some(token)
    })
}

/// The values of the cookies with this name.
fn cookies<'a>(headers: &'a HeaderMap, name: &'a str) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(header::COOKIE).iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .filter_map(move |(other, value)| (other == name).then_some(value))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_is_itself_and_no_other() {
        let (one, other) = (
            PageToken::random().expect("random"),
            PageToken::random().expect("random"),
        );
        assert_eq!(one.reveal().len(), 22);
        assert!(one.is(one.reveal()) && !one.is(other.reveal()));
        for wrong in ["", &one.reveal()[..21], &format!("{}x", one.reveal())] {
            assert!(!one.is(wrong));
        }
    }

    #[test]
    fn the_token_leaves_the_url_and_the_rest_stays_on_this_host() {
        for (url, shown, elsewhere) in [
            ("/?token=abc", "abc", "/"),
            ("/stream.mjpeg?123&token=abc&x=y", "abc", "/stream.mjpeg?123&x=y"),
            ("/?token=", "", "/"),
            ("//elsewhere.example/?token=abc", "abc", "/elsewhere.example/"),
            ("/?token=abc&token=def", "abc", "/"),
        ] {
            let (found, rest) = without_token(&url.parse().expect("a URL")).expect("a token");
            assert_eq!((found.as_str(), rest.as_str()), (shown, elsewhere), "{url}");
        }
        assert!(without_token(&"/?tokens=abc".parse().expect("a URL")).is_none());
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(
            header::COOKIE,
            HeaderValue::from_static("a=b; sealcast-80=one;sealcast-8=two"),
        );
        headers.append(header::COOKIE, HeaderValue::from_static("sealcast-80=three"));
        assert_eq!(cookies(&headers, "sealcast-80").collect::<Vec<_>>(), ["one", "three"]);
        assert_eq!(cookies(&headers, "sealcast-9").count(), 0);
    }

    #[test]
    fn a_token_from_a_file_is_long_and_fits_a_url() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let read = |text: &str| {
            std::fs::write(file.path(), text).expect("written");
            PageToken::read(file.path())
        };
        assert_eq!(
            read("abcdefghijklmno-_9\n").expect("a token").reveal(),
            "abcdefghijklmno-_9"
        );
        for wrong in ["short", "sixteen characters with spaces", &"x".repeat(129)] {
            let failure = read(wrong).err().expect("no token");
            assert!(!failure.to_string().contains(wrong), "{failure}");
        }
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o644)).expect("our own file");
        assert!(
            read("abcdefghijklmno-_9")
                .err()
                .expect("open")
                .to_string()
                .contains("chmod 600")
        );
    }
}
