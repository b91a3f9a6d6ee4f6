//! `sealcast-lab throughput`

use std::process::ExitCode;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::seal::Suite;
use sealcast_proto::seal::suite::{AEGIS_128X4, AES_128_GCM, RECOMMENDED};

use super::args::ThroughputArgs;
use crate::experiments::throughput::{Carrier, Plan, measure, write};

/// Rounds and duration for `--quick`: enough to see that everything works.
const QUICK: (usize, Duration) = (1, Duration::from_millis(200));

pub(super) fn run(args: &ThroughputArgs) -> Result<ExitCode> {
    let (rounds, time) = if args.quick {
        QUICK
    } else {
        (args.rounds.into(), Duration::from_millis(args.milliseconds))
    };
    let plan = Plan {
        suites: suites(args)?,
        carriers: match args.carrier {
            Some(carrier) => vec![carrier.into()],
            None => vec![Carrier::Udp, Carrier::Tcp],
        },
        peers: !args.quick && !args.no_peers,
        boringtun: args.boringtun.clone(),
        rounds,
        time,
    };
    let record = measure(&plan, &mut |line| eprintln!("{line}"))?;
    print!("{}", record.table());
    if let Some(folder) = &args.out {
        write(&record, folder)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn suites(args: &ThroughputArgs) -> Result<Vec<Suite>> {
    if args.all {
        return Ok(RECOMMENDED.to_vec());
    }
    if args.suite.is_empty() {
        return Ok(vec![AES_128_GCM, AEGIS_128X4]);
    }
    let named = args.suite.iter().map(|name| {
        Suite::by_name(name).ok_or_else(|| {
            let names: Vec<_> = RECOMMENDED.iter().map(|suite| suite.name).collect();
            let what = format!("there is no suite `{name}`");
            Failure::new(FailureKind::Usage, what, format!("choose one of {}", names.join(", ")))
        })
    });
    named.collect()
}
