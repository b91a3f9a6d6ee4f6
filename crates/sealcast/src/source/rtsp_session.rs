//! One RTSP session with a camera: from DESCRIBE to TEARDOWN.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use retina::client::{self, SessionGroup, SessionOptions, SetupOptions, TeardownPolicy};
use retina::codec::aac::Framing;
use retina::codec::{FrameFormat, ParameterSetInsertion, ParametersRef, VideoFrame};
use tokio::runtime::Runtime;

use super::coded::{MAX_FRAME_BYTES, MediaError, sane_rate};
use super::h264::nal_units;
use super::mjpeg::image_size;
use super::predicted::Predicted;
use super::rtsp_frames::{Frames, JPEG, Parts, Received, SoundPacket, first_line};
use super::rtsp_options::{PASSWORD_VARIABLE, RtspOptions, Transport};
use super::rtsp_sound::{Kind, Offered, SoundClock, elapsed};
use super::sound::MAX_SOUND_BYTES;
use super::{rtsp_sound, rtsp_tunnel};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Codec, FrameRate, SoundInfo, StreamInfo, Track};

/// Time for the camera to confirm the TEARDOWN.
const TEARDOWN_PATIENCE: Duration = Duration::from_secs(1);

/// RTSP status code of a camera that does not support the requested transport.
const UNSUPPORTED_TRANSPORT: u16 = 461;

/// A received frame.
#[derive(Debug)]
pub(super) struct Arrived {
    /// What it is a part of.
    pub(super) track: Track,
    pub(super) keyframe: bool,
    /// True if packets before it were lost.
    pub(super) lost: bool,
    /// Time on the camera's clock, relative to the start of this session.
    pub(super) time: Duration,
    /// Time when its last packet arrived.
    pub(super) captured: Instant,
    pub(super) data: Bytes,
}

/// The stream of the camera's sound.
struct Sound {
    number: usize,
    kind: Kind,
    info: SoundInfo,
}

/// An RTSP session in the playing state.
pub(super) struct Session {
    options: RtspOptions,
    frames: Frames,
    group: Arc<SessionGroup>,
    /// Index of the camera's stream.
    number: usize,
    codec: Codec,
    rate: Option<FrameRate>,
    /// Of any codec but Motion JPEG.
    stream: Predicted,
    size: (u16, u16),
    sound: Option<Sound>,
    /// Sound that is left out, and why.
    left_out: Option<String>,
    clock: SoundClock,
    /// The picture's time of its stream at the first frame, in nanoseconds.
    begins: i128,
    /// The camera's timestamp of the first frame, in ticks.
    origin: Option<i64>,
    /// True if the previous frame was incomplete.
    spoilt: bool,
    /// Pictures since the first one that came damaged, and were not counted yet.
    damaged: u64,
    /// The error in packets received since the last good frame.
    complaint: Option<String>,
}

impl Session {
    /// Connects to the camera and starts playing.
    pub(super) async fn connect(options: &RtspOptions, deadline: Instant) -> Result<Self> {
        let silent = || {
            let hint = "check that the camera is on, and that its address and port are right";
            Failure::new(
                FailureKind::Source,
                format!("{} does not answer", options.shown()),
                hint,
            )
        };
        let told = |e: &retina::Error| answer(options, e);
        tokio::time::timeout_at(deadline.into(), Self::call(options))
            .await
            .map_err(|_| silent())?
            .map_err(|e| match e {
                Refusal::Retina(e) => told(&e),
                Refusal::Told(failure) => failure,
                Refusal::Codec(names) => Failure::new(
                    FailureKind::Source,
                    format!(
                        "{} offers {names}, not H.264, H.265 or Motion JPEG video",
                        options.shown()
                    ),
                    "choose H.264 or H.265 in the camera's settings, or the URL of its other stream",
                ),
            })
    }

    async fn call(options: &RtspOptions) -> std::result::Result<Self, Refusal> {
        let group = Arc::new(SessionGroup::default());
        let session_options = SessionOptions::default()
            .creds(options.credentials.clone())
            .user_agent(concat!("sealcast/", env!("CARGO_PKG_VERSION")).to_owned())
            .session_group(Arc::clone(&group))
            .teardown(TeardownPolicy::Auto);
        let (url, transport) = match options.within_tls() {
            // Over UDP packets would go in clear.
            true => (rtsp_tunnel::open(options).await.map_err(Refusal::Told)?, Transport::Tcp),
            false => (options.url.clone(), options.transport),
        };
        let mut session = client::Session::describe(url, session_options).await?;
        let (number, codec, rate) = choose(session.streams())?;
        // We insert the parameter sets ourselves, after the access unit delimiter, which must stay first.
        let format = FrameFormat {
            parameter_set_insertion: ParameterSetInsertion::Never,
            aac_framing: Framing::Raw,
            ..FrameFormat::SIMPLE
        };
        let by = |udp| {
            let transport = match udp {
                false => client::Transport::Tcp(Default::default()),
                true => client::Transport::Udp(Default::default()),
            };
            SetupOptions::default().transport(transport).frame_format(format)
        };
        let mut udp = transport == Transport::Udp;
        match session.setup(number, by(udp)).await {
            Err(e) if transport == Transport::Auto && e.status_code() == Some(UNSUPPORTED_TRANSPORT) => {
                udp = true;
                session.setup(number, by(udp)).await?;
            }
            answer => answer?,
        }
        let (sound, left_out) = match Self::set_up_sound(&mut session, by(udp)).await {
            Ok(sound) => (sound, None),
            Err(why) => (None, Some(why)),
        };
        let by_packet = codec == Codec::Mjpeg || sound.as_ref().is_some_and(|sound| sound.kind == Kind::Opus);
        let parts = by_packet.then(|| Parts::new(&session, number, sound.as_ref().map(|sound| sound.number), format));
        let frames = Frames::play(session, parts.transpose().map_err(Refusal::Codec)?).await?;
        let (stream, size) = (Predicted::of(codec), (0, 0));
        let mut new = Self {
            options: options.clone(),
            frames,
            group,
            number,
            codec,
            rate,
            stream,
            size,
            sound,
            left_out,
            clock: SoundClock::new(Instant::now()),
            begins: 0,
            origin: None,
            spoilt: false,
            damaged: 0,
            complaint: None,
        };
        // An error in them is reported with the first frame.
        let _ = new.learn_parameters();
        Ok(new)
    }

    /// Sets up the camera's sound in the way that its picture takes; or says in words why there is none.
    async fn set_up_sound(
        session: &mut client::Session<client::Described>,
        options: SetupOptions,
    ) -> std::result::Result<Option<Sound>, String> {
        let (number, kind): (usize, Kind) = match rtsp_sound::choose(session.streams()) {
            None => return Ok(None),
            Some(Offered::LeftOut(name)) => return Err(format!("{name}, which is not carried")),
            Some(Offered::Carried(number, kind)) => (number, kind),
        };
        let name = session.streams()[number].encoding_name().to_owned();
        let set_up = session.setup(number, options).await;
        set_up.map_err(|e| format!("{name}, which it does not send: {}", first_line(&e)))?;
        let info = rtsp_sound::describe(&session.streams()[number], kind, session.sdp());
        // Its packets come now, and are not looked at if they are not described.
        info.map(|info| Some(Sound { number, kind, info }))
            .ok_or_else(|| format!("{name}, which it does not describe"))
    }

    /// Description of the sound, if there is some.
    pub(super) fn sound(&self) -> Option<SoundInfo> {
        self.sound.as_ref().map(|sound| sound.info.clone())
    }

    /// Sound that is left out, and why.
    pub(super) fn left_out(&self) -> Option<&str> {
        self.left_out.as_deref()
    }

    pub(super) fn info(&self) -> StreamInfo {
        let info = self.stream.info(self.rate);
        match self.codec {
            Codec::H264 | Codec::H265 | Codec::Av1 => info,
            Codec::Mjpeg => StreamInfo {
                codec: Codec::Mjpeg,
                width: self.size.0,
                height: self.size.1,
                ..info
            },
        }
    }

    /// How many pictures came damaged since the last call: at least one wherever packets are missing.
    pub(super) fn take_damaged(&mut self) -> u64 {
        std::mem::take(&mut self.damaged)
    }

    /// Waits for the next frame, of the picture or the sound.
    pub(super) async fn receive(&mut self, deadline: Instant) -> Result<Arrived> {
        loop {
            let item = tokio::time::timeout_at(deadline.into(), self.frames.next()).await;
            let Ok(item) = item else {
                return Err(lost(&self.options, "it sends nothing any more"));
            };
            match item {
                Some(Ok(Received::Picture(frame))) => match self.arrived(frame) {
                    Ok(Some(arrived)) => {
                        self.complaint = None;
                        return Ok(arrived);
                    }
                    Ok(None) => {}
                    Err(e) => return Err(lost(&self.options, &format!("its stream {e}"))),
                },
                Some(Ok(Received::Sound(packet))) => {
                    if let Some(arrived) = self.heard(packet) {
                        return Ok(arrived);
                    }
                }
                Some(Ok(Received::Report(report))) => {
                    let of_sound = self
                        .sound
                        .as_ref()
                        .is_some_and(|sound| sound.number == report.stream_id());
                    if of_sound || report.stream_id() == self.number {
                        self.clock.reported(of_sound, &report);
                    }
                }
                // The first packets are often of the middle of a frame.
                Some(Ok(Received::Damaged(what))) => {
                    self.spoilt = true;
                    self.damaged += u64::from(self.codec == Codec::Mjpeg && self.origin.is_some());
                    self.complaint = Some(what);
                }
                Some(Err(e)) => return Err(answer(&self.options, &e)),
                None => {
                    return Err(lost(
                        &self.options,
                        self.complaint.as_deref().unwrap_or("it has hung up"),
                    ));
                }
            }
            if Instant::now() >= deadline {
                let why = self.complaint.as_deref().unwrap_or("it sends no pictures");
                return Err(lost(&self.options, why));
            }
        }
    }

    fn arrived(&mut self, frame: VideoFrame) -> std::result::Result<Option<Arrived>, MediaError> {
        let lost = frame.loss() > 0 || std::mem::take(&mut self.spoilt);
        // It is not known of how many pictures these packets were. Each one of Motion JPEG is counted as it comes.
        self.damaged += u64::from(lost && self.codec != Codec::Mjpeg && self.origin.is_some());
        let captured = frame.end_ctx().received();
        let stamp = frame.timestamp();
        if self.origin.is_none() {
            self.begins = elapsed(stamp);
        }
        self.clock.picture_came(elapsed(stamp), captured);
        let origin = *self.origin.get_or_insert(stamp.timestamp());
        // A picture that is shown before the first one would get a negative time.
        let ticks = u64::try_from(stamp.timestamp().saturating_sub(origin)).unwrap_or(0);
        let time = super::coded::ticks(ticks, stamp.clock_rate().get(), 1);
        if frame.has_new_parameters() {
            self.learn_parameters()?;
        }
        let data = Bytes::from(frame.into_data());
        let (data, keyframe) = match self.codec {
            Codec::H264 | Codec::H265 | Codec::Av1 => {
                let (data, keyframe) = self.stream.finish(data, false)?;
                (data, keyframe && self.stream.is_decodable())
            }
            Codec::Mjpeg => {
                // If the last packets of an image are lost, the library does not notice.
                if data.len() > MAX_FRAME_BYTES || !data.ends_with(&[0xff, 0xd9]) {
                    self.spoilt = true;
                    self.damaged += 1;
                    return Ok(None);
                }
                self.size = image_size(&data)?;
                (data, true)
            }
        };
        Ok(Some(Arrived {
            track: Track::Picture,
            keyframe,
            lost,
            time,
            captured,
            data,
        })
        .filter(|arrived| !arrived.data.is_empty()))
    }

    /// A packet of sound, if it was made after the first picture.
    fn heard(&mut self, packet: SoundPacket) -> Option<Arrived> {
        if self.sound.is_none() || packet.data.is_empty() || packet.data.len() > MAX_SOUND_BYTES {
            return None;
        }
        let time = self.clock.time(elapsed(packet.stamp), packet.captured)? - self.begins;
        Some(Arrived {
            track: Track::Sound,
            keyframe: true,
            lost: false,
            time: Duration::from_nanos(u64::try_from(time).ok()?),
            captured: packet.captured,
            data: packet.data,
        })
    }

    /// Stores the parameter sets of the session description, or of the latest frame.
    fn learn_parameters(&mut self) -> std::result::Result<(), MediaError> {
        match self.frames.parameters(self.number) {
            Some(ParametersRef::Video(video)) if self.codec != Codec::Mjpeg => {
                nal_units(video.extra_data()).try_for_each(|nal| self.stream.learn(nal))
            }
            _ => Ok(()),
        }
    }

    /// Sends TEARDOWN, and waits a moment for the camera to confirm it.
    pub(super) fn tear_down(self, runtime: Runtime) {
        let Self { frames, group, .. } = self;
        runtime.block_on(async {
            drop(frames);
            let _ = tokio::time::timeout(TEARDOWN_PATIENCE, group.await_teardown()).await;
        });
    }
}

enum Refusal {
    Retina(retina::Error),
    Codec(String),
    Told(Failure),
}

impl From<retina::Error> for Refusal {
    fn from(error: retina::Error) -> Self {
        Self::Retina(error)
    }
}

/// The first stream of the camera that sealcast can carry.
fn choose(streams: &[client::Stream]) -> std::result::Result<(usize, Codec, Option<FrameRate>), Refusal> {
    for (number, stream) in streams
        .iter()
        .enumerate()
        .filter(|(_, stream)| stream.media() == "video")
    {
        let codec = match stream.encoding_name() {
            "h264" => Codec::H264,
            "h265" => Codec::H265,
            JPEG => Codec::Mjpeg,
            _ => continue,
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rate is small and positive"
        )]
        let rate = stream
            .framerate()
            .and_then(|hertz| sane_rate((hertz * 1000.0).round() as u32, 1000));
        return Ok((number, codec, rate));
    }
    let names = streams
        .iter()
        .map(|stream| format!("{} {}", stream.encoding_name(), stream.media()));
    let names = names.collect::<Vec<_>>().join(" and ");
    Err(Refusal::Codec(if names.is_empty() { "nothing".into() } else { names }))
}

/// The failure for a camera that was reachable before.
pub(super) fn lost(options: &RtspOptions, what: &str) -> Failure {
    let hint = "check the camera and the network to it";
    Failure::new(FailureKind::Source, format!("{} failed: {what}", options.shown()), hint)
}

/// Translates an error of the library into a failure.
fn answer(options: &RtspOptions, error: &retina::Error) -> Failure {
    let camera = options.shown();
    let fail = |what: &str, hint: &str| Failure::new(FailureKind::Source, format!("{camera} {what}"), hint);
    match error.status_code() {
        Some(401 | 403) => {
            let (what, hint) = match &options.credentials {
                None => (
                    "wants a user and a password",
                    "write rtsp://USER:PASSWORD@HOST/…, or ?credentials=@FILE with a line USER:PASSWORD in FILE".into(),
                ),
                Some(_) => (
                    "does not accept this user and password",
                    format!(
                        "check both; a password may also come from a file (?credentials=@FILE) or {PASSWORD_VARIABLE}"
                    ),
                ),
            };
            Failure::new(FailureKind::Refused, format!("{camera} {what}"), hint)
        }
        Some(404) => fail(
            "has no such stream",
            "look up the path of the stream in the camera's manual, or in ONVIF",
        ),
        Some(453) => fail("has no bandwidth left", "close other viewers of the camera"),
        Some(UNSUPPORTED_TRANSPORT) => fail(
            "does not send this way",
            "choose the other way: ?transport=udp or ?transport=tcp",
        ),
        Some(code @ 500..) => fail(&format!("reports an error of its own ({code})"), "restart the camera"),
        _ => {
            let line = first_line(error);
            let hint = match line.contains("Unable to connect") {
                true => "check that the camera is on, and that its address and port are right",
                false => "check the camera and the network to it",
            };
            fail(&format!("failed: {line}"), hint)
        }
    }
}
