//! Rows of the matrix, and how a table of them is checked: all rows run side by side, and each that fails is named
//! with what came and what was expected.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use sealcast_testkit::gateways::clip::h264;
use sealcast_testkit::gateways::{Clip, Deviation};

use super::carried::{Gateways, carried};
use super::published::published;

/// Rows that run at a time: mostly they wait.
const SIDE_BY_SIDE: usize = 10;
/// Cameras of one session of gateways, at most.
const CAMERAS: usize = 15;
/// Attempts at a row of which something is missing, as may be on a busy machine: it loses datagrams, queues drop what
/// is old, and a viewer whose turn comes late gets the last group of pictures first.
const TRIES: usize = 5;

/// Rows of one kind.
pub(crate) struct Table {
    /// Its heading on the page.
    pub(crate) title: &'static str,
    pub(crate) rows: &'static [Row],
}

/// An oddity, and what comes of it.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Place where somebody reported it.
    pub(crate) report: &'static str,
    /// The camera's URL; `{camera}` stands for its address.
    pub(crate) url: &'static str,
    pub(crate) clip: fn() -> Clip,
    /// Clip that it shows when it hung up after the first one and is called again.
    pub(crate) again: Option<fn() -> Clip>,
    pub(crate) does: &'static [Deviation],
    /// Arguments with which it is published, besides its URL.
    pub(crate) arguments: &'static [&'static str],
    pub(crate) published: Published,
    pub(crate) carried: Carried,
}

/// Media that a viewer of `publish rtsp://` gets.
#[derive(Clone, Copy)]
pub(crate) enum Published {
    /// Every picture once and in order, and sound.
    All,
    /// Every picture once and in order, without sound.
    Picture,
    /// As before, and nothing but the picture is set up at the camera.
    Alone,
    /// Every picture once and in order, without those of which this is true; and sound.
    But(&'static str, fn(usize) -> bool),
    /// Every picture once and in order from some keyframe on, and sound.
    Later,
    /// Nothing: the publisher says this.
    Fails(&'static str),
}

/// Media that a player behind the gateways gets.
#[derive(Clone, Copy)]
pub(crate) enum Carried {
    /// Every packet once, unchanged and in order.
    All,
    /// Every packet of the picture so; the sound is refused.
    Picture,
    /// The packets of this clip once, unchanged and in order, whatever became of them on the way to the gateway.
    As(fn() -> Clip),
    /// This answer to DESCRIBE.
    Refused(u16),
}

/// A row of a camera that plays H.264 and PCMU, all of which comes out.
pub(crate) const fn row(name: &'static str, report: &'static str, does: &'static [Deviation]) -> Row {
    Row {
        name,
        report,
        url: "rtsp://{camera}/cam",
        clip: h264,
        again: None,
        does,
        arguments: &[],
        published: Published::All,
        carried: Carried::All,
    }
}

impl Row {
    pub(crate) const fn at(self, url: &'static str) -> Self {
        Self { url, ..self }
    }

    pub(crate) const fn sends(self, clip: fn() -> Clip) -> Self {
        Self { clip, ..self }
    }

    pub(crate) const fn then(self, again: fn() -> Clip) -> Self {
        let again = Some(again);
        Self { again, ..self }
    }

    pub(crate) const fn with(self, arguments: &'static [&'static str]) -> Self {
        Self { arguments, ..self }
    }

    pub(crate) const fn published(self, published: Published) -> Self {
        Self { published, ..self }
    }

    pub(crate) const fn carried(self, carried: Carried) -> Self {
        Self { carried, ..self }
    }

    /// Its URL, with the camera at this port.
    pub(crate) fn url(&self, port: u16) -> String {
        self.url.replace("{camera}", &format!("127.0.0.1:{port}"))
    }
}

/// Failure of a row.
pub(crate) enum Wrong {
    /// Something is missing, which may have been lost.
    Missing(String),
    /// Something came that must not.
    Came(String),
}

/// Checks each row in both ways.
pub(crate) fn check(table: &Table) {
    let gateways: Vec<Gateways> = table.rows.chunks(CAMERAS).map(Gateways::start).collect();
    let ports: Vec<u16> = gateways.iter().map(Gateways::port).collect();
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            let Some(row) = table.rows.get(job / 2) else { return };
            let (port, number) = (ports[job / 2 / CAMERAS], job / 2 % CAMERAS);
            let (way, run): (_, &dyn Fn() -> Result<(), Wrong>) = match job % 2 {
                0 => ("published", &|| published(row)),
                _ => ("through gateways", &|| carried(port, number, row)),
            };
            if let Err(why) = attempts(row, run) {
                let failure = format!("{} ({way}): {why}", row.name);
                failures.lock().expect("not poisoned").push(failure);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().expect("not poisoned");
    let panicked = gateways.iter().any(|gateways| gateways.said().contains("panicked"));
    assert!(
        failures.is_empty() && !panicked,
        "{} of {} rows:\n{}\n",
        failures.len(),
        table.rows.len() * 2,
        failures.join("\n")
    );
}

fn attempts(row: &Row, run: &dyn Fn() -> Result<(), Wrong>) -> Result<(), String> {
    for attempt in 1.. {
        let result = catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
            let words = panic.downcast_ref::<String>().cloned();
            words.unwrap_or_else(|| {
                let words = panic.downcast_ref::<&str>().copied();
                words.unwrap_or("it panicked").to_owned()
            })
        });
        match result? {
            Ok(()) => break,
            Err(Wrong::Missing(why)) if attempt < TRIES => println!("{}, attempt {attempt}: {why}", row.name),
            Err(Wrong::Missing(why) | Wrong::Came(why)) => return Err(why),
        }
    }
    Ok(())
}
