//! `sealcast demo`.

use super::args::DemoArgs;
use super::{build, shutdown};
use crate::config::{flag_in_force, in_force, list_in_force};
use crate::failure::Result;
use crate::run::demo::{DemoOptions, demo};

pub(super) fn run(args: DemoArgs) -> Result<()> {
    shutdown::runtime()?.block_on(run_async(args))
}

async fn run_async(args: DemoArgs) -> Result<()> {
    let settings = build::settings(&args.observe)?;
    let config = &settings.config;
    let source = in_force(args.source.clone(), config.demo.source.as_ref());
    let seconds = args.observe.seconds.or(config.demo.seconds.map(std::num::NonZero::get));
    let options = DemoOptions {
        source: source.unwrap_or_else(|| "test:640x480@25".to_owned()),
        headless: flag_in_force(args.headless, config.demo.headless),
        page: args.page.clone().unwrap_or_else(|| "http://127.0.0.1:9881".to_owned()),
        suites: build::offered_suites(args.suites.clone(), args.insecure_study_suite.as_deref(), config)?,
        mechanisms: build::mechanisms(&list_in_force(
            args.mechanisms.clone(),
            config.publish.mechanisms.as_ref(),
        ))?,
        observe: build::observe(&args.observe, config)?,
    };
    demo(options, shutdown::stop_signal(seconds)?).await
}
