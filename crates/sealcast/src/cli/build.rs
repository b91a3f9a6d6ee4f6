//! From what was typed and configured to what the program needs.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::keys::Mechanism;
use sealcast_proto::rate::RateConfig;
use sealcast_proto::seal::{Suite, suite};
use sealcast_proto::session::RekeyPolicy;
use sealcast_proto::unit::{Selection, Unit};
use sealcast_proto::wire::{MAX_TICKET, Ticket};

use super::args::{ObserveArgs, OfferArgs};
use crate::config::{FileConfig, Settings, in_force, list_in_force};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::allow::AllowList;
use crate::keys::{files, mechanism, study};
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
    ("publish.encrypt", "all"),
    ("publish.unit", "frame"),
    ("publish.bitrate_min", "150000"),
    ("watch.to", "http://127.0.0.1:9880"),
    ("watch.reconnect", "true"),
    ("demo.source", "test:640x480@25"),
    ("demo.headless", "false"),
    ("observe.meter", "auto"),
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

/// The study suite of a cipher, alone: what is measured must not be another one.
fn study_suite(cipher: &str) -> Result<Vec<Suite>> {
    let suite = study::by_cipher(cipher).ok_or_else(|| {
        let all: Vec<_> = study::STUDY.iter().map(study::cipher).collect();
        usage(
            format!("there is no study suite of a cipher \"{cipher}\""),
            format!("use one of {}", all.join(", ")),
        )
    })?;
    tracing::warn!(
        suite = suite.name,
        "INSECURE: this session's media is for measurements only"
    );
    Ok(vec![suite])
}

/// The suites that an end offers.
pub(super) fn offered_suites(typed: Vec<String>, study: Option<&str>, config: &FileConfig) -> Result<Vec<Suite>> {
    if let Some(cipher) = study {
        return study_suite(cipher);
    }
    let by_flag = !typed.is_empty();
    suites(&list_in_force(typed, config.publish.suites.as_ref())).map_err(|failure| configured(by_flag, failure))
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

/// Identity, suites, mechanisms and epochs; the identity that is typed or configured, or the one at home.
pub(super) fn own_offer(args: &OfferArgs, sealing: Sealing, config: &FileConfig) -> Result<Offer> {
    let identity = in_force(args.identity.clone(), config.identity.file.as_ref());
    let mechanisms_typed = !args.mechanisms.is_empty();
    let mechanisms = mechanisms(&list_in_force(
        args.mechanisms.clone(),
        config.publish.mechanisms.as_ref(),
    ));
    Ok(Offer {
        identity: Arc::new(files::identity_or_default(identity.as_deref())?),
        suites: offered_suites(args.suites.clone(), args.insecure_study_suite.as_deref(), config)?,
        mechanisms: mechanisms.map_err(|failure| configured(mechanisms_typed, failure))?,
        rekey: sealing.rekey,
        unit: sealing.unit,
        selection_seed: sealing.seed,
    })
}

/// How a session seals: its epochs and units, and what a selection by rate draws from.
pub(super) struct Sealing {
    pub(super) rekey: RekeyPolicy,
    pub(super) unit: Unit,
    pub(super) seed: u64,
}

impl Sealing {
    /// What an end that seals no media needs.
    pub(super) fn without_media(rekey: RekeyPolicy) -> Self {
        Self {
            rekey,
            unit: Unit::Frame,
            seed: 0,
        }
    }
}

/// What is encrypted: as typed or configured, else everything.
pub(super) fn selection(typed: Option<&str>, config: &FileConfig) -> Result<Selection> {
    let text = typed.or(config.publish.encrypt.as_deref());
    text.map_or(Ok(Selection::All), |text| {
        text.parse::<Selection>().map_err(|error| {
            let failure = usage(format!("\"{text}\" says nothing to encrypt"), error.to_string());
            configured(typed.is_some(), failure)
        })
    })
}

/// What is sealed at once: as typed or configured, else a frame.
pub(super) fn unit(typed: Option<&str>, config: &FileConfig) -> Result<Unit> {
    let text = typed.or(config.publish.unit.as_deref());
    text.map_or(Ok(Unit::Frame), |text| {
        text.parse::<Unit>().map_err(|error| {
            let failure = usage(format!("\"{text}\" is no unit to seal"), error.to_string());
            configured(typed.is_some(), failure)
        })
    })
}

/// What was not typed stands in the file or in the environment, and is wrong there.
pub(super) fn configured(typed: bool, mut failure: Failure) -> Failure {
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

/// Within what bounds the bit rate may follow the path. A source that encodes makes no more than its own `bitrate`
/// where no maximum is configured.
pub(super) fn rate(config: &FileConfig) -> Result<RateConfig> {
    let number = |value: Option<std::num::NonZeroU32>| value.map(|value| u64::from(value.get()));
    let publish = &config.publish;
    let (min, bitrate, max) = (
        number(publish.bitrate_min),
        number(publish.bitrate),
        number(publish.bitrate_max),
    );
    let stated = [("bitrate_min", min), ("bitrate", bitrate), ("bitrate_max", max)];
    let stated: Vec<_> = stated
        .into_iter()
        .filter_map(|(key, bits)| Some((key, bits?)))
        .collect();
    if let Some([(low, above), (high, below)]) = stated.array_windows().find(|[low, high]| low.1 > high.1) {
        let what = format!("publish.{low} is {above} bit/s, above publish.{high}, which is {below}");
        return Err(Failure::new(
            FailureKind::Config,
            what,
            "lower the first or raise the second",
        ));
    }
    let defaults = RateConfig::default();
    // A rate that was configured below the default minimum is meant.
    let min = min.unwrap_or_else(|| stated.iter().fold(defaults.min, |min, &(_, bits)| min.min(bits)));
    let max = max.unwrap_or(defaults.max).max(min);
    let start = bitrate.unwrap_or(defaults.start).clamp(min, max);
    Ok(RateConfig {
        min,
        start,
        max,
        ..RateConfig::default()
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
pub(super) fn observe(args: &ObserveArgs, config: &FileConfig) -> Result<ObserveOptions> {
    let meter = config.observe.meter.as_deref().map(str::parse).transpose();
    let meter = meter.map_err(|failure| configured(args.meter.is_some(), failure))?;
    Ok(ObserveOptions {
        report: in_force(args.report.clone(), config.observe.report.as_ref()),
        log_dir: in_force(args.log_dir.clone(), config.observe.log_dir.as_ref()),
        metrics: in_force(args.metrics, config.observe.metrics.as_ref()),
        meter: in_force(args.meter.clone(), meter.as_ref()).unwrap_or_default(),
    })
}

/// What file and environment configure.
pub(super) fn settings(args: &ObserveArgs) -> Result<Settings> {
    Settings::gather(args.config.config.as_deref(), std::env::vars_os())
}

/// Where to listen, as typed.
pub(super) fn listen_url(typed: &str) -> Result<ListenUrl> {
    typed.parse()
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
    selection(None, config)?;
    unit(None, config)?;
    rate(config)?;
    if let Some(listen) = &config.publish.listen {
        listen_url(listen)?;
    }
    if let Some(source) = &config.publish.source {
        source.parse::<crate::source::SourceUrl>()?;
    }
    if config.gateway.has_cameras() {
        super::gateway::configured_cameras(config)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    fn bounds(min: u32, bitrate: u32, max: u32) -> Result<RateConfig> {
        let mut config = FileConfig::default();
        config.publish.bitrate_min = NonZeroU32::new(min);
        config.publish.bitrate = NonZeroU32::new(bitrate);
        config.publish.bitrate_max = NonZeroU32::new(max);
        rate(&config)
    }

    #[test]
    fn bit_rates_that_are_left_out_fit_those_that_are_stated() {
        for (stated, expected) in [
            ((0, 0, 0), (150_000, 2_000_000, 100_000_000)),
            ((300_000, 1_000_000, 4_000_000), (300_000, 1_000_000, 4_000_000)),
            ((0, 80_000, 0), (80_000, 80_000, 100_000_000)),
            ((0, 0, 1_000_000), (150_000, 1_000_000, 1_000_000)),
            ((5_000_000, 0, 0), (5_000_000, 5_000_000, 100_000_000)),
        ] {
            let found = bounds(stated.0, stated.1, stated.2).expect("in order");
            assert_eq!((found.min, found.start, found.max), expected, "{stated:?}");
        }
    }

    #[test]
    fn bit_rates_out_of_order_are_refused_by_name() {
        for (stated, names) in [
            ((2, 1, 0), ["publish.bitrate_min", "publish.bitrate,"]),
            ((0, 2, 1), ["publish.bitrate is", "publish.bitrate_max"]),
            ((2, 0, 1), ["publish.bitrate_min", "publish.bitrate_max"]),
        ] {
            let failure = bounds(stated.0, stated.1, stated.2).expect_err("out of order");
            assert_eq!(failure.kind, FailureKind::Config);
            assert!(names.iter().all(|name| failure.what.contains(name)), "{failure}");
        }
    }
}
