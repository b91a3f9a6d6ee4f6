//! Packets that come to ports of this machine without being asked for.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use sealcast_proto::container::ts::TS_SYNC;
use sealcast_proto::rtp::RtpPacket;
use sealcast_proto::rtsp::{Channel, TrackSet};
use tokio::task::JoinSet;
use tokio::time::sleep_until;

use super::super::Strangers;
use super::super::coded::MediaError;
use super::super::file::failure;
use super::super::muxed::Muxed;
use super::choice::choose;
use super::datagrams::{Datagram, Datagrams};
use super::options::RtpOptions;
use super::reader::{Arrived, Streams};
use super::{CameraSource, Session};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{PipeFormat, SoundInfo, StreamInfo};
use crate::meter::telling::Telling;
use crate::rtsp::each_datagram;
use crate::transport::cannot_listen;
use crate::transport::udp::{DatagramSocket, Fragments};

/// A source of packets that come without being asked for.
pub(in crate::source) type RtpSource = CameraSource<PortSession>;

/// Ports that are listened at.
pub(in crate::source) struct PortSession {
    began: Instant,
    datagrams: Datagrams,
    content: Content,
    strangers: Arc<Mutex<Doorkeeper>>,
    /// One task for each port. They end with this.
    _receiving: JoinSet<()>,
}

/// Frames that are made of the packets.
enum Content {
    /// Of RTP.
    Rtp(Box<Streams>),
    /// Of MPEG-TS, by itself or in RTP.
    MpegTs(Box<Muxed>),
}

/// Judgement of packets by who sent them and by what they are.
struct Doorkeeper {
    /// The only sender that counts.
    from: Option<IpAddr>,
    /// MPEG-TS counts, and not RTP alone.
    transport_stream: bool,
    /// Not taken yet.
    strangers: Strangers,
    telling: Telling,
}

/// Kind of a packet that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counts {
    Rtp,
    Rtcp,
}

impl Doorkeeper {
    fn new(from: Option<IpAddr>, transport_stream: bool) -> Self {
        Self {
            from,
            transport_stream,
            strangers: Strangers::default(),
            telling: Telling::default(),
        }
    }

    /// Judges a packet; counts it, and says so if it is time to, if it is a stranger's.
    fn judge(&mut self, sender: SocketAddr, packet: &[u8]) -> Option<Counts> {
        let stranger = self.from.is_some_and(|from| sender.ip().to_canonical() != from);
        let why = match packet {
            _ if stranger => {
                self.strangers.address += 1;
                "they are from another address than the one that counts"
            }
            [TS_SYNC, ..] if self.transport_stream => return Some(Counts::Rtp),
            // RTCP may come to the port of RTP (RFC 5761).
            [first, 192..=223, ..] if first >> 6 == 2 => return Some(Counts::Rtcp),
            _ if RtpPacket::parse(packet).is_some() => return Some(Counts::Rtp),
            _ => {
                self.strangers.format += 1;
                match self.transport_stream {
                    true => "they are no MPEG-TS",
                    false => "they are no RTP",
                }
            }
        };
        if let Some(total) = self.telling.count(Instant::now()) {
            tracing::warn!(from = %sender.ip().to_canonical(), total, "packets are not taken: {why}");
        }
        None
    }
}

impl PortSession {
    /// Listens at the port of a track, and at the next one for its RTCP if that is free.
    fn listen(&mut self, channel: Channel, place: SocketAddr, wants_reports: bool) -> Result<()> {
        let bind = |place| DatagramSocket::bind(place, Fragments::Allowed);
        self.receive_at(channel, bind(place).map_err(|error| busy(place, &error))?);
        let reports = place.port().checked_add(1).filter(|_| wants_reports);
        if let Some(socket) = reports.and_then(|port| bind((place.ip(), port).into()).ok()) {
            self.receive_at(Channel { rtcp: true, ..channel }, socket);
        }
        Ok(())
    }

    fn receive_at(&mut self, channel: Channel, socket: DatagramSocket) {
        let (taker, strangers) = (self.datagrams.taker(), Arc::clone(&self.strangers));
        let take = move |sender: SocketAddr, packet: &[u8], came: Instant| {
            let judged = strangers
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .judge(sender, packet);
            if let Some(counts) = judged {
                let rtcp = counts == Counts::Rtcp;
                taker(Channel { rtcp, ..channel }, Bytes::copy_from_slice(packet), came);
            }
        };
        self._receiving.spawn(each_datagram(Arc::new(socket), take, || {}));
    }
}

/// The failure for a port that cannot be listened at now.
fn busy(place: SocketAddr, error: &std::io::Error) -> Failure {
    Failure {
        // It may be free later.
        kind: FailureKind::Source,
        ..cannot_listen("rtp", place, error)
    }
}

/// Whether the ports of a stream can be listened at.
///
/// # Errors
/// One cannot.
pub(crate) fn try_ports(options: &RtpOptions) -> Result<String> {
    let media = options.description.media.iter().filter(|medium| medium.port > 0);
    let places: Vec<SocketAddr> = media.map(|medium| options.place(medium)).collect();
    for place in &places {
        std::net::UdpSocket::bind(place).map_err(|error| busy(*place, &error))?;
    }
    let places = places.iter().map(ToString::to_string).collect::<Vec<_>>();
    Ok(format!(
        "what is sent to {}, where nothing else listens",
        places.join(" and ")
    ))
}

/// Frames of a stream before anything came, the tracks of which packets come, and whether reports of them are needed.
fn content(options: &RtpOptions) -> Result<(Content, TrackSet, bool)> {
    if let Some((track, _)) = options.carries_transport_stream() {
        let mut tracks = TrackSet::default();
        tracks.insert(track);
        let muxed = Muxed::new(PipeFormat::MpegTs, None, options.sound);
        return Ok((Content::MpegTs(muxed.into()), tracks, false));
    }
    let chosen = choose(&options.description, options.sound).map_err(|names| {
        let what = format!("{} is {names}, not H.264, H.265 or Motion JPEG video", options.shown());
        Failure::new(FailureKind::Source, what, "have the sender encode H.264 or H.265")
    })?;
    if let Some(what) = &chosen.left_out {
        tracing::warn!(source = options.shown(), "sound is left out: it is {what}");
    }
    let mut streams = Streams::new(chosen);
    streams.unasked();
    let (tracks, with_sound) = (streams.tracks(), streams.has_sound());
    Ok((Content::Rtp(streams.into()), tracks, with_sound))
}

/// MPEG-TS as it is, or what a packet of RTP carries.
fn transport_stream(packet: &[u8]) -> &[u8] {
    match packet {
        [TS_SYNC, ..] => packet,
        _ => RtpPacket::parse(packet).map_or(&[], |packet| packet.payload),
    }
}

impl Content {
    fn next(&mut self) -> Option<Arrived> {
        match self {
            Self::Rtp(streams) => streams.next(),
            Self::MpegTs(muxed) => muxed.next(),
        }
    }

    /// Takes a packet that came to a session which began at that instant.
    ///
    /// # Errors
    /// The stream has no picture that is carried.
    fn take(&mut self, datagram: Datagram, began: Instant) -> std::result::Result<(), MediaError> {
        let Datagram { channel, packet, came } = datagram;
        match self {
            Self::Rtp(streams) => {
                streams.take(channel, packet, began, came);
                Ok(())
            }
            Self::MpegTs(muxed) => muxed.take(transport_stream(&packet), came),
        }
    }
}

impl Session for PortSession {
    type Options = RtpOptions;
    const AGAIN: &'static str = "listening again";

    fn shown(options: &RtpOptions) -> &str {
        options.shown()
    }

    fn reconnects(_: &RtpOptions) -> bool {
        // Who sends again is heard: listening anew would only miss its first picture.
        false
    }

    async fn connect(options: &RtpOptions, _: Instant) -> Result<Self> {
        let (content, tracks, with_sound) = content(options)?;
        let transport_stream = matches!(content, Content::MpegTs(_));
        let mut session = Self {
            began: Instant::now(),
            datagrams: Datagrams::new(),
            content,
            strangers: Arc::new(Mutex::new(Doorkeeper::new(options.from, transport_stream))),
            _receiving: JoinSet::new(),
        };
        for (track, medium) in options
            .description
            .tracks()
            .filter(|(track, _)| tracks.contains(*track))
        {
            session.listen(Channel { track, rtcp: false }, options.place(medium), with_sound)?;
        }
        Ok(session)
    }

    async fn receive(&mut self, until: Instant) -> Result<Option<Arrived>> {
        loop {
            if let Some(arrived) = self.content.next() {
                return Ok(Some(arrived));
            }
            if Instant::now() >= until {
                return Ok(None);
            }
            let due = match &self.content {
                Content::Rtp(streams) => streams.due(self.began),
                Content::MpegTs(_) => None,
            };
            let wake = due.map_or(until, |due| due.min(until));
            tokio::select! {
                biased;
                datagram = self.datagrams.next() => {
                    let taken = self.content.take(datagram, self.began);
                    taken.map_err(|error| failure("the stream", &error))?;
                }
                () = sleep_until(wake.into()) => {
                    if let Content::Rtp(streams) = &mut self.content {
                        streams.settle(self.began, Instant::now());
                    }
                }
            }
        }
    }

    fn info(&self) -> StreamInfo {
        match &self.content {
            Content::Rtp(streams) => streams.info(),
            Content::MpegTs(muxed) => muxed.info(),
        }
    }

    fn sound(&self) -> Option<SoundInfo> {
        match &self.content {
            Content::Rtp(streams) => streams.sound(),
            Content::MpegTs(muxed) => muxed.sound(),
        }
    }

    fn take_damaged(&mut self) -> u64 {
        match &mut self.content {
            Content::Rtp(streams) => streams.take_damaged(),
            Content::MpegTs(muxed) => muxed.take_damaged(),
        }
    }

    fn take_strangers(&mut self) -> Strangers {
        let mut strangers = match &mut self.content {
            Content::Rtp(streams) => streams.take_strangers(),
            Content::MpegTs(_) => Strangers::default(),
        };
        let mut doorkeeper = self.strangers.lock().unwrap_or_else(PoisonError::into_inner);
        strangers += std::mem::take(&mut doorkeeper.strangers);
        strangers
    }

    fn silence(&self) -> String {
        let doorkeeper = self.strangers.lock().unwrap_or_else(PoisonError::into_inner);
        let unheard = match doorkeeper.telling.total() {
            0 => "nothing comes to it",
            _ => "nothing comes to it that counts, see above",
        };
        match &self.content {
            Content::Rtp(streams) => streams.silence(unheard),
            Content::MpegTs(muxed) => muxed.silence(unheard),
        }
    }

    async fn tear_down(self) {}
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_packets_of_the_sender_that_are_rtp_count() {
        let [near, other]: [SocketAddr; 2] =
            ["[::ffff:192.0.2.7]:9", "192.0.2.8:9"].map(|text| text.parse().expect("an address"));
        let (rtp, rtcp) = ([&[0x80, 96][..], &[0; 12]].concat(), [0x80, 200, 0, 0]);
        let mut doorkeeper = Doorkeeper::new(Some("192.0.2.7".parse().expect("an address")), false);
        assert_eq!(doorkeeper.judge(near, &rtp), Some(Counts::Rtp));
        assert_eq!(doorkeeper.judge(near, &rtcp), Some(Counts::Rtcp));
        for length in 0..12 {
            assert_eq!(doorkeeper.judge(near, &rtp[..length]), None, "{length} bytes");
        }
        assert_eq!(doorkeeper.judge(other, &rtp), None);
        assert_eq!((doorkeeper.strangers.format, doorkeeper.strangers.address), (12, 1));
        assert_eq!(Doorkeeper::new(None, false).judge(other, &rtp), Some(Counts::Rtp));
        let ts = [0x47; 188];
        assert_eq!(Doorkeeper::new(None, false).judge(other, &ts), None);
        assert_eq!(Doorkeeper::new(None, true).judge(other, &ts), Some(Counts::Rtp));
        assert_eq!(transport_stream(&[&rtp[..12], &ts].concat()), ts);
    }

    fn draw(state: &mut u64, end: usize) -> usize {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state % end as u64) as usize
    }

    #[test]
    fn any_bytes_at_the_port_are_taken_and_keep_no_memory() {
        let heads: [&[u8]; 8] = [
            &[0x67, 0x42, 0, 0x1e],
            &[0x68, 0xce, 6],
            &[0x65, 0x88, 0x84],
            &[0x7c, 0x85, 1],
            &[0x78, 0, 2, 0x67, 0x42],
            &[0x40, 1, 0x0c],
            &[0x62, 1, 0x93, 7],
            &[0, 0, 0, 0, 1, 255, 8, 8],
        ];
        let (mut state, began) = (7, Instant::now());
        for codec in ["h264", "h265", "jpeg"] {
            let options = RtpOptions::parse(&format!("127.0.0.1:5600?codec={codec}")).expect("a URL");
            let mut streams = Streams::new(choose(&options.description, true).expect("a picture"));
            streams.unasked();
            let mut doorkeeper = Doorkeeper::new(None, false);
            let track = streams.tracks().iter().next().expect("the picture's");
            let sender = "127.0.0.1:9".parse().expect("an address");
            for number in 0..20_000_u16 {
                let [high, low] = number.wrapping_add(draw(&mut state, 3) as u16).to_be_bytes();
                let kind = [96, 96, 96, 96, 0xe0, 0xe0, 200, 5][draw(&mut state, 8)];
                let source = [1, 1, 1, 1, 2][draw(&mut state, 5)];
                let mut packet = vec![
                    0x80,
                    kind,
                    high,
                    low,
                    0,
                    0,
                    (number >> 9) as u8,
                    (number >> 1) as u8,
                    0,
                    0,
                    0,
                    source,
                ];
                for _ in 0..draw(&mut state, 4) {
                    packet.extend_from_slice(heads[draw(&mut state, heads.len())]);
                }
                for _ in 0..draw(&mut state, 3) {
                    let at = draw(&mut state, packet.len());
                    packet[at] = draw(&mut state, 256) as u8;
                }
                packet.truncate(packet.len() - draw(&mut state, 4) * draw(&mut state, 4));
                let came = began + Duration::from_millis(number.into());
                if let Some(counts) = doorkeeper.judge(sender, &packet) {
                    let rtcp = counts == Counts::Rtcp;
                    streams.take(Channel { track, rtcp }, packet.into(), began, came);
                }
                while let Some(frame) = streams.next() {
                    assert!(frame.data.len() < 1 << 20);
                }
                streams.settle(began, came);
            }
            assert!(doorkeeper.strangers.format > 100, "{codec}");
            assert!(streams.take_strangers().source > 100, "{codec}");
        }
    }
}
