//! `sealcast gateway camera` and `sealcast gateway viewer`.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::BASE32_NOPAD;
use sealcast_proto::keys::{Role, Wish, WishedMedia};
use sealcast_proto::rtsp::{Credentials, DigestAlgorithm};
use sealcast_proto::session::RekeyPolicy;
use sealcast_proto::unit::Selection;
use zeroize::Zeroizing;

use super::args::{GatewayCameraArgs, GatewayCommand, GatewayViewerArgs};
use super::cameras::{configured, refuse};
use super::hand_out::{Start, TO_SERVE_PLAYERS};
use super::publish::Publishing;
use super::publish_cameras::open_all;
use super::ticket::ticket_in_force;
use super::{build, peers, publish, shutdown};
use crate::config::Settings;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::entropy;
use crate::keys::files::{self, End};
use crate::meter::metrics::Metrics;
use crate::output;
use crate::private_file::{create_folder, read_secret, read_secret_line, write_secret};
use crate::rtsp::RtspOptions;
use crate::run::gateway::{CameraAt, ViewerGatewayOptions, check_selection, players_address, viewer_gateway};
use crate::run::session::ways::Ways;
use crate::run::{
    ControlSocket, DataOptions, Observation, PublishedCamera, RuntimeSettings, Shape, Viewers, build_info, distinct,
    packets_of,
};
use crate::transport::{DEFAULT_LATENCY_MS, Listener, Mtu, NetworkOptions};

/// Command that gives a viewer gateway its ticket.
const TYPED: &str = "sealcast gateway viewer --peer @FILE";
/// User name of players whose password is made here.
const DEFAULT_PLAYER: &str = "player";
/// The file of that password, in the folder of keys.
const PASSWORD_FILE: &str = "password-players";

pub(super) fn run(command: GatewayCommand) -> Result<()> {
    let runtime = shutdown::single_threaded_runtime()?;
    match command {
        GatewayCommand::Camera(args) => runtime.block_on(run_camera(args)),
        GatewayCommand::Viewer(args) => runtime.block_on(run_viewer(args)),
    }
}

async fn run_camera(args: GatewayCameraArgs) -> Result<()> {
    // From here on SIGHUP no longer ends the program.
    let hangups = shutdown::hangups()?;
    let settings = build::settings(&args.session)?;
    let configured = &settings.config.publish;
    build::check_publishing(&settings)?;
    let cameras = published(&args, &settings)?;
    let selection = selection(&settings)?;
    let sealing = publish::publisher_sealing(&settings)?;
    refuse_shape(&settings, sealing.shape)?;
    let publisher = peers::publisher(&settings, End::GatewayCamera)?;
    let mut offer = build::offer_of(&args.session, Arc::clone(&publisher.identity), sealing, &settings)?;
    let admission = peers::viewers(&settings, End::GatewayCamera, &publisher)?;
    let start = Start::of(&settings, &publisher, &admission, TO_SERVE_PLAYERS)?;
    let control = ControlSocket::open(configured.control.as_deref(), publisher.folder())?;
    let metrics = Metrics::new(build_info());
    // Cameras make packets for an MTU of 1500 bytes. A packet that does not fit together with the bytes that sealing
    // adds needs two datagrams.
    let (identity, mtu) = (&offer.identity, Mtu::Auto);
    build::listen_url(&settings)?.without_publishers_options("a gateway")?;
    let advertised = publish::advertised(&settings)?;
    let (listener, delivery, way) = publish::listen(&settings, &advertised, identity, metrics.clone(), mtu)?;
    // QUIC would use one stream per frame, which is too expensive for single packets; use its datagrams.
    let datagrams = match listener {
        Listener::Tcp(_) | Listener::Web(_) | Listener::Relayed(_) => None,
        Listener::Udp(_) => Some("udp"),
        Listener::Quic(_) => Some("quic"),
    };
    offer.unit = publish::unit_in_force(&settings, datagrams)?;
    let ways = Ways::new(Role::Publisher, vec![way]);
    tracing::info!(peer = %offer.identity.peer_id(), cameras = cameras.len(), "camera gateway");
    let end = Publishing {
        kind: "gateway camera",
        args: &args.session,
        settings: &settings,
        source: None,
        control,
        start,
        ways,
        cameras: open_all(cameras).await?,
        packets_alone: Some(RuntimeSettings::new(selection)),
        offer,
        admission: &admission,
        viewers: Viewers::Listen {
            listeners: vec![listener],
            delivery,
            stream_budget: NetworkOptions::default().stream_latency,
        },
        data: DataOptions::default(),
    };
    end.run(metrics, hangups, |now| published(&args, now)).await
}

/// The cameras, to be published.
fn published(args: &GatewayCameraArgs, settings: &Settings) -> Result<Vec<PublishedCamera>> {
    Ok(cameras(args, settings)?.into_iter().map(packets_of).collect())
}

/// A gateway passes on packets as cameras make them, which no constant rate can promise to carry.
fn refuse_shape(settings: &Settings, shape: Shape) -> Result<()> {
    if shape.is_off() {
        return Ok(());
    }
    let what = format!("a gateway cannot send with --shape {shape}: it passes on packets as cameras make them");
    let hint = "publish the camera with `sealcast publish rtsp://…`, or set publish.shape to off";
    Err(settings.placed("publish.shape", Failure::new(FailureKind::Usage, what, hint)))
}

/// The selection of the parts to encrypt; a gateway cannot select by frames or headers.
fn selection(settings: &Settings) -> Result<Selection> {
    let selection = build::selection(settings)?;
    let checked = check_selection(selection).map_err(|why| {
        let what = format!("\"{selection}\" is nothing that a gateway can encrypt");
        settings.placed("publish.encrypt", Failure::new(FailureKind::Usage, what, why))
    });
    checked.map(|()| selection)
}

/// The cameras from the command line, or else from the configuration.
fn cameras(args: &GatewayCameraArgs, settings: &Settings) -> Result<Vec<CameraAt>> {
    if args.cameras.is_empty() {
        return configured_cameras(settings);
    }
    let cameras = args.cameras.iter().map(|camera| camera.parse());
    distinct(cameras.collect::<Result<_>>()?)
}

/// The cameras of a configuration: its sections, or the lines of the file that it names.
pub(super) fn configured_cameras(settings: &Settings) -> Result<Vec<CameraAt>> {
    if let Some(path) = &settings.config.gateway.camera_file {
        return listed(path).map_err(|failure| settings.placed("gateway.camera_file", failure));
    }
    let cameras = configured(settings, |camera, source| {
        let of_publish = [
            ("encrypt", camera.encrypt.is_some()),
            ("group", camera.group.is_some()),
            ("sign", camera.sign.is_some()),
            ("sound", camera.sound.is_some()),
        ];
        refuse(&of_publish, "gateway camera")?;
        CameraAt::check_path(camera.name.as_deref().unwrap_or_default())?;
        RtspOptions::parse(&source.read()?)
    });
    cameras
        .and_then(distinct)
        .map_err(|failure| settings.placed("camera", failure))
}

/// The cameras in a file, one per line.
fn listed(path: &Path) -> Result<Vec<CameraAt>> {
    let text = read_secret(path)?;
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    distinct(lines.map(str::parse).collect::<Result<_>>()?)
}

async fn run_viewer(args: GatewayViewerArgs) -> Result<()> {
    let settings = build::settings(&args.session)?;
    let gateway = &settings.config.gateway;
    let ticket = ticket_in_force(gateway.peer.as_ref(), gateway.peer_file.as_deref(), TYPED)?;
    let login = login(&settings)?;
    let sealing = build::Sealing::without_media(RekeyPolicy::default());
    let mut offer = build::own_offer(&args.session, End::GatewayViewer, sealing, &settings)?;
    offer.wish = Wish::of(WishedMedia::Packets);
    let metrics = Metrics::new(build_info());
    let latency = args.latency.latency.or(ticket.latency).unwrap_or(DEFAULT_LATENCY_MS);
    let rtsp = gateway.rtsp;
    if login.is_none() && !rtsp.ip().is_loopback() {
        tracing::warn!(address = %rtsp, "whoever reaches this address sees the cameras: leave out --rtsp-open");
    }
    let observing = Observation::start("gateway viewer", build::observe(&settings)?, metrics).await?;
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
    let outcome = viewer_gateway(options, observation, shutdown::stop_signal(args.session.time())?).await;
    observing.finish(outcome)
}

/// The login that players need: the configured one, or else one with a password that is kept and printed here.
fn login(settings: &Settings) -> Result<Option<(Credentials, DigestAlgorithm)>> {
    let gateway = &settings.config.gateway;
    let (user, password) = match (&gateway.rtsp_user, &gateway.rtsp_password_file, gateway.rtsp_open) {
        (None, None, true) => return Ok(None),
        (None, None, false) => (DEFAULT_PLAYER, printed_password(gateway.rtsp)?),
        (Some(user), Some(file), false) => (user.as_str(), read_secret_line(file)?),
        (_, _, true) => {
            return Err(Failure::new(
                FailureKind::Usage,
                "players are to need a password, and to need none",
                "give --rtsp-open, or --rtsp-user and --rtsp-password-file",
            ));
        }
        _ => {
            return Err(Failure::new(
                FailureKind::Usage,
                "a user name without a password, or the reverse",
                "give both --rtsp-user and --rtsp-password-file",
            ));
        }
    };
    // MD5 is the only algorithm that all players support.
    Ok(Some((Credentials::new(user, password), DigestAlgorithm::Md5)))
}

/// The password of this account for players, and print the URL that they open.
fn printed_password(rtsp: SocketAddr) -> Result<Zeroizing<String>> {
    let password = kept_password(&files::home()?.join(PASSWORD_FILE))?;
    print_player_url(rtsp, &password);
    Ok(password)
}

/// The password in this file, which is made if it does not exist: players keep the URL. One that cannot be kept holds
/// until the next start.
fn kept_password(file: &Path) -> Result<Zeroizing<String>> {
    if file.exists() {
        return read_secret_line(file);
    }
    let random = Zeroizing::new(entropy::random::<16>()?);
    let mut password = Zeroizing::new(BASE32_NOPAD.encode(&random[..]));
    password.make_ascii_lowercase();
    // At the first start there is no folder of keys yet; whether it can be made is seen by the write.
    let _ = file.parent().map(create_folder);
    match write_secret(file, password.as_bytes()) {
        Ok(()) => Ok(password),
        // Another gateway of this account has made it meanwhile.
        Err(_) if file.exists() => read_secret_line(file),
        Err(failure) => {
            tracing::warn!("players need another password after the next start: {failure}");
            Ok(password)
        }
    }
}

/// Print the URL for players, with its password, for the user's terminal.
fn print_player_url(rtsp: SocketAddr, password: &str) {
    let address = players_address(rtsp);
    // It serves players all the same if nobody reads its output.
    let _ = output::write(&format!("rtsp://{DEFAULT_PLAYER}:{password}@{address}/\n"));
}
