//! URLs in the forms that cameras and players use. They are joined as text, as the common clients do, since the URLs of
//! many cameras do not follow RFC 3986. No stored URL contains credentials.

use std::fmt;

use zeroize::Zeroizing;

use super::credentials::Credentials;
use super::tracks::Track;

/// Default port of `rtsp://`.
const RTSP_PORT: u16 = 554;
/// Default port of `rtsps://`.
const RTSPS_PORT: u16 = 322;
/// Maximum length of a camera's URL in bytes, of every source and gateway.
pub const MAX_URL: usize = 8 << 10;

/// URL of a camera, without credentials, so it can be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct CameraUrl {
    /// True if the connection uses TLS.
    pub tls: bool,
    /// Host name or address; an IPv6 address without brackets, with its zone behind `%` if it has one.
    pub host: String,
    /// TCP port.
    pub port: u16,
    text: String,
}

/// Reason why a text is not a camera URL. It contains no part of the text, which may hold credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Scheme missing or not supported.
    #[error("a camera's URL begins with rtsp:// or rtsps://")]
    Scheme,
    /// Host missing or not valid.
    #[error("the camera's URL names no host")]
    Host,
    /// The port is not a number from 1 to 65535.
    #[error("the camera's URL has a port that is none")]
    Port,
    /// A character that must be escaped (space, control character, not ASCII), or a URL longer than `MAX_URL`.
    #[error("the camera's URL has a character that must be escaped, or is longer than {MAX_URL} bytes")]
    Form,
}

impl CameraUrl {
    /// Parses `rtsp[s]://[USER[:PASSWORD]@]HOST[:PORT][/PATH]`. Escapes are decoded in the credentials and kept in the
    /// path.
    ///
    /// # Errors
    /// [`UrlError`] names the invalid part, without repeating it.
    pub fn parse(text: &str) -> Result<(Self, Option<Credentials>), UrlError> {
        if text.len() > MAX_URL || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(UrlError::Form);
        }
        let (scheme, rest) = text.split_once("://").ok_or(UrlError::Scheme)?;
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "rtsp" => false,
            "rtsps" => true,
            _ => return Err(UrlError::Scheme),
        };
        let (authority, path) = split_authority(rest);
        let (user_info, server) = split_user_info(authority);
        let (host, port) = match server.strip_prefix('[') {
            Some(rest) => rest.split_once(']').ok_or(UrlError::Host)?,
            None => server.split_at(server.find(':').unwrap_or(server.len())),
        };
        if host.is_empty() {
            return Err(UrlError::Host);
        }
        // The zone of an IPv6 address (RFC 6874) means something on this machine alone, so the camera is not told.
        let zone = server.starts_with('[').then(|| host.split_once('%')).flatten();
        let (host, server) = match zone {
            Some((address, zone)) => {
                let zone = zone.strip_prefix("25").unwrap_or(zone);
                (format!("{address}%{zone}"), format!("[{address}]{port}"))
            }
            None => (host.to_owned(), server.to_owned()),
        };
        let port = match port.strip_prefix(':') {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok().filter(|port| *port != 0).ok_or(UrlError::Port)?
            }
            None if port.is_empty() => {
                if tls {
                    RTSPS_PORT
                } else {
                    RTSP_PORT
                }
            }
            _ => return Err(UrlError::Port),
        };
        let url = Self {
            tls,
            host,
            port,
            text: format!("{}://{server}{path}", scheme.to_ascii_lowercase()),
        };
        Ok((url, user_info.map(credentials)))
    }

    /// Returns the URL, without credentials.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True if the other URL has the same scheme, host and port. Credentials for one of them are not for any other.
    pub fn is_same_server(&self, other: &Self) -> bool {
        self.tls == other.tls && self.port == other.port && self.host.eq_ignore_ascii_case(&other.host)
    }

    /// The URL without these characters at its end; `None` if it does not end so.
    pub(super) fn without_end(&self, end: &str) -> Option<Self> {
        let stem = self.text.strip_suffix(end).filter(|_| !end.is_empty())?;
        Some(Self {
            host: self.host.clone(),
            ..Self::parse(stem).ok()?.0
        })
    }

    /// The URL that a Location header refers to, without credentials. `None` if it is no URL of a camera.
    pub(super) fn referred(&self, location: &str) -> Option<Self> {
        let location = location.trim();
        let (scheme, rest) = self.text.split_once("://")?;
        let (server, path) = split_authority(rest);
        if let Some(elsewhere) = location.strip_prefix("//") {
            return Some(Self::parse(&format!("{scheme}://{elsewhere}")).ok()?.0);
        }
        let has_scheme = location.split_once(':').is_some_and(|(scheme, _)| {
            scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                && scheme.chars().all(|letter| letter.is_ascii_alphanumeric())
        });
        if location.is_empty() || has_scheme {
            return Some(Self::parse(location).ok()?.0);
        }
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let folder = match location.starts_with('/') {
            true => "",
            false => path.rsplit_once('/').map_or("/", |(folder, _)| &path[..=folder.len()]),
        };
        let (url, _) = Self::parse(&format!("{scheme}://{server}{folder}{location}")).ok()?;
        Some(Self {
            host: self.host.clone(),
            ..url
        })
    }
}

impl fmt::Display for CameraUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for CameraUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Splits the text after `://` into the authority (host and port, perhaps with user information before them) and the
/// rest.
fn split_authority(rest: &str) -> (&str, &str) {
    rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()))
}

/// Splits off the user information. It ends at the last `@`, since unescaped `@` in passwords are common.
fn split_user_info(authority: &str) -> (Option<&str>, &str) {
    match authority.rsplit_once('@') {
        Some((user_info, server)) => (Some(user_info), server),
        None => (None, authority),
    }
}

fn credentials(user_info: &str) -> Credentials {
    let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
    Credentials::new(unescaped(user).as_str(), unescaped(password))
}

/// Decodes `%XX` escapes. A `%` that begins no valid escape is kept.
pub fn unescaped(text: &str) -> Zeroizing<String> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escape = (byte == b'%').then(|| after.get(..2)).flatten();
        let escape = escape.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let escape = escape.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(escape.unwrap_or(byte));
        rest = if escape.is_some() { &after[2..] } else { after };
    }
    Zeroizing::new(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns true if a text is an absolute RTSP URL.
fn is_absolute(text: &str) -> bool {
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
    scheme.eq_ignore_ascii_case("rtsp") || scheme.eq_ignore_ascii_case("rtsps")
}

/// Removes the user information from a URL.
pub(super) fn without_user_info(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (authority, path) = split_authority(rest);
    format!("{scheme}://{}{path}", split_user_info(authority).1)
}

/// Base of a camera's relative URLs: the first absolute URL of `said` (the headers of the DESCRIBE response), or else
/// the requested URL.
pub(super) fn base<'a>(said: impl Iterator<Item = &'a str>, asked: &str) -> String {
    let said = said.map(str::trim).find(|url| is_absolute(url));
    without_user_info(said.unwrap_or(asked))
}

/// Resolves a control URL of a camera: `*` or nothing is the base itself, and a relative URL is appended to the base.
pub(super) fn join(base: &str, control: &str) -> String {
    if control.is_empty() || control == "*" {
        base.to_owned()
    } else if is_absolute(control) {
        without_user_info(control)
    } else {
        let slash = if base.ends_with('/') { "" } else { "/" };
        format!("{base}{slash}{control}")
    }
}

/// The camera and track in a player's URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// Path of the camera, without leading and trailing slashes.
    pub(super) path: String,
    /// The track, if the URL names one.
    pub(super) track: Option<Track>,
}

/// Parses a player's URL, of which only the path counts. Returns `None` for `*` and for anything that is not an
/// absolute RTSP URL.
pub(super) fn asked(url: &str) -> Option<Asked> {
    if !is_absolute(url) {
        return None;
    }
    let (_, rest) = url.split_once("://")?;
    let path = split_authority(rest).1.trim_matches('/');
    let (before, last) = path.rsplit_once('/').unwrap_or(("", path));
    let track = last.strip_prefix("track").and_then(track_number);
    let path = if track.is_some() {
        before.trim_end_matches('/')
    } else {
        path
    };
    Some(Asked {
        path: path.to_owned(),
        track,
    })
}

fn track_number(digits: &str) -> Option<Track> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok().and_then(Track::new))?
}

/// Relative control URL of a track, between the gateways and towards players.
pub(super) fn track_control(track: usize) -> String {
    format!("track{track}")
}

/// Rewrites RTP-Info (RFC 2326 §12.33) of a camera for the other gateway: its URLs become our relative ones. Unknown
/// tracks, and parameters other than `seq` and `rtptime`, are left out.
pub(super) fn rtp_info_from_camera(value: &str, base: &str, controls: &[String]) -> String {
    let entries = rtp_info_entries(value).filter_map(|(url, parameters)| {
        let url = join(base, url);
        // With one track there is no ambiguity, and some cameras give a wrong URL.
        let track = controls
            .iter()
            .position(|control| *control == url)
            .or((controls.len() == 1).then_some(0))?;
        let kept = parameters.split(';').map(str::trim).filter(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or_default();
            matches!(name, "seq" | "rtptime") && !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit())
        });
        let mut entry = format!("url={}", track_control(track));
        for parameter in kept {
            entry.push(';');
            entry.push_str(parameter);
        }
        Some(entry)
    });
    entries.collect::<Vec<_>>().join(",")
}

/// The timestamps with which the tracks begin, of an RTP-Info that has crossed to the gateway of the
/// players. Cameras announce others than they send, so they are hints.
pub fn announced_times(value: &str) -> impl Iterator<Item = (Track, u32)> {
    rtp_info_entries(value).filter_map(|(url, parameters)| {
        let mut tracks = (0..).map_while(Track::new);
        let track = tracks.find(|track| track_control(track.index()) == url)?;
        let time = parameters
            .split(';')
            .find_map(|parameter| parameter.strip_prefix("rtptime="))?;
        Some((track, time.parse().ok()?))
    })
}

/// Rewrites RTP-Info for a player: our relative URLs become absolute.
pub(super) fn rtp_info_for_player(value: &str, base: &str) -> String {
    let entries = rtp_info_entries(value).map(|(url, parameters)| {
        let semicolon = if parameters.is_empty() { "" } else { ";" };
        format!("url={}{semicolon}{parameters}", join(base, url))
    });
    entries.collect::<Vec<_>>().join(",")
}

/// Iterates over the entries as URL and other parameters. URLs may contain commas, so entries are split at `url=`.
fn rtp_info_entries(value: &str) -> impl Iterator<Item = (&str, &str)> {
    value.split("url=").skip(1).map(|entry| {
        let entry = entry.trim_end_matches([' ', ',', ';']);
        entry.split_once(';').unwrap_or((entry, ""))
    })
}

#[cfg(test)]
mod tests {
    use super::base as base_of;
    use super::*;
    use crate::rtsp::credentials::Credentials;

    fn parse(text: &str) -> (CameraUrl, Option<Credentials>) {
        CameraUrl::parse(text).unwrap()
    }

    #[test]
    fn a_cameras_url_is_kept_without_its_credentials() {
        let (url, credentials) = parse("rtsp://ad%6din:p@ss:w%2Frd@192.0.2.7/Streaming/Channels/101?a=b");
        assert_eq!(url.to_string(), "rtsp://192.0.2.7/Streaming/Channels/101?a=b");
        assert_eq!((url.host.as_str(), url.port, url.tls), ("192.0.2.7", 554, false));
        assert!(!format!("{url:?}").contains("p@ss"));
        assert!(credentials.unwrap() == Credentials::new("admin", "p@ss:w/rd".to_owned()));

        let (url, credentials) = parse("RTSPS://[2001:db8::1]:8554");
        assert_eq!((url.host.as_str(), url.port, url.tls), ("2001:db8::1", 8554, true));
        assert!(credentials.is_none());
        assert_eq!(parse("rtsps://cam?x@y").0.port, 322);
        assert_eq!(parse("RTSP://u:p@Cam/X").0.as_str(), "rtsp://Cam/X");
        for zoned in ["rtsp://[fe80::1%25eth0]:8554/x", "rtsp://[fe80::1%eth0]:8554/x"] {
            let (url, _) = parse(zoned);
            assert_eq!(
                (url.host.as_str(), url.as_str()),
                ("fe80::1%eth0", "rtsp://[fe80::1]:8554/x")
            );
        }
        assert_eq!(
            parse(&format!("rtsp://cam/{}", "x".repeat(7000))).0.as_str().len(),
            7011
        );
    }

    #[test]
    fn what_is_no_url_of_a_camera_says_why_and_not_what() {
        for (text, reason) in [
            ("http://camera/", UrlError::Scheme),
            ("camera", UrlError::Scheme),
            ("rtsp:///x", UrlError::Host),
            ("rtsp://user:secret@/x", UrlError::Host),
            ("rtsp://[::1/x", UrlError::Host),
            ("rtsp://user:secret@camera:0/", UrlError::Port),
            ("rtsp://camera:+1/", UrlError::Port),
            ("rtsp://[::1]x/", UrlError::Port),
            ("rtsp://camera/a b", UrlError::Form),
        ] {
            let error = CameraUrl::parse(text).err().unwrap();
            assert_eq!(error, reason, "{text}");
            assert!(!error.to_string().contains("secret"));
        }
    }

    #[test]
    fn control_urls_are_joined_as_cameras_mean_them() {
        let base = "rtsp://192.168.5.107:65534/videoMain/";
        for (base, control, joined) in [
            (base, "*", base),
            (base, "track1", "rtsp://192.168.5.107:65534/videoMain/track1"),
            ("rtsp://c/live?ch=1", "trackID=0", "rtsp://c/live?ch=1/trackID=0"),
            ("rtsp://c/live", "rtsp://u:p@c/other/video", "rtsp://c/other/video"),
        ] {
            assert_eq!(join(base, control), joined);
        }
    }

    #[test]
    fn a_location_is_a_url_or_a_path_and_its_credentials_are_dropped() {
        let (here, _) = parse("rtsp://Cam:8554/old?x=1");
        for (location, url, same) in [
            ("rtsp://cam:8554/new", "rtsp://cam:8554/new", true),
            (" /new ", "rtsp://Cam:8554/new", true),
            ("rtsp://a:b@cam:8554/new", "rtsp://cam:8554/new", true),
            ("new", "rtsp://Cam:8554/new", true),
            ("new?at=rtsp://x/", "rtsp://Cam:8554/new?at=rtsp://x/", true),
            ("//other/new", "rtsp://other/new", false),
            ("RTSP://cam:8554/new", "rtsp://cam:8554/new", true),
            ("rtsp://cam/new", "rtsp://cam/new", false),
            ("rtsps://cam:8554/new", "rtsps://cam:8554/new", false),
            ("rtsp://other:8554/new", "rtsp://other:8554/new", false),
        ] {
            let referred = here.referred(location).unwrap();
            assert_eq!(
                (referred.as_str(), here.is_same_server(&referred)),
                (url, same),
                "{location}"
            );
        }
        let (zoned, _) = parse("rtsp://[fe80::1%eth0]/old");
        assert_eq!(zoned.referred("/new").unwrap().host, "fe80::1%eth0");
        for (here, location, url) in [
            ("rtsp://cam/a/b/c?d=/e", "new", "rtsp://cam/a/b/new"),
            ("rtsp://cam/a/b/", "new/2", "rtsp://cam/a/b/new/2"),
            ("rtsp://cam", "new", "rtsp://cam/new"),
            ("rtsps://cam/a", "//other/new", "rtsps://other/new"),
        ] {
            assert_eq!(
                parse(here).0.referred(location).unwrap().as_str(),
                url,
                "{here} {location}"
            );
        }
        for nowhere in ["", "http://cam/new", "rtsp://", "//"] {
            assert!(here.referred(nowhere).is_none(), "{nowhere}");
        }
    }

    #[test]
    fn a_base_that_is_no_url_is_not_taken() {
        let asked = "rtsp://u:p@192.168.1.10/stream0";
        assert_eq!(
            base_of(["192.168.1.10:554/stream0/"].into_iter(), asked),
            "rtsp://192.168.1.10/stream0"
        );
        assert_eq!(base_of(["", " rtsp://u:p@b/x/ "].into_iter(), asked), "rtsp://b/x/");
    }

    #[test]
    fn players_ask_for_cameras_and_tracks() {
        let asked = |url: &str| asked(url).map(|asked| (asked.path, asked.track.map(Track::index)));
        for (url, path, track) in [
            ("rtsp://127.0.0.1:9554/front", "front", None),
            ("rtsp://127.0.0.1:9554/front/", "front", None),
            ("rtsp://viewer:sesame@127.0.0.1:9554/front/track1", "front", Some(1)),
            ("rtsp://127.0.0.1/a/b?c=d/track15", "a/b?c=d", Some(15)),
            ("rtsp://127.0.0.1/track16", "track16", None),
            ("rtsp://127.0.0.1/x/track+1", "x/track+1", None),
            ("rtsp://127.0.0.1", "", None),
            ("rtsp://127.0.0.1/track0", "", Some(0)),
        ] {
            assert_eq!(asked(url), Some((path.to_owned(), track)), "{url}");
        }
        assert_eq!(asked("*"), None);
        assert_eq!(asked("http://127.0.0.1/front"), None);
    }

    #[test]
    fn rtp_info_crosses_as_cameras_write_it() {
        let base = "rtsp://192.168.1.19:554/0/main/";
        let controls = ["trackID=1", "trackID=2"].map(|control| join(base, control));
        for (camera, crossing) in [
            (
                "url=trackID=1;seq=16852;rtptime=1070938629;ssrc=dcc4a0d8,url=trackID=2;seq=39409;rtptime=3075976528",
                "url=track0;seq=16852;rtptime=1070938629,url=track1;seq=39409;rtptime=3075976528",
            ),
            (
                "url=rtsp://192.168.1.19:554/0/main/trackID=2;seq=0;rtptime=0;",
                "url=track1;seq=0;rtptime=0",
            ),
            ("url=trackID=1;seq=0;rtptime=-1, url=other;seq=1", "url=track0;seq=0"),
            ("nonsense", ""),
        ] {
            assert_eq!(rtp_info_from_camera(camera, base, &controls), crossing);
        }
        // With a single track the URL does not matter.
        let wrong = "url=rtsp://192.168.1.110:5050/H264/video;seq=271;rtptime=1621990950";
        assert_eq!(
            rtp_info_from_camera(wrong, base, &controls[..1]),
            "url=track0;seq=271;rtptime=1621990950"
        );
    }

    #[test]
    fn the_times_that_a_camera_announces_are_those_of_its_tracks() {
        let track = |number| Track::new(number).expect("a track");
        let times: Vec<_> = announced_times("url=track0;seq=1;rtptime=9,url=track2;rtptime=4294967295").collect();
        assert_eq!(times, [(track(0), 9), (track(2), u32::MAX)]);
        assert_eq!(
            announced_times("url=track0;seq=1,url=x;rtptime=1,url=track1;rtptime=4294967296").count(),
            0
        );
    }

    #[test]
    fn rtp_info_names_the_gateways_urls_to_the_player() {
        let crossing = "url=track0;seq=16852;rtptime=1070938629,url=track1";
        let presented =
            "url=rtsp://127.0.0.1:9554/a,b/track0;seq=16852;rtptime=1070938629,url=rtsp://127.0.0.1:9554/a,b/track1";
        assert_eq!(rtp_info_for_player(crossing, "rtsp://127.0.0.1:9554/a,b/"), presented);
    }
}
