//! `sealcast peers` and the control command of the same name: what they change.

use jiff::Timestamp;
use sealcast_proto::keys::PeerId;

use super::find::{find_invites, find_peer, named, usage};
use super::limit::check_camera_name;
use super::lines::one_line;
use super::lists::{Edit, LiveInvite};
use super::roll::MAX_ENROLLED;
use super::store::PeerStore;
use crate::failure::{Failure, Result};
use crate::keys::allow::AllowList;
use crate::overview::counted;

/// The edit that withdraws every invite.
const ALL: &str = "all";
/// Stands between a name that may have blanks and the new one, in a control command: no name has it.
const TAB: char = '\t';

/// A change of the peers of a listening end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeersCommand {
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
    /// Let a peer watch this camera no more: as for `Remove`, and the camera's name.
    TakeCamera(String, String),
    /// Withdraw an invite, or all.
    Withdraw {
        /// The invite's name, the beginning of it, or its label; `all` for all.
        invite: String,
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

    /// The command `remove`, of one camera.
    ///
    /// # Errors
    /// No camera can have that name.
    pub fn take_camera(peer: &str, camera: &str) -> Result<Self> {
        check_camera_name(camera)?;
        Ok(Self::TakeCamera(peer.to_owned(), camera.to_owned()))
    }

    /// The control command that says so to a running program.
    pub fn line(&self) -> String {
        match self {
            Self::Allow { id, comment } => format!("peers allow {id} {comment}"),
            Self::Rename(peer, name) => format!("peers rename {}{TAB}{name}", one_line(peer)),
            Self::Remove(peer) => format!("peers remove {}", one_line(peer)),
            Self::TakeCamera(peer, camera) => format!("peers remove {}{TAB}{camera}", one_line(peer)),
            Self::Withdraw { invite, with_peers } => {
                let more = if *with_peers { "with-peers " } else { "" };
                format!("peers withdraw {more}{}", one_line(invite))
            }
        }
    }

    /// Parse the words after `peers` in a control command.
    ///
    /// # Errors
    /// They are no command.
    pub fn parse(text: &str) -> Result<Self> {
        let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
        match (verb, rest.trim()) {
            ("allow", rest) if !rest.is_empty() => {
                let (id, comment) = rest.split_once(' ').unwrap_or((rest, ""));
                Self::allow(id, comment)
            }
            ("rename", rest) => {
                let both = rest.split_once(TAB).or_else(|| rest.split_once(' '));
                let (peer, name) = both
                    .filter(|(_, name)| !name.trim().is_empty())
                    .ok_or_else(no_command)?;
                Ok(Self::rename(peer, name))
            }
            ("remove", peer) if !peer.is_empty() => match peer.split_once(TAB) {
                Some((peer, camera)) => Self::take_camera(peer, camera),
                None => Ok(Self::Remove(peer.to_owned())),
            },
            ("withdraw", rest) if !rest.is_empty() => {
                let first = rest.strip_prefix("with-peers ");
                let with_peers = first.or_else(|| rest.strip_suffix(" with-peers"));
                Ok(Self::Withdraw {
                    invite: with_peers.unwrap_or(rest).trim().to_owned(),
                    with_peers: with_peers.is_some(),
                })
            }
            _ => Err(no_command()),
        }
    }

    /// Run the command. `allow` is the hand-written list, which is never changed. Returns the answer: one line.
    ///
    /// # Errors
    /// There is no such peer or invite, or more than one; there is no room for one more; or the change cannot be
    /// written, and no program runs in which it would hold.
    pub fn run(&self, store: &mut PeerStore, allow: &AllowList, now: Timestamp) -> Result<String> {
        // The files may have changed since they were read.
        store.read_again(now);
        match self {
            Self::Allow { id, comment } => {
                if store.lists().peer(id).is_none() && store.lists().peers.is_full() {
                    let what = format!("{MAX_ENROLLED} peers are listed already");
                    return Err(usage(
                        &what,
                        "remove one, or write an allow list by hand (--allow FILE)",
                    ));
                }
                let (id, today, comment) = (*id, today(now), comment.clone());
                let kept = store.edit_and_say(Edit::Allow { id, today, comment }, now)?;
                Ok(format!("{} is allowed{kept}", named(&store.lists(), &id)))
            }
            Self::Rename(peer, name) => rename(peer, name, store, now),
            Self::Remove(id) => remove(id, store, allow, now),
            Self::TakeCamera(id, camera) => take_camera((id, camera), store, allow, now),
            Self::Withdraw { invite, with_peers } => withdraw(invite, *with_peers, store, now),
        }
    }
}

/// The day, in universal time.
pub(super) fn today(now: Timestamp) -> jiff::civil::Date {
    now.to_zoned(jiff::tz::TimeZone::UTC).date()
}

fn rename(meant: &str, name: &str, store: &mut PeerStore, now: Timestamp) -> Result<String> {
    let id = find_peer(meant, &store.lists(), None)?;
    let (before, comment) = (named(&store.lists(), &id), name.to_owned());
    let kept = store.edit_and_say(Edit::Rename { id, comment }, now)?;
    Ok(format!("{before} is called {name} now{kept}"))
}

fn remove(meant: &str, store: &mut PeerStore, allow: &AllowList, now: Timestamp) -> Result<String> {
    let id = find_peer(meant, &store.lists(), Some(allow))?;
    let by_hand = allow.place_of(&id).map(|place| {
        let what = format!("{id} stands in {place}, which sealcast does not change");
        usage(&what, "delete that line, then send SIGHUP to the running program")
    });
    let (listed, name) = (store.lists().peer(&id).cloned(), named(&store.lists(), &id));
    let Some(peer) = listed else {
        return Err(by_hand.unwrap_or_else(|| usage("no listed peer has such an id or name", "peers list shows them")));
    };
    let before = store.lists().invites.len();
    let kept = store.edit_and_say(Edit::Remove(id), now)?;
    if let Some(failure) = by_hand {
        return Err(failure);
    }
    let label = peer.comment.as_str();
    let open =
        |invite: &&LiveInvite| !label.is_empty() && invite.label == label && invite.left > 0 && invite.is_live(now);
    let open = store.lists().invites.iter().filter(open).count();
    let kept = match open {
        0 => kept,
        _ => format!(
            "{kept}; {} for {label} can still be used: peers withdraw {label}",
            counted(open, "invite", "invites")
        ),
    };
    match (peer.enrolment, before > store.lists().invites.len()) {
        (Some(enrolment), true) => {
            let invite = enrolment.invite;
            Ok(format!(
                "removed {name}, and withdrew invite {invite}, which it knows and which had uses left{kept}"
            ))
        }
        _ => Ok(format!("removed {name}{kept}")),
    }
}

fn take_camera(
    (meant, camera): (&str, &str),
    store: &mut PeerStore,
    allow: &AllowList,
    now: Timestamp,
) -> Result<String> {
    let id = find_peer(meant, &store.lists(), Some(allow))?;
    if let Some(place) = allow.place_of(&id) {
        let what = format!("{id} stands in {place}, and sees every camera that names no peers of its own");
        return Err(usage(&what, "name those who may see the camera in its list `allow`"));
    }
    let name = named(&store.lists(), &id);
    if store.lists().peer(&id).is_some_and(|peer| peer.cameras.is_full()) {
        let what = format!("{name} has lost as many cameras already as can be written down");
        let hint = "remove it, and invite it to those that it may watch: `sealcast invite --camera NAME`";
        return Err(usage(&what, hint));
    }
    let before = store.lists().invites.len();
    let kept = store.edit_and_say(Edit::TakeCamera(id, camera.to_owned()), now)?;
    let invite = match before > store.lists().invites.len() {
        true => "; its invite had uses left and is withdrawn",
        false => "",
    };
    match store.lists().peer(&id) {
        Some(_) => Ok(format!("{name} may watch {camera} no more{invite}{kept}")),
        None => Ok(format!("removed {name}, which had that camera alone{invite}{kept}")),
    }
}

fn withdraw(meant: &str, with_peers: bool, store: &mut PeerStore, now: Timestamp) -> Result<String> {
    let invites = match meant {
        ALL => vec![None],
        meant => find_invites(meant, &store.lists())?.into_iter().map(Some).collect(),
    };
    let counts = |store: &PeerStore| (store.lists().invites.len(), store.lists().peers.len());
    let before = counts(store);
    let mut kept = String::new();
    for invite in invites {
        kept = store.edit_and_say(Edit::Withdraw { invite, with_peers }, now)?;
    }
    let after = counts(store);
    // Another program may have listed somebody in between.
    let (invites, peers) = (before.0.saturating_sub(after.0), before.1.saturating_sub(after.1));
    let withdrew = format!("withdrew {}", counted(invites, "invite", "invites"));
    match (with_peers, peers) {
        (false, 0) => Ok(format!("{withdrew}{kept}")),
        _ => Ok(format!(
            "{withdrew} and removed {}{kept}",
            counted(peers, "peer", "peers")
        )),
    }
}

fn no_command() -> Failure {
    usage(
        "that is no command about peers",
        "say peers list, allow PEER-ID [NAME], rename PEER-ID|NAME NAME, remove PEER-ID|NAME or withdraw [with-peers] \
         INVITE|NAME|all",
    )
}
