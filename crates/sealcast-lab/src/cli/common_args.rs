//! Command-line arguments of several experiments. Doc comments here are help texts.
#![allow(rustdoc::broken_intra_doc_links, reason = "help texts are not links")]

use std::path::PathBuf;

use clap::Args;
use sealcast::meter::power::MeterSpec;

use crate::experiments::throughput::Carrier;

/// Options of every experiment.
#[derive(Args, Debug, Default)]
pub(super) struct CommonArgs {
    /// A reduced run that takes at most three minutes
    #[arg(long)]
    pub(super) quick: bool,
    /// Measure only these cases and systems. If no case is named, all cases are measured; the same holds for systems. A
    /// cipher, such as trivium, means all its implementations; trivium/words is one of them
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) only: Vec<String>,
    /// How many times everything is measured
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(super) rounds: Option<u16>,
    /// Seconds of each measurement, without its warm-up
    #[arg(long, value_name = "NUMBER")]
    pub(super) seconds: Option<f64>,
    /// Seed for the order of turns, and for the packets that are lost
    #[arg(long, value_name = "NUMBER")]
    pub(super) seed: Option<u64>,
    /// Number of measurements that run at the same time
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(super) at_once: Option<u16>,
    /// Write record.jsonl, table.csv, table.md and report.html into this folder; continue a record that is there
    #[arg(long, value_name = "FOLDER")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) tables: TableArgs,
}

/// Form in which results are printed.
#[derive(Args, Debug, Default)]
pub(super) struct TableArgs {
    /// Print all columns, however wide the tables are
    #[arg(long)]
    pub(super) wide: bool,
    /// Print the tables alone, in LaTeX for the package booktabs
    #[arg(long, conflicts_with = "wide")]
    pub(super) latex: bool,
    /// Print table.csv alone: all figures with the ends of their intervals
    #[arg(long, conflicts_with_all = ["wide", "latex"])]
    pub(super) csv: bool,
}

/// The option of experiments that measure energy.
#[derive(Args, Debug)]
pub(super) struct MeterArgs {
    /// Energy meter: auto, none, rapl[:FOLDER], hwmon[:NAME], ina219:/dev/i2c-1@0x40[,shunt=0.1,amps=2] or
    /// serial:/dev/ttyUSB0[,baud=115200]
    #[arg(long, value_name = "METER", default_value_t)]
    pub(super) meter: MeterSpec,
}

/// The transport of sessions.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum CarrierArg {
    Udp,
    Tcp,
}

impl From<CarrierArg> for Carrier {
    fn from(argument: CarrierArg) -> Self {
        match argument {
            CarrierArg::Udp => Self::Udp,
            CarrierArg::Tcp => Self::Tcp,
        }
    }
}
