//! `sealcast peers` and the control command of the same name: what they show and change.

use std::fmt::Write as _;

use jiff::Timestamp;
use sealcast_proto::keys::{PeerId, PskName};

use super::lines::one_line;
use super::lists::{Edit, MAX_INVITES, PeerLists};
use super::roll::MAX_ENROLLED;
use super::store::PeerStore;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::allow::AllowList;

/// Maximum number of hand-written peers that a table shows.
const MAX_SHOWN: usize = 128;
/// Maximum length of a line of a table in bytes: ids, names, dates and a comment.
const MAX_LINE: usize = 512;
/// Maximum length of a table in bytes.
pub const MAX_TABLE: usize = MAX_LISTED * MAX_LINE;
/// Maximum number of lines of a table.
pub const MAX_LISTED: usize = MAX_ENROLLED + MAX_INVITES + MAX_SHOWN + 4;

/// A command about the peers of a listening end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeersCommand {
    /// Show peers and invites.
    List,
    /// Admit a peer by its id alone.
    Allow {
        /// The peer.
        id: PeerId,
        /// Text for the user.
        comment: String,
    },
    /// Admit a peer no more: its id, or the beginning of it.
    Remove(String),
    /// Withdraw an invite, or all.
    Withdraw {
        /// The invite's name; `None` for all.
        invite: Option<PskName>,
        /// Also remove the peers that were enrolled by it.
        with_peers: bool,
    },
}

impl PeersCommand {
    /// The command `allow`.
    ///
    /// # Errors
    /// The text is no peer id.
    pub fn allow(id: &str, comment: &str) -> Result<Self> {
        let wrong = || usage("that is no peer id", "write it as `sealcast keygen` prints it");
        Ok(Self::Allow {
            id: PeerId::parse(id).ok_or_else(wrong)?,
            comment: one_line(comment),
        })
    }

    /// The command `withdraw`, for the invite of this name or `all`.
    ///
    /// # Errors
    /// The text is neither.
    pub fn withdraw(invite: &str, with_peers: bool) -> Result<Self> {
        let name = PskName::parse(invite);
        match (name, invite) {
            (None, "all") => {}
            (Some(_), _) => {}
            (None, _) => {
                return Err(usage(
                    "that is no invite",
                    "name it by its 16 digits in the list, or say all",
                ));
            }
        }
        Ok(Self::Withdraw {
            invite: name,
            with_peers,
        })
    }

    /// The control command that says so to a running program.
    pub fn line(&self) -> String {
        match self {
            Self::List => "peers list".to_owned(),
            Self::Allow { id, comment } => format!("peers allow {id} {comment}"),
            Self::Remove(peer) => format!("peers remove {peer}"),
            Self::Withdraw { invite, with_peers } => {
                let invite = invite.map_or_else(|| "all".to_owned(), |name| name.to_string());
                let more = if *with_peers { " with-peers" } else { "" };
                format!("peers withdraw {invite}{more}")
            }
        }
    }

    /// Parse the words after `peers` in a control command.
    ///
    /// # Errors
    /// They are no command.
    pub fn parse(text: &str) -> Result<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["list"] => Ok(Self::List),
            ["allow", id, ref comment @ ..] => Self::allow(id, &comment.join(" ")),
            ["remove", id] => Ok(Self::Remove(id.to_owned())),
            ["withdraw", invite] => Self::withdraw(invite, false),
            ["withdraw", invite, "with-peers"] => Self::withdraw(invite, true),
            _ => Err(usage(
                "that is no command about peers",
                "say peers list, allow PEER-ID [COMMENT], remove PEER-ID or withdraw INVITE|all [with-peers]",
            )),
        }
    }

    /// Run the command. `allow` is the hand-written list, which is never changed. Returns the answer: one line, or a
    /// table.
    ///
    /// # Errors
    /// There is no such peer or invite, there is no room for one more, or the change cannot be written.
    pub fn run(&self, store: &mut PeerStore, allow: &AllowList, now: Timestamp) -> Result<String> {
        // The files may have changed since they were read.
        store.read_again(now);
        match self {
            Self::List => Ok(table(&store.lists(), allow, now)),
            Self::Allow { id, comment } => {
                if store.lists().peer(id).is_none() && store.lists().peers.is_full() {
                    let what = format!("{MAX_ENROLLED} peers are listed already");
                    return Err(usage(
                        &what,
                        "remove one, or write an allow list by hand (--allow FILE)",
                    ));
                }
                let (today, comment) = (today(now), comment.clone());
                store.edit(
                    Edit::Allow {
                        id: *id,
                        today,
                        comment,
                    },
                    now,
                )?;
                Ok(format!("{id} is allowed"))
            }
            Self::Remove(id) => remove(id, store, allow, now),
            Self::Withdraw { invite, with_peers } => {
                let counts = |store: &PeerStore| (store.lists().invites.len(), store.lists().peers.len());
                let before = counts(store);
                store.edit(
                    Edit::Withdraw {
                        invite: *invite,
                        with_peers: *with_peers,
                    },
                    now,
                )?;
                let after = counts(store);
                // Another program may have listed somebody in between.
                let (invites, peers) = (before.0.saturating_sub(after.0), before.1.saturating_sub(after.1));
                match (invites, peers, invite) {
                    (0, 0, Some(_)) => Err(usage("there is no such invite", "peers list shows them")),
                    _ => Ok(format!("withdrew {invites} invites and removed {peers} peers")),
                }
            }
        }
    }
}

/// The day, in universal time.
pub(super) fn today(now: Timestamp) -> jiff::civil::Date {
    now.to_zoned(jiff::tz::TimeZone::UTC).date()
}

fn remove(begin: &str, store: &mut PeerStore, allow: &AllowList, now: Timestamp) -> Result<String> {
    let mut found: Vec<PeerId> = store.lists().peers.iter().map(|peer| peer.id).collect();
    found.extend(allow.peers().map(|(id, _)| *id));
    found.retain(|id| !begin.is_empty() && id.to_string().starts_with(begin));
    found.sort();
    found.dedup();
    let id = match found[..] {
        [id] => id,
        [] => return Err(usage("no listed peer has such an id", "peers list shows them")),
        _ => return Err(usage("several peers have an id that begins so", "write more of it")),
    };
    let by_hand = allow.place_of(&id).map(|place| {
        let what = format!("{id} stands in {place}, which sealcast does not change");
        usage(&what, "delete that line, then send SIGHUP to the running program")
    });
    let listed = store.lists().peer(&id).cloned();
    let Some(peer) = listed else {
        return Err(by_hand.unwrap_or_else(|| usage("no listed peer has such an id", "peers list shows them")));
    };
    let before = store.lists().invites.len();
    store.edit(Edit::Remove(id), now)?;
    if let Some(failure) = by_hand {
        return Err(failure);
    }
    match (peer.enrolment, before > store.lists().invites.len()) {
        (Some(enrolment), true) => {
            let invite = enrolment.invite;
            Ok(format!(
                "removed {id}, and withdrew invite {invite}, which it knows and which had uses left"
            ))
        }
        _ => Ok(format!("removed {id}")),
    }
}

/// A table of the peers and invites, without their secrets; at most [`MAX_LISTED`] lines.
pub fn table(lists: &PeerLists, allow: &AllowList, now: Timestamp) -> String {
    let mut text = format!(
        "{:52}  {:8}  {:16}  {:10}  comment",
        "peer", "admitted", "by invite", "since"
    );
    // Writing into a string cannot fail.
    for peer in lists.peers.iter() {
        let (how, invite) = match &peer.enrolment {
            Some(enrolment) => ("enrolled", enrolment.invite.to_string()),
            None => ("allowed", "-".to_owned()),
        };
        let _ = write!(
            text,
            "\n{}  {how:8}  {invite:16}  {}  {}",
            peer.id, peer.since, peer.comment
        );
    }
    for (id, line) in allow.peers().take(MAX_SHOWN) {
        let _ = write!(
            text,
            "\n{id}  {:8}  {:16}  {:10}  line {line} of the allow list",
            "by hand", "-", "-"
        );
    }
    if let Some(more @ 1..) = allow.len().checked_sub(MAX_SHOWN) {
        let _ = write!(text, "\n(the allow list has {more} more)");
    }
    let _ = write!(text, "\n{:16}  {:9}  expires", "invite", "uses left");
    for invite in &lists.invites {
        let left = format!("{} of {}", invite.left, invite.allowed);
        let over = if invite.is_live(now) { "" } else { " (expired)" };
        let _ = write!(text, "\n{}  {left:9}  {}{over}", invite.name, invite.expires);
    }
    text
}

fn usage(what: &str, hint: &str) -> Failure {
    Failure::new(FailureKind::Usage, what, hint)
}
