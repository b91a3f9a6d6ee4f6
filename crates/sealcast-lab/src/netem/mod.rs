//! Compares our link with the kernel's netem: the same profile, measured in the same way.

mod ping;
mod uml;

use std::fmt::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::{LinkProfile, Loss};

use crate::net::{Direction, End, Net, NetConfig, Running};

pub use ping::Pings;
use uml::{LOOK, stopped};

/// Requests of a measurement, one every [`INTERVAL_MS`] milliseconds.
const PINGS: u32 = 4000;
/// Requests in the measurement without delay and loss.
const FLOOR_PINGS: u32 = 1000;
const INTERVAL_MS: u32 = 5;

/// The default profile for the comparison.
pub fn usual() -> LinkProfile {
    LinkProfile {
        delay: Duration::from_millis(20),
        jitter: Duration::from_millis(5),
        loss: Loss::Random(0.05),
        ..LinkProfile::default()
    }
}

/// The arguments of `tc qdisc add … netem` for a profile.
///
/// # Errors
/// The profile uses a feature that this comparison does not measure; the message says which.
pub fn arguments(profile: &LinkProfile) -> Result<String> {
    let rest = LinkProfile {
        delay: profile.delay,
        jitter: profile.jitter,
        loss: profile.loss,
        reorder: profile.reorder,
        duplicate: profile.duplicate,
        ..LinkProfile::default()
    };
    if *profile != rest {
        let what = format!("the profile `{profile}` cannot be compared with netem");
        let hint = "use delay, jitter, loss, burst, reorder and duplicate only";
        return Err(Failure::new(FailureKind::Usage, what, hint));
    }
    let mut text = "limit 100000".to_owned();
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let _ = write!(
        text,
        " delay {:.0}us {:.0}us",
        micros(profile.delay),
        micros(profile.jitter)
    );
    match profile.loss {
        Loss::None => {}
        Loss::Random(loss) => {
            let _ = write!(text, " loss {}%", loss * 100.0);
        }
        Loss::Burst { mean_loss, mean_burst } => {
            let recovers = 100.0 / mean_burst;
            let _ = write!(
                text,
                " loss gemodel {}% {recovers}%",
                recovers * mean_loss / (1.0 - mean_loss)
            );
        }
    }
    for (word, share) in [("reorder", profile.reorder), ("duplicate", profile.duplicate)] {
        if share > 0.0 {
            let _ = write!(text, " {word} {}%", share * 100.0);
        }
    }
    Ok(text)
}

/// Measures both with ping and returns a table. It takes about a minute.
///
/// In both setups a request and its answer pass through the profile once each. A first measurement without delay and
/// loss shows the overhead of each setup. Ends early once `stop` is true.
///
/// # Errors
/// The process is not root, User Mode Linux or ping is missing, or the profile cannot be compared; the message says
/// which.
pub fn compare(profile: &LinkProfile, seed: u64, stop: &AtomicBool) -> Result<String> {
    let netem = arguments(profile)?;
    let ping = |count: u32, to: &str| format!("ping -q -c {count} -i 0.{INTERVAL_MS:03} -W 2 {to}");
    let seconds = u64::from((PINGS + FLOOR_PINGS) * INTERVAL_MS / 1000);
    let guest = uml::run(
        &[
            ping(FLOOR_PINGS, "127.0.0.1"),
            format!("tc qdisc add dev lo root netem {netem} && {}", ping(PINGS, "127.0.0.1")),
        ],
        seconds,
        stop,
    )?;
    let guest = guest
        .iter()
        .map(|text| read(text, "User Mode Linux"))
        .collect::<Result<Vec<_>>>()?;

    let net = Net::start(&NetConfig {
        name: format!("check{}", std::process::id()),
        seed,
        ..NetConfig::default()
    })?;
    let to = End::B.ipv4().to_string();
    let ours = |count| {
        read(
            &output(
                net.command(End::A, "sh")
                    .args(["-c", &format!("exec {}", ping(count, &to))]),
                stop,
            )?,
            "our link",
        )
    };
    let floor = ours(FLOOR_PINGS)?;
    for direction in [Direction::Up, Direction::Down] {
        net.change(direction, profile.clone())
            .map_err(|words| Failure::new(FailureKind::Usage, words, "leave that out"))?;
    }
    let ours = ours(PINGS)?;
    Ok(table(profile, &netem, [&guest[0], &floor, &guest[1], &ours]))
}

/// The output of a program until it ends. The output is short, so that the pipe holds all of it.
fn output(command: &mut Command, stop: &AtomicBool) -> Result<String> {
    let failed = |error| {
        Failure::new(
            FailureKind::Internal,
            format!("ping cannot be run ({error})"),
            "install it",
        )
    };
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    while child.try_wait().map_err(failed)?.is_none() {
        if stop.load(Ordering::Relaxed) {
            // It has ended if it cannot be killed.
            let _ = child.kill();
        }
        std::thread::sleep(LOOK);
    }
    let output = child.wait_with_output().map_err(failed)?;
    if stop.load(Ordering::Relaxed) {
        return Err(stopped());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn read(text: &str, place: &str) -> Result<Pings> {
    Pings::read(text).ok_or_else(|| unread(text, place))
}

fn unread(text: &str, place: &str) -> Failure {
    let what = format!("ping measured nothing over {place}: {}", text.trim());
    Failure::new(
        FailureKind::Network,
        what,
        "install it with `apt-get install iputils-ping iproute2`",
    )
}

fn table(profile: &LinkProfile, netem: &str, [netem_floor, floor, netem_run, run]: [&Pings; 4]) -> String {
    let mut text = format!(
        "our profile, both ways:   {profile}\nnetem's, both ways:       {netem}\n\n\
         | round trips | sent | lost | repeated | least ms | mean ms | spread ms | most ms |\n\
         |---|---|---|---|---|---|---|---|\n"
    );
    let rows = [
        ("netem in User Mode Linux, no profile", netem_floor),
        ("our link, no profile", floor),
        ("netem in User Mode Linux", netem_run),
        ("our link", run),
    ];
    for (name, pings) in rows {
        let _ = writeln!(
            text,
            "| {name} | {} | {:.2} % | {} | {:.2} | {:.2} | {:.2} | {:.2} |",
            pings.sent,
            pings.loss() * 100.0,
            pings.repeated,
            pings.least,
            pings.mean,
            pings.spread,
            pings.most
        );
    }
    let _ = writeln!(text, "{}", expected(profile));
    text
}

/// The expected values, calculated from the profile.
fn expected(profile: &LinkProfile) -> String {
    let loss = match profile.loss {
        Loss::None => 0.0,
        Loss::Random(loss) | Loss::Burst { mean_loss: loss, .. } => loss,
    };
    let both_lost = 1.0 - (1.0 - loss) * (1.0 - loss);
    let (delay, jitter) = (profile.delay.as_secs_f64() * 1e3, profile.jitter.as_secs_f64() * 1e3);
    // In one direction, the share of packets that is sent ahead has no delay. The others have the delay with a
    // uniform jitter, whose variance is a third of the jitter's square. The values of both directions add up.
    let late = 1.0 - profile.reorder;
    let mean = late * delay;
    let variance = late * (delay * delay + jitter * jitter / 3.0) - mean * mean;
    let least = if profile.reorder > 0.0 {
        0.0
    } else {
        2.0 * (delay - jitter).max(0.0)
    };
    format!(
        "| by arithmetic, without copies | | {:.2} % | | {least:.2} | {:.2} | {:.2} | {:.2} |",
        both_lost * 100.0,
        2.0 * mean,
        (2.0 * variance).sqrt(),
        2.0 * (delay + jitter)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn netem_is_told_what_the_profile_says() {
        let told = |text: &str| arguments(&text.parse().expect(text));
        assert_eq!(
            told("delay=20ms jitter=5ms loss=5% reorder=25% duplicate=1%").expect("it can be compared"),
            "limit 100000 delay 20000us 5000us loss 5% reorder 25% duplicate 1%"
        );
        // In Gilbert's model, the probability from bad to good is 1 / 4, from good to bad 1 / 4 · 0.2 / 0.8.
        assert_eq!(
            told("burst=20%/4").expect("it can be compared"),
            "limit 100000 delay 0us 0us loss gemodel 6.25% 25%"
        );
        let expected = expected(&"delay=20ms jitter=5ms loss=5%".parse().expect("a profile"));
        assert!(
            expected.contains("9.75 % | | 30.00 | 40.00 | 4.08 | 50.00 |"),
            "{expected}"
        );
        let refused = told("rate=5mbit").expect_err("rates are not compared");
        assert!(refused.what.contains("rate=5mbit"), "{refused}");
    }
}
