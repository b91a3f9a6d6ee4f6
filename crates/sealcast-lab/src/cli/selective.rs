//! `sealcast-lab selective`, and the two ends of its sessions.

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::{SelectiveArgs, SelectiveReceiveArgs, SelectiveSendArgs};
use super::run::{built_in, measure};
use crate::experiments::selective::{self, SELECTIVE};

pub(super) fn run(args: &SelectiveArgs) -> Result<ExitCode> {
    let mut definition = built_in(&SELECTIVE, &args.common)?;
    definition.only(&args.common.only)?;
    measure(definition, &args.common)
}

pub(super) fn send(args: &SelectiveSendArgs) -> Result<ExitCode> {
    selective::send(&args.session, args.to).map(|()| ExitCode::SUCCESS)
}

pub(super) fn receive(args: &SelectiveReceiveArgs) -> Result<ExitCode> {
    selective::receive(&args.session).map(|()| ExitCode::SUCCESS)
}
