//! The data channels that a command line declares, and who may send on them.

use std::path::Path;

use sealcast_proto::keys::PeerId;

use crate::config::Settings;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::allow::AllowList;
use crate::run::{DataOptions, DataUrl};

/// Data channels of `publish`.
///
/// # Errors
/// One cannot be used, or they do not fit the rest.
pub(super) fn published(settings: &Settings) -> Result<DataOptions> {
    let config = &settings.config;
    let channels = DataUrl::parse_all(&config.publish.data, true);
    let channels = channels.map_err(|failure| settings.placed("publish.data", failure))?;
    let refuse = |key, what: &str, hint| {
        let failure = Failure::new(FailureKind::Usage, what, hint);
        Err(settings.placed(key, failure))
    };
    if channels.iter().any(|channel| channel.hears) {
        let hint = "leave out hear: who may send is named with --may-control";
        return refuse("publish.data", "hear is an option of a viewer", hint);
    }
    if !channels.is_empty() && config.camera.len() > 1 {
        let what = "data channels are for a publisher of one camera";
        return refuse("publish.data", what, "start a publisher for that one, with --name");
    }
    if channels.is_empty() && !config.publish.may_control.is_empty() {
        let what = "there is no data channel on which these viewers may send";
        return refuse("publish.may_control", what, "add --data NAME=udp:127.0.0.1:14550");
    }
    let may_control = may_control(settings)?;
    Ok(DataOptions { channels, may_control })
}

/// The viewers that may send on data channels.
///
/// # Errors
/// One is no peer id, or a file cannot be read.
pub(super) fn may_control(settings: &Settings) -> Result<AllowList> {
    let mut peers: Vec<PeerId> = Vec::new();
    for text in &settings.config.publish.may_control {
        match text.strip_prefix('@') {
            Some(file) => {
                let list = AllowList::read(Path::new(file));
                let list = list.map_err(|failure| settings.placed("publish.may_control", failure))?;
                peers.extend(list.peers().map(|(peer, _)| *peer));
            }
            None => peers.push(PeerId::parse(text).ok_or_else(|| {
                let what = format!("\"{text}\" is no peer id");
                let failure = Failure::new(
                    FailureKind::Usage,
                    what,
                    "write it as `sealcast keygen` prints it, or @FILE",
                );
                settings.placed("publish.may_control", failure)
            })?),
        }
    }
    Ok(AllowList::of(peers))
}

/// Data channels of `watch`.
///
/// # Errors
/// One cannot be used, or the stream comes through relays, beside which no data travels.
pub(super) fn watched(settings: &Settings, through_relays: bool) -> Result<Vec<DataUrl>> {
    let placed = |failure| settings.placed("watch.data", failure);
    let channels = DataUrl::parse_all(&settings.config.watch.data, false).map_err(placed)?;
    let usage = |what, hint| Err(placed(Failure::new(FailureKind::Usage, what, hint)));
    if channels.iter().any(|channel| channel.shared) {
        return usage("shared is an option of the publisher", "leave it out");
    }
    if through_relays && !channels.is_empty() {
        let hint = "watch with the camera's own ticket, without --relay";
        return usage("data channels do not go through relays", hint);
    }
    Ok(channels)
}
