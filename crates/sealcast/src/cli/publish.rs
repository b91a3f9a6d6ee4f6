//! `sealcast publish`.

use std::num::NonZero;

use sealcast_proto::keys::{Identity, Invite, PeerId};
use sealcast_proto::unit::Unit;
use sealcast_proto::wire::{Host, Ticket, TransportKind};

use super::args::PublishArgs;
use super::{build, shutdown};
use crate::config::{FileConfig, flag_in_force, in_force};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::{entropy, files};
use crate::meter::metrics::Metrics;
use crate::run::{ControlSocket, Observation, PublishOptions, QueueLimits, Steering, Viewers, build_info, publish};
use crate::source;
use crate::transport::{ListenUrl, Listener};

pub(super) fn run(args: PublishArgs) -> Result<()> {
    shutdown::runtime()?.block_on(run_async(args))
}

async fn run_async(args: PublishArgs) -> Result<()> {
    let settings = build::settings(&args.observe)?;
    let config = &settings.config;
    let source_url = source_url(&args, config)?;
    // What cannot be a source is said before anything is made or bound.
    source_url.parse::<source::SourceUrl>()?;
    let rate = build::rate(config)?;
    let selection = build::selection(args.encrypt.as_deref(), config)?;
    let seed = in_force(args.encrypt_seed, config.publish.encrypt_seed.as_ref());
    let sealing = sealing(&args, config, seed)?;
    let unit = sealing.unit;
    let identity = in_force(args.offer.identity.clone(), config.identity.file.as_ref());
    let identity = files::identity_or_default(identity.as_deref())?;
    let peer = identity.peer_id();
    let offer = build::offer(
        identity,
        args.offer.suites.clone(),
        args.offer.mechanisms.clone(),
        sealing,
        config,
    )?;
    let open = flag_in_force(args.open, config.publish.open);
    let admission = build::admission(
        in_force(args.allow.clone(), config.publish.allow.as_ref()).as_deref(),
        build::ALLOWED_VIEWERS,
        open,
    )?;

    let control = control_socket(&args, config)?;
    let metrics = Metrics::new(build_info());
    let (viewers, ticket) = viewers(&args, config, &offer.identity, metrics.clone())?;
    let unit = unit_in_force(unit, args.unit.as_deref(), config, &viewers)?;
    // The ticket is handed out only when there is something to see.
    let source = open_source(source_url.clone()).await?;
    if let Some(ticket) = &ticket {
        let file = in_force(args.ticket_file.clone(), config.publish.ticket_file.as_ref());
        hand_out(ticket, file.as_deref())?;
    }
    let info = source.info();
    let observing = Observation::start("publish", build::observe(&args.observe, config), metrics).await?;
    let observation = observing.observation();
    observation.setting("source", &source_url);
    observation.setting("peer", &peer.to_string());
    observation.setting("unit", &unit.to_string());
    seed.inspect(|seed| observation.setting("encrypt_seed", &seed.to_string()));
    tracing::info!(
        source = %crate::config::secrets::redact(&source_url),
        codec = info.codec.name(),
        size = format!("{}x{}", info.width, info.height),
        "publishing"
    );

    let max_viewers = in_force(args.max_viewers, config.publish.max_viewers.map(NonZero::get).as_ref());
    let options = PublishOptions {
        source,
        offer,
        invite: ticket.and_then(|ticket| ticket.invite),
        admission,
        max_viewers: max_viewers.unwrap_or(build::DEFAULT_MAX_VIEWERS) as usize,
        queue: queue(&args, config),
        rate,
        viewers,
        steering: Steering::new(selection),
        control,
    };
    let outcome = publish(options, observation, shutdown::stop_signal(args.observe.seconds)?).await;
    observing.finish(outcome)
}

/// How sessions seal; what a selection by rate draws from is random unless the user wants it repeated.
fn sealing(args: &PublishArgs, config: &FileConfig, seed: Option<u64>) -> Result<build::Sealing> {
    Ok(build::Sealing {
        rekey: build::rekey(args.rekey_seconds, args.rekey_records, config)?,
        unit: build::unit(args.unit.as_deref(), config)?,
        seed: seed.map_or_else(|| entropy::random().map(u64::from_be_bytes), Ok)?,
    })
}

/// The unit that is sealed where the viewers are. A frame does not fit a datagram: who asks for it there is told, and
/// who asks for nothing gets packets.
fn unit_in_force(unit: Unit, typed: Option<&str>, config: &FileConfig, viewers: &Viewers) -> Result<Unit> {
    let datagrams = match viewers {
        Viewers::Listen { listener, .. } => matches!(listener, Listener::Udp(_)),
        Viewers::Connect(ticket) => ticket.transport == TransportKind::Udp,
    };
    if !datagrams || unit != Unit::Frame {
        return Ok(unit);
    }
    if typed.is_none() && config.publish.unit.is_none() {
        return Ok(Unit::Packet);
    }
    let failure = Failure::new(
        FailureKind::Usage,
        "a whole frame cannot be sealed at once over udp://: it does not fit a datagram",
        "use --unit packet or --unit chunk:N, or tcp:// or quic://",
    );
    Err(build::configured(typed.is_some(), failure))
}

fn queue(args: &PublishArgs, config: &FileConfig) -> QueueLimits {
    let configured = config.publish.queue_frames.map(NonZero::get);
    let frames = in_force(args.queue_frames, configured.as_ref());
    let mut queue = QueueLimits::default();
    queue.frames = frames.map_or(queue.frames, |frames| frames.max(1) as usize);
    queue
}

fn control_socket(args: &PublishArgs, config: &FileConfig) -> Result<Option<ControlSocket>> {
    let path = in_force(args.control.clone(), config.publish.control.as_ref());
    path.as_deref().map(ControlSocket::bind).transpose()
}

fn source_url(args: &PublishArgs, config: &FileConfig) -> Result<String> {
    if let Some(url) = in_force(args.source.clone(), config.publish.source.as_ref()) {
        return Ok(with_bitrate(url, config));
    }
    match &config.publish.source_file {
        Some(path) => Ok(files::read_secret(path)?
            .lines()
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()),
        None => Err(Failure::new(
            FailureKind::Usage,
            "there is no source to publish",
            format!("name one: {}", source::SOURCE_URLS),
        )),
    }
}

/// The configured bit rates go to sources that are encoded here, unless their URL says its own.
fn with_bitrate(mut url: String, config: &FileConfig) -> String {
    if !url.starts_with("test:") {
        return url;
    }
    let publish = &config.publish;
    for (key, value) in [("bitrate", publish.bitrate), ("bitrate_max", publish.bitrate_max)] {
        if let Some(bits) = value.filter(|_| !url.contains(&format!("{key}="))) {
            let join = if url.contains('?') { '&' } else { '?' };
            url = format!("{url}{join}{key}={bits}");
        }
    }
    url
}

/// Open the source on a thread that may wait for it.
async fn open_source(url: String) -> Result<Box<dyn source::Source>> {
    tokio::task::spawn_blocking(move || source::open(&url))
        .await
        .map_err(|error| {
            Failure::new(
                FailureKind::Internal,
                format!("opening the source failed ({error})"),
                "please report this",
            )
        })?
}

/// Where viewers come from, and the ticket that lets them in where they come to us.
fn viewers(
    args: &PublishArgs,
    config: &FileConfig,
    identity: &Identity,
    metrics: Metrics,
) -> Result<(Viewers, Option<Ticket>)> {
    let to = args
        .to
        .clone()
        .or_else(|| config.publish.to.clone().filter(|_| args.listen.is_none()));
    if let Some(to) = to {
        return Ok((Viewers::Connect(build::ticket(&to)?), None));
    }
    let listen = in_force(args.listen.clone(), config.publish.listen.as_ref());
    let listen = build::listen_url(listen.as_deref().unwrap_or(build::DEFAULT_LISTEN))
        .map_err(|failure| build::configured(args.listen.is_some(), failure))?;
    let wants_invite = !args.no_invite && config.publish.invite.unwrap_or(true);
    let invite = if wants_invite {
        Some(Invite::new(entropy::random()?))
    } else {
        None
    };
    let listener = Listener::bind(&listen, identity, metrics)?;
    let ticket = ticket_for(&listener, listen, args.host.as_deref(), identity.peer_id(), invite)?;
    let delivery = listen.options.delivery();
    Ok((Viewers::Listen { listener, delivery }, Some(ticket)))
}

/// The ticket of a listening end.
pub(super) fn ticket_for(
    listener: &Listener,
    listen: ListenUrl,
    host: Option<&str>,
    peer: PeerId,
    invite: Option<Invite>,
) -> Result<Ticket> {
    let mut ticket = listen.ticket(listener.local_address()?, peer, invite);
    if let Some(host) = host {
        ticket.host = Host::Name(host.to_owned());
    }
    // Read back what will be printed: a host that was typed wrong shows here and not at the viewer.
    ticket.reveal().parse::<Ticket>().map_err(|error| {
        Failure::new(
            FailureKind::Usage,
            format!("no ticket can be made: {error}"),
            "check --host",
        )
    })
}

/// Print the ticket, or write it where only its owner can read it.
pub(super) fn hand_out(ticket: &Ticket, file: Option<&std::path::Path>) -> Result<()> {
    let line = ticket.reveal() + "\n";
    match file {
        Some(path) => {
            files::write_secret(path, line.as_bytes())?;
            tracing::info!(file = %path.display(), "the ticket is written");
        }
        None => print!("{line}"),
    }
    Ok(())
}
