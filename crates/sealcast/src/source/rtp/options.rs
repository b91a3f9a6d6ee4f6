//! `rtp://127.0.0.1:5600`, `udp://127.0.0.1:5600`, or the description of a stream in a file: packets that come without
//! being asked for.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use sealcast_proto::rtp::{MediaDescription, Medium};
use sealcast_proto::rtsp::Track;

use super::super::Options;
use crate::failure::{Failure, FailureKind, Result};
use crate::transport::parse_local_address;

/// Port of ground stations and drones.
pub(crate) const DEFAULT_PORT: u16 = 5600;
/// Payload type that senders without a description use mostly; any other counts if it is the only one.
const DEFAULT_TYPE: u8 = 96;
const HIGHEST_TYPE: u8 = 127;
/// MPEG-TS in RTP, and its payload type (RFC 3551, section 6).
const TRANSPORT_STREAM: &str = "MP2T";
const TRANSPORT_STREAM_TYPE: u8 = 33;
/// Longest description in bytes.
const MAX_DESCRIPTION: u64 = 64 << 10;
const EXAMPLE: &str = "write rtp://127.0.0.1:5600?codec=h264, or file:STREAM.sdp";
const FROM: &str = "from=ADDRESS";

/// The stream that comes, and who may send it.
#[derive(Clone, PartialEq, Eq)]
pub struct RtpOptions {
    shown: String,
    /// The only sender that counts.
    pub(super) from: Option<IpAddr>,
    pub(super) description: MediaDescription,
    /// Address to listen at where the description says none.
    address: IpAddr,
    /// False if the sound is left out.
    pub(crate) sound: bool,
}

impl RtpOptions {
    /// Parses what follows `rtp://`: `ADDRESS[:PORT][?codec=h264|h265|jpeg|ts][&type=N][&from=ADDRESS]`.
    ///
    /// # Errors
    /// Kind `Usage`.
    pub(crate) fn parse(rest: &str) -> Result<Self> {
        let (place, mut options) = Options::split(rest);
        let encoding = match options.take("codec").as_deref() {
            None | Some("h264") => "H264",
            Some("h265" | "hevc") => "H265",
            Some("jpeg" | "mjpeg") => "JPEG",
            Some("ts" | "mpegts") => TRANSPORT_STREAM,
            Some(other) => {
                let what = format!("packets of \"{other}\" are not put together");
                return Err(usage(what, "use codec=h264, codec=h265, codec=jpeg or codec=ts"));
            }
        };
        let kind = match options.take("type") {
            None if encoding == TRANSPORT_STREAM => TRANSPORT_STREAM_TYPE,
            None => DEFAULT_TYPE,
            Some(text) => {
                let number = text.parse().ok().filter(|number| *number <= HIGHEST_TYPE);
                number.ok_or_else(|| {
                    let what = format!("\"{text}\" is not a payload type");
                    usage(what, "write a number from 0 to 127, as in type=96")
                })?
            }
        };
        let from = sender(&mut options)?;
        options.finish("codec=h264|h265|jpeg|ts, type=N and from=ADDRESS")?;
        Self::at("rtp", place, (kind, encoding), from)
    }

    /// Parses what follows `udp://`: `ADDRESS[:PORT][?from=ADDRESS]`, where MPEG-TS comes.
    ///
    /// # Errors
    /// Kind `Usage`.
    pub(crate) fn transport_stream(rest: &str) -> Result<Self> {
        let (place, mut options) = Options::split(rest);
        let from = sender(&mut options)?;
        options.finish(FROM)?;
        Self::at("udp", place, (TRANSPORT_STREAM_TYPE, TRANSPORT_STREAM), from)
    }

    /// A picture of this payload type and encoding that comes to a place.
    fn at(scheme: &str, place: &str, (kind, encoding): (u8, &str), from: Option<IpAddr>) -> Result<Self> {
        let address = parse_local_address(place.trim_end_matches('/'), DEFAULT_PORT)
            .filter(|address| address.port() > 0)
            .ok_or_else(|| {
                let what = format!("\"{scheme}://{place}\" begins with no address of this machine and a port");
                usage(what, EXAMPLE)
            })?;
        let port = address.port();
        let text = format!("m=video {port} RTP/AVP {kind}\na=rtpmap:{kind} {encoding}/90000\n");
        let options = Self {
            shown: format!("{scheme}://{address}"),
            from,
            description: MediaDescription::parse(text.as_bytes()),
            address: address.ip(),
            sound: true,
        };
        options.checked()
    }

    /// Reads the description (SDP) of a stream, and the options behind it.
    ///
    /// # Errors
    /// Kind `Source` if the file cannot be read, kind `Usage` if it describes nothing that could be listened to.
    pub(crate) fn described(path: &Path, mut options: Options) -> Result<Self> {
        let from = sender(&mut options)?;
        options.finish(FROM)?;
        let shown = format!("file:{}", path.display());
        let mut text = Vec::new();
        let read = File::open(path).and_then(|file| file.take(MAX_DESCRIPTION).read_to_end(&mut text));
        read.map_err(|error| {
            let what = format!("{shown} cannot be read: {error}");
            Failure::new(FailureKind::Source, what, "check the path, and who may read the file")
        })?;
        let options = Self {
            from,
            description: MediaDescription::parse(&text),
            address: Ipv4Addr::LOCALHOST.into(),
            sound: true,
            shown,
        };
        if options.description.media.iter().all(|medium| medium.port == 0) {
            let what = format!("{} describes no stream that is sent to a port", options.shown);
            let hint = "an SDP has a line for each, as in: m=video 5600 RTP/AVP 96; a camera that is asked by RTSP is \
                        rtsp://HOST/PATH";
            return Err(usage(what, hint));
        }
        options.checked()
    }

    /// Checks that not everybody on a network can send the picture.
    fn checked(self) -> Result<Self> {
        for medium in &self.description.media {
            let address = self.place(medium).ip();
            if address.is_multicast() {
                let what = format!(
                    "{}: {address} is a multicast group, which is not listened to",
                    self.shown
                );
                return Err(usage(what, "have it sent to an address of this machine"));
            }
            if !address.is_loopback() && self.from.is_none() {
                let what = format!("{}: whoever reaches {address} could send another picture", self.shown);
                return Err(usage(what, "say who sends it: add ?from=ADDRESS"));
            }
        }
        Ok(self)
    }

    /// The medium that carries MPEG-TS, if the picture does not come in RTP by itself.
    pub(super) fn carries_transport_stream(&self) -> Option<(Track, &Medium)> {
        let is = |medium: &Medium| {
            medium
                .format()
                .is_some_and(|format| format.encoding.eq_ignore_ascii_case("mp2t"))
        };
        self.description.tracks().find(|(_, medium)| is(medium))
    }

    /// Where a medium of the description comes.
    pub(super) fn place(&self, medium: &Medium) -> SocketAddr {
        SocketAddr::new(medium.address.unwrap_or(self.address), medium.port)
    }

    /// The stream in messages.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

impl fmt::Debug for RtpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RtpOptions")
            .field("shown", &self.shown)
            .field("from", &self.from)
            .finish_non_exhaustive()
    }
}

/// Takes the only address from which packets count, `from=ADDRESS`.
pub(crate) fn sender(options: &mut Options) -> Result<Option<IpAddr>> {
    let parse = |text: String| {
        let address: std::result::Result<IpAddr, _> = text.trim_matches(['[', ']']).parse();
        address.map(|address| address.to_canonical()).map_err(|_| {
            let what = format!("\"{text}\" is not the address of a sender");
            usage(
                what,
                "write an IPv4 or IPv6 address without a port, as in from=192.0.2.7",
            )
        })
    };
    options.take("from").map(parse).transpose()
}

fn usage(what: String, hint: &str) -> Failure {
    Failure::new(FailureKind::Usage, what, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_has_a_port_a_codec_and_perhaps_one_sender() {
        for (text, shown, encoding, kind, from) in [
            ("127.0.0.1:5700", "rtp://127.0.0.1:5700", "h264", 96, None),
            ("localhost?codec=h265", "rtp://127.0.0.1:5600", "h265", 96, None),
            ("[::1]:5602/?type=26&codec=jpeg", "rtp://[::1]:5602", "jpeg", 26, None),
            (
                "0.0.0.0?from=192.0.2.7",
                "rtp://0.0.0.0:5600",
                "h264",
                96,
                Some("192.0.2.7"),
            ),
            (
                "[::]?from=::ffff:192.0.2.7",
                "rtp://[::]:5600",
                "h264",
                96,
                Some("192.0.2.7"),
            ),
            ("[::]?from=[fe80::1]", "rtp://[::]:5600", "h264", 96, Some("fe80::1")),
        ] {
            let options = RtpOptions::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let format = options.description.media[0].format().expect("a format");
            assert_eq!(options.shown(), shown);
            assert_eq!(
                (format.encoding.as_str(), format.payload_type),
                (encoding, kind),
                "{text}"
            );
            assert_eq!(
                options.from,
                from.map(|from| from.parse().expect("an address")),
                "{text}"
            );
        }
    }

    #[test]
    fn what_anybody_could_send_and_wrong_values_are_refused_in_words() {
        for (text, words) in [
            ("0.0.0.0:5600", "add ?from=ADDRESS"),
            ("192.0.2.1", "could send another picture"),
            ("[::]", "add ?from=ADDRESS"),
            ("239.1.2.3:5600?from=192.0.2.7", "multicast"),
            ("127.0.0.1:0", "no address of this machine"),
            ("camera.example:5600", "no address of this machine"),
            ("", "no address of this machine"),
            ("127.0.0.1?codec=av1", "or codec=ts"),
            ("127.0.0.1?type=128", "from 0 to 127"),
            ("127.0.0.1?from=camera", "without a port"),
            ("127.0.0.1?from=192.0.2.7:5", "without a port"),
            ("127.0.0.1?volume=3", "no option \"volume\""),
        ] {
            let failure = RtpOptions::parse(text).expect_err(text);
            assert_eq!(failure.kind, FailureKind::Usage, "{failure}");
            assert!(failure.to_string().contains(words), "{text}: {failure}");
        }
    }

    #[test]
    fn mpeg_ts_comes_to_a_port_by_itself_or_in_rtp() {
        for (options, shown) in [
            (RtpOptions::transport_stream("127.0.0.1:5601"), "udp://127.0.0.1:5601"),
            (RtpOptions::transport_stream("[::1]"), "udp://[::1]:5600"),
            (
                RtpOptions::transport_stream("0.0.0.0:9?from=192.0.2.7"),
                "udp://0.0.0.0:9",
            ),
            (RtpOptions::parse("127.0.0.1?codec=ts"), "rtp://127.0.0.1:5600"),
        ] {
            let options = options.expect(shown);
            assert_eq!(options.shown(), shown);
            assert!(options.carries_transport_stream().is_some(), "{shown}");
        }
        for (rest, words) in [
            ("0.0.0.0:5600", "add ?from=ADDRESS"),
            ("239.1.2.3:5600?from=192.0.2.7", "multicast"),
            ("", "udp://"),
            ("127.0.0.1?codec=ts", "no option \"codec\""),
        ] {
            let failure = RtpOptions::transport_stream(rest).expect_err(rest);
            assert_eq!(failure.kind, FailureKind::Usage, "{failure}");
            assert!(failure.to_string().contains(words), "{rest}: {failure}");
        }
        assert!(
            RtpOptions::parse("127.0.0.1")
                .expect("H.264")
                .carries_transport_stream()
                .is_none()
        );
    }

    #[test]
    fn a_description_says_where_each_medium_comes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("stream.sdp");
        let described = |text: &str, query: &str| {
            std::fs::write(&path, text).expect("written");
            RtpOptions::described(&path, Options::split(query).1)
        };
        let both = "v=0\r\nc=IN IP4 127.0.0.1\r\nm=video 5600 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n\
                    m=audio 5602 RTP/AVP 0\r\n";
        let options = described(both, "").expect("a stream");
        let places: Vec<String> = options
            .description
            .media
            .iter()
            .map(|medium| options.place(medium).to_string())
            .collect();
        assert_eq!(places, ["127.0.0.1:5600", "127.0.0.1:5602"]);
        for (text, query, words) in [
            ("no description", "", "describes no stream"),
            ("m=video 0 RTP/AVP 96\n", "", "rtsp://HOST/PATH"),
            ("c=IN IP4 0.0.0.0\nm=video 5600 RTP/AVP 96\n", "", "add ?from=ADDRESS"),
            (
                "c=IN IP4 239.0.0.1/127\nm=video 5600 RTP/AVP 96\n",
                "?from=::1",
                "multicast",
            ),
            (both, "?loop", "no option \"loop\""),
        ] {
            let failure = described(text, query).expect_err(text).to_string();
            assert!(failure.contains(words), "{text}: {failure}");
        }
        let away = RtpOptions::described(&folder.path().join("away.sdp"), Options::split("").1).expect_err("away");
        assert_eq!(away.kind, FailureKind::Source);
    }
}
