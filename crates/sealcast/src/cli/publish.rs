//! `sealcast publish`.

use std::num::NonZero;

use sealcast_proto::keys::{Identity, Invite, PeerId};
use sealcast_proto::session::Delivery;
use sealcast_proto::unit::Unit;
use sealcast_proto::wire::{Host, Ticket, TransportKind};

use super::args::{PublishArgs, PublisherArgs};
use super::{build, shutdown};
use crate::config::{FileConfig, flag_in_force, in_force};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::{entropy, files};
use crate::meter::metrics::Metrics;
use crate::run::{
    Admission, ControlSocket, Observation, PublishOptions, QueueLimits, RuntimeSettings, Viewers, build_info, publish,
};
use crate::source;
use crate::transport::{ListenUrl, Listener, Mtu};

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
    let publisher = &args.publisher;
    let selection = build::selection(publisher.encrypt.as_deref(), config)?;
    let sealing = publisher_sealing(publisher, config)?;
    let mut offer = build::own_offer(&publisher.offer, sealing, config)?;
    let peer = offer.identity.peer_id();
    let admission = admission(publisher, config)?;

    let control = control_socket(publisher, config)?;
    let metrics = Metrics::new(build_info());
    let (viewers, ticket) = viewers(&args, config, &offer.identity, metrics.clone())?;
    offer.unit = unit_in_force(offer.unit, publisher, config, scheme_of_datagrams(&viewers))?;
    // The ticket is handed out only when there is something to see.
    let source = open_source(source_url.clone()).await?;
    if let Some(ticket) = &ticket {
        hand_out_as_asked(ticket, publisher, config)?;
    }
    let info = source.info();
    let observing = Observation::start("publish", build::observe(&args.observe, config)?, metrics).await?;
    let observation = observing.observation();
    observation.setting("source", &source_url);
    observation.setting("peer", &peer.to_string());
    observation.setting("unit", &offer.unit.to_string());
    seed_in_force(publisher, config).inspect(|seed| observation.setting("encrypt_seed", &seed.to_string()));
    tracing::info!(
        source = %crate::config::secrets::redact(&source_url),
        codec = info.codec.name(),
        size = format!("{}x{}", info.width, info.height),
        "publishing"
    );

    let options = PublishOptions {
        source,
        offer,
        invite: ticket.and_then(|ticket| ticket.invite),
        admission,
        max_viewers: max_viewers(publisher, config),
        queue: queue(&args, config),
        rate,
        viewers,
        settings: RuntimeSettings::new(selection),
        control,
    };
    let outcome = publish(options, observation, shutdown::stop_signal(args.observe.seconds)?).await;
    observing.finish(outcome)
}

/// How an end that publishes seals; what a selection by rate draws from is random unless the user wants it repeated.
pub(super) fn publisher_sealing(args: &PublisherArgs, config: &FileConfig) -> Result<build::Sealing> {
    let seed = seed_in_force(args, config);
    Ok(build::Sealing {
        rekey: build::rekey(args.rekey_seconds, args.rekey_records, config)?,
        unit: build::unit(args.unit.as_deref(), config)?,
        seed: seed.map_or_else(|| entropy::random().map(u64::from_be_bytes), Ok)?,
    })
}

/// What a selection by rate is to draw from, if the user wants it repeated.
pub(super) fn seed_in_force(args: &PublisherArgs, config: &FileConfig) -> Option<u64> {
    in_force(args.encrypt_seed, config.publish.encrypt_seed.as_ref())
}

/// Who is let in.
pub(super) fn admission(args: &PublisherArgs, config: &FileConfig) -> Result<Admission> {
    let allow = in_force(args.allow.clone(), config.publish.allow.as_ref());
    let open = flag_in_force(args.open, config.publish.open);
    build::admission(allow.as_deref(), build::ALLOWED_VIEWERS, open)
}

pub(super) fn max_viewers(args: &PublisherArgs, config: &FileConfig) -> usize {
    let configured = config.publish.max_viewers.map(NonZero::get);
    in_force(args.max_viewers, configured.as_ref()).unwrap_or(build::DEFAULT_MAX_VIEWERS) as usize
}

/// The scheme by which viewers come, if it has datagrams and no frame fits them.
fn scheme_of_datagrams(viewers: &Viewers) -> Option<&'static str> {
    let udp = match viewers {
        Viewers::Listen { listener, .. } => matches!(listener, Listener::Udp(_)),
        Viewers::Connect(ticket) => ticket.transport == TransportKind::Udp,
    };
    udp.then_some("udp")
}

/// The unit that is sealed where the viewers are. A frame does not fit a datagram: who asks for it there is told, and
/// who asks for nothing gets packets.
pub(super) fn unit_in_force(
    unit: Unit,
    args: &PublisherArgs,
    config: &FileConfig,
    datagrams: Option<&str>,
) -> Result<Unit> {
    let Some(scheme) = datagrams.filter(|_| unit == Unit::Frame) else {
        return Ok(unit);
    };
    if args.unit.is_none() && config.publish.unit.is_none() {
        return Ok(Unit::Packet);
    }
    let failure = Failure::new(
        FailureKind::Usage,
        format!("a whole frame cannot be sealed at once over {scheme}://: it does not fit a datagram"),
        "use --unit packet or --unit chunk:N, or tcp://",
    );
    Err(build::configured(args.unit.is_some(), failure))
}

fn queue(args: &PublishArgs, config: &FileConfig) -> QueueLimits {
    let configured = config.publish.queue_frames.map(NonZero::get);
    let frames = in_force(args.queue_frames, configured.as_ref());
    let mut queue = QueueLimits::default();
    queue.frames = frames.map_or(queue.frames, |frames| frames.max(1) as usize);
    queue
}

/// Where commands come in, if the user wants any.
pub(super) fn control_socket(args: &PublisherArgs, config: &FileConfig) -> Result<Option<ControlSocket>> {
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
        .or_else(|| config.publish.to.clone().filter(|_| args.publisher.listen.is_none()));
    if let Some(to) = to {
        return Ok((Viewers::Connect(build::ticket(&to)?), None));
    }
    let (listener, delivery, ticket) = listen(&args.publisher, config, identity, metrics, Mtu::default())?;
    Ok((Viewers::Listen { listener, delivery }, Some(ticket)))
}

/// The socket at which an end that publishes listens, how media is delivered there, and the ticket that leads to it.
/// Datagrams are as `mtu` says where the options do not.
pub(super) fn listen(
    args: &PublisherArgs,
    config: &FileConfig,
    identity: &Identity,
    metrics: Metrics,
    mtu: Mtu,
) -> Result<(Listener, Delivery, Ticket)> {
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
    let delivery = listen.options.delivery(mtu);
    let ticket = ticket_for(&listener, listen, args.host.as_deref(), identity.peer_id(), invite)?;
    Ok((listener, delivery, ticket))
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

/// Print the ticket, or write it, as the end that publishes was asked to.
pub(super) fn hand_out_as_asked(ticket: &Ticket, args: &PublisherArgs, config: &FileConfig) -> Result<()> {
    let file = in_force(args.ticket_file.clone(), config.publish.ticket_file.as_ref());
    hand_out(ticket, file.as_deref())
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
