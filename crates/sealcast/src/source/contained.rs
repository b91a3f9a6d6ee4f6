//! Code of parsers that a camera's or a file's bytes reach: a panic in it is a failure of the source, which names the
//! library.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, Location};
use std::sync::Once;

use crate::failure::{Failure, FailureKind, Result};

thread_local! {
    /// Words for the place of this thread's last panic.
    static PANICKED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs code that parses the bytes of a camera or file. A parser that panics on them, ours or a library's, counts as
/// a failure of the source; it must not abort or hang the publisher.
///
/// # Errors
/// Kind `Source`, also for a panic: then with the library, and the place in it.
pub(crate) fn contain<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            PANICKED.set(panicked.location().map(|place| culprit(&place_of(place))));
            before(panicked);
        }));
    });
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let culprit = PANICKED.take().unwrap_or_else(|| "its parser".to_owned());
        Err(Failure::new(
            FailureKind::Source,
            format!("the source sent something on which {culprit} crashed"),
            "take it for damaged or hostile, and please report what it sends, with these words",
        ))
    })
}

/// File and line, with the separators of this system as those of all.
fn place_of(place: &Location<'_>) -> String {
    format!("{}:{}", place.file().replace('\\', "/"), place.line())
}

/// Words for the library that a place is in, with its version where that is known, and for the place.
///
/// A place is a path as the compiler wrote it: of a library in the registry's folder or a checkout of Git, of the
/// standard library in the compiler's own folder, of this program's crates below `crates`.
fn culprit(place: &str) -> String {
    let behind = |folder: &str| Some(place.rsplit_once(folder)?.1);
    // The registry has a folder for each index, and in it one for each library.
    if let Some((library, place)) = behind("/registry/src/").and_then(|rest| rest.split_once('/')?.1.split_once('/')) {
        let (name, version) = named(library);
        return format!("the library {name}{version} ({place})");
    }
    if let Some((library, place)) = behind("/git/checkouts/").and_then(|rest| rest.split_once('/')) {
        let name = library.rsplit_once('-').map_or(library, |(name, _)| name);
        return format!("the library {name} ({place})");
    }
    if let Some((_, place)) = behind("/rustc/").and_then(|rest| rest.split_once('/')) {
        return format!("Rust's own library ({place})");
    }
    let own = place.strip_prefix("crates/").or_else(|| behind("/crates/"));
    match own.and_then(|rest| rest.split_once('/')) {
        Some((name, place)) => format!("this program's own code ({name}, {place})"),
        None => format!("its parser ({place})"),
    }
}

/// Name of a library, and its version behind a space, from the name of its folder.
fn named(folder: &str) -> (&str, String) {
    let parts = folder
        .match_indices('-')
        .map(|(at, _)| (&folder[..at], &folder[at + 1..]));
    let mut versioned = parts.filter(|(_, version)| version.starts_with(|first: char| first.is_ascii_digit()));
    match versioned.next() {
        Some((name, version)) => (name, format!(" {version}")),
        None => (folder, String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told<T: std::fmt::Debug>(work: impl FnOnce() -> T) -> String {
        let failure = contain(|| Ok(work())).expect_err("a panic");
        assert_eq!(failure.kind, FailureKind::Source);
        failure.what
    }

    #[test]
    fn a_panic_in_a_library_is_told_as_its_own() {
        let empty = bytes::Bytes::new();
        let library = told(|| empty.slice(1..2));
        assert!(library.contains("the library bytes 1."), "{library}");
        assert!(library.contains(" (src/bytes.rs:"), "{library}");
        let own = told(|| -> u8 { panic!("a defect") });
        let words = "this program's own code (sealcast, src/source/contained.rs:";
        assert!(own.contains(words), "{own}");
        assert_eq!(contain(|| Ok(7)).expect("no panic"), 7);
    }

    #[test]
    fn a_place_says_the_library_wherever_it_was_built() {
        for (place, words) in [
            (
                "/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/v4l2-sys-mit-0.3.0/src/lib.rs:7",
                "the library v4l2-sys-mit 0.3.0 (src/lib.rs:7)",
            ),
            (
                "/cargo/registry/src/index.crates.io-1949cf8c6b5b557f/zune-jpeg-0.5.0-rc2/src/a/b.rs:7",
                "the library zune-jpeg 0.5.0-rc2 (src/a/b.rs:7)",
            ),
            (
                "/cargo/git/checkouts/some-library-0a1b2c3d/4e5f607/src/lib.rs:7",
                "the library some-library (4e5f607/src/lib.rs:7)",
            ),
            (
                "/rustc/0123456789abcdef/library/core/src/slice/index.rs:7",
                "Rust's own library (library/core/src/slice/index.rs:7)",
            ),
            (
                "crates/sealcast-proto/src/rtp/jpeg.rs:7",
                "this program's own code (sealcast-proto, src/rtp/jpeg.rs:7)",
            ),
            (
                "/build/crates/sealcast/src/source/mp4.rs:7",
                "this program's own code (sealcast, src/source/mp4.rs:7)",
            ),
            ("main.rs:7", "its parser (main.rs:7)"),
        ] {
            assert_eq!(culprit(place), words);
        }
    }
}
