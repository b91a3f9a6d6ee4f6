//! `sealcast-lab attack`.

use std::path::Path;
use std::process::ExitCode;

use sealcast::failure::{Failure, FailureKind, Result};

use super::args::AttackArgs;
use super::run::{built_in, measure};
use crate::attack::Recorded;
use crate::experiments::attack::{ATTACK, write_page};

pub(super) fn run(args: &AttackArgs) -> Result<ExitCode> {
    if let (Some(capture), Some(port), Some(out)) = (&args.capture, args.port, &args.common.out) {
        return recorded(args, capture, port, out);
    }
    let mut definition = built_in(&ATTACK, &args.common)?;
    definition.only(&args.common.only)?;
    let measured = measure(definition, &args.common);
    let Some(out) = &args.common.out else {
        return measured;
    };
    // After a signal too: the page shows what there is until then.
    let page = write_page(out);
    let code = measured?;
    println!("{}\nwritten: attack.html, with pictures and videos in pictures", page?);
    Ok(code)
}

/// Attacks a capture.
fn recorded(args: &AttackArgs, capture: &Path, port: u16, out: &Path) -> Result<ExitCode> {
    std::fs::create_dir_all(out).map_err(|error| {
        let what = format!("{} cannot be made ({error})", out.display());
        Failure::new(FailureKind::Sink, what, "choose another --out")
    })?;
    let recorded = Recorded {
        capture: capture.to_owned(),
        port,
        model: args.model.clone(),
        original: args.original.clone(),
        out: out.to_owned(),
    };
    print!("{}", recorded.attack(&|words| eprintln!("{words}"))?);
    println!(
        "written: attack.md, and a picture and a video of each attacker in {}",
        out.display()
    );
    Ok(ExitCode::SUCCESS)
}
