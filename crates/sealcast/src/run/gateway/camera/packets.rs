//! The packets of one camera, as a publisher offers them to gateways.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::{mpsc, watch};

use super::standing::CameraStanding;
use super::{beside, upstream};
use crate::rtsp::{PacketTap, RtspOptions};
use crate::run::gateway::MAX_REQUESTS;
use crate::run::gateway::request_mux::Request;
use crate::run::media::away::SourceStanding;
use crate::run::session::observe::Observation;

/// Origin of a camera's packets.
#[derive(Clone)]
pub(crate) enum PacketOrigin {
    /// A connection of their own, which is there while it is needed.
    OnDemand(Arc<RtspOptions>),
    /// The connection of the camera's source.
    Beside(Arc<PacketTap>),
}

/// A camera as the sessions of gateways know it.
pub(crate) struct PacketCamera {
    /// The path that players use; `None` for all others.
    pub(in crate::run::gateway) path: Option<String>,
    pub(in crate::run::gateway) requests: mpsc::Sender<Request>,
    /// Frames sealed of it, for all sessions.
    frames: AtomicU64,
    /// Sessions that have asked for it.
    gateways: AtomicUsize,
    standing: Arc<CameraStanding>,
    origin: PacketOrigin,
}

/// The requests for a camera, until its task begins.
pub(crate) struct PacketRequests {
    pub(in crate::run::gateway) requests: mpsc::Receiver<Request>,
    standing: Arc<CameraStanding>,
    origin: PacketOrigin,
}

impl PacketCamera {
    /// The camera at a path, and the requests for it.
    pub(crate) fn at(path: Option<&str>, origin: PacketOrigin) -> (Self, PacketRequests) {
        let (sender, requests) = mpsc::channel(MAX_REQUESTS);
        let camera = Self {
            path: path.map(str::to_owned),
            requests: sender,
            frames: AtomicU64::new(0),
            gateways: AtomicUsize::new(0),
            standing: Arc::default(),
            origin: origin.clone(),
        };
        let requests = PacketRequests {
            requests,
            standing: Arc::clone(&camera.standing),
            origin,
        };
        (camera, requests)
    }

    /// The path that players use; `None` for all others.
    pub(crate) fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// A frame of it is sealed for a session.
    pub(in crate::run::gateway) fn count_frame(&self) {
        self.frames.fetch_add(1, Ordering::Relaxed);
    }

    /// Frames sealed of it so far.
    pub(crate) fn frames(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
    }

    /// Sessions that have asked for it.
    pub(crate) fn gateways(&self) -> usize {
        self.gateways.load(Ordering::Relaxed)
    }

    /// A session asks for it.
    pub(crate) fn gateway_came(&self) {
        if self.gateways.fetch_add(1, Ordering::Relaxed) == 0 {
            self.want(true);
        }
    }

    /// A session that had asked for it is over, or no longer sees it.
    pub(crate) fn gateway_left(&self) {
        if self.gateways.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.want(false);
        }
    }

    fn want(&self, wanted: bool) {
        if let PacketOrigin::Beside(tap) = &self.origin {
            tap.want(wanted);
        }
    }

    /// Whether it is there, if that is known.
    pub(crate) fn standing(&self) -> Option<SourceStanding> {
        self.standing.now()
    }
}

impl PacketRequests {
    /// Serves them until `stop` turns true.
    pub(crate) async fn serve(self, observation: Arc<Observation>, stop: watch::Receiver<bool>) {
        let asked = (self.requests, stop);
        match self.origin {
            PacketOrigin::OnDemand(target) => upstream::keep(target, asked, self.standing, observation).await,
            PacketOrigin::Beside(tap) => beside::keep(tap, asked, observation).await,
        }
    }
}
