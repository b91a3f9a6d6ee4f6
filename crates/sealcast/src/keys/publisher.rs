//! A publisher or camera gateway of this account: a name, and the folder `publishers/NAME` with its identity, its
//! lists and its control socket.
//!
//! The identity is what others know it by and what all keys are bound to. The name is a label of this account.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sealcast_proto::keys::Identity;

use super::claim::{COMMAND_PATIENCE, claim, holder_in_words, lock};
use super::epoch_numbers::EpochNumbers;
use super::files::{self, End, IDENTITY, identity_at, read_identity};
use super::peers::{Kind, ListName, running};
use super::take_over;
use crate::failure::{Failure, FailureKind, Result};
use crate::file_lock::FileLock;
use crate::private_file::create_folder;

/// Its hand-written list of peers to admit.
const ALLOW: &str = "allow";
/// Name of the socket for commands.
pub const CONTROL: &str = "control";
/// Locked by a program that looks for its folder, and makes it. No publisher's name begins with a dot.
const STARTING: &str = ".starting";
/// Folder of a file for each identity, which is locked by the program that uses it.
const IN_USE: &str = ".in-use";

/// The folder of a publisher or camera gateway.
pub fn folder(home: &Path, name: &ListName) -> PathBuf {
    Kind::Publisher.directory(home).join(name.to_string())
}

/// The identity of a publisher or camera gateway of this name.
pub fn identity_file(home: &Path, name: &ListName) -> PathBuf {
    folder(home, name).join(IDENTITY)
}

/// The socket for commands to the publisher in this folder.
pub fn control_socket(folder: &Path) -> PathBuf {
    folder.join(CONTROL)
}

/// The hand-written list of a publisher of this name: the account's for a default name, and else one of its own.
pub fn allow_list(home: &Path, name: &ListName) -> PathBuf {
    match end_named(name) {
        Some(_) => home.join(ALLOW),
        None => folder(home, name).join(ALLOW),
    }
}

/// The end that has this default name.
pub fn end_named(name: &ListName) -> Option<End> {
    let name = name.to_string();
    let mut ends = End::ALL.into_iter();
    ends.find(|end| end.default_name() == Some(&name))
}

/// Lets the default name of an end have the lists of earlier versions, if it has none.
///
/// # Errors
/// A program runs with them, or they cannot be moved.
pub fn take_over_lists(home: &Path, name: &ListName, listen: Option<&ListName>) -> Result<()> {
    let Some(end) = end_named(name) else { return Ok(()) };
    let _starting = starting(home).map_err(|error| unusable(home, &error))?;
    take_over::lists(home, name, &folder(home, name), end, listen, false)
}

/// Leaves out the epochs that a publisher may have used since the copy was made from which its folder was restored: a
/// block for each of so many starts. Its next start is a run of its own anyway.
///
/// # Errors
/// It runs, or the numbers cannot be read and written.
pub fn raise_epochs(home: &Path, name: &ListName, identity: &Identity, stream: u16, starts: u32) -> Result<()> {
    let _starting = starting(home).map_err(|error| unusable(home, &error))?;
    if let Some(process) = running(&folder(home, name)) {
        let what = format!("the publisher {name} runs (process {process}), and uses epochs meanwhile");
        return Err(Failure::new(FailureKind::Usage, what, "stop it first"));
    }
    let mut numbers = EpochNumbers::at(home, &identity.peer_id(), stream);
    (0..starts).try_for_each(|_| numbers.reserve().map(drop))
}

/// Settings with which a publisher or camera gateway starts.
pub struct Start<'s> {
    /// Which of both it is.
    pub end: End,
    /// Its name.
    pub name: &'s ListName,
    /// The file of its identity, if it is not to be that in its folder.
    pub identity: Option<&'s Path>,
    /// The name that its lists had in earlier versions, made from where it listens.
    pub listen: Option<&'s ListName>,
}

/// A running publisher or camera gateway. No other program uses its identity meanwhile.
pub struct Publisher {
    /// Its identity.
    pub identity: Arc<Identity>,
    /// `None` if there is no home directory.
    home: Option<PathBuf>,
    /// Likewise.
    folder: Option<PathBuf>,
    _in_use: Option<FileLock>,
}

impl Publisher {
    /// Takes over what earlier versions left for it, reads or makes its identity, and claims it.
    ///
    /// # Errors
    /// There is no identity and none can be made, or another program uses it.
    pub fn open(start: &Start<'_>) -> Result<Self> {
        let named = files::identity_file(start.identity);
        let home = match (files::home(), &named) {
            (Ok(home), _) => home,
            (Err(failure), None) => return Err(failure),
            (Err(_), Some(path)) => {
                return Ok(Self {
                    identity: Arc::new(read_identity(path)?),
                    home: None,
                    folder: None,
                    _in_use: None,
                });
            }
        };
        Self::open_in(&home, start, named)
    }

    fn open_in(home: &Path, start: &Start<'_>, named: Option<PathBuf>) -> Result<Self> {
        let folder = folder(home, start.name);
        let starting = starting(home);
        if starting.is_ok() {
            take_over::lists(home, start.name, &folder, start.end, start.listen, named.is_some())?;
        }
        let (identity, path) = match (named, &starting) {
            (Some(path), _) => (read_identity(&path)?, path),
            (None, Ok(_)) => {
                let path = take_over::identity(home, start.name, folder.join(IDENTITY), start.end)?;
                (identity_at(&path)?, path)
            }
            (None, Err(error)) => return Err(unusable(home, error)),
        };
        let in_use = match &starting {
            Ok(_) => Some(claim_identity(home, &identity, &path)?),
            Err(error) => {
                let failure = unusable(home, error);
                tracing::warn!("whether another program uses this identity is not known: {failure}");
                None
            }
        };
        Ok(Self {
            identity: Arc::new(identity),
            home: Some(home.to_owned()),
            folder: Some(folder),
            _in_use: in_use,
        })
    }

    /// Its folder; `None` if there is no home directory.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Numbers of the epochs of its groups.
    ///
    /// # Errors
    /// There is no home directory.
    pub fn epochs(&self, stream: u16) -> Result<EpochNumbers> {
        match &self.home {
            Some(home) => Ok(EpochNumbers::at(home, &self.identity.peer_id(), stream)),
            None => files::home().map(|_| EpochNumbers::nowhere()),
        }
    }
}

/// Keeps other programs from starting, until this is dropped.
fn starting(home: &Path) -> io::Result<FileLock> {
    let all = Kind::Publisher.directory(home);
    create_folder(&all)?;
    lock(&all.join(STARTING), COMMAND_PATIENCE)
}

/// Keeps other programs of this account from using the identity, by whatever name or copy, until this is dropped.
fn claim_identity(home: &Path, identity: &Identity, path: &Path) -> Result<FileLock> {
    let in_use = Kind::Publisher.directory(home).join(IN_USE);
    let file = in_use.join(identity.peer_id().to_string());
    let claimed = create_folder(&in_use).and_then(|()| claim(&file));
    claimed.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => Failure::new(
            FailureKind::Usage,
            format!(
                "another program{} runs with the identity in {}; its lock is {}",
                holder_in_words(&file),
                path.display(),
                file.display()
            ),
            "stop it, or give one of the two another --name, which has an identity of its own; of two copies of one \
             identity move one away",
        ),
        _ => unusable(home, &error),
    })
}

fn unusable(home: &Path, error: &io::Error) -> Failure {
    let all = Kind::Publisher.directory(home);
    Failure::new(
        FailureKind::Keys,
        format!(
            "{}, which has the folders of publishers, cannot be used ({error})",
            all.display()
        ),
        "make it a folder that you may write to, or set SEALCAST_HOME to another one",
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs::{self, File};

    use super::*;
    use crate::keys::files::create_identity;
    use crate::keys::peers::PeerStore;

    fn opened(home: &Path, name: &str) -> Result<Publisher> {
        let (name, listen) = (name.parse()?, "tcp-127.0.0.1-9553".parse()?);
        let start = Start {
            end: End::Publisher,
            name: &name,
            identity: None,
            listen: Some(&listen),
        };
        Publisher::open_in(home, &start, None)
    }

    /// Writes the files of a publisher of an earlier version, whose lists were used at this time; returns its peer id.
    fn former(home: &Path, lists: &str, used: u64) -> String {
        let file = home.join("identity-publisher");
        let id = match file.exists() {
            true => read_identity(&file),
            false => create_identity(&file),
        };
        let id = id.expect("an identity").peer_id().to_string();
        let dir = home.join("publishers").join(lists);
        create_folder(&dir).expect("made");
        for name in ["enrolled", "invites", "lock", "running"] {
            fs::write(dir.join(name), format!("{name} of {lists}")).expect("written");
            let used = std::time::UNIX_EPOCH + std::time::Duration::from_secs(used);
            File::options()
                .write(true)
                .open(dir.join(name))
                .and_then(|file| file.set_modified(used))
                .expect("our own file");
        }
        create_folder(&home.join("epochs")).expect("made");
        fs::write(home.join("epochs").join(format!("{id}-1")), "1048576\n").expect("written");
        id
    }

    /// The files beneath a folder, with what they hold, but for those that are locked.
    fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            match entry.path() {
                dir if dir.is_dir() => found.extend(tree(&dir)),
                file => drop(found.insert(file.clone(), fs::read(&file).expect("readable"))),
            }
        }
        found.retain(|path, _| {
            ![IN_USE, STARTING]
                .iter()
                .any(|name| path.to_string_lossy().contains(name))
        });
        found
    }

    /// Places for the files of [`former`]: the renamings of a take-over, in order.
    fn renamings() -> [(String, String); 2] {
        [
            (
                "publishers/tcp-127.0.0.1-9553".to_owned(),
                "publishers/camera".to_owned(),
            ),
            ("identity-publisher".to_owned(), "publishers/camera/identity".to_owned()),
        ]
    }

    #[test]
    fn the_default_name_takes_over_what_is_there_wherever_an_earlier_start_was_killed() {
        for done in 0..=2 {
            let home = tempfile::tempdir().expect("a folder");
            let home = home.path();
            let id = former(home, "tcp-127.0.0.1-9553", 1000);
            former(home, "udp-0.0.0.0-1", 2000);
            let before = tree(home);
            let renamings = renamings();
            let expected: BTreeMap<PathBuf, Vec<u8>> = before
                .into_iter()
                .map(|(path, content)| {
                    let moved = renamings
                        .iter()
                        .find_map(|(from, to)| Some(home.join(to).join(path.strip_prefix(home.join(from)).ok()?)));
                    // A file that is moved by itself gains a last, empty part.
                    (moved.map_or(path, |path| path.components().collect()), content)
                })
                .collect();
            for (from, to) in &renamings[..done] {
                create_folder(home.join(to).parent().expect("a folder")).expect("made");
                fs::rename(home.join(from), home.join(to)).expect("moved");
            }
            for again in [false, true] {
                let publisher = opened(home, "camera").expect("it starts");
                assert_eq!(publisher.identity.peer_id().to_string(), id, "after {done}");
                assert_eq!(tree(home), expected, "after {done}, again: {again}");
            }
        }
    }

    #[test]
    fn lists_that_were_used_last_are_taken_over_from_another_address_and_never_from_a_name_that_was_given() {
        let home = tempfile::tempdir().expect("a folder");
        let home = home.path();
        former(home, "tcp-192.0.2.1-1", 1000);
        former(home, "udp-0.0.0.0-1", 2000);
        former(home, "attic", 3000);
        drop(opened(home, "camera").expect("it starts"));
        let lists = |name: &str| fs::read_to_string(home.join("publishers").join(name).join("enrolled")).ok();
        assert_eq!(lists("camera").as_deref(), Some("enrolled of udp-0.0.0.0-1"));
        assert!(lists("attic").is_some() && lists("tcp-192.0.2.1-1").is_some());
    }

    #[test]
    fn a_name_that_has_the_only_lists_keeps_the_identity_and_any_other_makes_its_own() {
        let home = tempfile::tempdir().expect("a folder");
        let id = former(home.path(), "attic", 1000);
        let of = |name: &str| {
            opened(home.path(), name)
                .expect("it starts")
                .identity
                .peer_id()
                .to_string()
        };
        let new = of("cellar");
        assert_ne!(new, id);
        assert_eq!((of("attic"), of("cellar")), (id.clone(), new));
        assert_ne!(of("camera"), id);
    }

    #[test]
    fn one_identity_is_used_by_one_program_whatever_the_names() {
        let home = tempfile::tempdir().expect("a folder");
        let first = opened(home.path(), "front").expect("it starts");
        let copy = identity_file(home.path(), &"vault".parse().expect("a name"));
        create_folder(copy.parent().expect("a folder")).expect("made");
        fs::copy(identity_file(home.path(), &"front".parse().expect("a name")), &copy).expect("copied");
        let refused = opened(home.path(), "vault").err().expect("taken");
        let lock = format!("publishers/.in-use/{}", first.identity.peer_id());
        let process = format!("process {}", std::process::id());
        for words in [copy.to_str().expect("UTF-8"), &lock, &process, "--name"] {
            assert!(refused.to_string().contains(words), "{words} is missing: {refused}");
        }
        drop(first);
        opened(home.path(), "vault").expect("it is free again");
    }

    #[test]
    fn epochs_of_a_restored_folder_are_raised_by_a_block_for_each_start_while_it_does_not_run() {
        let home = tempfile::tempdir().expect("a folder");
        let home = home.path();
        let camera = "camera".parse().expect("a name");
        let publisher = opened(home, "camera").expect("it starts");
        let raise = |starts| raise_epochs(home, &camera, &publisher.identity, 1, starts);
        let store = PeerStore::claim(&folder(home, &camera), crate::platform::wall_time::wall_time()).expect("free");
        let refused = raise(1).expect_err("it runs");
        assert!(refused.to_string().contains("stop it first"), "{refused}");
        drop(store);
        let next = || {
            publisher
                .epochs(1)
                .and_then(|mut numbers| numbers.reserve())
                .expect("numbers")
        };
        assert_eq!(next().start, 0);
        raise(3).expect("it does not run");
        assert_eq!(next().start, 4 << 20);
    }

    #[test]
    fn the_epochs_of_an_identity_are_given_once_whatever_its_names() {
        let home = tempfile::tempdir().expect("a folder");
        let home = home.path();
        let first = opened(home, "front").expect("it starts");
        let mut numbers = first.epochs(1).expect("a home");
        assert_eq!(numbers.reserve().expect("numbers").start, 0);
        drop(first);
        let [front, vault] = ["front", "vault"].map(|name| identity_file(home, &name.parse().expect("a name")));
        create_folder(vault.parent().expect("a folder")).expect("made");
        fs::copy(&front, &vault).expect("copied");
        let copy = opened(home, "vault").expect("the first one has ended");
        let mut numbers = copy.epochs(1).expect("a home");
        assert_eq!(numbers.reserve().expect("numbers").start, 1 << 20);
    }

    #[test]
    fn the_accounts_hand_written_list_is_that_of_default_names() {
        let home = Path::new("/keys");
        for (name, list) in [
            ("camera", "/keys/allow"),
            ("gateway", "/keys/allow"),
            ("front", "/keys/publishers/front/allow"),
        ] {
            assert_eq!(allow_list(home, &name.parse().expect("a name")), Path::new(list));
        }
    }
}
