//! Conversion of the command line and the configuration into the program's settings.

use std::io::IsTerminal;
use std::sync::Arc;

use sealcast_proto::keys::{Identity, Mechanism, Wish};
use sealcast_proto::rate::RateConfig;
use sealcast_proto::seal::{Suite, suite};
use sealcast_proto::session::RekeyPolicy;
use sealcast_proto::sign::{NoSignMode, SignMode};
use sealcast_proto::unit::{Selection, Unit};
use sealcast_proto::wire::CameraName;

use super::args::SessionArgs;
use crate::config::{Config, Settings};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::files::{self, End};
use crate::keys::mechanism;
use crate::meter::power::MeterSpec;
use crate::meter::url::MetricsUrl;
use crate::run::{MAX_RELAYS, ObserveOptions, Offer, RelayClient, RelayUrl, Shape};
use crate::transport::{ListenUrl, WebUrl};

/// The names of the recommended suites.
pub(super) fn suite_names() -> Vec<String> {
    suite::RECOMMENDED.iter().map(|suite| suite.name.to_owned()).collect()
}

fn usage(what: String, hint: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Usage, what, hint)
}

/// The suites in the settings.
fn suites(settings: &Settings) -> Result<Vec<Suite>> {
    let known = |name: &String| {
        Suite::by_name(name).ok_or_else(|| {
            usage(
                format!("there is no suite \"{name}\""),
                format!("use {}", suite_names().join(", ")),
            )
        })
    };
    let list: Result<Vec<_>> = settings.config.session.suites.iter().map(known).collect();
    list.and_then(|list| distinct(list, |suite| suite.id))
        .map_err(|failure| settings.placed("session.suites", failure))
}

/// The study suite of a cipher as the only suite, so that the measurement cannot use another one.
#[cfg(feature = "study")]
fn study_suite(cipher: &str) -> Result<Vec<Suite>> {
    use crate::keys::study;
    let suite = study::by_cipher(cipher).ok_or_else(|| {
        let all: Vec<_> = study::STUDY.iter().map(study::cipher).collect();
        usage(
            format!("there is no study suite of a cipher \"{cipher}\""),
            format!("use one of {}", all.join(", ")),
        )
    })?;
    Ok(vec![suite])
}

#[cfg(not(feature = "study"))]
fn study_suite(_cipher: &str) -> Result<Vec<Suite>> {
    Err(usage(
        "this program was built without study suites".to_owned(),
        "build it with `--features study`, or use the laboratory's, which `cargo build --workspace` makes",
    ))
}

/// The suites that an end offers.
pub(super) fn offered_suites(args: &SessionArgs, settings: &Settings) -> Result<Vec<Suite>> {
    match &args.insecure_study_suite {
        Some(cipher) => study_suite(cipher),
        None => suites(settings),
    }
}

/// The mechanisms that an end offers.
pub(super) fn offered_mechanisms(settings: &Settings) -> Result<Vec<Arc<dyn Mechanism>>> {
    let known = |name: &String| {
        mechanism::by_name(name).ok_or_else(|| {
            let all: Vec<_> = mechanism::names().collect();
            usage(
                format!("there is no mechanism \"{name}\""),
                format!("use {}", all.join(", ")),
            )
        })
    };
    let list: Result<Vec<_>> = settings.config.session.mechanisms.iter().map(known).collect();
    list.and_then(|list| distinct(list, |mechanism| mechanism.id()))
        .map_err(|failure| settings.placed("session.mechanisms", failure))
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

/// Identity, suites, mechanisms and epochs of an end without a name. The identity is the configured one, or the end's
/// default one in the user's folder.
pub(super) fn own_offer(args: &SessionArgs, end: End, sealing: Sealing, settings: &Settings) -> Result<Offer> {
    // An identity is made only by a command that is right.
    offered_suites(args, settings)?;
    offered_mechanisms(settings)?;
    observe(settings)?;
    let file = settings.config.identity.file.as_deref();
    offer_of(
        args,
        Arc::new(files::identity_or_default(file, end)?),
        sealing,
        settings,
    )
}

/// Say that a suite of the laboratory protects nothing, if one is used.
pub(super) fn warn_of_study(args: &SessionArgs, suites: &[Suite]) {
    if args.insecure_study_suite.is_some() {
        let suite = suites.first().map(|suite| suite.name);
        tracing::warn!(suite, "INSECURE: this session's media is for measurements only");
    }
}

/// As [`own_offer`], for this identity.
pub(super) fn offer_of(
    args: &SessionArgs,
    identity: Arc<Identity>,
    sealing: Sealing,
    settings: &Settings,
) -> Result<Offer> {
    let suites = offered_suites(args, settings)?;
    warn_of_study(args, &suites);
    Ok(Offer {
        known: super::peers::known(&identity.peer_id()),
        identity,
        suites,
        mechanisms: offered_mechanisms(settings)?,
        rekey: sealing.rekey,
        unit: sealing.unit,
        selection_seed: sealing.seed,
        shape: sealing.shape,
        group: None,
        wish: Wish::default(),
        attended: args.seconds.is_some() || std::io::stderr().is_terminal(),
    })
}

/// The camera that a viewer wants, by its name; no name for the one that the publisher gives to who names none.
pub(super) fn wished_camera(settings: &Settings) -> Result<CameraName> {
    let name = settings.config.watch.camera.as_deref().unwrap_or_default();
    CameraName::new(name).ok_or_else(|| {
        let failure = usage(
            "no camera can have that name".to_owned(),
            "`sealcast cameras TICKET` shows their names".to_owned(),
        );
        settings.placed("watch.camera", failure)
    })
}

/// Mode of signing with this name.
pub(super) fn sign_mode(settings: &Settings, key: &'static str, name: &str) -> Result<SignMode> {
    name.parse().map_err(|error: NoSignMode| {
        let failure = usage(format!("\"{name}\" does not say what is signed"), error.to_string());
        settings.placed(key, failure)
    })
}

/// The relays that an option names.
pub(super) fn relays(settings: &Settings, key: &'static str, urls: &[String]) -> Result<Vec<RelayUrl>> {
    let place = |failure| settings.placed(key, failure);
    if urls.len() > MAX_RELAYS {
        let what = format!("there are {} relays, and at most {MAX_RELAYS} are used", urls.len());
        return Err(place(usage(what, "name fewer of them")));
    }
    urls.iter().map(|url| url.parse().map_err(place)).collect()
}

/// Says that the program for relays is missing before anything is printed or bound.
pub(super) fn check_relay_client(relays: &[RelayUrl]) -> Result<()> {
    match relays.is_empty() {
        true => Ok(()),
        false => RelayClient::check_installed(),
    }
}

/// The sealing parameters of a session: its epochs, its unit, and the seed of a selection by rate.
pub(super) struct Sealing {
    pub(super) rekey: RekeyPolicy,
    pub(super) unit: Unit,
    pub(super) seed: u64,
    pub(super) shape: Shape,
}

impl Sealing {
    /// The parameters of an end that seals no media.
    pub(super) fn without_media(rekey: RekeyPolicy) -> Self {
        Self {
            rekey,
            unit: Unit::Frame,
            seed: 0,
            shape: Shape::Off,
        }
    }
}

/// The selection of the parts to encrypt.
pub(super) fn selection(settings: &Settings) -> Result<Selection> {
    let text = &settings.config.publish.encrypt;
    text.parse::<Selection>().map_err(|error| {
        let failure = usage(format!("\"{text}\" does not say what to encrypt"), error.to_string());
        settings.placed("publish.encrypt", failure)
    })
}

/// The shape of a publisher's traffic.
pub(super) fn shape(settings: &Settings) -> Result<Shape> {
    let shape: Shape = settings
        .config
        .publish
        .shape
        .parse()
        .map_err(|failure| settings.placed("publish.shape", failure))?;
    if !shape.is_off() && selection(settings)? != Selection::All {
        let failure = usage(
            format!(
                "--shape {shape} hides sizes and times, and --encrypt {} shows pictures",
                settings.config.publish.encrypt
            ),
            "leave one of them out",
        );
        return Err(settings.placed("publish.shape", failure));
    }
    Ok(shape)
}

/// Checks that a shape fits the carrier.
pub(super) fn check_carrier(settings: &Settings, shape: Shape, quic: bool) -> Result<()> {
    if shape.cells().is_none() || !quic {
        return Ok(());
    }
    let failure = usage(
        format!("--shape {shape} is not possible over quic://, whose packets have times and sizes of their own"),
        "use tcp:// or udp://",
    );
    Err(settings.placed("publish.shape", failure))
}

/// The unit of sealing, if the user has set one.
pub(super) fn unit(settings: &Settings) -> Result<Option<Unit>> {
    let Some(text) = &settings.config.publish.unit else {
        return Ok(None);
    };
    text.parse::<Unit>().map(Some).map_err(|error| {
        let failure = usage(format!("\"{text}\" is no unit to seal"), error.to_string());
        settings.placed("publish.unit", failure)
    })
}

/// The limits after which an epoch ends.
pub(super) fn rekey(settings: &Settings) -> Result<RekeyPolicy> {
    let publish = &settings.config.publish;
    let (length, records) = (publish.rekey_seconds, publish.rekey_records);
    RekeyPolicy::new(records, length.0).ok_or_else(|| {
        let what = format!("new keys cannot come after {length} or {records} records");
        let failure = usage(what, "choose 1 to 600 s and 16 to 1048576 records");
        let wrong = match (1..=600).contains(&length.0.as_secs()) {
            true => "publish.rekey_records",
            false => "publish.rekey_seconds",
        };
        settings.placed(wrong, failure)
    })
}

/// The bounds of the bit rate. If no maximum is configured, a source that encodes does not exceed its own `bitrate`.
pub(super) fn rate(config: &Config) -> Result<RateConfig> {
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
    // A configured rate below the default minimum lowers that minimum.
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

/// The observations requested by the user.
pub(super) fn observe(settings: &Settings) -> Result<ObserveOptions> {
    let observe = &settings.config.observe;
    Ok(ObserveOptions {
        report: observe.report.clone(),
        log_dir: observe.log_dir.clone(),
        metrics: metrics(settings)?,
        meter: meter(settings)?,
    })
}

/// Address at which metrics are served. Within TLS without a certificate of their own they have that of the page.
fn metrics(settings: &Settings) -> Result<Option<MetricsUrl>> {
    let Some(mut url) = settings.config.observe.metrics.clone() else {
        return Ok(None);
    };
    url.check()
        .map_err(|failure| settings.placed("observe.metrics", failure))?;
    if url.tls && url.certificate.is_none() {
        let page = settings.config.publish.web.as_deref().map(str::parse::<WebUrl>);
        url.certificate = page.and_then(Result::ok).and_then(|page| page.certificate);
    }
    Ok(Some(url))
}

fn meter(settings: &Settings) -> Result<MeterSpec> {
    let meter = settings.config.observe.meter.parse();
    meter.map_err(|failure| settings.placed("observe.meter", failure))
}

/// The settings from file, environment and flags.
pub(super) fn settings(args: &SessionArgs) -> Result<Settings> {
    Settings::gather(args.config.config.as_deref(), std::env::vars_os(), args.flags.values())
}

/// The address at which a publishing end listens for viewers.
pub(super) fn listen_url(settings: &Settings) -> Result<ListenUrl> {
    let url = settings.config.publish.listen.parse();
    url.map_err(|failure| settings.placed("publish.listen", failure))
}

/// Checks what a publishing end was told, before it makes or binds anything.
pub(super) fn check_publishing(settings: &Settings) -> Result<()> {
    let publish = &settings.config.publish;
    suites(settings)?;
    offered_mechanisms(settings)?;
    rekey(settings)?;
    selection(settings)?;
    shape(settings)?;
    unit(settings)?;
    rate(&settings.config)?;
    meter(settings)?;
    metrics(settings)?;
    listen_url(settings)?;
    for url in &publish.also_listen {
        let url = url.parse::<ListenUrl>();
        url.map_err(|failure| settings.placed("publish.also_listen", failure))?;
    }
    if let Some(web) = &publish.web {
        let web = web.parse::<WebUrl>();
        web.map_err(|failure| settings.placed("publish.web", failure))?;
    }
    relays(settings, "publish.relay", &publish.relay)?;
    sign_mode(settings, "publish.sign", &publish.sign)?;
    super::peers::invite_terms(settings).map(drop)
}

/// Check a configuration beyond its syntax and types.
pub(super) fn check(settings: &Settings) -> Result<()> {
    let config = &settings.config;
    check_publishing(settings)?;
    super::peers::name_of(settings, End::Publisher)?;
    super::cameras::check(settings)?;
    if let Some(archive) = &config.record.archive {
        let archive = crate::archive::Keeping::parse(archive);
        archive.map_err(|failure| settings.placed("record.archive", failure))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    fn bounds(min: u32, bitrate: u32, max: u32) -> Result<RateConfig> {
        let mut config = Config::default();
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

    #[test]
    fn the_defaults_are_the_recommended_suites_and_the_default_mechanisms() {
        let session = Config::default().session;
        assert_eq!(session.suites, suite_names());
        assert_eq!(session.mechanisms, mechanism::DEFAULT);
        assert_eq!(
            mechanism::DEFAULT,
            ["x25519-mlkem768"],
            "a hybrid that holds against quantum computers"
        );
        check(&Settings::default()).expect("the defaults are valid");
    }
}
