//! The log on standard error.

use std::fmt;

use sealcast_proto::words::plain;
use tracing::Subscriber;
use tracing::field::Field;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::{Writer, debug_fn};

/// Logs to standard error, in colours if that is a terminal.
pub(super) fn init(verbose: u8) {
    let level = match verbose {
        // Of the libraries only errors: peers cause warnings of theirs as often as they like.
        0 => "sealcast=info,error",
        1 => "sealcast=debug,info",
        _ => "trace",
    };
    let filter = std::env::var("SEALCAST_LOG").unwrap_or_else(|_| level.to_owned());
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let log = log(EnvFilter::new(filter), std::io::stderr, colours);
    // Fails where a log is there already, of a program that runs several commands.
    let _ = tracing::subscriber::set_global_default(log);
}

fn log<W>(filter: EnvFilter, writer: W, colours: bool) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_writer(writer)
        .with_ansi(colours)
        .fmt_fields(debug_fn(write_field).delimited(" "))
        .finish()
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
        let lines = Lines::default();
        let writer = lines.clone();
        let log = log(EnvFilter::new("trace"), move || writer.clone(), colours);
        tracing::subscriber::with_default(log, events);
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
