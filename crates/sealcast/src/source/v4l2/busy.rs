//! Processes that have a device open.

use std::fs;
use std::path::Path;

use sealcast_proto::words::plain;

/// Programs named in a message.
const MAX_NAMED: usize = 3;

/// The programs that have the device open, such as `firefox (process 4711)`; those of other users are not visible, so
/// there may be more.
pub(super) fn holders(device: &Path) -> Vec<String> {
    let device = fs::canonicalize(device).unwrap_or_else(|_| device.to_owned());
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let holds = |process: &Path| {
        let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        open.filter_map(|file| fs::read_link(file.path()).ok())
            .any(|file| file == device)
    };
    let own = std::process::id();
    let numbered = processes.filter_map(|entry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((number, entry.path()))
    });
    numbered
        .filter(|(number, path)| *number != own && holds(path))
        .map(|(number, path)| {
            let name = fs::read_to_string(path.join("comm")).unwrap_or_default();
            format!("{} (process {number})", plain(name.trim()))
        })
        .take(MAX_NAMED)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_program_that_has_it_open_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("device");
        fs::write(&file, "").expect("a file");
        assert!(holders(&file).is_empty());
        let input = fs::File::open(&file).expect("it opens");
        let mut sleeper = Command::new("sleep");
        let mut sleeper = sleeper.arg("600").stdin(Stdio::from(input)).spawn().expect("it starts");
        let named = holders(&file);
        sleeper.kill().expect("it runs");
        sleeper.wait().expect("it ends");
        assert_eq!(named.len(), 1, "{named:?}");
        assert!(named[0].ends_with(&format!("(process {})", sleeper.id())), "{named:?}");
    }
}
