//! The source of `sealcast publish`: opened, or waited for.

use std::sync::Arc;

use sealcast_proto::rate::RateConfig;
use sealcast_proto::unit::Selection;

use super::cameras::SourceText;
use crate::config::Config;
use crate::config::secrets::redact;
use crate::failure::{Failure, FailureKind, Result};
use crate::rtsp::PacketTap;
use crate::run::{FrameProof, Reopen, Shape, check_selection, passed_through};
use crate::source::{self, Source, SourceUrl};

/// The source URL with the configured bit rates, for sources that are encoded here. Rates in the URL take precedence.
pub(super) fn with_bitrate(mut url: String, config: &Config) -> String {
    if !url.starts_with("test:") {
        return url;
    }
    let publish = &config.publish;
    for (key, value) in [("bitrate", publish.bitrate), ("bitrate_max", publish.bitrate_max)] {
        if let Some(bits) = value.filter(|_| !url.contains(&format!("{key}="))) {
            let join = if url.contains('?') { '&' } else { '?' };
            url = format!("{url}{join}{key}={bits}");
        }
    }
    url
}

/// Settings for opening the source, the first time and later.
#[derive(Clone)]
pub(super) struct Opening {
    source: SourceText,
    shape: Shape,
    proof: FrameProof,
    selection: Selection,
    sound: bool,
    /// Shares the connection to an RTSP camera.
    tap: Option<Arc<PacketTap>>,
}

/// Beginning of a publisher.
pub(super) struct Beginning {
    /// The source, or why it is not there yet.
    pub(super) source: Result<Box<dyn Source>>,
    /// Function that opens it again, if it is waited for.
    pub(super) reopen: Option<Reopen>,
    /// The bounds of its rate.
    pub(super) rate: RateConfig,
    /// Its URL without secrets.
    pub(super) shown: String,
}

impl Opening {
    /// Opens this source for viewers of that shape, under a selection that its codec must allow.
    pub(super) fn new(source: SourceText, shape: Shape, proof: FrameProof, selection: Selection) -> Self {
        Self {
            source,
            shape,
            proof,
            selection,
            sound: true,
            tap: None,
        }
    }

    /// The same, with or without asking a camera for its sound.
    pub(super) fn with_sound(self, sound: bool) -> Self {
        Self { sound, ..self }
    }

    /// The same, with others who share the connection to an RTSP camera.
    pub(super) fn shared_by(self, tap: Option<&Arc<PacketTap>>) -> Self {
        let tap = tap.cloned();
        Self { tap, ..self }
    }

    /// Opens it for the first time.
    ///
    /// # Errors
    /// It does not come by waiting, or nobody waits.
    pub(super) async fn begin(self, retry: bool, rate: RateConfig) -> Result<Beginning> {
        let text = self.source.read()?;
        let url: SourceUrl = text.parse()?;
        let reopen = retry.then(|| self.clone().again());
        // Standard input does not come again.
        let waits = retry && !matches!(url, SourceUrl::Stdin(..));
        let opening = self.clone();
        let (source, rate) = match blocking(move || opening.open()).await {
            Ok(source) => {
                self.check(&*source)?;
                (Ok(source), rate)
            }
            Err(failure) if waits && matches!(failure.kind, FailureKind::Source | FailureKind::Refused) => {
                // A camera that encodes by itself is not slowed down.
                let rate = match url {
                    SourceUrl::Rtsp(_) | SourceUrl::Rtp(_) => passed_through(rate),
                    _ => rate,
                };
                (Err(failure), rate)
            }
            Err(failure) => return Err(failure),
        };
        Ok(Beginning {
            source,
            reopen,
            rate,
            shown: redact(&text).into_owned(),
        })
    }

    fn open(&self) -> Result<Box<dyn Source>> {
        let url = self.source.read()?;
        let mut source = source::open_shared(&url, self.sound, self.tap.as_ref())?;
        self.shape.prepare(&mut *source, self.proof)?;
        Ok(source)
    }

    /// Whether of its pictures may be left in clear what is left in clear.
    fn check(&self, source: &dyn Source) -> Result<()> {
        check_selection(source.info().codec, self.selection).map_err(|what| {
            let hint = "leave out --encrypt, or let the camera send H.264";
            Failure::new(FailureKind::Usage, what, hint)
        })
    }

    /// Function that opens it again. Its URL may be in a file, with a password that was mended.
    fn again(mut self) -> Reopen {
        let text = self.source.clone();
        Reopen::new(move || {
            // A file that is being written has no URL in it for a moment.
            let read = text.read().ok().filter(|url| url.parse::<SourceUrl>().is_ok());
            if let Some(url) = read {
                self.source = SourceText::Said(url.to_string());
            }
            let source = self.open()?;
            self.check(&*source)?;
            Ok(source)
        })
    }
}

/// Opens a source for nobody in particular on a separate thread, which may block.
pub(super) async fn open_source(url: String) -> Result<Box<dyn Source>> {
    blocking(move || source::open(&url)).await
}

async fn blocking(open: impl FnOnce() -> Result<Box<dyn Source>> + Send + 'static) -> Result<Box<dyn Source>> {
    let opened = tokio::task::spawn_blocking(open).await;
    opened.map_err(|error| {
        let what = format!("opening the source failed ({error})");
        Failure::new(FailureKind::Internal, what, "please report this")
    })?
}
