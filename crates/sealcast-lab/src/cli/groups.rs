//! `sealcast-lab groups`

use std::process::ExitCode;

use clap::Args;
use sealcast::failure::{Failure, FailureKind, Result};

use super::common_args::{CommonArgs, MeterArgs};
use super::run::{built_in, measured};
use crate::experiments::groups::{CHECK_FAILED, GROUPS};

#[derive(Args, Debug)]
pub(super) struct GroupsArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    #[command(flatten)]
    pub(super) meter: MeterArgs,
}

pub(super) fn run(args: &GroupsArgs) -> Result<ExitCode> {
    let mut definition = built_in(&GROUPS, &args.common)?;
    let settings = &mut definition.settings;
    settings.insert("meter".to_owned(), args.meter.meter.to_string().into());
    definition.only(&args.common.only)?;
    let results = measured(definition, &args.common)?;
    verdict(&results.missing)
}

/// Figures of a group that leaks or loses frames are of no use, however fast it is.
fn verdict(missing: &[String]) -> Result<ExitCode> {
    match missing.iter().find(|why| why.contains(CHECK_FAILED)) {
        Some(why) => Err(Failure::new(FailureKind::Internal, why.clone(), "please report this")),
        None => Ok(ExitCode::SUCCESS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_fails_the_command_and_what_cannot_be_had_does_not() {
        let absent = "mls: this build has no MLS".to_owned();
        assert!(verdict(std::slice::from_ref(&absent)).is_ok());
        let failed = format!("session in churn-100, round 1: {CHECK_FAILED}: 3 frames were lost to keys");
        let failure = verdict(&[absent, failed]).expect_err("a check failed");
        assert_eq!(failure.kind.exit_code(), 1);
    }
}
