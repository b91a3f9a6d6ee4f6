//! The cameras in service, the peers that may see them, and the changes when the configuration is read again.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use sealcast_proto::keys::PeerId;
use sealcast_proto::wire::{CameraName, MAX_CAMERAS};
use tokio::sync::watch;

use super::admission::ByHand;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::allow::AllowList;
use crate::keys::peers::CameraLimit;
use crate::meter::telling::Telling;

/// A camera as its owner configured it.
pub struct Configured<D> {
    /// The name by which it is asked for; `None` for every name that no other camera has.
    pub name: Option<String>,
    /// Address and settings of the camera. If that changes, it counts as a different camera.
    pub definition: D,
    /// The peers that may see it; `None` for all admitted ones.
    pub allow: Option<AllowList>,
    /// The peers that may change it.
    pub control: AllowList,
}

/// Check that cameras can be told apart.
///
/// # Errors
/// Kind `Usage`: there are none, or two have the same name.
pub fn distinct<D>(cameras: Vec<Configured<D>>) -> Result<Vec<Configured<D>>> {
    let usage = |what: String, hint| Failure::new(FailureKind::Usage, what, hint);
    if cameras.is_empty() {
        let hint = "name one, such as rtsp://HOST/PATH; one with a password in [[camera]] of a configuration";
        return Err(usage("there is no camera".to_owned(), hint));
    }
    for (at, camera) in cameras.iter().enumerate() {
        if cameras[..at].iter().any(|other| other.name == camera.name) {
            let what = format!("two cameras would be at {}", shown(camera.name.as_deref()));
            return Err(usage(what, "give each its own name, NAME=SOURCE or name = \"NAME\""));
        }
    }
    Ok(cameras)
}

/// A camera's name as shown to the user.
pub(crate) fn shown(name: Option<&str>) -> &str {
    name.unwrap_or("every path")
}

/// The cameras and lists, after the files were read again.
pub struct Renewal<D> {
    /// The cameras.
    pub cameras: Vec<Configured<D>>,
    /// The peers that the user admits. The session of one that is admitted no more ends.
    pub by_hand: ByHand,
    /// The viewers that may send on data channels.
    pub may_control: AllowList,
}

/// The one who looks for a camera.
#[derive(Clone, Debug)]
pub(crate) struct Seer {
    pub(crate) peer: PeerId,
    /// The cameras to which its enrolment is limited.
    pub(crate) limit: CameraLimit,
}

struct Entry<D, C> {
    name: Option<String>,
    camera: Arc<C>,
    definition: Arc<D>,
    allow: Option<AllowList>,
    control: AllowList,
}

impl<D, C> Entry<D, C> {
    fn admits(&self, seer: &Seer) -> bool {
        let allowed = self.allow.as_ref().is_none_or(|list| list.contains(&seer.peer));
        allowed && seer.limit.allows(self.name.as_deref())
    }
}

/// The cameras; no two have the same name. A camera ends when the last reference to it is dropped.
pub(crate) struct Registry<D, C> {
    entries: Vec<Entry<D, C>>,
    /// Denials in all sessions, as far as they belong in the log: strangers cause them too.
    denials: Arc<Mutex<Telling>>,
}

impl<D, C> Default for Registry<D, C> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            denials: Arc::default(),
        }
    }
}

/// The fate of a session whose cameras were read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The camera was started again with other settings: the peer may ask again.
    Restarted,
    /// There is no such camera for the peer any more.
    Gone,
}

/// Changes after the configuration was read again: the names of the cameras concerned.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    added: Vec<String>,
    removed: Vec<String>,
    /// Cameras that are started again because their settings changed.
    changed: Vec<String>,
    /// Cameras that continue without interruption.
    unchanged: Vec<String>,
    /// Those of the unchanged cameras whose lists changed of who may see or control them.
    lists_changed: Vec<String>,
}

impl Changes {
    pub(crate) fn log(&self) {
        tracing::info!(
            added = self.added.join(", "),
            removed = self.removed.join(", "),
            changed = self.changed.join(", "),
            unchanged = self.unchanged.join(", "),
            lists_changed = self.lists_changed.join(", "),
            "cameras and the lists of peers were read again"
        );
    }
}

impl<D, C> Registry<D, C> {
    /// Counts a denial. Returns how many there were, if that is to be said.
    fn denied(&self) -> Option<u64> {
        let mut denials = self.denials.lock().unwrap_or_else(PoisonError::into_inner);
        denials.count(Instant::now())
    }
}

impl<D: PartialEq, C> Registry<D, C> {
    /// The registry for a new set of cameras. Unchanged cameras continue; `start` is called for all others, and leaves
    /// out those that it cannot start.
    pub(crate) fn renewed(
        &self,
        cameras: Vec<Configured<D>>,
        mut start: impl FnMut(Option<&str>, &Arc<D>) -> Option<Arc<C>>,
    ) -> (Self, Changes) {
        let (mut next, mut changes) = (Self::default(), Changes::default());
        next.denials = Arc::clone(&self.denials);
        for Configured {
            name,
            definition,
            allow,
            control,
        } in cameras
        {
            let told = shown(name.as_deref()).to_owned();
            let before = self.entries.iter().find(|entry| entry.name == name);
            let (camera, definition) = match before.filter(|entry| *entry.definition == definition) {
                Some(same) => {
                    if same.allow != allow || same.control != control {
                        changes.lists_changed.push(told.clone());
                    }
                    changes.unchanged.push(told);
                    (Arc::clone(&same.camera), Arc::clone(&same.definition))
                }
                None => {
                    let definition = Arc::new(definition);
                    let Some(camera) = start(name.as_deref(), &definition) else {
                        continue;
                    };
                    match before {
                        Some(_) => changes.changed.push(told),
                        None => changes.added.push(told),
                    }
                    (camera, definition)
                }
            };
            next.entries.push(Entry {
                name,
                camera,
                definition,
                allow,
                control,
            });
        }
        let gone = |entry: &&Entry<D, C>| next.entries.iter().all(|other| other.name != entry.name);
        let gone = self.entries.iter().filter(gone);
        changes.removed = gone.map(|entry| shown(entry.name.as_deref()).to_owned()).collect();
        (next, changes)
    }

    /// True if a camera of this name is defined so.
    pub(crate) fn has(&self, name: Option<&str>, definition: &D) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| entry.name.as_deref() == name && *entry.definition == *definition)
    }

    /// All cameras, with their names.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Option<&str>, &Arc<C>)> {
        self.entries.iter().map(|entry| (entry.name.as_deref(), &entry.camera))
    }

    /// The names of the cameras that a peer may see; `None` if it sees all.
    pub(crate) fn names_for(&self, seer: &Seer) -> Option<Vec<String>> {
        let seen: Vec<String> = self.seen_by(seer).map(|(name, _)| shown(name).to_owned()).collect();
        (seen.len() < self.entries.len()).then_some(seen)
    }

    /// The cameras that a peer may see, with their names.
    fn seen_by(&self, seer: &Seer) -> impl Iterator<Item = (Option<&str>, &Arc<C>)> {
        let seen = self.entries.iter().filter(|entry| entry.admits(seer));
        seen.map(|entry| (entry.name.as_deref(), &entry.camera))
    }

    /// The camera for a name, among the entries accepted by `sees`.
    fn at(&self, name: &str, sees: impl Fn(&Entry<D, C>) -> bool) -> Option<&Entry<D, C>> {
        let entries = || self.entries.iter().filter(|entry| sees(entry));
        let named = entries().find(|entry| entry.name.as_deref() == Some(name));
        named.or_else(|| entries().find(|entry| entry.name.is_none()))
    }
}

/// The cameras as seen by one peer's session.
pub(crate) struct Snapshot<D, C> {
    registry: watch::Receiver<Registry<D, C>>,
    /// Names of cameras for which a denial has already been logged.
    denied: BTreeSet<Option<String>>,
    /// The names that the peer was told last.
    told: Vec<CameraName>,
}

impl<D: PartialEq, C> Snapshot<D, C> {
    pub(crate) fn new(registry: watch::Receiver<Registry<D, C>>) -> Self {
        Self {
            registry,
            denied: BTreeSet::new(),
            told: Vec::new(),
        }
    }

    /// Changes of the cameras: they are read again.
    pub(crate) fn changes(&self) -> watch::Receiver<Registry<D, C>> {
        self.registry.clone()
    }

    /// The camera that the peer sees by a name. A camera that it may not see does not exist for it.
    pub(crate) fn camera(&mut self, name: &str, seer: &Seer) -> Option<Arc<C>> {
        let (registry, peer) = (self.registry.borrow(), &seer.peer);
        if let Some(hidden) = registry.at(name, |_| true).filter(|entry| !entry.admits(seer))
            && self.denied.insert(hidden.name.clone())
            && let Some(total) = registry.denied()
        {
            let camera = shown(hidden.name.as_deref());
            tracing::warn!(%peer, camera, total, "this peer may not see the camera: it is told that there is none");
        }
        let seen = registry.at(name, |entry| entry.admits(seer))?;
        Some(Arc::clone(&seen.camera))
    }

    /// The first of the cameras that the peer sees.
    pub(crate) fn first(&self, seer: &Seer) -> Option<Arc<C>> {
        self.first_that(seer, |_| true)
    }

    /// True if the publisher has more than one.
    pub(crate) fn are_several(&self) -> bool {
        self.registry.borrow().entries.len() > 1
    }

    /// The first of the cameras that the peer sees, and of which this is true.
    pub(crate) fn first_that(&self, seer: &Seer, suits: impl Fn(&C) -> bool) -> Option<Arc<C>> {
        let registry = self.registry.borrow();
        let mut seen = registry.seen_by(seer);
        seen.find(|(_, camera)| suits(camera))
            .map(|(_, camera)| Arc::clone(camera))
    }

    /// The names of the cameras that the peer sees, and of which this is true.
    fn names(&self, seer: &Seer, suits: impl Fn(&C) -> bool) -> Vec<CameraName> {
        let registry = self.registry.borrow();
        let seen = registry.seen_by(seer).filter(|(_, camera)| suits(camera));
        seen.filter_map(|(name, _)| CameraName::new(name?)).collect()
    }

    /// The names of the cameras that the peer sees and that suit it, as many as a message has, if they are others than
    /// it was told and there are or were `least` of them; with 0 also if they are the same. The `first` comes first, if
    /// it is there.
    pub(crate) fn names_to_tell(
        &mut self,
        seer: &Seer,
        first: Option<CameraName>,
        least: usize,
        suits: impl Fn(&C) -> bool,
    ) -> Option<Vec<CameraName>> {
        let mut names = self.names(seer, suits);
        if let Some(at) = names.iter().position(|name| Some(*name) == first) {
            names[..=at].rotate_right(1);
        }
        names.truncate(MAX_CAMERAS);
        let news = names != self.told && names.len().max(self.told.len()) >= least;
        (!names.is_empty() && (news || least == 0)).then(|| {
            self.told.clone_from(&names);
            names
        })
    }

    /// True if the peer may change the camera.
    pub(crate) fn controls(&self, camera: &Arc<C>, peer: &PeerId) -> bool {
        let registry = self.registry.borrow();
        let mut entries = registry.entries.iter();
        entries.any(|entry| Arc::ptr_eq(&entry.camera, camera) && entry.control.contains(peer))
    }

    /// The message to the peer if it no longer sees a camera of this name, or that it is another one.
    pub(crate) fn lost(&self, name: Option<&str>, camera: &Arc<C>, seer: &Seer) -> Option<Lost> {
        let registry = self.registry.borrow();
        let now = registry.entries.iter().find(|entry| entry.name.as_deref() == name);
        match now.filter(|entry| entry.admits(seer)) {
            Some(entry) if Arc::ptr_eq(&entry.camera, camera) => None,
            Some(_) => Some(Lost::Restarted),
            None => Some(Lost::Gone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRIEND: PeerId = PeerId([1; 32]);
    const STRANGER: PeerId = PeerId([2; 32]);

    /// A camera of the tests: its definition is a text, and it is its name.
    type Named = Registry<String, Option<String>>;

    fn cameras(named: &[(&str, &[PeerId])]) -> Vec<Configured<String>> {
        let camera = |&(text, allow): &(&str, &[PeerId])| {
            let (name, definition) = match text.split_once('=') {
                Some((name, definition)) => (Some(name.to_owned()), definition),
                None => (None, text),
            };
            Configured {
                name,
                definition: definition.to_owned(),
                allow: (!allow.is_empty()).then(|| AllowList::of(allow.iter().copied())),
                control: AllowList::default(),
            }
        };
        distinct(named.iter().map(camera).collect()).expect("no two of one name")
    }

    /// The registry for the new cameras, the number of cameras started for it, and the changes.
    fn renewed(registry: &Named, named: &[(&str, &[PeerId])]) -> (Named, usize, Changes) {
        let mut started = 0;
        let (next, changes) = registry.renewed(cameras(named), |name, definition| {
            started += 1;
            (**definition != "broken").then(|| Arc::new(name.map(str::to_owned)))
        });
        (next, started, changes)
    }

    fn all(peer: PeerId) -> Seer {
        let limit = CameraLimit::default();
        Seer { peer, limit }
    }

    fn snapshot(registry: Named) -> Snapshot<String, Option<String>> {
        Snapshot::new(watch::Sender::new(registry).subscribe())
    }

    #[test]
    fn only_what_changed_is_started_and_everything_is_told() {
        let (first, started, changes) = renewed(&Named::default(), &[("a=1", &[]), ("b=2", &[]), ("c=3", &[])]);
        assert_eq!((started, changes.added.join(" ")), (3, "a b c".to_owned()));
        let now: [(&str, &[PeerId]); 4] = [("0", &[]), ("b=2 by udp", &[]), ("a=1", &[FRIEND]), ("d=broken", &[])];
        let (second, started, changes) = renewed(&first, &now);
        assert_eq!(started, 3);
        let words = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let expected = Changes {
            added: words(&["every path"]),
            removed: words(&["c"]),
            changed: words(&["b"]),
            unchanged: words(&["a"]),
            lists_changed: words(&["a"]),
        };
        assert_eq!(changes, expected);
        assert!(second.has(Some("a"), &"1".to_owned()) && !second.has(Some("b"), &"2".to_owned()));
        let camera = |registry: &Named, name| Arc::clone(&registry.at(name, |_| true).expect("it is there").camera);
        let [a, b, c] = ["a", "b", "c"].map(|name| camera(&first, name));
        assert!(Arc::ptr_eq(&a, &camera(&second, "a")) && !Arc::ptr_eq(&b, &camera(&second, "b")));
        let snapshot = snapshot(second);
        let lost = [
            ("a", &a, FRIEND),
            ("a", &a, STRANGER),
            ("b", &b, FRIEND),
            ("c", &c, FRIEND),
        ]
        .map(|(name, camera, peer)| snapshot.lost(Some(name), camera, &all(peer)));
        let expected = [None, Some(Lost::Gone), Some(Lost::Restarted), Some(Lost::Gone)];
        assert_eq!(lost, expected);
    }

    fn named(snapshot: &Snapshot<String, Option<String>>, seer: &Seer) -> String {
        let names = snapshot.names(seer, |_| true);
        names.iter().map(CameraName::as_str).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_camera_that_a_peer_may_not_see_does_not_exist_for_it() {
        let (registry, ..) = renewed(&Named::default(), &[("a=1", &[FRIEND]), ("b=2", &[])]);
        let mut snapshot = snapshot(registry);
        for (name, peer, seen) in [
            ("a", FRIEND, true),
            ("a", STRANGER, false),
            ("b", STRANGER, true),
            ("c", FRIEND, false),
        ] {
            assert_eq!(snapshot.camera(name, &all(peer)).is_some(), seen, "{name}");
        }
        assert_eq!(
            [FRIEND, STRANGER].map(|peer| named(&snapshot, &all(peer))),
            ["a b", "b"]
        );
        let first = |peer| {
            snapshot
                .first(&all(peer))
                .and_then(|camera| camera.as_deref().map(str::to_owned))
        };
        assert_eq!(
            [FRIEND, STRANGER].map(first),
            [Some("a".to_owned()), Some("b".to_owned())]
        );
        let said: Vec<_> = snapshot.denied.into_iter().collect();
        assert_eq!(said, [Some("a".to_owned())], "what is not there is not hidden");
    }

    #[test]
    fn who_asks_again_and_again_for_what_it_may_not_see_fills_no_log() {
        let (registry, ..) = renewed(&Named::default(), &[("a=1", &[FRIEND])]);
        let (registry, ..) = renewed(&registry, &[("a=1", &[FRIEND]), ("b=2", &[])]);
        let denials = Arc::clone(&registry.denials);
        let (_sender, registry) = watch::channel(registry);
        for _session in 0..1000 {
            let mut snapshot = Snapshot::new(registry.clone());
            assert!((0..3).all(|_| snapshot.camera("a", &all(STRANGER)).is_none()));
        }
        let mut denials = denials.lock().expect("nobody failed with it");
        assert_eq!((denials.total(), denials.count(Instant::now())), (1000, None));
    }

    #[test]
    fn an_enrolment_that_is_limited_to_cameras_sees_these_alone_and_of_them_those_that_its_peer_may() {
        let (registry, ..) = renewed(
            &Named::default(),
            &[("a=1", &[FRIEND]), ("b=2", &[]), ("c=3", &[]), ("4", &[])],
        );
        let mut snapshot = snapshot(registry);
        for (peer, limit, seen) in [
            (FRIEND, "a,c", "a c"),
            (STRANGER, "a,c", "c"),
            (FRIEND, "d", ""),
            (FRIEND, "-b", "a c"),
        ] {
            let limit = limit.parse().expect("a limit");
            let seer = Seer { peer, limit };
            assert_eq!(named(&snapshot, &seer), seen);
            assert!(snapshot.camera("b", &seer).is_none() && snapshot.camera("d", &seer).is_none());
            assert_eq!(snapshot.first(&seer).is_some(), !seen.is_empty());
        }
    }

    #[test]
    fn a_peer_is_told_names_when_they_change_and_there_are_enough_of_them() {
        let defined: Vec<String> = (0..40).map(|number| format!("{number}={number}")).collect();
        let cameras: Vec<(&str, &[PeerId])> = defined.iter().map(|text| (text.as_str(), &[][..])).collect();
        for (count, first, least, told, again) in [
            (0, None, 0, None, false),
            (1, None, 2, None, false),
            (1, None, 1, Some((1, "0")), false),
            (1, None, 0, Some((1, "0")), true),
            (3, None, 2, Some((3, "0")), false),
            (3, CameraName::new("2"), 2, Some((3, "2")), false),
            (3, CameraName::new("gone"), 1, Some((3, "0")), false),
            (40, CameraName::new("39"), 2, Some((32, "39")), false),
        ] {
            let none = Named::default();
            let registry = if count == 0 {
                none
            } else {
                renewed(&none, &cameras[..count]).0
            };
            let mut snapshot = snapshot(registry);
            let names = snapshot.names_to_tell(&all(FRIEND), first, least, |_| true);
            let shown = names.as_deref().map(|names| (names.len(), names[0].as_str()));
            assert_eq!(shown, told, "{count} cameras, {first:?} first");
            assert_eq!(
                snapshot.names_to_tell(&all(FRIEND), first, least, |_| true).is_some(),
                again
            );
        }
    }

    #[test]
    fn where_a_camera_is_hidden_the_one_of_every_other_path_is_seen() {
        let (registry, ..) = renewed(&Named::default(), &[("a=1", &[FRIEND]), ("2", &[])]);
        let mut snapshot = snapshot(registry);
        let name = |peer| (*snapshot.camera("a", &all(peer)).expect("one of them")).clone();
        assert_eq!([FRIEND, STRANGER].map(name), [Some("a".to_owned()), None]);
    }

    #[test]
    fn there_is_one_camera_at_least_and_no_two_have_one_name() {
        let camera = |name: Option<&str>| Configured {
            name: name.map(str::to_owned),
            definition: (),
            allow: None,
            control: AllowList::default(),
        };
        for (names, told) in [
            (vec![], "there is no camera"),
            (vec![Some("a"), Some("b"), Some("a")], "two cameras would be at a"),
            (vec![None, None], "two cameras would be at every path"),
        ] {
            let failure = distinct(names.into_iter().map(camera).collect())
                .err()
                .expect("refused");
            assert!(failure.what.contains(told), "{failure}");
        }
    }
}
