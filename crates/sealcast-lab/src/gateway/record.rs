//! What a run leaves behind.

use std::path::Path;

use jiff::Timestamp;
use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::platform::machine::Machine;
use sealcast::platform::versions::LIBRARIES;
use serde_json::{Value, json};

use super::plan::{GatewayOptions, GatewayResult};
use super::{browse, table};
use crate::facts::{congestion_control, load_average};

/// How the figures came about, in words.
pub(super) const METHOD: &[&str] = &[
    "All on loopback, on one machine. Camera and player are threads of one process; a packet carries the time at which \
     it left, read from the monotonic clock just before it was handed to the kernel, and the player reads the clock \
     when it has the packet. The delay of a frame is that of its last packet.",
    "The sender sleeps until 60 µs before a frame is due, then watches the clock; where frames are less than a \
     millisecond apart it only sleeps, and sends what is due. Sender and players have priority over what is measured, \
     where the system allows it.",
    "relay: two processes that pass on packets or bytes as they come, one after the other. sealcast: a camera gateway \
     and a viewer gateway, all hops over the load's carrier, an RTSP server before and an RTSP client behind; sealed \
     is what is sealed unless asked otherwise: each packet over UDP, what came together over TCP; a session carries \
     15 cameras at most, so that 100 take 7 viewer gateways. boringtun: datagrams through \
     WireGuard in user space, between two network namespaces. stunnel: a stream through TLS 1.3, a process on each \
     side. rtsps: GStreamer's RTSP server, which serves the camera again over TLS with latency=0, one process alone; \
     its pipeline waits 20 ms for its own processing.",
    "Each measurement sets its programs up anew, and 0.3 s of load go before it. Everybody takes a turn in each round, \
     in the next one in the opposite order. Figures are medians over rounds; over the relay: the difference within a \
     round, and its median; intervals: 95 %, bootstrap over rounds. Of one round there is none.",
    "Processor time: user and system of the processes named, as the kernel's scheduler counts it, of all their \
     threads, from before the first packet until after the last, divided by the packets carried. What the kernel does \
     for them in interrupts counts for whom it interrupts; WireGuard's kernel work beside boringtun does not count.",
    "Processors that are kept awake have a thread each of the policy SCHED_IDLE, before which everything else goes. \
     Otherwise they sleep when there is nothing to do, and waking them is part of each hop: with virtual processors \
     the host has a say in how long that takes, and in what their caches still hold.",
    "Lost: packets that had not come out half a second after the last one was sent.",
];

/// Write `record.json`, `table.md` and `report.html` into a folder, which is made if need be.
///
/// # Errors
/// A file cannot be written.
pub fn write(folder: &Path, options: &GatewayOptions, result: &GatewayResult) -> Result<()> {
    let unwritable = |error: &dyn std::fmt::Display| {
        let what = format!("the results cannot be written to {} ({error})", folder.display());
        Failure::new(FailureKind::Sink, what, "choose another --out")
    };
    std::fs::create_dir_all(folder).map_err(|error| unwritable(&error))?;
    let machine = Machine::detect();
    let page = browse::page(result, &facts(options, &machine)).map_err(|error| unwritable(&error))?;
    let record =
        serde_json::to_string_pretty(&record(options, result, &machine)).map_err(|error| unwritable(&error))?;
    let files = [
        ("record.json", record + "\n"),
        ("table.md", table::terminal(result)),
        ("report.html", page),
    ];
    for (name, text) in files {
        std::fs::write(folder.join(name), text).map_err(|error| unwritable(&error))?;
    }
    Ok(())
}

fn sleep_words(options: &GatewayOptions) -> &'static str {
    if options.awake {
        "kept awake"
    } else {
        "sleep when there is nothing to do"
    }
}

/// What stands above the page's table.
fn facts(options: &GatewayOptions, machine: &Machine) -> Vec<(&'static str, String)> {
    let Machine {
        cpu_model,
        cores,
        kernel,
        ..
    } = machine;
    let (rounds, seconds) = (options.rounds, options.time.as_secs_f64());
    vec![
        ("made", Timestamp::now().to_string()),
        ("machine", format!("{cpu_model}, {cores} cores, {kernel}")),
        ("sealcast", env!("CARGO_PKG_VERSION").to_owned()),
        ("rounds", format!("{rounds} of {seconds} s")),
        ("processors", sleep_words(options).to_owned()),
        ("beside it", format!("load {}", load_average())),
        ("TCP congestion control", congestion_control()),
    ]
}

fn record(options: &GatewayOptions, result: &GatewayResult, machine: &Machine) -> Value {
    let samples = result.figures.iter().map(|figures| {
        json!({
            "load": figures.load.name,
            "system": figures.system.to_string(),
            "samples": figures.samples,
        })
    });
    let loads = options
        .loads
        .iter()
        .map(|load| json!({"name": load.name, "what": load.words()}));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "made": Timestamp::now().to_string(),
        "machine": machine,
        "libraries": LIBRARIES.iter().copied().collect::<std::collections::BTreeMap<_, _>>(),
        "tcp_congestion_control": congestion_control(),
        "load_average": load_average(),
        "rounds": options.rounds,
        "seconds": options.time.as_secs_f64(),
        "processors_kept_awake": options.awake,
        "loads": loads.collect::<Vec<_>>(),
        "method": METHOD,
        "rows": table::rows(result),
        "verdicts": table::verdicts(result),
        "not_measured": result.missing,
        "samples": samples.collect::<Vec<_>>(),
    })
}
