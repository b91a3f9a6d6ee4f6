//! A pipeline that a user wrote.

use std::time::{Duration, Instant};

use gstreamer::prelude::*;
use gstreamer::{
    Bus, BusSyncReply, Element, Message, MessageView, ParseContext, ParseFlags, State, StateChangeSuccess,
};

use super::words::{failed, missing, sentence, unparsed};
use crate::failure::{Failure, FailureKind, Result};

/// Longest time that stopping waits between looks at the bus.
const LOOK: Duration = Duration::from_millis(100);

/// A pipeline, which stops when it is dropped.
pub(crate) struct Pipeline {
    pipeline: gstreamer::Pipeline,
    bus: Bus,
    /// Kind of its failures.
    kind: FailureKind,
    ended: bool,
}

impl Pipeline {
    /// Makes the pipeline of a text as `gst-launch-1.0` understands it. `kind` is the kind of its failures.
    ///
    /// # Errors
    /// GStreamer does not start, the text is no pipeline, or an element of it is not installed.
    pub(crate) fn parse(text: &str, kind: FailureKind) -> Result<Self> {
        gstreamer::init().map_err(|error| {
            let what = format!("GStreamer does not start: {}", sentence(error.message()));
            Failure::new(kind, what, "check its installation with gst-inspect-1.0")
        })?;
        let mut context = ParseContext::new();
        let parsed = gstreamer::parse::launch_full(text, Some(&mut context), ParseFlags::FATAL_ERRORS);
        let element = parsed.map_err(|error| unparsed(kind, &error, &context.missing_elements()))?;
        let none = |_| Failure::new(kind, "the text is no GStreamer pipeline", "join elements with \" ! \"");
        let pipeline = element.downcast::<gstreamer::Pipeline>().map_err(none)?;
        let bus = pipeline.bus().unwrap_or_default();
        // Whoever posts what nobody reads must not fill the memory.
        bus.set_sync_handler(|_, message| match is_read(message) {
            true => BusSyncReply::Pass,
            false => BusSyncReply::Drop,
        });
        Ok(Self {
            pipeline,
            bus,
            kind,
            ended: false,
        })
    }

    /// GStreamer's own object.
    pub(crate) fn inner(&self) -> &gstreamer::Pipeline {
        &self.pipeline
    }

    /// The element of that name.
    pub(crate) fn element(&self, name: &str) -> Option<Element> {
        self.pipeline.by_name(name)
    }

    /// Adds an element of that factory.
    ///
    /// # Errors
    /// It is not installed.
    pub(crate) fn add(&self, factory: &str) -> Result<Element> {
        let element = gstreamer::ElementFactory::make(factory).build();
        let element = element.map_err(|_| missing(self.kind, &[factory.to_owned()]))?;
        self.pipeline
            .add(&element)
            .map_err(|error| self.broken(&error.to_string()))?;
        Ok(element)
    }

    /// A failure of the pipeline with these words.
    pub(crate) fn broken(&self, why: &str) -> Failure {
        let what = format!("the GStreamer pipeline cannot be joined: {}", sentence(why));
        Failure::new(self.kind, what, "try the pipeline with gst-launch-1.0")
    }

    /// Changes the state.
    ///
    /// # Errors
    /// An element refuses.
    pub(crate) fn enter(&mut self, state: State) -> Result<StateChangeSuccess> {
        match self.pipeline.set_state(state) {
            Ok(success) => Ok(success),
            Err(_) => {
                self.look()?;
                Err(self.broken("an element refuses to start and does not say why"))
            }
        }
    }

    /// Reads what the elements reported; returns true once the stream has ended.
    ///
    /// # Errors
    /// An element failed.
    pub(crate) fn look(&mut self) -> Result<bool> {
        self.look_within(Duration::ZERO)
    }

    /// Waits for the end of the stream; returns false if it does not come in time.
    ///
    /// # Errors
    /// An element failed.
    pub(crate) fn wait_for_end(&mut self, patience: Duration) -> Result<bool> {
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if self.look_within(left.min(LOOK))? {
                return Ok(true);
            }
            if left.is_zero() {
                return Ok(false);
            }
        }
    }

    fn look_within(&mut self, mut patience: Duration) -> Result<bool> {
        while !self.ended {
            let wait = gstreamer::ClockTime::from_nseconds(u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX));
            let Some(message) = self.bus.timed_pop(wait) else { break };
            patience = Duration::ZERO;
            self.take(&message)?;
        }
        Ok(self.ended)
    }

    fn take(&mut self, message: &Message) -> Result<()> {
        match message.view() {
            MessageView::Eos(_) => self.ended = true,
            MessageView::Error(error) => return Err(failed(self.kind, error)),
            MessageView::Warning(warning) => {
                let source = warning
                    .src()
                    .map(|source| source.name().to_string())
                    .unwrap_or_default();
                tracing::warn!(
                    element = source,
                    "GStreamer warns: {}",
                    sentence(warning.error().message())
                );
            }
            MessageView::Latency(_) => {
                // An element needs another delay than before; until all know it, sinks take frames for late.
                let _ = self.pipeline.recalculate_latency();
            }
            MessageView::ClockLost(_) => {
                let again = |state| self.pipeline.set_state(state);
                let _ = again(State::Paused).and_then(|_| again(State::Playing));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // It releases devices and files; there is nobody to tell if that fails.
        let _ = self.pipeline.set_state(State::Null);
        self.bus.unset_sync_handler();
    }
}

fn is_read(message: &Message) -> bool {
    matches!(
        message.view(),
        MessageView::Eos(_)
            | MessageView::Error(_)
            | MessageView::Warning(_)
            | MessageView::Latency(_)
            | MessageView::ClockLost(_)
    )
}
