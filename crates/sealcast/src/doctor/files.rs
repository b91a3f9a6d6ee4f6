//! Whether key, ticket and configuration files are there, and who else can read or write them.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::finding::Finding;
use crate::failure::FailureKind;
use crate::keys::files::{End, read_identity, shared_identity};
use crate::private_file::{read_list, read_secret};

const CHECK: &str = "files";
/// Depth to which the folder of keys is looked into, and number of its files, at most.
const MAX_DEPTH: usize = 4;
const MAX_FILES: usize = 20_000;
/// Most findings about single files; more are counted.
const MAX_SAID: usize = 16;

/// Users who may use a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Its owner alone may read and write it.
    Secret,
    /// The same, of a ticket: where others may read it, its next use changes that.
    Ticket,
    /// Its owner alone may write it.
    Public,
    /// It is made by a command, and must not be there before.
    New,
}

/// A file that the configuration names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// The option that names it.
    pub option: &'static str,
    /// Path of the file.
    pub path: PathBuf,
    /// Users who may use it.
    pub access: Access,
}

/// Looks at a file that the configuration names. It is read, and nothing of it is shown.
pub(super) fn check_named(file: &NamedFile) -> Finding {
    let NamedFile { option, path, access } = file;
    let shown = path.display();
    let well = |how: &str| Finding::ok(CHECK, format!("{option}: {shown} {how}"));
    match access {
        Access::Secret => match read_secret(path) {
            Ok(_) => well("can be read by its owner alone"),
            Err(failure) => Finding::wrong(
                CHECK,
                FailureKind::Keys,
                format!("{option}: {}", failure.what),
                failure.hint,
            ),
        },
        Access::Ticket => match open_to_readers(path) {
            Some(mode) => Finding::warning(
                CHECK,
                format!("{option}: {shown} can be read by others (mode {mode:04o})"),
                format!("run: chmod 600 {shown}; its next use does the same"),
            ),
            None => check_named(&NamedFile {
                access: Access::Secret,
                ..file.clone()
            }),
        },
        Access::Public => match read_list(path) {
            Ok(_) => well("can be read, and written by its owner alone"),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let advice = format!("make it, or correct {option}");
                Finding::wrong(
                    CHECK,
                    FailureKind::Keys,
                    format!("{option}: {shown} does not exist"),
                    advice,
                )
            }
            Err(error) => {
                let saw = format!("{option}: {shown} cannot be used ({error})");
                Finding::wrong(CHECK, FailureKind::Keys, saw, format!("look with: ls -l {shown}"))
            }
        },
        Access::New if path.exists() => {
            let saw = format!("{option}: {shown} is there already, and is replaced only if it holds older tickets");
            let advice = format!("nothing, if a start of this publisher wrote it; else name another file, not {shown}");
            Finding::warning(CHECK, saw, advice)
        }
        Access::New => well("is not there yet, as it must be"),
    }
}

/// The mode of this user's own file, if others may read it, and not write it.
fn open_to_readers(path: &Path) -> Option<u32> {
    let found = fs::metadata(path).ok()?;
    let mode = found.permissions().mode() & 0o7777;
    let own = found.is_file() && found.uid() == geteuid().as_raw();
    (own && mode & 0o044 != 0 && mode & 0o022 == 0).then_some(mode)
}

/// Looks at the folder of keys and everything in it.
pub(super) fn check_keys(home: &Path) -> Vec<Finding> {
    let shown = home.display();
    let found = match fs::metadata(home) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return vec![Finding::ok(
                CHECK,
                format!("{shown} does not exist yet: the first start makes it"),
            )];
        }
        Err(error) => {
            let saw = format!("{shown} cannot be looked at ({error})");
            return vec![Finding::wrong(
                CHECK,
                FailureKind::Keys,
                saw,
                format!("look with: ls -ld {shown}"),
            )];
        }
    };
    let mut findings: Vec<Finding> = folder(home, found.permissions().mode()).into_iter().collect();
    if found.uid() != geteuid().as_raw() {
        let saw = format!(
            "{shown} belongs to the user with id {}, not to the one who runs this",
            found.uid()
        );
        let advice = format!("run it as that user: sudo -u '#{}' sealcast doctor", found.uid());
        findings.push(Finding::warning(CHECK, saw, advice));
    }
    findings.extend(shared_identity(home).map(|words| {
        let (saw, advice) = words.split_once("; ").unwrap_or((&words, ""));
        Finding::warning(CHECK, saw, advice)
    }));
    let (files, whole) = below(home);
    let said = files.iter().filter_map(|path| in_folder(home, path)).take(MAX_SAID);
    findings.extend(said);
    let named = files
        .iter()
        .filter(|path| path.ends_with("identity") && path.parent() != Some(home));
    let of_ends = End::ALL.map(|end| home.join(end.file_name()));
    for path in of_ends.iter().chain(named) {
        if let Some(failure) = path.exists().then(|| read_identity(path).err()).flatten() {
            findings.push(Finding::failed(CHECK, &failure));
        }
    }
    findings.dedup();
    if findings.is_empty() {
        let saw = format!("{shown} and the {} files in it are private", files.len());
        findings.push(Finding::ok(CHECK, saw));
    }
    if !whole {
        let saw = format!("{shown} has more files than are looked at, or folders that cannot be opened");
        findings.push(Finding::unknown(
            CHECK,
            saw,
            format!("look with: find {shown} -perm /077"),
        ));
    }
    findings
}

fn folder(home: &Path, mode: u32) -> Option<Finding> {
    let shown = home.display();
    let advice = format!("run: chmod 700 {shown}");
    match mode & 0o077 {
        0 => None,
        open if open & 0o022 != 0 => Some(Finding::wrong(
            CHECK,
            FailureKind::Keys,
            format!("others may put files into {shown} (mode {:04o})", mode & 0o7777),
            advice,
        )),
        _ => Some(Finding::warning(
            CHECK,
            format!("others may see which files are in {shown} (mode {:04o})", mode & 0o7777),
            advice,
        )),
    }
}

/// The files below a folder, and whether these are all.
fn below(home: &Path) -> (Vec<PathBuf>, bool) {
    let (mut files, mut whole) = (Vec::new(), true);
    let mut folders = vec![(home.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            whole = false;
            continue;
        };
        for entry in entries.flatten() {
            // A link is no folder here, so there are no circles.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => folders.push((entry.path(), depth + 1)),
                Ok(kind) if !kind.is_dir() && files.len() < MAX_FILES => files.push(entry.path()),
                _ => whole = false,
            }
        }
    }
    (files, whole)
}

/// Finding about a wrong mode of a file in the folder of keys.
fn in_folder(home: &Path, path: &Path) -> Option<Finding> {
    let mode = fs::metadata(path)
        .ok()
        .filter(fs::Metadata::is_file)?
        .permissions()
        .mode();
    // Lists of whom to admit are no secrets; all else in the folder may be one.
    let by_hand = path
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("allow"));
    let list = by_hand && (path.parent() == Some(home) || path.ends_with("allow"));
    let (forbidden, right) = match list {
        true => (0o022, "go-w"),
        false => (0o077, "600"),
    };
    (mode & forbidden != 0).then(|| {
        let shown = path.display();
        let saw = format!("{shown} can be read or written by others (mode {:04o})", mode & 0o7777);
        Finding::wrong(CHECK, FailureKind::Keys, saw, format!("run: chmod {right} {shown}"))
    })
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;
    use crate::doctor::Verdict;
    use crate::keys::files::create_identity;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("our own file");
    }

    fn home() -> tempfile::TempDir {
        let home = tempfile::tempdir().expect("a directory");
        set_mode(home.path(), 0o700);
        create_identity(&home.path().join(End::Viewer.file_name())).expect("made");
        home
    }

    #[test]
    fn a_private_folder_of_keys_is_well_and_a_missing_one_too() {
        let home = home();
        fs::write(home.path().join("allow"), "").expect("written");
        set_mode(&home.path().join("allow"), 0o644);
        let found = check_keys(home.path());
        assert!(found.len() == 1 && found[0].verdict == Verdict::Ok, "{found:?}");
        let found = check_keys(&home.path().join("none"));
        assert!(
            found.len() == 1 && found[0].saw.contains("does not exist yet"),
            "{found:?}"
        );
    }

    #[test]
    fn files_and_folders_open_to_others_are_wrong_with_the_command_that_closes_them() {
        let home = home();
        let deep = home.path().join("publishers/front");
        fs::create_dir_all(&deep).expect("made");
        let invites = deep.join("invites");
        fs::write(&invites, "").expect("written");
        set_mode(&invites, 0o640);
        set_mode(home.path(), 0o777);
        let found = check_keys(home.path());
        assert!(
            found.iter().all(|finding| finding.verdict == Verdict::Wrong),
            "{found:?}"
        );
        let advice: Vec<_> = found.iter().filter_map(|finding| finding.advice.clone()).collect();
        assert_eq!(
            advice,
            [
                format!("run: chmod 700 {}", home.path().display()),
                format!("run: chmod 600 {}", invites.display()),
            ]
        );
        set_mode(&invites, 0o600);
        set_mode(home.path(), 0o755);
        assert_eq!(check_keys(home.path())[0].verdict, Verdict::Warning);
    }

    #[test]
    fn an_identity_that_is_damaged_or_of_before_is_said() {
        let home = home();
        fs::write(home.path().join(End::Viewer.file_name()), "no key\n").expect("written");
        let found = check_keys(home.path());
        assert!(
            found
                .iter()
                .any(|f| f.verdict == Verdict::Wrong && f.saw.contains("is not an identity file"))
        );
        create_identity(&home.path().join("identity")).expect("made");
        let found = check_keys(home.path());
        let old = found
            .iter()
            .find(|finding| finding.verdict == Verdict::Warning)
            .expect("said");
        assert!(old.saw.contains("is not used") && old.advice.as_ref().is_some_and(|words| words.contains("mv -i ")));
    }

    #[test]
    fn files_that_the_configuration_names_are_judged_by_what_they_are_for() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("ticket");
        let judged = |access| {
            check_named(&NamedFile {
                option: "watch.ticket_file",
                path: path.clone(),
                access,
            })
        };
        for (access, missing) in [
            (Access::Secret, Verdict::Wrong),
            (Access::Ticket, Verdict::Wrong),
            (Access::Public, Verdict::Wrong),
            (Access::New, Verdict::Ok),
        ] {
            assert_eq!(judged(access).verdict, missing, "{access:?}");
        }
        fs::write(&path, "sealcast://secret#invite").expect("written");
        for (mode, secret, ticket, public) in [
            (0o600, Verdict::Ok, Verdict::Ok, Verdict::Ok),
            (0o644, Verdict::Wrong, Verdict::Warning, Verdict::Ok),
            (0o666, Verdict::Wrong, Verdict::Wrong, Verdict::Wrong),
        ] {
            set_mode(&path, mode);
            assert_eq!(judged(Access::Secret).verdict, secret, "{mode:o}");
            assert_eq!(judged(Access::Ticket).verdict, ticket, "{mode:o}");
            assert_eq!(judged(Access::Public).verdict, public, "{mode:o}");
            assert!(!format!("{:?}", judged(Access::Secret)).contains("invite"));
        }
        assert_eq!(judged(Access::New).verdict, Verdict::Warning);
    }
}
