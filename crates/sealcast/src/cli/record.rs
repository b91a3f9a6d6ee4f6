//! `sealcast archive record`.

use std::time::Instant;

use sealcast_proto::session::{GroupPolicy, OpenedBy, RekeyPolicy};
use sealcast_proto::sign::SignMode;
use sealcast_proto::wire::TransportKind;

use super::args::RecordArgs;
use super::ticket::ticket_in_force;
use super::{build, shutdown};
use crate::archive::{Keeping, NodeArchive};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::files::End;
use crate::meter::metrics::Metrics;
use crate::platform::service_manager;
use crate::run::{Observation, RecordOptions, RelayUrl, build_info, record};

/// Command that gives an archive's node its ticket.
const TYPED: &str = "sealcast archive record @FILE DIR";

pub(super) fn run(args: &RecordArgs) -> Result<()> {
    shutdown::single_threaded_runtime()?.block_on(run_async(args))
}

async fn run_async(args: &RecordArgs) -> Result<()> {
    let settings = build::settings(&args.session)?;
    let configured = &settings.config.record;
    let mut ticket = ticket_in_force(configured.ticket.as_ref(), configured.ticket_file.as_deref(), TYPED)?;
    let sealing = build::Sealing::without_media(RekeyPolicy::default());
    let mut offer = build::own_offer(&args.session, End::Archive, sealing, &settings)?;
    offer.wish.camera = build::wished_camera(&settings)?;
    // What is signed is for those who open it.
    offer.join_groups(GroupPolicy {
        sign: SignMode::Off,
        opened_by: OpenedBy::Program,
    });
    let peer = offer.identity.peer_id();
    // Before anything can fail: the camera must be told of this id first.
    tracing::info!(%peer, "archive's node");
    if matches!(ticket.transport, TransportKind::Http | TransportKind::Https) {
        let what = "an archive's node records over TCP, UDP and QUIC, and through relays, and not from a page";
        let hint = "use one of the camera's tickets for these, such as that of --also-listen tcp://…";
        return Err(Failure::new(FailureKind::Usage, what, hint));
    }
    // The camera admits it by its id, and an invite would make it a viewer.
    ticket.invite = None;
    let Some(into) = &configured.archive else {
        let hint = "name a folder: `sealcast archive record TICKET DIR`";
        return Err(Failure::new(
            FailureKind::Usage,
            "there is no archive to record into",
            hint,
        ));
    };
    let (folder, keeping) = Keeping::parse(into).map_err(|failure| settings.placed("record.archive", failure))?;
    let began = Instant::now();
    let stop = shutdown::stop_signal(args.session.time())?;
    let archive = NodeArchive::open(&folder, keeping)?;
    let metrics = Metrics::new(build_info());
    let observing = Observation::start("record", build::observe(&settings)?, metrics).await?;
    let observation = observing.observation();
    observation.setting("archive", into);
    observation.setting("peer", &peer.to_string());
    let relays = RelayUrl::of_ticket(&ticket).into_iter().collect();
    let options = RecordOptions {
        ticket,
        offer,
        archive,
        reconnect: !args.no_reconnect,
        relays,
    };
    // From here on it needs nothing of this machine that might not be there.
    service_manager::ready();
    let outcome = record(options, observation, stop).await;
    let outcome = shutdown::in_time(outcome, began, args.session.time(), &observing.observation());
    observing.finish(outcome)
}
