//! `rtp://127.0.0.1:5600`: sends the stream to a port, as ground stations and players without RTSP expect it.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::rtp::packetize::describe_at;

use super::rtp_track::{CutFrame, RtpTrack};
use super::{Sink, captured};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Codec, ReceivedFrame, SoundInfo, StreamInfo};
use crate::meter::telling::Telling;
use crate::source::{DEFAULT_RTP_PORT, Options};
use crate::transport::parse_local_address;

/// Longest payload in bytes, so that a packet still fits into a link that seals or tunnels it again.
const MAX_PAYLOAD: usize = 1200;
/// Number of packets that leave at once, and the pause before the next ones. A player's socket holds some hundred
/// packets unless it asks for more.
const RUN: usize = 16;
const PAUSE: Duration = Duration::from_millis(2);
const OPTIONS: &str = "sdp=FILE, sound=PORT and open";

/// `rtp://ADDRESS[:PORT][?sdp=FILE][&sound=PORT][&open]`.
#[derive(Debug)]
struct RtpUrl {
    to: SocketAddr,
    /// File for the description.
    sdp: Option<PathBuf>,
    /// Port for the sound.
    sound: Option<u16>,
}

impl FromStr for RtpUrl {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self> {
        let usage = |why: &str, hint: &str| {
            let what = format!("\"{text}\": {why}");
            Failure::new(FailureKind::Usage, what, hint)
        };
        let example = "write rtp://127.0.0.1:5600";
        let (place, mut options) = Options::split(text.strip_prefix("rtp://").unwrap_or_default());
        let (sdp, sound, open) = (options.take("sdp"), options.take("sound"), options.flag("open"));
        options.finish(OPTIONS)?;
        let to = parse_local_address(place.trim_end_matches('/'), DEFAULT_RTP_PORT)
            .filter(|to| to.port() > 0 && !to.ip().is_unspecified())
            .ok_or_else(|| usage("it names no address and port to send to", example))?;
        if !to.ip().is_loopback() && !open {
            let why = "the picture would leave this machine in clear";
            return Err(usage(
                why,
                "watch it on that machine instead, or add ?open if that is what you want",
            ));
        }
        let sound = sound.map(|port| {
            // The picture's reports go to the next port.
            let port = port.parse().ok().filter(|port: &u16| *port > 0);
            let port = port.filter(|port| port.abs_diff(to.port()) > 1 && *port < u16::MAX);
            port.ok_or_else(|| {
                let why = "the sound needs a port of its own, and a free one beside each";
                usage(why, "write sound=5602 beside a picture at 5600")
            })
        });
        let sdp = sdp.map(|file| match file.as_str() {
            "" => Err(usage("sdp= names no file", "write sdp=stream.sdp")),
            file => Ok(PathBuf::from(file)),
        });
        Ok(Self {
            to,
            sdp: sdp.transpose()?,
            sound: sound.transpose()?,
        })
    }
}

/// A sink that sends packets to a port, whether anybody listens there or not.
pub(super) struct RtpSink {
    url: RtpUrl,
    socket: UdpSocket,
    info: Option<StreamInfo>,
    sound_info: Option<SoundInfo>,
    picture: Option<(Codec, RtpTrack)>,
    sound: Option<RtpTrack>,
    /// The description is to be written anew.
    undescribed: bool,
    /// The next frame's stamp, and what is known of its clock.
    stamp: (u64, Option<ClockEstimate>),
    /// Packets that the system did not take.
    unsent: Telling,
}

impl RtpSink {
    /// Sends to the address of the URL.
    ///
    /// # Errors
    /// The URL is invalid, or would send the picture into the network unasked (kind `Usage`).
    pub(super) fn open(url: &str) -> Result<Self> {
        let url: RtpUrl = url.parse()?;
        let any = match url.to.is_ipv6() {
            true => Ipv6Addr::UNSPECIFIED.into(),
            false => Ipv4Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind(SocketAddr::new(any, 0)).map_err(|error| {
            let what = format!("the system gives no socket ({error})");
            Failure::new(FailureKind::Sink, what, "raise the limit on open files")
        })?;
        tracing::info!(to = %url.to, "sending RTP");
        Ok(Self {
            url,
            socket,
            info: None,
            sound_info: None,
            picture: None,
            sound: None,
            undescribed: true,
            stamp: (0, None),
            unsent: Telling::default(),
        })
    }

    /// Writes the description, once there is a picture to send.
    fn describe(&mut self) -> Result<()> {
        let Some(info) = self.info.as_ref().filter(|_| self.undescribed) else {
            return Ok(());
        };
        self.undescribed = false;
        let Some(file) = &self.url.sdp else { return Ok(()) };
        let sound = self.sound_info.as_ref().filter(|_| self.sound.is_some());
        let ports = [self.url.to.port(), self.url.sound.unwrap_or(0)];
        let text = describe_at(info, sound, self.url.to.ip(), ports).unwrap_or_default();
        std::fs::write(file, text).map_err(|error| {
            let what = format!("{} cannot be written: {error}", file.display());
            Failure::new(FailureKind::Sink, what, "name a file in a folder of yours: sdp=FILE")
        })?;
        tracing::info!(file = %file.display(), "players open this");
        Ok(())
    }

    /// Sends what was cut to a port, and reports to the next one if there is sound to keep together with.
    fn send(&mut self, port: u16, frame: CutFrame) {
        let to = |port| SocketAddr::new(self.url.to.ip(), port);
        for (at, packet) in frame.packets.iter().enumerate() {
            if at > 0 && at % RUN == 0 {
                thread::sleep(PAUSE);
            }
            self.socket.send_to(packet, to(port)).unwrap_or_else(|error| {
                if let Some(total) = self.unsent.count(Instant::now()) {
                    tracing::warn!(to = %to(port), %error, total, "packets cannot be sent: it goes on with the next");
                }
                0
            });
        }
        let report = frame.report.filter(|_| self.sound.is_some());
        if let Some((report, next)) = report.zip(port.checked_add(1)) {
            // Nobody need listen for it.
            let _ = self.socket.send_to(&report, to(next));
        }
    }
}

impl Sink for RtpSink {
    fn start(&mut self, info: &StreamInfo) -> Result<()> {
        if self.picture.as_ref().is_none_or(|(codec, _)| *codec != info.codec) {
            let track = RtpTrack::of_picture(info.codec)?.in_payloads_of(MAX_PAYLOAD);
            self.picture = Some((info.codec, track));
        }
        self.info = Some(info.clone());
        self.undescribed = true;
        Ok(())
    }

    fn start_sound(&mut self, info: &SoundInfo) -> Result<()> {
        if self.url.sound.is_none() {
            let codec = info.codec.name();
            tracing::info!(
                codec,
                "the sound is left out: send it to a port of its own with sound=PORT"
            );
            return Ok(());
        }
        self.sound = RtpTrack::of_sound(info)?.map(|track| track.in_payloads_of(MAX_PAYLOAD));
        self.sound_info = Some(info.clone());
        self.undescribed = true;
        Ok(())
    }

    fn stamped(&mut self, stamped: u64, clock: Option<ClockEstimate>) {
        self.stamp = (stamped, clock);
    }

    fn write(&mut self, frame: &ReceivedFrame) -> Result<()> {
        self.describe()?;
        let captured = captured(self.stamp.0, self.stamp.1);
        if let Some((_, track)) = &mut self.picture {
            let cut = track.cut(frame, captured)?;
            self.send(self.url.to.port(), cut);
        }
        Ok(())
    }

    fn write_sound(&mut self, packet: &ReceivedFrame) -> Result<()> {
        let captured = captured(self.stamp.0, self.stamp.1);
        if let Some((track, port)) = self.sound.as_mut().zip(self.url.sound) {
            let cut = track.cut(packet, captured)?;
            self.send(port, cut);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_to_send_to_has_a_default_port_and_perhaps_sound_and_a_file() {
        for (text, to, sdp, sound) in [
            ("rtp://127.0.0.1:5700", "127.0.0.1:5700", None, None),
            ("rtp://localhost/", "127.0.0.1:5600", None, None),
            ("rtp://[::1]?sound=5602", "[::1]:5600", None, Some(5602)),
            (
                "rtp://192.0.2.7:9?open&sdp=a%20b.sdp",
                "192.0.2.7:9",
                Some("a b.sdp"),
                None,
            ),
        ] {
            let url: RtpUrl = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(url.to.to_string(), to);
            assert_eq!((url.sdp, url.sound), (sdp.map(PathBuf::from), sound), "{text}");
        }
    }

    #[test]
    fn what_would_leave_the_machine_in_clear_and_wrong_values_are_refused_in_words() {
        for (text, words) in [
            ("rtp://192.0.2.7:5600", "in clear"),
            ("rtp://239.1.2.3", "?open"),
            ("rtp://0.0.0.0:5600?open", "no address and port"),
            ("rtp://127.0.0.1:0", "no address and port"),
            ("rtp://station:5600", "no address and port"),
            ("rtp:127.0.0.1", "rtp://127.0.0.1:5600"),
            ("rtp://127.0.0.1?sound=5601", "port of its own"),
            ("rtp://127.0.0.1?sound=loud", "sound=5602"),
            ("rtp://127.0.0.1:65535?sound=65534", "port of its own"),
            ("rtp://127.0.0.1?sdp=", "names no file"),
            ("rtp://127.0.0.1?pace", "no option \"pace\""),
        ] {
            let failure = text.parse::<RtpUrl>().expect_err(text);
            assert_eq!(failure.kind, FailureKind::Usage);
            assert!(failure.to_string().contains(words), "{text}: {failure}");
        }
    }
}
