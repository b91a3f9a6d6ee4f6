//! Lines between an end and the process that started it.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sealcast::failure::{Failure, FailureKind, Result};

/// Printed by the receiving end once packets reach it.
pub(in crate::experiments::link) const READY: &str = "ready";
/// The line that starts the sending end.
pub(in crate::experiments::link) const GO: &str = "go";
/// Printed by sealcast's publisher before the ticket.
pub(in crate::experiments::link) const TICKET: &str = "ticket ";

/// Prints a line for the process that started this end.
pub(crate) fn tell(line: &str) {
    println!("{line}");
    // If that process is gone, it ends this end soon.
    let _ = std::io::stdout().flush();
}

/// The next line of standard input.
pub(super) fn hear() -> Result<String> {
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(length) if length > 0 => Ok(line.trim().to_owned()),
        _ => Err(Failure::new(
            FailureKind::Usage,
            "nobody says on standard input when to begin",
            "use `sealcast-lab link`, which starts both ends",
        )),
    }
}

/// Becomes true when standard input has a line or ends.
pub(crate) fn told() -> Arc<AtomicBool> {
    let told = Arc::new(AtomicBool::new(false));
    let turn = Arc::clone(&told);
    std::thread::spawn(move || {
        let _ = hear();
        turn.store(true, Ordering::Relaxed);
    });
    told
}
