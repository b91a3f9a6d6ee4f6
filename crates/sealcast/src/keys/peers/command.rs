//! `sealcast peers` and the control command of the same name: what they show and change.

use std::fmt::Write as _;

use jiff::Timestamp;
use sealcast_proto::keys::{PeerId, PskName};

use super::lines::one_line;
use super::lists::{Edit, MAX_INVITES, Origin, PeerLists};
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
    /// Call a peer something else: its id, the beginning of it, or what it is called now; and its new name.
    Rename(String, String),
    /// Admit a peer no more: its id, the beginning of it, or what it is called.
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

    /// The command `rename`.
    pub fn rename(peer: &str, name: &str) -> Self {
        Self::Rename(peer.to_owned(), one_line(name))
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
            Self::Rename(peer, name) => format!("peers rename {peer} {name}"),
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
            ["rename", id, ref name @ ..] if !name.is_empty() => Ok(Self::rename(id, &name.join(" "))),
            ["remove", ref peer @ ..] if !peer.is_empty() => Ok(Self::Remove(peer.join(" "))),
            ["withdraw", invite] => Self::withdraw(invite, false),
            ["withdraw", invite, "with-peers"] => Self::withdraw(invite, true),
            _ => Err(usage(
                "that is no command about peers",
                "say peers list, allow PEER-ID [NAME], rename PEER-ID NAME, remove PEER-ID|NAME or withdraw INVITE|all \
                 [with-peers]",
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
            Self::Rename(peer, name) => rename(peer, name, store, now),
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

/// The peer whose id begins so, or which is called so.
fn find(meant: &str, lists: &PeerLists, allow: Option<&AllowList>) -> Result<PeerId> {
    let begins = |id: &PeerId| !meant.is_empty() && id.to_string().starts_with(meant);
    let listed = lists.peers.iter();
    let listed = listed.filter(|peer| begins(&peer.id) || (!meant.is_empty() && peer.comment == one_line(meant)));
    let mut found: Vec<PeerId> = listed.map(|peer| peer.id).collect();
    let by_hand = allow.into_iter().flat_map(AllowList::peers).map(|(id, _)| *id);
    found.extend(by_hand.filter(begins));
    found.sort();
    found.dedup();
    match found[..] {
        [id] => Ok(id),
        [] => Err(usage("no listed peer has such an id or name", "peers list shows them")),
        _ => Err(usage(
            "several peers have an id that begins so, or such a name",
            "write more of the id",
        )),
    }
}

fn rename(meant: &str, name: &str, store: &mut PeerStore, now: Timestamp) -> Result<String> {
    let id = find(meant, &store.lists(), None)?;
    let comment = name.to_owned();
    store.edit(Edit::Rename { id, comment }, now)?;
    Ok(format!("{id} is called {name}"))
}

fn remove(meant: &str, store: &mut PeerStore, allow: &AllowList, now: Timestamp) -> Result<String> {
    let id = find(meant, &store.lists(), Some(allow))?;
    let by_hand = allow.place_of(&id).map(|place| {
        let what = format!("{id} stands in {place}, which sealcast does not change");
        usage(&what, "delete that line, then send SIGHUP to the running program")
    });
    let listed = store.lists().peer(&id).cloned();
    let Some(peer) = listed else {
        return Err(by_hand.unwrap_or_else(|| usage("no listed peer has such an id or name", "peers list shows them")));
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
        "{:52}  {:8}  {:16}  {:10}  name",
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
    let _ = write!(text, "\n{:16}  {:9}  {:20}  for", "invite", "uses left", "expires");
    for invite in &lists.invites {
        let left = format!("{} of {}", invite.left, invite.allowed);
        let over = if invite.is_live(now) { "" } else { " (expired)" };
        let meant = match invite.origin {
            Origin::Start(carrier, _) => format!("the ticket of each start ({})", carrier.name()),
            Origin::User => invite.label.clone(),
        };
        let _ = write!(
            text,
            "\n{}  {left:9}  {:20}  {meant}{over}",
            invite.name,
            invite.expires.to_string()
        );
    }
    text
}

fn usage(what: &str, hint: &str) -> Failure {
    Failure::new(FailureKind::Usage, what, hint)
}
