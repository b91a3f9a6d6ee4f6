//! The sessions that a camera keeps for its client.
//!
//! There should be one, from the answer to the first SETUP on. Of some cameras each track has its own, some give
//! another id with each answer, some give none before PLAY, and some none at all.

use std::time::Duration;

use crate::rtsp::oddity::{Oddities, Oddity};
use crate::rtsp::tracks::{Track, TrackSet};

/// Time without a request after which a session ends, if the camera does not name one (RFC 2326 §12.37).
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// Shortest timeout that is accepted, so that a camera cannot cause keep-alives without pause.
const MIN_TIMEOUT: Duration = Duration::from_secs(4);
/// Longest timeout that is accepted.
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);

/// A session, and the tracks that were set up in it: at least one.
struct Session {
    id: String,
    /// The id before the last answer, in case that the camera means it.
    former: Option<String>,
    tracks: TrackSet,
}

/// Session that is left after the camera did not know one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// It may know the session by this id, which was the one before.
    Former(String),
    /// The tracks belong to the newest of the others now, which has this id.
    Other(String),
    /// There is no other.
    Lost,
}

/// The sessions that a camera keeps for its client; one for each track at most.
#[derive(Default)]
pub(super) struct Sessions {
    /// The newest is the last.
    known: Vec<Session>,
    timeout: Option<Duration>,
    oddities: Oddities,
}

impl Sessions {
    /// The ids, the newest first.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.known.iter().rev().map(|session| session.id.as_str())
    }

    /// The id of the session of a track.
    pub(super) fn of(&self, track: Track) -> Option<&str> {
        let session = self.known.iter().find(|session| session.tracks.contains(track))?;
        Some(&session.id)
    }

    /// Oddities of the sessions.
    pub(super) fn oddities(&self) -> Oddities {
        self.oddities
    }

    /// Time without a request after which the camera ends a session.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(DEFAULT_TIMEOUT)
    }

    /// A track was set up, and the answer had this Session header.
    pub(super) fn set_up(&mut self, track: Track, header: Option<&str>) {
        let id = self.read(header);
        for session in &mut self.known {
            session.tracks.remove(track);
        }
        let known = match id {
            Some(id) => self.known.iter().position(|session| session.id == id),
            None => self.known.len().checked_sub(1),
        };
        match (known, id) {
            (Some(at), _) => self.known[at].tracks.insert(track),
            (None, Some(id)) => self.add(id, TrackSet::of(track)),
            (None, None) => self.oddities.note(Oddity::SessionLate),
        }
        self.known.retain(|session| !session.tracks.is_empty());
        if self.known.len() > 1 {
            self.oddities.note(Oddity::SessionPerTrack);
        }
    }

    /// The camera answered a request for the session `asked` with this Session header. `tracks` are those that were
    /// set up before there was a session.
    pub(super) fn answered(&mut self, asked: Option<&str>, header: Option<&str>, tracks: TrackSet) {
        let Some(id) = self.read(header) else { return };
        if self.known.iter().any(|session| session.id == id) {
            return;
        }
        match asked {
            None if self.known.is_empty() && !tracks.is_empty() => self.add(id, tracks),
            None => {}
            Some(asked) => {
                if let Some(session) = self.known.iter_mut().find(|session| session.id == asked) {
                    self.oddities.note(Oddity::SessionChanges);
                    session.former = Some(std::mem::replace(&mut session.id, id.to_owned()));
                }
            }
        }
    }

    /// The camera does not know this session.
    pub(super) fn unknown(&mut self, id: &str) -> Unknown {
        let Some(at) = self.known.iter().position(|session| session.id == id) else {
            return Unknown::Lost;
        };
        if let Some(former) = self.known[at].former.take() {
            self.known[at].id.clone_from(&former);
            return Unknown::Former(former);
        }
        if self.known.len() == 1 {
            return Unknown::Lost;
        }
        let gone = self.known.remove(at);
        match self.known.last_mut() {
            Some(newest) => {
                newest.tracks = newest.tracks.with(gone.tracks);
                Unknown::Other(newest.id.clone())
            }
            None => Unknown::Lost,
        }
    }

    fn add(&mut self, id: &str, tracks: TrackSet) {
        self.known.push(Session {
            id: id.to_owned(),
            former: None,
            tracks,
        });
    }

    /// Reads `ID[;timeout=SECONDS][;…]`, as careless as cameras write it. Keeps the timeout and returns the id.
    fn read<'a>(&mut self, header: Option<&'a str>) -> Option<&'a str> {
        let quotes = [' ', '\t', '"'];
        let mut parts = header?.split(';').map(|part| part.trim_matches(quotes));
        let id = parts.next().and_then(|id| id.split([' ', '\t']).next());
        let seconds = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            let value = value.trim_matches(quotes);
            let digits = value.bytes().take_while(u8::is_ascii_digit).count();
            let named = name.trim().eq_ignore_ascii_case("timeout");
            value[..digits].parse().ok().filter(|seconds| named && *seconds > 0)
        });
        if let Some(seconds) = seconds {
            self.timeout = Some(Duration::from_secs(seconds).clamp(MIN_TIMEOUT, MAX_TIMEOUT));
        }
        id.filter(|id| !id.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(number: usize) -> Track {
        Track::new(number).unwrap()
    }

    #[test]
    fn a_session_header_is_read_in_each_form() {
        let minute = DEFAULT_TIMEOUT;
        for (header, id, timeout) in [
            ("12345678", Some("12345678"), minute),
            ("12345678;", Some("12345678"), minute),
            ("12345678 ; timeout=20", Some("12345678"), Duration::from_secs(20)),
            ("1;Timeout=20", Some("1"), Duration::from_secs(20)),
            ("1;TIMEOUT = 20 s", Some("1"), Duration::from_secs(20)),
            ("1;timeout=\"20\"", Some("1"), Duration::from_secs(20)),
            ("1;timeout=0", Some("1"), minute),
            ("1;timeout=-5", Some("1"), minute),
            ("1;timeout=99999999999999999999", Some("1"), minute),
            ("1;timeout=99999", Some("1"), MAX_TIMEOUT),
            ("1;x=y;timeout=20;z", Some("1"), Duration::from_secs(20)),
            ("\"1\";timeout=1", Some("1"), MIN_TIMEOUT),
            ("1 timeout=20", Some("1"), minute),
            (";timeout=20", None, Duration::from_secs(20)),
            ("", None, minute),
            (" ; ", None, minute),
        ] {
            let mut sessions = Sessions::default();
            sessions.set_up(track(0), Some(header));
            assert_eq!((sessions.ids().next(), sessions.timeout()), (id, timeout), "{header:?}");
        }
    }

    #[test]
    fn tracks_keep_the_session_that_they_were_set_up_in() {
        let mut sessions = Sessions::default();
        sessions.set_up(track(0), Some("a;timeout=20"));
        sessions.set_up(track(1), Some("b"));
        sessions.set_up(track(2), None);
        assert_eq!(sessions.ids().collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(
            [0, 1, 2].map(|number| sessions.of(track(number))),
            ["a", "b", "b"].map(Some)
        );
        assert_eq!(sessions.timeout(), Duration::from_secs(20), "it was said once");
        sessions.set_up(track(0), Some("b"));
        assert_eq!(sessions.ids().collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn an_id_that_changes_or_comes_late_is_followed_and_the_one_before_is_tried() {
        let mut sessions = Sessions::default();
        sessions.answered(None, Some("late"), TrackSet::of(track(0)));
        assert_eq!(sessions.of(track(0)), Some("late"));
        sessions.answered(Some("late"), Some("later"), TrackSet::default());
        assert_eq!(sessions.of(track(0)), Some("later"));
        assert_eq!(sessions.unknown("later"), Unknown::Former("late".to_owned()));
        assert_eq!(sessions.unknown("late"), Unknown::Lost);
        assert_eq!(sessions.unknown("never"), Unknown::Lost);
        assert_eq!(
            sessions.ids().next(),
            Some("late"),
            "it is still what the camera is told"
        );

        let mut sessions = Sessions::default();
        sessions.set_up(track(0), Some("a"));
        sessions.set_up(track(1), Some("b"));
        assert_eq!(sessions.unknown("a"), Unknown::Other("b".to_owned()));
        assert_eq!(sessions.of(track(0)), Some("b"));
    }
}
