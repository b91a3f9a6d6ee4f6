//! `rtsp://127.0.0.1:8554/front`: serves the stream to RTSP players.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

use bytes::Bytes;
use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::rtp::packetize::describe;
use sealcast_proto::rtsp::{CarriedStatus, Channel, Track};
use tokio::sync::oneshot;

use super::stream::{SharedStream, StreamAnswers};
use super::url::PlayersUrl;
use super::{Players, players_address};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Codec, ReceivedFrame, SoundInfo, StreamInfo};
use crate::meter::metrics::Metrics;
use crate::run::clock::Clock;
use crate::sink::rtp_track::{CutFrame, RtpTrack};
use crate::sink::{Sink, captured};
use crate::transport::tcp;

/// Tracks of the description.
const PICTURE: usize = 0;
const SOUND: usize = 1;

/// One track that is sent.
struct Sent {
    channel: Channel,
    track: RtpTrack,
}

/// A sink that makes packets for players.
pub struct PlayersSink {
    shared: Arc<SharedStream>,
    metrics: Metrics,
    info: Option<StreamInfo>,
    sound_info: Option<SoundInfo>,
    picture: Option<(Codec, Sent)>,
    sound: Option<Sent>,
    /// The description is to be made anew.
    undescribed: bool,
    /// The next frame's stamp, and what is known of its clock.
    stamp: (u64, Option<ClockEstimate>),
    /// Stops the server when dropped.
    _server: oneshot::Sender<()>,
}

impl PlayersSink {
    /// Listen for players at the address of the URL. They are counted in `metrics`.
    ///
    /// # Errors
    /// The URL is invalid, or would open the picture to the network without a password (kind `Usage`); the password's
    /// file cannot be used (kind `Keys`); the address cannot be listened at (kind `Network`).
    pub fn open(url: &str, metrics: &Metrics) -> Result<Self> {
        let PlayersUrl { address, path, login } = url.parse()?;
        let fail = |error: std::io::Error| {
            let what = format!("the server for players does not start ({error})");
            Failure::new(FailureKind::Sink, what, "free some memory or threads")
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(fail)?;
        let listener = {
            let _context = runtime.enter();
            tcp::listen("rtsp", address)?
        };
        let address = players_address(listener.local_addr().map_err(fail)?);
        tracing::info!(url = format!("rtsp://{address}/{path}"), "players open this");
        let shared = Arc::new(SharedStream::new());
        let (players, requests) = Players::new(login, Clock::default(), metrics, true);
        let answers = StreamAnswers::new(path, Arc::clone(&shared)).answer(requests);
        let (server, closed) = oneshot::channel::<()>();
        let serve = move || {
            runtime.block_on(async move {
                tokio::select! {
                    never = players.serve(&listener) => match never {},
                    () = answers => {}
                    // It is dropped.
                    _ = closed => {}
                }
            });
        };
        thread::Builder::new()
            .name("players".to_owned())
            .spawn(serve)
            .map_err(fail)?;
        Ok(Self {
            shared,
            metrics: metrics.clone(),
            info: None,
            sound_info: None,
            picture: None,
            sound: None,
            undescribed: true,
            stamp: (0, None),
            _server: server,
        })
    }

    /// Makes the description, once there is a packet to send.
    fn describe(&mut self) {
        let Some(info) = self.info.as_ref().filter(|_| self.undescribed) else {
            return;
        };
        self.undescribed = false;
        let sound = self.sound_info.as_ref().filter(|_| self.sound.is_some());
        let description = describe(info, sound);
        if let Some(text) = &description {
            self.shared.subscribers.described(text.as_bytes());
        }
        self.shared.description.send_replace(description);
    }

    /// Sends what was cut, and a report of it if one is due.
    fn send(&mut self, sound: bool, frame: &ReceivedFrame) -> Result<()> {
        let captured = captured(self.stamp.0, self.stamp.1);
        let sent = match sound {
            true => self.sound.as_mut(),
            false => self.picture.as_mut().map(|(_, sent)| sent),
        };
        let Some(sent) = sent else { return Ok(()) };
        let CutFrame { packets, report } = sent.track.cut(frame, captured)?;
        let (now, channel) = (Instant::now(), sent.channel);
        let subscribers = &self.shared.subscribers;
        for packet in packets {
            let (memory, packet) = (packet.len(), Bytes::from(packet));
            subscribers.deliver(channel, &packet, memory, now, &self.metrics);
        }
        if let Some(report) = report {
            let channel = Channel { rtcp: true, ..channel };
            subscribers.deliver(channel, &Bytes::from(report), 0, now, &self.metrics);
        }
        subscribers.send_off(&self.metrics);
        subscribers.settle();
        Ok(())
    }
}

/// A track of the description.
fn sent(number: usize, track: RtpTrack) -> Option<Sent> {
    let channel = Channel {
        track: Track::new(number)?,
        rtcp: false,
    };
    Some(Sent { channel, track })
}

impl Sink for PlayersSink {
    fn start(&mut self, info: &StreamInfo) -> Result<()> {
        if self.picture.as_ref().is_none_or(|(codec, _)| *codec != info.codec) {
            let track = RtpTrack::of_picture(info.codec)?;
            self.picture = sent(PICTURE, track).map(|sent| (info.codec, sent));
            // Players have another codec's description.
            self.shared.subscribers.end(CarriedStatus::of_camera(503));
        }
        self.info = Some(info.clone());
        self.undescribed = true;
        Ok(())
    }

    fn start_sound(&mut self, info: &SoundInfo) -> Result<()> {
        self.sound = RtpTrack::of_sound(info)?.and_then(|track| sent(SOUND, track));
        self.sound_info = Some(info.clone());
        self.undescribed = true;
        Ok(())
    }

    fn stamped(&mut self, stamped: u64, clock: Option<ClockEstimate>) {
        self.stamp = (stamped, clock);
    }

    fn write(&mut self, frame: &ReceivedFrame) -> Result<()> {
        self.describe();
        self.send(false, frame)
    }

    fn write_sound(&mut self, packet: &ReceivedFrame) -> Result<()> {
        self.send(true, packet)
    }

    fn wants_keyframe(&mut self) -> bool {
        self.shared.wants_keyframe.swap(false, Ordering::Relaxed)
    }

    fn finish(&mut self) -> Result<()> {
        self.shared.subscribers.end(CarriedStatus::of_camera(503));
        Ok(())
    }
}
