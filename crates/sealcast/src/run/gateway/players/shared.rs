//! State that the players of an end share.

use std::sync::{Arc, Mutex};

use sealcast_proto::rtsp::{Credentials, DigestAlgorithm};
use tokio::sync::mpsc;

use super::super::MAX_REQUESTS;
use super::super::request_mux::Request;
use super::login_delays::LoginDelays;
use crate::meter::metrics::Metrics;
use crate::run::clock::Clock;

/// The login that players need.
pub(crate) type Login = (Credentials, DigestAlgorithm);

/// State shared by the players.
pub(in crate::run::gateway) struct Players {
    /// Requests with the path of their camera.
    pub(super) requests: mpsc::Sender<(String, Request)>,
    pub(super) login: Option<Login>,
    pub(super) login_delays: Mutex<LoginDelays>,
    pub(super) clock: Clock,
    pub(super) metrics: Metrics,
    /// True if packets come faster than a player's socket holds them: over UDP they leave by and by.
    pub(super) paces: bool,
}

impl Players {
    /// Players that need this login, or none; `paces` if packets come faster than sockets hold them. Returns what they
    /// ask for, each with the path of a camera.
    pub(in crate::run::gateway) fn new(
        login: Option<Login>,
        clock: Clock,
        metrics: &Metrics,
        paces: bool,
    ) -> (Arc<Self>, mpsc::Receiver<(String, Request)>) {
        let (sender, requests) = mpsc::channel(MAX_REQUESTS);
        let players = Self {
            requests: sender,
            login,
            login_delays: Mutex::default(),
            clock,
            metrics: metrics.clone(),
            paces,
        };
        (Arc::new(players), requests)
    }
}
