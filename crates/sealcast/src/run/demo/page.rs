//! The demo's page: where it is served, and what its user asks for.

use std::sync::Arc;

use sealcast_proto::wire::Ticket;
use tokio::sync::mpsc;
use zeroize::Zeroizing;

use crate::failure::Result;
use crate::meter::metrics::Metrics;
use crate::transport::{Alteration, PageSessions, WebListener};
use crate::web::demo::{Asked, DemoActions, DemoFeeds, serve};
use crate::web::{Listen, Listener};

/// Default port of the page.
const PAGE_PORT: u16 = 9881;
/// Wishes that wait to be granted.
const MAX_WISHES: usize = 4;

/// The page before it is served.
pub(super) struct Page {
    listener: Listener,
    sessions: PageSessions,
}

impl Page {
    /// Binds the page's address, and announces it.
    pub(super) fn bind(url: &str, metrics: &Metrics) -> Result<Self> {
        let listener = Listen::parse(url, PAGE_PORT, "the pictures")?
            .bind()?
            .counted_in(metrics);
        listener.announce();
        let sessions = PageSessions::new(listener.address());
        Ok(Self { listener, sessions })
    }

    /// Serves the page. Whoever opens it watches in it with this ticket.
    pub(super) fn serve(self, feeds: &Arc<DemoFeeds>, ticket: &Ticket) -> ServedPage {
        let (sender, wishes) = mpsc::channel(MAX_WISHES);
        let alteration = Alteration::default();
        let routes = self.sessions.routes(alteration.clone());
        let actions = DemoActions {
            wishes: sender,
            alteration,
            ticket: Zeroizing::new(ticket.reveal()),
        };
        let receivers = feeds.receivers();
        tokio::spawn(async move {
            if let Err(failure) = serve(self.listener, receivers, actions, routes, std::future::pending()).await {
                tracing::error!("{failure}");
            }
        });
        ServedPage {
            sessions: self.sessions,
            wishes,
        }
    }

    /// A listener, whose ticket is that of all later ones.
    pub(super) fn listen(&self) -> WebListener {
        self.sessions.listen()
    }
}

/// The page while it is served.
pub(super) struct ServedPage {
    sessions: PageSessions,
    wishes: mpsc::Receiver<Asked>,
}

impl ServedPage {
    /// A listener for the sessions of the page's visitors, in place of the one before.
    pub(super) fn listen(&self) -> WebListener {
        self.sessions.listen()
    }

    /// The next wish. Cancel-safe.
    pub(super) async fn wish(page: Option<&mut Self>) -> Asked {
        let wish = match page {
            Some(page) => page.wishes.recv().await,
            None => None,
        };
        match wish {
            Some(wish) => wish,
            // Nobody will ask.
            None => std::future::pending().await,
        }
    }
}
