//! The log on standard error.

use std::ffi::OsStr;
use std::fmt;
use std::os::fd::AsFd;

use rustix::fs::fstat;
use sealcast_proto::words::plain;
use tracing::Dispatch;
use tracing::field::Field;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::{Writer, debug_fn};

/// Variable in which systemd names the device and the inode of the stream that goes to its journal.
const JOURNAL: &str = "JOURNAL_STREAM";

/// Logs to standard error: in colours if that is a terminal, without times if it is systemd's journal, which has its
/// own.
pub(super) fn init(verbose: u8) {
    let filter = std::env::var("SEALCAST_LOG").unwrap_or_else(|_| level(verbose).to_owned());
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let stamped = !is_stream(std::env::var_os(JOURNAL).as_deref(), std::io::stderr());
    let log = log(EnvFilter::new(filter), std::io::stderr, colours, stamped);
    // Fails where a log is there already, of a program that runs several commands.
    let _ = tracing::dispatcher::set_global_default(log);
}

/// The filter for this many `-v`.
fn level(verbose: u8) -> &'static str {
    match verbose {
        // Nothing of the libraries, whose words are about their parts: what happened is said by the program.
        0 => "sealcast=info",
        1 => "sealcast=debug",
        _ => "trace",
    }
}

fn log<W>(filter: EnvFilter, writer: W, colours: bool, stamped: bool) -> Dispatch
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_writer(writer)
        .with_ansi(colours)
        .fmt_fields(debug_fn(write_field).delimited(" "));
    match stamped {
        true => log.finish().into(),
        false => log.without_time().finish().into(),
    }
}

/// True if this variable's value, `DEVICE:INODE`, names the stream. What a service starts inherits the variable, and
/// may write elsewhere.
fn is_stream(named: Option<&OsStr>, stream: impl AsFd) -> bool {
    let Ok(found) = fstat(stream) else {
        return false;
    };
    named.is_some_and(|named| named == format!("{}:{}", found.st_dev, found.st_ino).as_str())
}

/// Writes a message or a field. Both may hold words of peers, of children and of libraries that repeat a peer's.
fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    let value = plain(&format!("{value:?}"));
    match field.name() {
        "message" => writer.write_str(&value),
        name if writer.has_ansi_escapes() => write!(writer, "\x1b[3m{name}\x1b[0m\x1b[2m=\x1b[0m{value}"),
        name => write!(writer, "{name}={value}"),
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A log in memory.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no panic").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(colours: bool, events: impl FnOnce()) -> String {
        logged_by("trace", colours, true, events)
    }

    fn logged_by(filter: &str, colours: bool, stamped: bool, events: impl FnOnce()) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        let log = log(EnvFilter::new(filter), move || writer.clone(), colours, stamped);
        tracing::dispatcher::with_default(&log, events);
        let bytes = lines.0.lock().expect("no panic").clone();
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn words_of_others_begin_no_line_and_turn_none_around_wherever_they_stand_in_the_log() {
        let hostile = "a\nb\rc\x1b[2Jd\u{202e}e\u{2028}f\u{9b}g\0h\u{2067}i";
        let error = io::Error::other(hostile);
        let events = || {
            tracing::info!("{hostile}");
            tracing::info!(name = hostile, shown = %hostile, debug = ?hostile, "fields");
            tracing::warn!(%error, "an error: {error}");
            let span = tracing::error_span!("span", peer = %hostile);
            span.in_scope(|| tracing::error!("within"));
        };
        let said = logged(false, events);
        assert_eq!(said.lines().count(), 4, "{said:?}");
        assert!(
            !said.contains(|letter| letter != '\n' && sealcast_proto::words::is_unsafe(letter)),
            "{said:?}"
        );
        assert!(said.contains("an error: a\u{fffd}b\u{fffd}c\u{fffd}[2Jd"), "{said:?}");
        assert!(logged(true, || tracing::info!("{hostile}")).lines().count() == 1);
    }

    #[test]
    fn lines_for_a_journal_have_no_time_of_their_own() {
        let said = logged_by("trace", false, false, || tracing::info!(viewers = 2, "watching"));
        assert_eq!(said, " INFO watching viewers=2\n");
        let file = tempfile::tempfile().expect("a file");
        let found = fstat(&file).expect("it is open");
        let named = |text: String| is_stream(Some(text.as_ref()), &file);
        assert!(named(format!("{}:{}", found.st_dev, found.st_ino)));
        assert!(!named(format!("{}:{}", found.st_dev, found.st_ino + 1)) && !named(String::new()));
        assert!(!is_stream(None, &file));
    }

    #[test]
    fn words_of_libraries_are_logged_only_if_the_filter_asks_for_them() {
        let events = || {
            tracing::error!(target: "web_transport_proto::capsule", "failed to read capsule");
            tracing::info!(target: "sealcast_proto::session", "ours");
        };
        for (filter, both) in [
            (level(0), false),
            (level(1), false),
            (level(2), true),
            ("error,sealcast=info", true),
        ] {
            let said = logged_by(filter, false, true, events);
            assert!(
                said.contains("ours") && said.contains("capsule") == both,
                "{filter}: {said}"
            );
        }
    }

    #[test]
    fn a_line_has_its_message_and_then_its_fields() {
        let said = logged(false, || tracing::info!(viewers = 2, name = "a b", "watching"));
        assert!(said.contains("INFO watching viewers=2 name=\"a b\""), "{said}");
        let said = logged(true, || tracing::info!(viewers = 2, "watching"));
        assert!(
            said.contains("watching \x1b[3mviewers\x1b[0m\x1b[2m=\x1b[0m2"),
            "{said:?}"
        );
    }
}
