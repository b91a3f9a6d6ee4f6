//! `sealcast gateway camera` and `sealcast gateway viewer`.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use sealcast_proto::rtsp::{Credentials, DigestAlgorithm};
use sealcast_proto::session::RekeyPolicy;
use sealcast_proto::unit::Selection;
use zeroize::Zeroizing;

use super::args::{GatewayCameraArgs, GatewayCommand, GatewayViewerArgs, PublisherArgs};
use super::{build, publish, shutdown, watch};
use crate::config::{FileConfig, in_force, list_in_force};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::files;
use crate::meter::metrics::Metrics;
use crate::run::gateway::{
    CameraAt, CameraGatewayOptions, ViewerGatewayOptions, camera_gateway, check_selection, viewer_gateway,
};
use crate::run::{Observation, Steering, build_info};
use crate::transport::{DEFAULT_LATENCY_MS, Listener};

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
    let (listener, delivery, ticket) = publish::listen(publisher, config, &offer.identity, metrics.clone())?;
    // Over QUIC a frame has a stream of its own, which is too much for a packet.
    let datagrams = match listener {
        Listener::Tcp(_) => None,
        Listener::Udp(_) => Some("udp"),
        Listener::Quic(_) => Some("quic"),
    };
    offer.unit = publish::unit_in_force(offer.unit, publisher, config, datagrams)?;
    publish::hand_out_as_asked(&ticket, publisher, config)?;
    let observing = Observation::start("gateway camera", build::observe(&args.observe, config), metrics).await?;
    let observation = observing.observation();
    let peer = offer.identity.peer_id();
    observation.setting("peer", &peer.to_string());
    observation.setting("unit", &offer.unit.to_string());
    publish::seed_in_force(publisher, config).inspect(|seed| observation.setting("encrypt_seed", &seed.to_string()));
    tracing::info!(%peer, cameras = cameras.len(), "camera gateway");
    let options = CameraGatewayOptions {
        cameras,
        offer,
        invite: ticket.invite,
        admission,
        max_viewers: publish::max_viewers(publisher, config),
        listener,
        delivery,
        steering: Steering::new(selection),
        control,
    };
    let outcome = camera_gateway(options, observation, shutdown::stop_signal(args.observe.seconds)?).await;
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

/// The cameras as typed, or as configured.
fn cameras(args: &GatewayCameraArgs, config: &FileConfig) -> Result<Vec<CameraAt>> {
    let typed = !args.cameras.is_empty();
    let file = in_force(args.camera_file.clone(), config.gateway.camera_file.as_ref()).filter(|_| !typed);
    let text;
    let named = list_in_force(args.cameras.clone(), config.gateway.cameras.as_ref());
    let lines: Vec<&str> = match &file {
        Some(path) => {
            text = files::read_secret(path)?;
            let lines = text.lines().map(str::trim);
            lines
                .filter(|line| !line.is_empty() && !line.starts_with('#'))
                .collect()
        }
        None => named.iter().map(String::as_str).collect(),
    };
    if lines.is_empty() {
        return Err(Failure::new(
            FailureKind::Usage,
            "there is no camera",
            "name one: --camera rtsp://HOST/PATH, or --camera-file FILE for one with a password",
        ));
    }
    let parsed: Result<Vec<CameraAt>> = lines.into_iter().map(str::parse).collect();
    parsed.map_err(|failure| build::configured(typed, failure))
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
    let observing = Observation::start("gateway viewer", build::observe(&args.observe, config), metrics).await?;
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
