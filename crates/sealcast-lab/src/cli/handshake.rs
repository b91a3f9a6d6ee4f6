//! `sealcast-lab handshake`

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::HandshakeArgs;
use super::builds::Programs;
use super::run::{built_in, measure};
use crate::experiments::handshake::HANDSHAKE;

pub(super) fn run(args: &HandshakeArgs) -> Result<ExitCode> {
    let mut definition = built_in(&HANDSHAKE, &args.common)?;
    let settings = &mut definition.settings;
    settings.insert("meter".to_owned(), args.meter.meter.to_string().into());
    if let Some(handshakes) = args.handshakes {
        settings.insert("handshakes".to_owned(), i64::from(handshakes).into());
    }
    definition.only(&args.common.only)?;
    args.builds.apply(&mut definition, Programs::Laboratories, |_| true)?;
    measure(definition, &args.common)
}
