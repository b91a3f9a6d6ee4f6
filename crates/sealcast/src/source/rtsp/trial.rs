//! A camera tried for some seconds, to tell what it does.

use std::time::{Duration, Instant};

use sealcast_proto::rtp::MediaDescription;
use sealcast_proto::rtsp::Oddities;

use super::super::SOURCE_PATIENCE;
use super::super::rtp::{Facts, Session as _};
use super::session::{Session, SharedCamera};
use super::words;
use crate::failure::Result;
use crate::media::{SoundInfo, StreamInfo};
use crate::rtsp::RtspOptions;

/// Time for which a trial goes on at most until the second keyframe came.
const KEYFRAMES_PATIENCE: Duration = Duration::from_secs(20);

/// Result of a trial.
pub(crate) struct Trial {
    /// Offer of the camera.
    pub(crate) description: MediaDescription,
    /// The picture as viewers would get it; its size is 0 until a keyframe came.
    pub(crate) picture: StreamInfo,
    /// The sound as viewers would get it.
    pub(crate) sound: Option<SoundInfo>,
    /// Facts about what came.
    pub(crate) facts: Facts,
    /// Its deviations from the standard that were passed over.
    pub(crate) oddities: Oddities,
    /// Time since the last picture.
    pub(crate) quiet: Duration,
    /// Reason why pictures failed to come, or why the session ended, without the camera's address.
    pub(crate) trouble: Option<String>,
}

/// Plays a camera for `length`, and longer until two keyframes came.
///
/// # Errors
/// The camera cannot be reached, or does not play.
pub(crate) async fn trial(options: &RtspOptions, length: Duration) -> Result<Trial> {
    let camera = SharedCamera {
        options: options.clone(),
        tap: None,
    };
    let mut session = Session::connect(&camera, Instant::now() + SOURCE_PATIENCE).await?;
    let began = Instant::now();
    let trouble = loop {
        let passed = began.elapsed();
        let enough = session.facts().keyframes > 1 || passed >= KEYFRAMES_PATIENCE || session.facts().pictures == 0;
        if passed >= length && enough {
            break (session.facts().pictures == 0).then(|| session.silence());
        }
        let until = Instant::now() + Duration::from_millis(200);
        if let Err(failure) = session.receive(until).await {
            break Some(words::without_address(options, &failure.what));
        }
    };
    session.take_damaged();
    let trial = Trial {
        description: session.description().clone(),
        picture: session.info(),
        sound: session.sound(),
        facts: session.facts().clone(),
        oddities: session.oddities(),
        quiet: session.facts().since_last(Instant::now()),
        trouble,
    };
    session.tear_down().await;
    Ok(trial)
}
