//! The two files of a listening end, one entry a line:
//!
//! ```text
//! enrolled:  PEER-ID SECRET INVITE DATE[/CAMERAS] COMMENT    SECRET and INVITE are "-" for one allowed by its id
//! invites:   INVITE SECRET LEFT/ALLOWED EXPIRES ORIGIN LIFE[/CAMERAS] LABEL    EXPIRES as in RFC 3339, LIFE in s
//! ```
//!
//! ORIGIN is `user`, or `start:CARRIER:NUMBER` of one that starts print. Earlier versions wrote neither it nor what
//! follows. CAMERAS are those that may be watched, as in `front,yard`, or `-front` for all but that one.
//!
//! Lines that begin with `#` are comments. The program owns both files: it leaves out lines that it cannot read.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use sealcast_proto::keys::{Invite, PeerId, PresharedKey, PskName};
use sealcast_proto::wire::TransportKind;
use sealcast_proto::words::plain;
use zeroize::Zeroizing;

use super::limit::CameraLimit;
use super::lists::{LiveInvite, MAX_INVITES, MAX_LIFE, MAX_USES, Origin};
use super::roll::{Enrolment, ListedPeer, MAX_ENROLLED, Roll};

/// Maximum length of a comment in characters.
pub(super) const MAX_COMMENT: usize = 64;
/// Maximum length of a line of either file in bytes: ids, secrets, a time, eight cameras, and a comment of four bytes a
/// character.
const MAX_LINE: usize = 1000;
/// Maximum length of the file `invites` in bytes; the rest of a longer one is not read.
pub(super) const MAX_INVITES_FILE: usize = HEAD.len() + MAX_LINE * MAX_INVITES;
/// Maximum length of the file `enrolled` in bytes, as [`MAX_INVITES_FILE`].
pub(super) const MAX_ENROLLED_FILE: usize = HEAD.len() + MAX_LINE * MAX_ENROLLED;

/// All that a ticket can name.
const CARRIERS: [TransportKind; 6] = [
    TransportKind::Tcp,
    TransportKind::Udp,
    TransportKind::Quic,
    TransportKind::Http,
    TransportKind::Https,
    TransportKind::Relay,
];

const HEAD: &str = "# sealcast writes this file. Change it with `sealcast peers`.\n";

/// The peers of the file `enrolled`. Lines that are none, and those beyond the bound, are left out with a warning. What
/// was known `before` is not derived again.
pub(super) fn peers(text: &str, path: &Path, before: &Roll) -> Roll {
    let mut peers = Roll::default();
    for (number, line) in entries(text) {
        match peer(line, before) {
            Some(peer) if peers.peer(&peer.id).is_some() => {
                warn(path, number, "names a peer again and is left out");
            }
            Some(_) if peers.is_full() => {
                warn(path, number, "is one too many: it and those after it are left out");
                break;
            }
            Some(peer) => peers.put(peer),
            None => warn(path, number, "holds no enrolled peer and is left out"),
        }
    }
    peers
}

/// The invites of the file `invites`, as [`peers`].
pub(super) fn invites(text: &str, path: &Path) -> Vec<LiveInvite> {
    let mut invites: Vec<LiveInvite> = Vec::new();
    for (number, line) in entries(text) {
        match invite(line) {
            Some(_) if invites.len() == MAX_INVITES => {
                warn(path, number, "is one too many: it and those after it are left out");
                break;
            }
            Some(invite) if invites.iter().all(|other| other.name != invite.name) => invites.push(invite),
            Some(_) => warn(path, number, "names an invite again and is left out"),
            None => warn(path, number, "holds no invite and is left out"),
        }
    }
    invites
}

/// The numbered lines that hold something.
fn entries(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Lines hold secrets: only their numbers are logged.
fn warn(path: &Path, line: usize, what: &str) {
    tracing::warn!(file = %path.display(), line, "this line {what}");
}

fn peer(line: &str, before: &Roll) -> Option<ListedPeer> {
    let mut words = line.splitn(5, ' ');
    let id = PeerId::parse(words.next()?)?;
    let enrolment = match (words.next()?, words.next()?) {
        ("-", "-") => None,
        (secret, invite) => {
            let (secret, invite) = (parse_secret(secret)?, PskName::parse(invite)?);
            let kept = before.peer(&id).and_then(|peer| peer.enrolment.as_ref());
            let kept = kept.filter(|kept| kept.secret.reveal() == secret.reveal() && kept.invite == invite);
            Some(kept.cloned().unwrap_or_else(|| Enrolment::new(secret, invite)))
        }
    };
    let (since, cameras) = limited(words.next()?)?;
    Some(ListedPeer {
        id,
        enrolment,
        since: since.parse().ok()?,
        comment: one_line(words.next().unwrap_or_default()),
        cameras,
    })
}

fn invite(line: &str) -> Option<LiveInvite> {
    let mut words = line.splitn(7, ' ');
    let name = PskName::parse(words.next()?)?;
    let invite = Invite::parse(words.next()?)?;
    let (left, allowed) = words.next()?.split_once('/')?;
    let (left, allowed): (u32, u32) = (left.parse().ok()?, allowed.parse().ok()?);
    let expires = words.next()?.parse().ok()?;
    let (origin, life, cameras) = match (words.next(), words.next()) {
        (None, _) => (Origin::User, Duration::ZERO, CameraLimit::default()),
        (Some(origin), life) => {
            let (life, cameras) = limited(life?)?;
            (parse_origin(origin)?, Duration::from_secs(life.parse().ok()?), cameras)
        }
    };
    let whole = left <= allowed && (1..=MAX_USES).contains(&allowed) && life <= MAX_LIFE;
    let named = PresharedKey::from_invite(&invite).name() == name;
    (whole && named).then_some(LiveInvite {
        invite,
        name,
        left,
        allowed,
        expires,
        life,
        origin,
        label: one_line(words.next().unwrap_or_default()),
        cameras,
    })
}

/// A word, and the cameras behind it.
fn limited(word: &str) -> Option<(&str, CameraLimit)> {
    match word.split_once('/') {
        Some((word, cameras)) => Some((word, cameras.parse().ok()?)),
        None => Some((word, CameraLimit::default())),
    }
}

fn put_limit(text: &mut String, cameras: &CameraLimit) {
    if !cameras.is_none() {
        // Writing into a string cannot fail.
        let _ = write!(text, "/{cameras}");
    }
}

fn parse_origin(text: &str) -> Option<Origin> {
    let Some(start) = text.strip_prefix("start:") else {
        return (text == "user").then_some(Origin::User);
    };
    let (carrier, number) = start.split_once(':')?;
    let carrier = CARRIERS.into_iter().find(|kind| kind.name() == carrier)?;
    Some(Origin::Start(carrier, number.parse().ok()?))
}

fn origin_text(origin: Origin) -> String {
    match origin {
        Origin::User => "user".to_owned(),
        Origin::Start(carrier, number) => format!("start:{}:{number}", carrier.name()),
    }
}

/// The text of the file `enrolled`.
pub(super) fn of_peers(peers: &Roll) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(HEAD.len() + MAX_LINE * peers.len()));
    text.push_str(HEAD);
    put_peers(&mut text, peers.since(0));
    text
}

/// The lines of these peers, to be appended to the file `enrolled`.
pub(super) fn of_new_peers(peers: &[ListedPeer]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(MAX_LINE * peers.len()));
    put_peers(&mut text, peers);
    text
}

fn put_peers(text: &mut String, peers: &[ListedPeer]) {
    for ListedPeer {
        id,
        enrolment,
        since,
        comment,
        cameras,
    } in peers
    {
        // Writing into a string cannot fail.
        let _ = match enrolment {
            Some(Enrolment { secret, invite, .. }) => {
                write!(text, "{id} {} {invite} {since}", secret_text(secret).as_str())
            }
            None => write!(text, "{id} - - {since}"),
        };
        put_limit(text, cameras);
        if !comment.is_empty() {
            let _ = write!(text, " {comment}");
        }
        text.push('\n');
    }
}

/// The text of the file `invites`.
pub(super) fn of_invites(invites: &[LiveInvite]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(MAX_INVITES_FILE));
    text.push_str(HEAD);
    for invite in invites {
        let secret = Zeroizing::new(invite.invite.reveal());
        let (name, left, allowed, expires) = (invite.name, invite.left, invite.allowed, invite.expires);
        let (origin, life) = (origin_text(invite.origin), invite.life.as_secs());
        // Writing into a string cannot fail.
        let _ = write!(
            text,
            "{name} {} {left}/{allowed} {expires} {origin} {life}",
            secret.as_str()
        );
        put_limit(&mut text, &invite.cameras);
        if !invite.label.is_empty() {
            let _ = write!(text, " {}", invite.label);
        }
        text.push('\n');
    }
    text
}

/// A secret as 52 characters of base32 in upper case.
pub(super) fn secret_text(secret: &PresharedKey) -> Zeroizing<String> {
    Zeroizing::new(data_encoding::BASE32_NOPAD.encode(secret.reveal()))
}

pub(super) fn parse_secret(text: &str) -> Option<PresharedKey> {
    let encoding = data_encoding::BASE32_NOPAD;
    // Decoding needs as much room as the text could fill, and panics with any other.
    let mut bytes = Zeroizing::new([0; 32]);
    if encoding.decode_len(text.len()).ok()? != bytes.len() {
        return None;
    }
    encoding.decode_mut(text.as_bytes(), bytes.as_mut()).ok()?;
    Some(PresharedKey::new(*bytes))
}

/// A comment as one bounded line without characters that could do harm in a terminal.
pub(super) fn one_line(text: &str) -> String {
    let text = text.trim().chars().take(MAX_COMMENT);
    plain(&text.collect::<String>())
}
