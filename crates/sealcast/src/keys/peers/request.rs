//! Request of the command `invite` to a running program, or to the lists of one that will run.

use std::time::Duration;

use jiff::Timestamp;
use sealcast_proto::keys::Invite;

use super::limit::CameraLimit;
use super::lines::one_line;
use super::lists::{Edit, LiveInvite, MAX_INVITES, MAX_LIFE, MAX_USES, Origin, Terms};
use super::store::PeerStore;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::entropy;

/// An invite that a user wants for somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InviteRequest {
    terms: Terms,
    label: String,
    cameras: CameraLimit,
}

impl InviteRequest {
    /// A request for an invite of these terms, to these cameras. The label is what the peers that it enrols are called.
    ///
    /// # Errors
    /// No invite can have these terms.
    pub fn new(terms: Terms, label: &str, cameras: CameraLimit) -> Result<Self> {
        if !(1..=MAX_USES).contains(&terms.uses) {
            let what = format!("an invite cannot enrol {} peers", terms.uses);
            return Err(Failure::new(
                FailureKind::Usage,
                what,
                format!("choose 1 to {MAX_USES}"),
            ));
        }
        if !(Duration::from_secs(1)..=MAX_LIFE).contains(&terms.life) || terms.life.subsec_nanos() > 0 {
            let what = "an invite lives for a second at least and a year at most";
            return Err(Failure::new(
                FailureKind::Usage,
                what,
                "choose a time such as 90m, 24h or 7d",
            ));
        }
        let label = one_line(label);
        Ok(Self { terms, label, cameras })
    }

    /// The cameras to which it is limited.
    pub fn cameras(&self) -> &CameraLimit {
        &self.cameras
    }

    /// The control command that says so to a running program.
    pub fn line(&self) -> String {
        let Self { terms, label, cameras } = self;
        let (uses, seconds) = (terms.uses, terms.life.as_secs());
        let cameras = if cameras.is_none() {
            String::new()
        } else {
            format!(" cameras={cameras}")
        };
        format!("invite uses={uses} seconds={seconds}{cameras} label={label}")
    }

    /// Parse the words after `invite` in a control command. The label is what follows `label=`, to the end of the line.
    ///
    /// # Errors
    /// They are no request.
    pub fn parse(text: &str) -> Result<Self> {
        let (numbers, label) = text.split_once("label=").unwrap_or((text, ""));
        let (mut terms, mut cameras) = (Terms::hours(1, 24), CameraLimit::default());
        for word in numbers.split_whitespace() {
            let read = match word.split_once('=') {
                Some(("uses", uses)) => uses.parse().map(|uses| terms.uses = uses).ok(),
                Some(("cameras", text)) => text.parse().map(|limit| cameras = limit).ok(),
                Some(("seconds", life)) => life.parse().map(|life| terms.life = Duration::from_secs(life)).ok(),
                _ => None,
            };
            read.ok_or_else(|| {
                let hint = "say invite [uses=N] [seconds=N] [cameras=NAME,NAME] [label=NAME]";
                Failure::new(FailureKind::Usage, "that is no request for an invite", hint)
            })?;
        }
        Self::new(terms, label, cameras)
    }

    /// Make the invite, and write it into the lists. Returns what to add to an answer if a running program could not
    /// write it: it is valid, but only until the program ends.
    ///
    /// # Errors
    /// There are as many as there may be, the system provides no random bytes, or the lists cannot be written and no
    /// program runs with them.
    pub fn make(&self, store: &mut PeerStore, now: Timestamp) -> Result<(LiveInvite, String)> {
        let invite = Invite::new(entropy::random()?);
        let mut live = LiveInvite::new(invite, self.terms, Origin::User, now);
        live.label.clone_from(&self.label);
        live.cameras.clone_from(&self.cameras);
        // The files may have changed since they were read.
        store.read_again(now);
        if store.lists().room_for_invites(now) == 0 {
            return Err(no_room());
        }
        let kept = store.edit_and_say(Edit::Invite(live.clone()), now)?;
        // Another program may have made one in between.
        match store.lists().invite(live.name) {
            Some(_) => Ok((live, kept)),
            None => Err(no_room()),
        }
    }
}

/// Failure if there are as many invites as there may be.
pub(crate) fn no_room() -> Failure {
    let what = format!("{MAX_INVITES} invites are open already, as many as there may be");
    let hint =
        "withdraw some that nobody needs any more: `sealcast peers list` shows them, `peers withdraw INVITE` does";
    Failure::new(FailureKind::Usage, what, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_what_its_line_says() {
        let longest = Terms {
            uses: MAX_USES,
            life: MAX_LIFE,
        };
        for (terms, label, line) in [
            (Terms::hours(1, 24), "", "invite uses=1 seconds=86400 label="),
            (
                Terms::hours(3, 1),
                "grandma's phone",
                "invite uses=3 seconds=3600 label=grandma's phone",
            ),
            (
                longest,
                "uses=7 label=x",
                "invite uses=12288 seconds=31536000 label=uses=7 label=x",
            ),
        ] {
            let request = InviteRequest::new(terms, label, CameraLimit::default()).expect("possible");
            assert_eq!(request.line(), line);
            let words = line.strip_prefix("invite ").expect("it begins so");
            assert_eq!(InviteRequest::parse(words).expect("the same"), request);
        }
        let default = InviteRequest::new(Terms::hours(1, 24), "", CameraLimit::default()).expect("possible");
        assert_eq!(InviteRequest::parse("").expect("nothing is needed"), default);
        let harmless = InviteRequest::new(
            Terms::hours(1, 1),
            &("\u{7}\n".to_owned() + &"x".repeat(200)),
            CameraLimit::default(),
        );
        assert_eq!(harmless.expect("possible").label.chars().count(), 64);
    }

    #[test]
    fn what_is_no_request_is_refused_in_words() {
        for (words, told) in [
            ("uses=0", "cannot enrol 0"),
            ("uses=12289", "cannot enrol 12289"),
            ("uses=many", "no request"),
            ("seconds=0", "a year at most"),
            ("seconds=31536001", "a year at most"),
            ("hours=3", "no request"),
            ("cameras=a/b", "no request"),
            ("grandma", "no request"),
        ] {
            let failure = InviteRequest::parse(words).expect_err("refused").to_string();
            assert!(failure.contains(told), "{words}: {failure}");
        }
    }

    #[test]
    fn one_invite_too_many_is_refused_and_those_that_are_over_make_room() {
        let now: Timestamp = "2026-05-17T08:00:00Z".parse().expect("a time");
        let (mut store, request) = (PeerStore::in_memory(), InviteRequest::parse("").expect("possible"));
        for _ in 0..MAX_INVITES {
            request.make(&mut store, now).expect("there is room");
        }
        let refused = request.make(&mut store, now).err().expect("one too many");
        assert!(refused.to_string().contains("256 invites are open"), "{refused}");
        let tomorrow = Timestamp::from_second(now.as_second() + 86_400).expect("in range");
        request.make(&mut store, tomorrow).expect("the others have expired");
    }
}
