//! What an RTSP camera sends, put together into frames.

use std::pin::Pin;
use std::time::Instant;

use bytes::Bytes;
use futures_util::StreamExt;
use retina::client::{Demuxed, Described, PacketItem, PlayOptions, Playing, Session, Stream};
use retina::codec::{AudioFrame, CodecItem, Depacketizer, FrameFormat, ParametersRef, VideoFrame};
use retina::rtcp::ReceivedCompoundPacket;
use retina::rtp::{PacketMeta, ReceivedPacket};
use retina::testutil::DepacketizeBuf;
use retina::{Error, Timestamp};
use sealcast_proto::words::plain;

/// Bytes for one packet's payload; it grows if the camera sends longer ones.
const PAYLOAD_BYTES: usize = 2048;

/// Encodings whose frames the library does not put together as they should be.
pub(super) const JPEG: &str = "jpeg";
pub(super) const OPUS: &str = "opus";

/// What came.
pub(super) enum Received {
    Picture(VideoFrame),
    Sound(SoundPacket),
    Report(ReceivedCompoundPacket),
    /// The error in words: of Motion JPEG one for each picture that lacks packets or has invalid ones, else one for
    /// each packet that is invalid or came without those before it.
    Damaged(String),
}

/// A packet of sound.
pub(super) struct SoundPacket {
    pub(super) stamp: Timestamp,
    /// When it came.
    pub(super) captured: Instant,
    pub(super) data: Bytes,
}

impl From<AudioFrame> for SoundPacket {
    fn from(frame: AudioFrame) -> Self {
        Self {
            stamp: frame.timestamp(),
            captured: frame.ctx().received(),
            data: Bytes::copy_from_slice(frame.data()),
        }
    }
}

/// The frames of a session in the playing state.
pub(super) enum Frames {
    /// As the library puts them together.
    Demuxed(Pin<Box<Demuxed>>),
    ByPacket(Box<ByPacket>),
}

impl Frames {
    /// Begins to play the streams that were set up. `parts`: how, where the library does not put frames together.
    pub(super) async fn play(session: Session<Described>, parts: Option<Parts>) -> Result<Self, Error> {
        let session = session.play(PlayOptions::default()).await?;
        Ok(match parts {
            None => Self::Demuxed(Box::pin(session.demuxed()?)),
            Some(parts) => Self::ByPacket(Box::new(ByPacket {
                session,
                buffer: DepacketizeBuf::new(PAYLOAD_BYTES),
                parts,
            })),
        })
    }

    /// Waits for the next item; `None` if the camera has hung up.
    pub(super) async fn next(&mut self) -> Option<Result<Received, Error>> {
        let frames = match self {
            Self::ByPacket(frames) => return frames.next().await,
            Self::Demuxed(frames) => frames,
        };
        loop {
            return match frames.next().await? {
                Ok(item) => match received(item) {
                    Some(received) => Some(Ok(received)),
                    None => continue,
                },
                Err(e) => Some(about_a_packet(e)),
            };
        }
    }

    /// The newest parameters of the picture. Motion JPEG has none beside its images.
    pub(super) fn parameters(&self, picture: usize) -> Option<ParametersRef<'_>> {
        match self {
            Self::Demuxed(frames) => frames.streams()[picture].parameters(),
            Self::ByPacket(frames) => match &frames.parts.picture.form {
                Form::Library(depacketizer) => depacketizer.parameters(),
                Form::Jpeg(_) | Form::Itself(_) => None,
            },
        }
    }
}

fn received(item: CodecItem) -> Option<Received> {
    match item {
        CodecItem::VideoFrame(frame) => Some(Received::Picture(frame)),
        CodecItem::AudioFrame(frame) => Some(Received::Sound(frame.into())),
        CodecItem::Rtcp(report) => Some(Received::Report(report)),
        _ => None,
    }
}

/// An error that concerns a single packet, after which the stream continues, in words. The library shows this only in
/// its message, which then names the packet.
fn about_a_packet(error: Error) -> Result<Received, Error> {
    match error.to_string().contains("\npkt: ") {
        true => Ok(Received::Damaged(first_line(&error))),
        false => Err(error),
    }
}

/// Keep the first line only: the library appends details of its connection.
pub(super) fn first_line(error: &Error) -> String {
    plain(error.to_string().lines().next().unwrap_or_default())
}

/// The streams of a session whose frames are put together packet by packet.
pub(super) struct Parts {
    picture: Part,
    sound: Option<Part>,
}

struct Part {
    number: usize,
    form: Form,
}

/// How packets become frames.
enum Form {
    Library(Depacketizer),
    Jpeg(Box<Jpeg>),
    /// Each packet's payload is a frame, as that of Opus (RFC 7587): the newest one, until it is taken.
    Itself(Option<SoundPacket>),
}

/// Pictures of Motion JPEG.
struct Jpeg {
    depacketizer: Depacketizer,
    /// The time of the picture under way, in ticks.
    under_way: Option<i64>,
    /// What is wrong with it.
    broken: Option<String>,
}

impl Parts {
    /// Of the streams with these numbers.
    ///
    /// # Errors
    /// The library's words for a stream that it cannot put together.
    pub(super) fn new(
        session: &Session<Described>,
        picture: usize,
        sound: Option<usize>,
        format: FrameFormat,
    ) -> Result<Self, String> {
        let part = |number: usize| {
            let form = Form::new(&session.streams()[number], session.sdp(), format)?;
            Ok::<_, String>(Part { number, form })
        };
        Ok(Self {
            picture: part(picture)?,
            sound: sound.map(part).transpose()?,
        })
    }
}

impl Form {
    fn new(stream: &Stream, sdp: &[u8], format: FrameFormat) -> Result<Self, String> {
        if stream.encoding_name() == OPUS {
            return Ok(Self::Itself(None));
        }
        let mut depacketizer = Depacketizer::new(
            stream.media(),
            stream.encoding_name(),
            stream.clock_rate_hz(),
            stream.channels(),
            format_parameters(sdp, stream.media(), stream.rtp_payload_type()),
        )?;
        depacketizer.set_frame_format(format);
        Ok(match stream.encoding_name() == JPEG {
            false => Self::Library(depacketizer),
            true => Self::Jpeg(Box::new(Jpeg {
                depacketizer,
                under_way: None,
                broken: None,
            })),
        })
    }

    fn push(&mut self, packet: ReceivedPacket, buffer: &mut DepacketizeBuf) -> Result<(), String> {
        match self {
            Self::Library(depacketizer) => {
                buffer.push(depacketizer, PacketMeta::from_received(&packet), packet.payload())
            }
            Self::Jpeg(jpeg) => jpeg.push(&packet, buffer),
            Self::Itself(newest) => {
                *newest = Some(SoundPacket {
                    stamp: packet.timestamp(),
                    captured: packet.ctx().received(),
                    data: packet.into_payload_bytes(),
                });
                Ok(())
            }
        }
    }

    /// The next frame that the packets so far complete. Nothing may be pushed before it returned `None` or an error.
    fn pull(&mut self) -> Option<Received> {
        match self {
            Self::Library(depacketizer) => pulled(depacketizer),
            Self::Jpeg(jpeg) => jpeg.pull(),
            Self::Itself(newest) => newest.take().map(Received::Sound),
        }
    }
}

/// What a depacketizer completes. Nothing may be pushed before it returned `None` or an error.
fn pulled(depacketizer: &mut Depacketizer) -> Option<Received> {
    match depacketizer.pull()? {
        Ok(item) => received(item),
        Err(_) => Some(Received::Damaged("it sends an invalid packet".to_owned())),
    }
}

impl Jpeg {
    /// Takes a packet. The error is that of the picture before, which no packet ended.
    fn push(&mut self, packet: &ReceivedPacket, buffer: &mut DepacketizeBuf) -> Result<(), String> {
        let (time, payload) = (packet.timestamp().timestamp(), packet.payload());
        let incomplete = || "packets of a picture were lost".to_owned();
        let before = self.under_way.replace(time).filter(|before| *before != time);
        let unended = before.map(|_| self.broken.take().unwrap_or_else(incomplete));
        if begins_picture(payload) {
            // What was lost before it belongs to another picture.
            self.broken = None;
        } else if packet.loss() > 0 {
            self.broken.get_or_insert_with(incomplete);
        }
        if let Err(what) = buffer.push(&mut self.depacketizer, PacketMeta::from_received(packet), payload) {
            self.broken.get_or_insert(what);
        }
        unended.map_or(Ok(()), Err)
    }

    /// As [`Form::pull`].
    fn pull(&mut self) -> Option<Received> {
        let complete = pulled(&mut self.depacketizer)?;
        self.under_way = None;
        Some(self.broken.take().map_or(complete, Received::Damaged))
    }
}

/// Frames that are put together packet by packet, where the library does not do it:
///
/// * Motion JPEG: the library makes a picture of the packets that came, also if some in its middle did not, and does
///   not report their loss (retina 0.4.21, `codec/jpeg.rs`).
/// * Opus: it has no depacketizer, and takes a session apart as a whole or not at all.
///
/// All else goes to the library's depacketizers, which it shows for tests alone: hence its exact version in
/// `Cargo.toml`.
pub(super) struct ByPacket {
    session: Session<Playing>,
    buffer: DepacketizeBuf,
    parts: Parts,
}

impl ByPacket {
    async fn next(&mut self) -> Option<Result<Received, Error>> {
        loop {
            if let Some(received) = self.complete() {
                return Some(Ok(received));
            }
            match self.session.next().await? {
                Ok(PacketItem::Rtp(packet)) => {
                    if let Err(what) = self.take(packet) {
                        return Some(Ok(Received::Damaged(what)));
                    }
                }
                Ok(PacketItem::Rtcp(report)) => return Some(Ok(Received::Report(report))),
                Ok(_) => {}
                Err(e) => return Some(about_a_packet(e)),
            }
        }
    }

    fn take(&mut self, packet: ReceivedPacket) -> Result<(), String> {
        let Parts { picture, sound } = &mut self.parts;
        [Some(picture), sound.as_mut()]
            .into_iter()
            .flatten()
            .find(|part| part.number == packet.stream_id())
            .map_or(Ok(()), |part| part.form.push(packet, &mut self.buffer))
    }

    fn complete(&mut self) -> Option<Received> {
        let Parts { picture, sound } = &mut self.parts;
        picture.form.pull().or_else(|| sound.as_mut()?.form.pull())
    }
}

/// True for the first packet of a picture: the part in it has offset 0 (RFC 2435, section 3.1.2).
fn begins_picture(payload: &[u8]) -> bool {
    payload.get(1..4) == Some(&[0; 3])
}

/// The value of `a=fmtp:` for a payload type of the camera's first such medium, in its session description.
pub(super) fn format_parameters<'a>(sdp: &'a [u8], media: &str, payload_type: u8) -> Option<&'a str> {
    let lines = sdp
        .split(|byte| *byte == b'\n')
        .filter_map(|line| str::from_utf8(line).ok())
        .map(str::trim_end);
    let mut of_it = false;
    for line in lines {
        if let Some(begun) = line.strip_prefix("m=") {
            of_it = begun.split(' ').next() == Some(media);
        } else if of_it
            && let Some((number, parameters)) = line.strip_prefix("a=fmtp:").and_then(|format| format.split_once(' '))
            && number.parse() == Ok(payload_type)
        {
            return Some(parameters);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_a_stream_is_that_of_its_medium_and_number() {
        let sdp = b"v=0\r\nm=video 0 RTP/AVP 97\r\na=fmtp:97 a=video\r\n\
                    m=audio 0 RTP/AVP 0 97\r\na=rtpmap:97 X\r\na=fmtp:0 b\r\na=fmtp:97 mode=AAC-hbr;config=1210\r\n";
        assert_eq!(format_parameters(sdp, "audio", 97), Some("mode=AAC-hbr;config=1210"));
        assert_eq!(format_parameters(sdp, "video", 97), Some("a=video"));
        assert_eq!(format_parameters(sdp, "video", 26), None);
    }
}
