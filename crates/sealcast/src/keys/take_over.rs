//! Takes over the files of versions in which an account had one identity for all its publishers and camera gateways,
//! and lists named after addresses.
//!
//! Each step is one renaming, done if its source is there and its target is not. So a start that was killed in between
//! is continued by the next one, and one that has nothing to do changes nothing.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::files::{End, IDENTITY, read_identity};
use super::peers::{Kind, ListName, has_run, last_used, running};
use crate::failure::{Failure, FailureKind, Result};
use crate::private_file::create_folder;

/// Gives the default name of an end, whose folder is `target`, the lists that it had: those of where it listens, or
/// else those used last. `ours` tells that it ran before, although its own identity file does not.
pub(super) fn lists(
    home: &Path,
    name: &ListName,
    target: &Path,
    end: End,
    listen: Option<&ListName>,
    ours: bool,
) -> Result<()> {
    let taken = fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_some());
    let was_here = |end: End| end.former_file_name().is_some_and(|file| home.join(file).exists());
    if end.default_name() != Some(&name.to_string()) || taken || !(ours || was_here(end)) {
        return Ok(());
    }
    let former = former_lists(home);
    let at_address = former.iter().find(|(name, _)| Some(name) == listen);
    let by_address = || former.iter().filter(|(name, _)| name.is_of_address());
    // Lists do not say whether they are a publisher's or a gateway's.
    let another = [End::Publisher, End::GatewayCamera]
        .into_iter()
        .any(|other| other != end && was_here(other));
    let used_last = || by_address().max_by_key(|(_, dir)| last_used(dir)).filter(|_| !another);
    let Some((_, from)) = at_address.or_else(used_last) else {
        if another && by_address().next().is_some() {
            let all = Kind::Publisher.directory(home);
            tracing::warn!(
                "whose the lists of earlier versions in {} are cannot be told: rename those of {name} to {name}",
                all.display()
            );
        }
        return Ok(());
    };
    if let Some(process) = running(from) {
        let what = format!(
            "another program (process {process}) runs with the lists in {}, which {name} is to take over",
            from.display()
        );
        return Err(Failure::new(
            FailureKind::Usage,
            what,
            "stop it, or give this one another --name",
        ));
    }
    moved(from, target)
}

/// The file of a publisher's identity, `own`, to which that of earlier versions was moved: for the default name, and
/// for a name that has the only lists there are.
pub(super) fn identity(home: &Path, name: &ListName, own: PathBuf, end: End) -> Result<PathBuf> {
    let Some(former) = end
        .former_file_name()
        .map(|file| home.join(file))
        .filter(|file| file.is_symlink() || file.exists())
    else {
        return Ok(own);
    };
    if own.exists() {
        return Ok(own);
    }
    let lists: Vec<_> = former_lists(home);
    let only = lists.len() == 1 && lists[0].0 == *name;
    if end.default_name() == Some(&name.to_string()) || only {
        // A link would lead elsewhere from there, and what is no identity stays where the user looks for it.
        if former.is_symlink() {
            let (what, own) = (format!("{} is a link", former.display()), own.display());
            let hint = format!("put the identity that it leads to at {own}, or name it with --identity");
            return Err(Failure::new(FailureKind::Keys, what, hint));
        }
        read_identity(&former)?;
        moved(&former, &own)?;
    } else if lists.iter().any(|(other, _)| other == name) {
        let (former, own) = (former.display(), own.display());
        tracing::warn!(
            "{name} gets an identity of its own, unknown to who was enrolled with that in {former}; to keep \
             that for {name}, stop this program and run: mv {former} {own}"
        );
    }
    Ok(own)
}

/// The names with lists and without an identity, and their folders.
fn former_lists(home: &Path) -> Vec<(ListName, PathBuf)> {
    let entries = fs::read_dir(Kind::Publisher.directory(home))
        .into_iter()
        .flatten()
        .flatten();
    entries
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .filter(|(_, dir)| has_run(dir) && !dir.join(IDENTITY).exists())
        .collect()
}

fn moved(from: &Path, to: &Path) -> Result<()> {
    let renamed = || -> io::Result<()> {
        let parent = to.parent().unwrap_or(Path::new("."));
        create_folder(parent)?;
        fs::rename(from, to)?;
        File::open(parent)?.sync_all()
    };
    renamed().map_err(|error| {
        let what = format!("{} cannot be moved to {} ({error})", from.display(), to.display());
        Failure::new(FailureKind::Keys, what, "move it by hand, or make both places writable")
    })?;
    tracing::info!(from = %from.display(), to = %to.display(), "taken over from an earlier version");
    Ok(())
}
