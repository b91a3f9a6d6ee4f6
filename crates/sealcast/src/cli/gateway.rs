//! `sealcast gateway camera` and `sealcast gateway viewer`.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use sealcast_proto::keys::PeerId;
use sealcast_proto::rtsp::{Credentials, DigestAlgorithm};
use sealcast_proto::session::RekeyPolicy;
use sealcast_proto::unit::Selection;
use tokio::signal::unix::Signal;
use tokio::sync::mpsc;
use zeroize::Zeroizing;

use super::args::{GatewayCameraArgs, GatewayCommand, GatewayViewerArgs, PublisherArgs};
use super::{build, publish, shutdown, watch};
use crate::config::camera::{self as config, Allow};
use crate::config::{FileConfig, in_force};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::allow::AllowList;
use crate::keys::files;
use crate::meter::metrics::Metrics;
use crate::run::gateway::{
    CameraAt, CameraGatewayOptions, Cameras, Renewal, ViewerGatewayOptions, camera_gateway, check_selection,
    viewer_gateway,
};
use crate::run::{Observation, RuntimeSettings, build_info};
use crate::source::rtsp::RtspOptions;
use crate::transport::{DEFAULT_LATENCY_MS, Listener, Mtu};

/// Where players are served by default.
const DEFAULT_RTSP: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9554);

pub(super) fn run(command: GatewayCommand) -> Result<()> {
    let runtime = shutdown::single_threaded_runtime()?;
    match command {
        GatewayCommand::Camera(args) => runtime.block_on(run_camera(args)),
        GatewayCommand::Viewer(args) => runtime.block_on(run_viewer(args)),
    }
}

async fn run_camera(args: GatewayCameraArgs) -> Result<()> {
    // From here on the signal does not end the program.
    let hangups = shutdown::hangups()?;
    let settings = build::settings(&args.observe)?;
    let config = &settings.config;
    let cameras = cameras(&args, config)?;
    let publisher = &args.publisher;
    let selection = selection(publisher, config)?;
    let sealing = publish::publisher_sealing(publisher, config)?;
    let mut offer = build::own_offer(&publisher.offer, sealing, config)?;
    let admission = publish::admission(publisher, config)?;
    let control = publish::control_socket(publisher, config)?;
    let metrics = Metrics::new(build_info());
    // Cameras make packets for paths of 1500 bytes: where one does not fit with what sealing adds, two have to leave.
    let (identity, mtu) = (&offer.identity, Mtu::Auto);
    let (listener, delivery, ticket) = publish::listen(publisher, config, identity, metrics.clone(), mtu)?;
    // Over QUIC a frame has a stream of its own, which is too much for a packet.
    let datagrams = match listener {
        Listener::Tcp(_) => None,
        Listener::Udp(_) => Some("udp"),
        Listener::Quic(_) => Some("quic"),
    };
    offer.unit = publish::unit_in_force(offer.unit, publisher, config, datagrams)?;
    publish::hand_out_as_asked(&ticket, publisher, config)?;
    let observing = Observation::start("gateway camera", build::observe(&args.observe, config)?, metrics).await?;
    let observation = observing.observation();
    let peer = offer.identity.peer_id();
    observation.setting("peer", &peer.to_string());
    observation.setting("unit", &offer.unit.to_string());
    publish::seed_in_force(publisher, config).inspect(|seed| observation.setting("encrypt_seed", &seed.to_string()));
    tracing::info!(%peer, cameras = cameras.count(), "camera gateway");
    let (renew, renewals) = mpsc::channel(1);
    let options = CameraGatewayOptions {
        cameras,
        offer,
        invite: ticket.invite,
        admission,
        max_viewers: publish::max_viewers(publisher, config),
        listener,
        delivery,
        settings: RuntimeSettings::new(selection),
        control,
        renewals,
    };
    let stop = shutdown::stop_signal(args.observe.seconds)?;
    let outcome = tokio::select! {
        outcome = camera_gateway(options, observation, stop) => outcome,
        never = read_again(&args, config, hangups, renew) => match never {},
    };
    observing.finish(outcome)
}

/// What is encrypted of packets that nobody here reads.
fn selection(args: &PublisherArgs, config: &FileConfig) -> Result<Selection> {
    let selection = build::selection(args.encrypt.as_deref(), config)?;
    let checked = check_selection(selection).map_err(|why| {
        let what = format!("\"{selection}\" is nothing that a gateway can encrypt");
        build::configured(args.encrypt.is_some(), Failure::new(FailureKind::Usage, what, why))
    });
    checked.map(|()| selection)
}

/// Read cameras and allow lists again whenever that is asked for. What cannot be used changes nothing.
async fn read_again(
    args: &GatewayCameraArgs,
    first: &FileConfig,
    mut hangups: Signal,
    renew: mpsc::Sender<Renewal>,
) -> Infallible {
    loop {
        if hangups.recv().await.is_none() {
            return std::future::pending().await;
        }
        match renewal(args, first) {
            // The gateway is ending if it takes nothing.
            Ok(renewal) => drop(renew.send(renewal).await),
            Err(failure) => tracing::error!("everything stays as it was: {failure}"),
        }
    }
}

fn renewal(args: &GatewayCameraArgs, first: &FileConfig) -> Result<Renewal> {
    let config = build::settings(&args.observe)?.config;
    let renewal = Renewal {
        cameras: cameras(args, &config)?,
        admission: publish::admission(&args.publisher, &config)?,
    };
    if fixed(config) != fixed(first.clone()) {
        tracing::warn!("other settings than cameras and who is let in have changed: they wait for a restart");
    }
    Ok(renewal)
}

/// What of a configuration holds as long as the program runs.
fn fixed(mut config: FileConfig) -> FileConfig {
    (config.gateway.camera, config.gateway.camera_file) = Default::default();
    (config.publish.allow, config.publish.open) = Default::default();
    config
}

/// The cameras as typed, or as configured.
fn cameras(args: &GatewayCameraArgs, config: &FileConfig) -> Result<Cameras> {
    if !args.cameras.is_empty() {
        return Cameras::new(
            args.cameras
                .iter()
                .map(|camera| camera.parse())
                .collect::<Result<_>>()?,
        );
    }
    match &args.camera_file {
        Some(path) => listed(path),
        None if config.gateway.has_cameras() => {
            configured_cameras(config).map_err(|failure| build::configured(false, failure))
        }
        None => Cameras::new(Vec::new()),
    }
}

/// The cameras of a configuration: its sections, or the lines of the file that it names.
pub(super) fn configured_cameras(config: &FileConfig) -> Result<Cameras> {
    match &config.gateway.camera_file {
        Some(path) => listed(path),
        None => {
            let named = |camera: &config::Camera| {
                section(camera).map_err(|mut failure| {
                    let path = camera.path.as_deref().unwrap_or("every path");
                    failure.what = format!("the camera at {path}: {}", failure.what);
                    failure
                })
            };
            Cameras::new(config.gateway.camera.iter().map(named).collect::<Result<_>>()?)
        }
    }
}

/// The cameras of a file, one in each line.
fn listed(path: &Path) -> Result<Cameras> {
    let text = files::read_secret(path)?;
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    Cameras::new(lines.map(str::parse).collect::<Result<_>>()?)
}

/// The camera of a section.
fn section(camera: &config::Camera) -> Result<CameraAt> {
    let secret = camera.url_file.as_deref().map(files::read_secret).transpose()?;
    let url = match (&camera.url, &secret) {
        (Some(url), _) => url,
        (None, Some(text)) => text.lines().next().unwrap_or_default().trim(),
        (None, None) => "",
    };
    let options = RtspOptions::parse(url)?.with(camera.transport, camera.fingerprint)?;
    let allow = match &camera.allow {
        None => None,
        Some(Allow::File(path)) => Some(AllowList::read(path)?),
        Some(Allow::Peers(peers)) => Some(AllowList::of(peers.iter().map(peer).collect::<Result<Vec<_>>>()?)),
    };
    CameraAt::new(camera.path.as_deref(), options, allow)
}

fn peer(text: &String) -> Result<PeerId> {
    PeerId::parse(text).ok_or_else(|| {
        let what = format!("\"{text}\" in the allow list of a camera is no peer id");
        Failure::new(FailureKind::Config, what, "write it as `sealcast keygen` prints it")
    })
}

async fn run_viewer(args: GatewayViewerArgs) -> Result<()> {
    let settings = build::settings(&args.observe)?;
    let config = &settings.config;
    let gateway = &config.gateway;
    let ticket = watch::ticket_in_force(args.peer.as_ref(), gateway.peer.as_ref(), gateway.peer_file.as_deref())?;
    let ticket = build::ticket(&ticket)?;
    let login = login(&args, config)?;
    let offer = build::own_offer(
        &args.offer,
        build::Sealing::without_media(RekeyPolicy::default()),
        config,
    )?;
    let metrics = Metrics::new(build_info());
    let latency = args.latency.or(ticket.latency).unwrap_or(DEFAULT_LATENCY_MS);
    let rtsp = in_force(args.rtsp, gateway.rtsp.as_ref()).unwrap_or(DEFAULT_RTSP);
    if login.is_none() && !rtsp.ip().is_loopback() {
        tracing::warn!(address = %rtsp, "whoever reaches this address sees the cameras: set --rtsp-user");
    }
    let observing = Observation::start("gateway viewer", build::observe(&args.observe, config)?, metrics).await?;
    let observation = observing.observation();
    let peer = offer.identity.peer_id();
    observation.setting("peer", &peer.to_string());
    observation.setting("rtsp", &rtsp.to_string());
    tracing::info!(%peer, "viewer gateway");
    let options = ViewerGatewayOptions {
        ticket,
        offer,
        budget: Duration::from_millis(latency.into()),
        rtsp,
        login,
    };
    let outcome = viewer_gateway(options, observation, shutdown::stop_signal(args.observe.seconds)?).await;
    observing.finish(outcome)
}

/// What players must give, if anything.
fn login(args: &GatewayViewerArgs, config: &FileConfig) -> Result<Option<(Credentials, DigestAlgorithm)>> {
    let user = in_force(args.rtsp_user.clone(), config.gateway.rtsp_user.as_ref());
    let file = in_force(
        args.rtsp_password_file.clone(),
        config.gateway.rtsp_password_file.as_ref(),
    );
    match (user, file) {
        (None, None) => Ok(None),
        (Some(user), Some(file)) => {
            let text = files::read_secret(&file)?;
            let password = text.lines().next().unwrap_or_default().to_owned();
            // The only one that all players know.
            let algorithm = DigestAlgorithm::Md5;
            Ok(Some((Credentials::new(user, Zeroizing::new(password)), algorithm)))
        }
        _ => Err(Failure::new(
            FailureKind::Usage,
            "a user name without a password, or the reverse",
            "give both --rtsp-user and --rtsp-password-file",
        )),
    }
}
