//! `sealcast cameras`.

use sealcast_proto::session::RekeyPolicy;

use super::args::CamerasArgs;
use super::ticket::ticket_in_force;
use super::{build, shutdown};
use crate::failure::Result;
use crate::keys::files::End;
use crate::meter::metrics::Metrics;
use crate::output;
use crate::run::{Observation, build_info, list_cameras};

/// The command as it is typed.
const TYPED: &str = "sealcast cameras @FILE";

pub(super) fn run(args: &CamerasArgs) -> Result<()> {
    shutdown::single_threaded_runtime()?.block_on(run_async(args))
}

async fn run_async(args: &CamerasArgs) -> Result<()> {
    let settings = build::settings(&args.session)?;
    let configured = &settings.config.watch;
    let ticket = ticket_in_force(configured.ticket.as_ref(), configured.ticket_file.as_deref(), TYPED)?;
    let sealing = build::Sealing::without_media(RekeyPolicy::default());
    let offer = build::own_offer(&args.session, End::Viewer, sealing, &settings)?;
    let metrics = Metrics::new(build_info());
    let observing = Observation::start("cameras", build::observe(&settings)?, metrics).await?;
    let listed = list_cameras(ticket, offer, observing.observation()).await;
    let printed = listed.and_then(|names| {
        let lines: String = names.iter().map(|name| format!("{}\n", name.as_str())).collect();
        output::print(&lines)
    });
    observing.finish(printed)
}
