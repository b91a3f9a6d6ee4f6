//! `sealcast demo`.

use super::args::DemoArgs;
use super::{build, shutdown};
use crate::config::Settings;
use crate::failure::Result;
use crate::run::Shape;
use crate::run::demo::{DemoOptions, demo};

pub(super) fn run(args: DemoArgs) -> Result<()> {
    shutdown::runtime()?.block_on(run_async(args))
}

/// The shape of the demo's traffic.
fn shape(settings: &Settings) -> Result<Shape> {
    let shape = settings.config.demo.shape.parse();
    shape.map_err(|failure| settings.placed("demo.shape", failure))
}

async fn run_async(args: DemoArgs) -> Result<()> {
    let settings = build::settings(&args.session)?;
    let configured = &settings.config.demo;
    let time = args.session.seconds.or(configured.seconds).map(|time| time.0);
    let suites = build::offered_suites(&args.session, &settings)?;
    build::warn_of_study(&args.session, &suites);
    let options = DemoOptions {
        source: configured.source.clone(),
        headless: configured.headless,
        page: args.page,
        shape: shape(&settings)?,
        suites,
        mechanisms: build::offered_mechanisms(&settings)?,
        observe: build::observe(&settings)?,
    };
    demo(options, shutdown::stop_signal(time)?).await
}
