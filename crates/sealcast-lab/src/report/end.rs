//! One end of a run: a folder of logs.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sealcast::failure::Result;
use sealcast::meter::logs::{HandshakeRow, SteadyRow};
use sealcast::meter::probe_rows::ProbeBesideRow;

use super::beside::{self, Beside};
use super::handshakes::Handshakes;
use super::latency::{self, KINDS, Latency};
use super::log::{Log, unreadable};
use super::resources::Resources;

const HANDSHAKES: &str = "handshake.csv";
const STEADY: &str = "steady_stream.csv";

/// Role of an end, by what its logs hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Publisher,
    Viewer,
    CameraGateway,
    ViewerGateway,
    /// It compared two ways to a camera.
    Probe,
    /// Nothing was streamed.
    Silent,
}

impl Role {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Publisher => "publisher",
            Self::Viewer => "viewer",
            Self::CameraGateway => "camera gateway",
            Self::ViewerGateway => "viewer gateway",
            Self::Probe => "probe",
            Self::Silent => "end without a stream",
        }
    }

    pub(super) fn sends(self) -> bool {
        matches!(self, Self::Publisher | Self::CameraGateway)
    }

    /// The name and the unit of what it counts as frames. A gateway counts bundles: packets that are sealed together.
    pub(super) fn frame_rate(self) -> [&'static str; 2] {
        match self {
            Self::CameraGateway | Self::ViewerGateway => ["bundles of packets", "bundles/s"],
            _ => ["frame rate", "frames/s"],
        }
    }

    pub(super) fn receives(self) -> bool {
        matches!(self, Self::Viewer | Self::ViewerGateway)
    }
}

/// The logs of one end.
#[derive(Debug)]
pub(super) struct End {
    pub(super) folder: PathBuf,
    pub(super) role: Role,
    /// The role, and the folder where another end has the same role.
    pub(super) name: String,
    pub(super) handshakes: Handshakes,
    pub(super) resources: Resources,
    /// Of two ways to a camera.
    pub(super) beside: Beside,
    /// One for each kind of log.
    pub(super) latencies: Vec<Latency>,
    /// Each file that was read: rows, and torn ones.
    pub(super) files: Vec<(PathBuf, u64, u64)>,
}

/// Every log that a folder may have, with its columns.
fn logs() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let others = [
        (HANDSHAKES, HandshakeRow::HEADER),
        (STEADY, SteadyRow::HEADER),
        (beside::FILE, ProbeBesideRow::HEADER),
    ];
    others
        .into_iter()
        .chain(KINDS.iter().map(|kind| (kind.file, kind.columns)))
}

/// The earliest time in the first rows of all logs; `None` if no log has a row.
pub(super) fn origin(folders: &[PathBuf]) -> Result<Option<Timestamp>> {
    let mut origin: Option<Timestamp> = None;
    for folder in folders {
        for (name, columns) in logs() {
            for path in Log::files(folder, name) {
                let mut log = Log::open(&path, columns)?;
                if log.next()? {
                    // The first column is a time in all of them.
                    let first = log.time(0)?;
                    origin = Some(origin.map_or(first, |origin| origin.min(first)));
                }
            }
        }
    }
    Ok(origin)
}

impl End {
    /// Reads all logs of a folder.
    ///
    /// # Errors
    /// There is none, or one of them cannot be read.
    pub(super) fn read(folder: &Path, origin: Timestamp) -> Result<Self> {
        let mut end = Self {
            folder: folder.to_owned(),
            role: Role::Silent,
            name: String::new(),
            handshakes: Handshakes::default(),
            resources: Resources::new(),
            beside: Beside::new(),
            latencies: KINDS.iter().map(Latency::new).collect(),
            files: Vec::new(),
        };
        for (name, columns) in logs() {
            for path in Log::files(folder, name) {
                let mut log = Log::open(&path, columns)?;
                match name {
                    HANDSHAKES => end.handshakes.read(&mut log)?,
                    STEADY => end.resources.read(&mut log, origin)?,
                    beside::FILE => end.beside.read(&mut log, origin)?,
                    _ => {
                        let own = end.latencies.iter_mut().filter(|latency| latency.kind.file == name);
                        own.into_iter().try_for_each(|latency| latency.read(&mut log))?;
                    }
                }
                end.files.push((path, log.rows, log.torn));
            }
        }
        if end.files.is_empty() {
            return Err(unreadable(folder, "", &"it is no folder with logs"));
        }
        end.role = end.judged();
        Ok(end)
    }

    /// A viewer logs frames, a viewer gateway units and pictures. An end without either that had frames sent them: how
    /// many records it sealed and opened does not tell, since reports may be more than frames. Whether that is a
    /// publisher or a camera gateway is decided by its peers.
    fn judged(&self) -> Role {
        let logged = |at: usize| self.latencies[at].count() > 0;
        if logged(latency::FRAMES) {
            Role::Viewer
        } else if (0..KINDS.len()).any(logged) {
            Role::ViewerGateway
        } else if self.resources.frames > 0.0 {
            Role::Publisher
        } else if self.beside.count() > 0 {
            Role::Probe
        } else {
            Role::Silent
        }
    }
}

/// Names ends so that no two have the same name. An end that sends beside viewer gateways alone is a camera gateway:
/// its logs do not differ from a publisher's.
pub(super) fn name(ends: &mut [End]) {
    let any = |ends: &[End], role| ends.iter().any(|end| end.role == role);
    if any(ends, Role::ViewerGateway) && !any(ends, Role::Viewer) {
        let senders = ends.iter_mut().filter(|end| end.role == Role::Publisher);
        senders.for_each(|end| end.role = Role::CameraGateway);
    }
    // In the order in which a frame passes them, whatever the order on the command line.
    ends.sort_by_key(|end| !end.role.sends());
    let roles: Vec<Role> = ends.iter().map(|end| end.role).collect();
    for end in ends {
        let alone = roles.iter().filter(|role| **role == end.role).count() == 1;
        end.name = match alone {
            true => end.role.name().to_owned(),
            false => format!("{} {}", end.role.name(), end.folder.display()),
        };
    }
}
