//! The source of `sealcast publish`: opened, or waited for.

use sealcast_proto::rate::RateConfig;
use sealcast_proto::unit::Selection;

use crate::config::secrets::redact;
use crate::config::{Config, Settings};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::words::words_of;
use crate::private_file::read_secret_line;
use crate::run::{FrameProof, Offer, Reopen, Shape, check_selection, passed_through};
use crate::source::{self, Source, SourceUrl};

pub(super) fn source_url(config: &Config) -> Result<String> {
    match (&config.publish.source, &config.publish.source_file) {
        (Some(url), _) => Ok(with_bitrate(url.clone(), config)),
        (None, Some(path)) => Ok(read_secret_line(path)?.trim().to_owned()),
        (None, None) => Err(Failure::new(
            FailureKind::Usage,
            "there is no source to publish",
            format!("name one: {}", source::SOURCE_URLS),
        )),
    }
}

/// The source URL with the configured bit rates, for sources that are encoded here. Rates in the URL take precedence.
fn with_bitrate(mut url: String, config: &Config) -> String {
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

/// How the source is opened, the first time and later.
#[derive(Clone)]
pub(super) struct Opening {
    url: String,
    shape: Shape,
    proof: FrameProof,
    selection: Selection,
    sound: bool,
}

/// How a publisher begins.
pub(super) struct Beginning {
    /// The source, or why it is not there yet.
    pub(super) source: Result<Box<dyn Source>>,
    /// What opens it again, if it is waited for.
    pub(super) reopen: Option<Reopen>,
    /// The bounds of its rate.
    pub(super) rate: RateConfig,
}

impl Opening {
    /// Opens the source of this URL for viewers of that shape, under a selection that its codec must allow.
    pub(super) fn new(url: &str, shape: Shape, proof: FrameProof, selection: Selection) -> Self {
        Self {
            url: url.to_owned(),
            shape,
            proof,
            selection,
            sound: true,
        }
    }

    /// The same, with or without asking a camera for its sound.
    pub(super) fn with_sound(self, sound: bool) -> Self {
        Self { sound, ..self }
    }

    /// Opens it for the first time.
    ///
    /// # Errors
    /// It does not come by waiting, or nobody waits.
    pub(super) async fn begin(self, settings: &Settings, url: &SourceUrl, rate: RateConfig) -> Result<Beginning> {
        let retry = settings.config.publish.retry;
        let reopen = retry.then(|| self.clone().again(settings.config.clone()));
        // Standard input does not come again.
        let waits = retry && !matches!(url, SourceUrl::Stdin(..));
        let opening = self.clone();
        let (source, rate) = match blocking(move || opening.open()).await {
            Ok(source) => {
                let checked = self.check(&*source);
                checked.map_err(|failure| settings.placed("publish.encrypt", failure))?;
                (Ok(source), rate)
            }
            Err(failure) if waits && matches!(failure.kind, FailureKind::Source | FailureKind::Refused) => {
                // A camera that encodes by itself is not slowed down.
                let rate = match url {
                    SourceUrl::Rtsp(_) => passed_through(rate),
                    _ => rate,
                };
                (Err(failure), rate)
            }
            Err(failure) => return Err(failure),
        };
        Ok(Beginning { source, reopen, rate })
    }

    fn open(&self) -> Result<Box<dyn Source>> {
        let mut source = match self.sound {
            true => source::open(&self.url)?,
            false => source::open_picture(&self.url)?,
        };
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

    /// What opens it again. Its URL may be in a file, with a password that was mended.
    fn again(mut self, config: Config) -> Reopen {
        Reopen::new(move || {
            // A file that is being written has no URL in it for a moment.
            let read = source_url(&config).ok().filter(|url| url.parse::<SourceUrl>().is_ok());
            if let Some(url) = read {
                self.url = url;
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

/// Says in the log what is published, as far as the source is there.
pub(super) fn announce(source_url: &str, opened: Option<&(dyn Source + 'static)>, offer: &Offer) {
    let source = redact(source_url);
    let words = words_of(&offer.identity.peer_id());
    match opened.map(Source::info) {
        Some(info) => {
            let (codec, size) = (info.codec.name(), format!("{}x{}", info.width, info.height));
            tracing::info!(%source, codec, size, words, "publishing");
        }
        None => tracing::info!(%source, words, "publishing once the source is there"),
    }
}
