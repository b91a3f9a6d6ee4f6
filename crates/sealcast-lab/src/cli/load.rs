//! `sealcast-lab load`

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::LoadArgs;
use super::run::{built_in, clip, measure};
use crate::experiments::load::{LOAD, NONE, Sink};

pub(super) fn run(args: &LoadArgs) -> Result<ExitCode> {
    let mut definition = built_in(&LOAD, &args.common)?;
    let settings = &mut definition.settings;
    settings.insert("clip".to_owned(), clip(args.clip.as_deref()).into());
    settings.insert("sink".to_owned(), Sink::from(args.sink).name().into());
    let mut only = args.common.only.clone();
    if !only.is_empty() {
        // The cost of sending alone is always measured, too.
        only.push(NONE.to_owned());
    }
    definition.only(&only)?;
    measure(definition, &args.common)
}
