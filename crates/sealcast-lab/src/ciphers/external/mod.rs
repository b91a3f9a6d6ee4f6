//! Third-party ciphers written in C against the eSTREAM API, as shared objects.
//!
//! Their code runs in a process of its own, `host.c`, which the system's compiler builds on first use. If a library
//! crashes, hangs or breaks the protocol, the report names it, and all others are measured nevertheless.

mod host;
mod library;
mod session;
mod spec;

pub use spec::External;

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::HEXLOWER;
use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_cipher::IMPLEMENTATIONS;

use super::implementation::{Implementation, Place, measured_sizes, published};
use super::worker::Worker;
pub(super) use host::Host;
pub(super) use library::Library;
use session::Found;

/// Default lengths of key and IV in bytes for a cipher that we do not have.
const USUAL_SIZES: (usize, usize) = (16, 8);
/// Remark on a library that cannot encipher in place.
const NOT_IN_PLACE: &str = "it cannot work in place, and goes from one buffer to another and back";

/// The file name of a library, the bytes of key and IV that it is measured with, and the SHA-256 of the file. Nothing
/// of the library runs.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn known(one: &External) -> Result<(String, [usize; 2], String)> {
    let content = std::fs::read(&one.file).map_err(|error| unreadable(one, &error))?;
    let name = one.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let ours = IMPLEMENTATIONS.iter().find(|ours| ours.facts.name == one.name);
    let (key, iv) = ours.map_or(USUAL_SIZES, |ours| measured_sizes(ours.facts));
    let sizes = [one.key_bytes.unwrap_or(key), one.iv_bytes.unwrap_or(iv)];
    Ok((name, sizes, HEXLOWER.encode(digest(&SHA256, &content).as_ref())))
}

fn unreadable(one: &External, error: &std::io::Error) -> Failure {
    let what = format!(
        "--external {}: {} cannot be read ({error})",
        one.name,
        one.file.display()
    );
    let hint = "name a shared object, made with `cc -shared -fPIC`";
    Failure::new(FailureKind::Source, what, hint)
}

/// Starts the library once, to see if it works and how large its context is.
///
/// # Errors
/// The file cannot be read. A library that does not work is found wrong later, by [`Implementation::verify`].
pub(super) fn implementation(one: &External, host: &Arc<Host>) -> Result<Implementation> {
    let (file_name, [key_bytes, iv_bytes], _) = known(one)?;
    // A path without a folder would be searched for in the system's library folders.
    let path = one.file.canonicalize().map_err(|error| unreadable(one, &error))?;
    let mut library = Library {
        path,
        iv_bytes,
        context_bytes: one.context_bytes,
        host: host.clone(),
        found: Found::default(),
        fault: None,
    };
    let started = library.start().and_then(|mut session| {
        session.load(&vec![1; key_bytes])?;
        Ok(session.found)
    });
    library.fault = started.clone().err();
    library.found = started.clone().unwrap_or_default();
    let known = published(&one.name).filter(|known| (known.key.len(), known.iv.len()) == (2 * key_bytes, 2 * iv_bytes));
    let known: Vec<_> = known.collect();
    let unproven = known.is_empty().then(|| unproven(one, key_bytes, iv_bytes));
    let elsewhere = started
        .as_ref()
        .is_ok_and(|found| !found.in_place)
        .then(|| NOT_IN_PLACE.to_owned());
    let notes: Vec<String> = unproven.into_iter().chain(elsewhere).collect();
    Ok(Implementation {
        cipher: one.name.clone(),
        implementation: file_name,
        key_bytes,
        iv_bytes,
        tag_bytes: 0,
        state_bytes: one.context_bytes.or(started.ok().map(|found| found.context_bytes)),
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        also: &[],
        entries: Vec::new(),
        place: Place::Apart(library),
        known,
    })
}

/// Remark on a library for which there are no published values.
fn unproven(one: &External, key_bytes: usize, iv_bytes: usize) -> String {
    format!(
        "nothing to hold it to: no published value of `{}` with a key of {} bits and an IV of {}; it opens what it \
         seals",
        one.name,
        8 * key_bytes,
        8 * iv_bytes
    )
}
