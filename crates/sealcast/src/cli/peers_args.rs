//! The commands about peers, and their options: whom an end admits, who is here, and invites.
#![allow(rustdoc::broken_intra_doc_links, reason = "help texts are not links")]

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::json_arg::JsonArg;
use crate::keys::peers::MAX_USES;
use crate::length::Hours;

#[derive(Debug, Args)]
pub(super) struct PeersArgs {
    #[command(subcommand)]
    pub(super) command: PeersAction,

    #[command(flatten)]
    pub(super) whose: WhoseArgs,
}

/// The program whose lists a command is about.
#[derive(Debug, Args)]
pub(super) struct WhoseArgs {
    /// The publisher or camera gateway of this name. Without it: that of the configuration, camera, or the only one
    #[arg(long, value_name = "NAME", global = true, conflicts_with = "lists_of")]
    pub(super) name: Option<String>,

    /// With --viewer: the lists of that which listens at this URL and has no --name
    #[arg(
        id = "lists_of",
        long = "listen",
        value_name = "URL",
        global = true,
        requires = "viewer"
    )]
    pub(super) listen: Option<String>,

    /// The lists of a `watch --listen` instead of a publisher's
    #[arg(long, global = true)]
    pub(super) viewer: bool,

    /// Configuration file (TOML) of the publisher: its name and allow list
    #[arg(long, env = "SEALCAST_CONFIG", value_name = "FILE", global = true)]
    pub(super) config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(super) enum PeersAction {
    /// Show the peers that are admitted, who of them is here and since when, and the invites
    List(JsonArg),
    /// Admit a peer without an invite
    Allow {
        /// Its peer id, as `sealcast keygen` prints it
        peer: String,

        /// A note for yourself
        comment: Vec<String>,
    },
    /// Call a peer something else
    Rename {
        /// Its peer id, the beginning of it, or what it is called
        peer: String,

        /// Its new name, for yourself
        #[arg(required = true, value_name = "NAME")]
        called: Vec<String>,
    },
    /// Admit a peer no more
    Remove {
        /// Its peer id, the beginning of it, or what it is called
        peer: String,

        /// Only of this camera; may watch the others as before
        #[arg(long, value_name = "NAME")]
        camera: Option<String>,
    },
    /// Withdraw an invite
    Withdraw {
        /// Its digits in the list, the beginning of them, or its label; or `all`
        invite: String,

        /// Also remove the peers that it enrolled; with `all`, every peer that an invite enrolled
        #[arg(long)]
        with_peers: bool,
    },
    /// The folder of a publisher was restored from an old copy: leave out the keys that it may have used since
    Restored {
        /// At least so many times it was started since the copy was made
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<1_000>)]
        starts: u32,
    },
}

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    pub(super) whose: WhoseArgs,

    /// Show it again each second, until Ctrl-C
    #[arg(long)]
    pub(super) watch: bool,

    /// Print JSON; with --watch, a line each second
    #[arg(long)]
    pub(super) json: bool,

    /// The socket of a running program that was given it as --control
    #[arg(long, value_name = "PATH", conflicts_with_all = ["name", "viewer"])]
    pub(super) socket: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct InviteArgs {
    #[command(flatten)]
    pub(super) whose: WhoseArgs,

    /// Who it is for: the peer that comes by it is called so in the list
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(super) label: String,

    /// The camera that it is for, of several; may be repeated, up to 8 times. Without it, all
    #[arg(long = "camera", value_name = "NAME")]
    pub(super) cameras: Vec<String>,

    /// How many it lets in, 1 to 12288
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<MAX_USES>)]
    pub(super) uses: u32,

    /// Time after which it expires, such as 90m, 24h or 7d: at most a year; in hours without a unit
    #[arg(long, value_name = "TIME", default_value = "24h")]
    pub(super) expires: Hours,

    /// Write the ticket to a new file that only you can read, or to standard output if FILE is -. By default it is
    /// printed only on a terminal: whoever reads it is admitted
    #[arg(long, value_name = "FILE")]
    pub(super) ticket_file: Option<PathBuf>,

    /// Also draw a QR code on the terminal: of the link to the page, if there is one, or else of the ticket
    #[arg(long)]
    pub(super) qr: bool,

    /// The socket of a running program that was given it as --control
    #[arg(long, value_name = "PATH", conflicts_with_all = ["name", "viewer"])]
    pub(super) socket: Option<PathBuf>,
}

/// Parses a whole number from 1 to `MOST`.
fn number<const MOST: u32>(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (1..=MOST).contains(number));
    number.ok_or_else(|| format!("it must be a whole number from 1 to {MOST}"))
}
