//! From what was typed and configured to what the program needs.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::keys::{Identity, Mechanism};
use sealcast_proto::seal::{Suite, suite};
use sealcast_proto::session::RekeyPolicy;
use sealcast_proto::wire::{MAX_TICKET, Ticket, TransportKind};

use super::args::ObserveArgs;
use crate::config::{FileConfig, Settings, in_force, list_in_force};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::allow::AllowList;
use crate::keys::{files, mechanism};
use crate::run::{Admission, ObserveOptions, Offer};
use crate::transport::ListenUrl;

/// What holds when neither flag, environment nor file says otherwise; `config check` prints them.
pub(super) const DEFAULTS: &[(&str, &str)] = &[
    ("publish.listen", "tcp://[::]:9553"),
    (
        "publish.suites",
        "aes-256-gcm, aes-128-gcm, aegis-128x4, chacha20-poly1305",
    ),
    ("publish.mechanisms", "x25519-mlkem768, sntrup761-x25519"),
    ("publish.allow", "~/.config/sealcast/allow"),
    ("publish.open", "false"),
    ("publish.invite", "true"),
    ("publish.max_viewers", "16"),
    ("publish.queue_frames", "60"),
    ("publish.rekey_seconds", "600"),
    ("publish.rekey_records", "1048576"),
    ("watch.to", "http://127.0.0.1:9880"),
    ("watch.reconnect", "true"),
    ("demo.source", "test:640x480@25"),
    ("demo.headless", "false"),
    ("identity.file", "~/.config/sealcast/identity"),
];

/// Where to wait for viewers by default.
pub(super) const DEFAULT_LISTEN: &str = "tcp://[::]:9553";
/// Most viewers at once by default.
pub(super) const DEFAULT_MAX_VIEWERS: u32 = 16;

/// The names of the recommended suites.
pub(super) fn suite_names() -> Vec<String> {
    suite::RECOMMENDED.iter().map(|suite| suite.name.to_owned()).collect()
}

fn usage(what: String, hint: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Usage, what, hint)
}

/// The suites of these names; all recommended ones for none.
pub(super) fn suites(names: &[String]) -> Result<Vec<Suite>> {
    if names.is_empty() {
        return Ok(suite::RECOMMENDED.to_vec());
    }
    let known = |name: &String| {
        Suite::by_name(name).ok_or_else(|| {
            usage(
                format!("there is no suite \"{name}\""),
                format!("use {}", suite_names().join(", ")),
            )
        })
    };
    distinct(names.iter().map(known).collect::<Result<Vec<_>>>()?, |suite| suite.id)
}

/// The mechanisms of these names; the default ones for none.
pub(super) fn mechanisms(names: &[String]) -> Result<Vec<Arc<dyn Mechanism>>> {
    let known = |name: &str| {
        mechanism::by_name(name).ok_or_else(|| {
            let all: Vec<_> = mechanism::names().collect();
            usage(
                format!("there is no mechanism \"{name}\""),
                format!("use {}", all.join(", ")),
            )
        })
    };
    let list: Result<Vec<_>> = if names.is_empty() {
        mechanism::DEFAULT.iter().map(|name| known(name)).collect()
    } else {
        names.iter().map(|name| known(name)).collect()
    };
    distinct(list?, |mechanism| mechanism.id())
}

fn distinct<T>(list: Vec<T>, id: impl Fn(&T) -> u8) -> Result<Vec<T>> {
    let ids: Vec<u8> = list.iter().map(id).collect();
    let repeated = ids.iter().enumerate().any(|(at, id)| ids[..at].contains(id));
    if repeated {
        Err(usage("a name stands twice in a list".to_owned(), "name each one once"))
    } else {
        Ok(list)
    }
}

/// Identity, suites, mechanisms and epochs.
pub(super) fn offer(
    identity: Identity,
    suite_flags: Vec<String>,
    mechanism_flags: Vec<String>,
    rekey: RekeyPolicy,
    config: &FileConfig,
) -> Result<Offer> {
    let (suites_typed, mechanisms_typed) = (!suite_flags.is_empty(), !mechanism_flags.is_empty());
    let suites = suites(&list_in_force(suite_flags, config.publish.suites.as_ref()));
    let mechanisms = mechanisms(&list_in_force(mechanism_flags, config.publish.mechanisms.as_ref()));
    Ok(Offer {
        identity: Arc::new(identity),
        suites: suites.map_err(|failure| configured(suites_typed, failure))?,
        mechanisms: mechanisms.map_err(|failure| configured(mechanisms_typed, failure))?,
        rekey,
    })
}

/// What was not typed stands in the file or in the environment, and is wrong there.
fn configured(typed: bool, mut failure: Failure) -> Failure {
    if !typed && failure.kind == FailureKind::Usage {
        failure.kind = FailureKind::Config;
    }
    failure
}

/// When epochs end.
pub(super) fn rekey(seconds: Option<u64>, records: Option<u64>, config: &FileConfig) -> Result<RekeyPolicy> {
    let typed = seconds.is_some() || records.is_some();
    let number = |value: Option<std::num::NonZeroU64>| value.map(std::num::NonZero::get);
    let seconds = in_force(seconds, number(config.publish.rekey_seconds).as_ref()).unwrap_or(600);
    let records = in_force(records, number(config.publish.rekey_records).as_ref()).unwrap_or(1 << 20);
    RekeyPolicy::new(records, Duration::from_secs(seconds)).ok_or_else(|| {
        let what = format!("epochs of {seconds} s and {records} records are outside the protocol's bounds");
        configured(typed, usage(what, "choose 1 to 600 s and 16 to 1048576 records"))
    })
}

/// The list at home of viewers that may watch us.
pub(super) const ALLOWED_VIEWERS: &str = "allow";
/// The list at home of publishers that may show us something: who may watch may not thereby show.
pub(super) const ALLOWED_PUBLISHERS: &str = "allow-publishers";

/// The peers that are let in: of the named file, or of `list` at home.
pub(super) fn admission(allow: Option<&Path>, list: &str, open: bool) -> Result<Admission> {
    let path = match allow {
        Some(path) => path.to_owned(),
        None => files::home()?.join(list),
    };
    Ok(Admission::new(AllowList::open(&path)?, open))
}

/// What to observe.
pub(super) fn observe(args: &ObserveArgs, config: &FileConfig) -> ObserveOptions {
    ObserveOptions {
        report: in_force(args.report.clone(), config.observe.report.as_ref()),
        log_dir: in_force(args.log_dir.clone(), config.observe.log_dir.as_ref()),
        metrics: in_force(args.metrics, config.observe.metrics.as_ref()),
    }
}

/// What file and environment configure.
pub(super) fn settings(args: &ObserveArgs) -> Result<Settings> {
    Settings::gather(args.config.config.as_deref(), std::env::vars_os())
}

/// Where to listen, as typed.
pub(super) fn listen_url(typed: &str) -> Result<ListenUrl> {
    let url: ListenUrl = typed.parse()?;
    if url.transport() != TransportKind::Tcp {
        let what = "listening at udp:// and quic:// is not in this version";
        return Err(Failure::new(FailureKind::Usage, what, "listen at tcp://"));
    }
    Ok(url)
}

/// A ticket as typed: itself, `@FILE`, or `-` for standard input.
pub(super) fn ticket(typed: &str) -> Result<Ticket> {
    let text = match typed.strip_prefix('@') {
        Some(path) => files::read_secret(Path::new(path))?.trim().to_owned(),
        None if typed == "-" => ticket_from_stdin()?,
        None => typed.to_owned(),
    };
    let ticket: Ticket = text.parse().map_err(|error| {
        let hint = "copy the whole line that the publisher printed";
        Failure::new(FailureKind::Keys, format!("that is no ticket: {error}"), hint)
    })?;
    if ticket.transport != TransportKind::Tcp {
        let what = "the ticket names a transport that is not in this version";
        return Err(Failure::new(
            FailureKind::Keys,
            what,
            "ask for a ticket without ?transport",
        ));
    }
    Ok(ticket)
}

fn ticket_from_stdin() -> Result<String> {
    let mut text = String::new();
    let limit = MAX_TICKET as u64 + 2;
    std::io::stdin()
        .lock()
        .take(limit)
        .read_to_string(&mut text)
        .map_err(|error| {
            let what = format!("the ticket could not be read from standard input ({error})");
            Failure::new(FailureKind::Keys, what, "pipe one line of text into it")
        })?;
    Ok(text.trim().to_owned())
}

/// Check what a configuration file says beyond its form.
pub(super) fn check(config: &FileConfig) -> Result<()> {
    check_values(config).map_err(|failure| configured(false, failure))
}

fn check_values(config: &FileConfig) -> Result<()> {
    suites(config.publish.suites.as_deref().unwrap_or_default())?;
    mechanisms(config.publish.mechanisms.as_deref().unwrap_or_default())?;
    rekey(None, None, config)?;
    if let Some(listen) = &config.publish.listen {
        listen_url(listen)?;
    }
    if let Some(source) = &config.publish.source {
        source.parse::<crate::source::SourceUrl>()?;
    }
    Ok(())
}
