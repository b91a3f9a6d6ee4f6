//! The cameras of `sealcast publish`: what is said of each, and how it is opened.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use futures_util::future::join_all;
use sealcast_proto::rate::RateConfig;
use sealcast_proto::sign::SignMode;
use sealcast_proto::unit::{NoSelection, Selection};
use zeroize::Zeroizing;

use super::args::PublishArgs;
use super::cameras::{SourceText, configured, typed_name_and_source};
use super::publish_source::{Opening, with_bitrate};
use super::{build, peers};
use crate::archive::{MAX_RECIPIENTS, Recipient, parse_recipients};
use crate::config::Settings;
use crate::config::camera::Camera;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::files::End;
use crate::keys::peers::check_camera_name;
use crate::keys::publisher::Publisher;
use crate::rtsp::PacketTap;
use crate::run::{
    CameraDefinition, CameraMedia, CameraOptions, Configured, FrameProof, GROUP_STREAM, GroupOptions, OpeningCamera,
    PublishedCamera, RelayUrl, RuntimeSettings, Shape, distinct,
};
use crate::source::SourceUrl;
use crate::transport::udp::MulticastOut;

/// Reasons for a gateway why a camera has no packets, with what to do.
const NO_RTSP: &str = "this publisher has pictures and no packets for a gateway: only an RTSP camera has some; \
                       `sealcast watch TICKET --to rtsp://127.0.0.1:8554/NAME` serves players";
const FOR_A_GROUP: &str = "this publisher seals pictures for a group and signs them (--group, --sign, --relay), and \
                           packets are neither; `sealcast watch TICKET --to rtsp://127.0.0.1:8554/NAME` serves \
                           players, or have it started without a group";
const SHAPED: &str = "this publisher hides sizes and times (--shape), and packets pass as the camera makes them; \
                      `sealcast watch TICKET --to rtsp://127.0.0.1:8554/NAME` serves players, or have it started with \
                      --shape off";
const NO_SOUND: &str = "this publisher leaves the sound out (--no-sound), and packets pass as the camera makes them; \
                        `sealcast watch TICKET --to rtsp://127.0.0.1:8554/NAME` serves players, or have it started \
                        with sound";

/// The settings that all cameras are opened with.
pub(super) struct Opener {
    settings: Settings,
    /// Known when they are opened.
    publisher: OnceLock<Arc<Publisher>>,
    shape: Shape,
    rate: RateConfig,
    relays: Vec<RelayUrl>,
    archive_to: Vec<Recipient>,
    multicast: Option<(IpAddr, SocketAddr)>,
}

/// The settings of one camera.
#[derive(Clone)]
struct Said {
    name: String,
    source: SourceText,
    selection: Selection,
    group: bool,
    sign: SignMode,
    sound: bool,
    /// True if it is one of several: it is always waited for.
    among_others: bool,
}

impl Opener {
    /// The opener of the cameras of these settings.
    ///
    /// # Errors
    /// The settings do not fit together.
    pub(super) fn new(settings: &Settings, shape: Shape) -> Result<Self> {
        let configured = &settings.config.publish;
        Ok(Self {
            settings: settings.clone(),
            publisher: OnceLock::new(),
            shape,
            rate: build::rate(&settings.config)?,
            relays: build::relays(settings, "publish.relay", &configured.relay)?,
            archive_to: archive_to(settings)?,
            multicast: multicast(settings)?,
        })
    }

    /// Opener for these settings and the cameras of others that were read later.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(super) fn renewed(&self, now: &Settings) -> Result<Self> {
        let renewed = Self::new(&self.settings.with_cameras_of(now), self.shape)?;
        Ok(Self {
            publisher: self.publisher.clone(),
            ..renewed
        })
    }

    /// The cameras are of this publisher.
    pub(super) fn publish_by(&self, publisher: &Arc<Publisher>) {
        self.publisher.get_or_init(|| Arc::clone(publisher));
    }

    pub(super) fn relays(&self) -> &[RelayUrl] {
        &self.relays
    }

    /// The cameras that were typed, or else those of the configuration.
    ///
    /// # Errors
    /// There is none, one cannot be used, or several do not fit with what the settings say of all.
    pub(super) fn cameras(self: &Arc<Self>, args: &PublishArgs) -> Result<Vec<PublishedCamera>> {
        let said = self.said(args)?;
        let several = said.len() > 1;
        if several {
            self.check_several(&said)?;
        }
        let own_name = peers::name_of(&self.settings, End::Publisher)?.to_string();
        let camera = |camera: Configured<Said>| {
            let mut said = camera.definition;
            said.among_others = several;
            said.name = camera.name.unwrap_or_else(|| own_name.clone());
            self.check_group(&said)?;
            Ok(Configured {
                name: Some(said.name.clone()),
                definition: self.definition(said)?,
                allow: camera.allow,
                control: camera.control,
            })
        };
        distinct(said.into_iter().map(camera).collect::<Result<_>>()?)
    }

    fn said(&self, args: &PublishArgs) -> Result<Vec<Configured<Said>>> {
        let (settings, publish) = (&self.settings, &self.settings.config.publish);
        if publish.source.is_none() && publish.source_file.is_none() && args.more.is_empty() {
            if settings.config.camera.is_empty() {
                let hint = format!("name one: {}", crate::source::SOURCE_URLS);
                return Err(Failure::new(FailureKind::Usage, "there is no source to publish", hint));
            }
            return configured(settings, |camera, source| {
                camera.name.as_deref().map_or(Ok(()), check_camera_name)?;
                source.read()?.parse::<SourceUrl>()?;
                self.said_of(source, camera)
            });
        }
        let typed = |text: &String| {
            let (name, source) = typed_name_and_source(text)?;
            let source = SourceText::Said(with_bitrate(source.to_owned(), &settings.config));
            self.alone(name.map(str::to_owned), source)
        };
        let first = publish.source.as_ref().map(typed);
        let in_file = publish
            .source_file
            .clone()
            .map(|path| self.alone(None, SourceText::InFile(path)));
        let all = first.into_iter().chain(in_file).chain(args.more.iter().map(typed));
        all.collect()
    }

    fn alone(&self, name: Option<String>, source: SourceText) -> Result<Configured<Said>> {
        Ok(Configured {
            name,
            definition: self.said_of(source, &Camera::default())?,
            allow: None,
            control: Default::default(),
        })
    }

    fn said_of(&self, source: SourceText, camera: &Camera) -> Result<Said> {
        let publish = &self.settings.config.publish;
        let selection = match &camera.encrypt {
            None => build::selection(&self.settings)?,
            Some(text) => text.parse().map_err(|error: NoSelection| {
                let what = format!("\"{text}\" says nothing to encrypt");
                Failure::new(FailureKind::Usage, what, error.to_string())
            })?,
        };
        let sign = camera.sign.as_ref().unwrap_or(&publish.sign);
        Ok(Said {
            name: String::new(),
            source,
            selection,
            group: camera.group.unwrap_or(publish.group) || !self.relays.is_empty(),
            sign: build::sign_mode(&self.settings, "publish.sign", sign)?,
            sound: camera.sound.unwrap_or(publish.sound),
            among_others: false,
        })
    }

    /// Whether several cameras can be what is said of all of them.
    fn check_several(&self, said: &[Configured<Said>]) -> Result<()> {
        let usage = |what: &str, hint: &str| Failure::new(FailureKind::Usage, what, hint);
        if said.iter().any(|camera| camera.name.is_none()) {
            let hint = "write NAME=SOURCE for each, or name = \"NAME\" in its [[camera]]";
            return Err(usage(
                "each of several cameras needs a name, by which it is chosen",
                hint,
            ));
        }
        if said
            .iter()
            .any(|camera| matches!(&camera.definition.source, SourceText::Said(source) if source == "-"))
        {
            return Err(usage(
                "standard input is no camera among others",
                "publish it by a program of its own",
            ));
        }
        let one = |key, what: &str| {
            let failure = usage(
                &format!("{what} is for a publisher of one camera"),
                "start a publisher for that one, with --name",
            );
            self.settings.placed(key, failure)
        };
        match (self.relays.is_empty(), self.multicast) {
            (false, _) => Err(one("publish.relay", "a relay")),
            (_, Some(_)) => Err(one("publish.listen", "a multicast group")),
            _ => Ok(()),
        }
    }

    /// Whether the frames of a camera can be sealed once for all viewers, if they are to be.
    fn check_group(&self, said: &Said) -> Result<()> {
        let refused = |key: &str, what: String, hint: &str| {
            let failure = Failure::new(FailureKind::Usage, what, hint);
            Err(self.settings.placed(key, failure))
        };
        let relays = !self.relays.is_empty();
        if !self.shape.is_off() && said.selection != Selection::All {
            let what = format!(
                "a shape hides sizes and times, and --encrypt {} shows pictures",
                said.selection
            );
            return refused("publish.shape", what, "leave one of them out");
        }
        if !said.group {
            return match (self.multicast, self.archive_to.is_empty() || said.among_others) {
                (Some(_), _) => refused(
                    "publish.listen",
                    "a multicast group needs a stream that is the same for all".to_owned(),
                    "add --group: then each record is sealed once for all viewers",
                ),
                (_, false) => refused(
                    "publish.archive_node",
                    "an archive's node needs a stream that is the same for all".to_owned(),
                    "add --group",
                ),
                _ => Ok(()),
            };
        }
        if !self.archive_to.is_empty() && said.selection != Selection::All {
            let what = "for an archive's node everything is encrypted: it may open nothing".to_owned();
            return refused("publish.archive_node", what, "leave out --encrypt, or --archive-node");
        }
        if relays && said.selection != Selection::All {
            let what = "for a relay everything is encrypted: who watches there agrees to nothing else".to_owned();
            return refused("publish.relay", what, "leave out --encrypt, or --relay");
        }
        if self.shape.cells().is_some() && (relays || self.multicast.is_some()) {
            let (key, other) = match relays {
                true => ("publish.relay", "a relay"),
                false => ("publish.listen", "a multicast group"),
            };
            let what = format!("{other} has no constant rate: it gets frames as they come");
            return refused(key, what, "use --shape pad:padme, or leave out one of the two");
        }
        Ok(())
    }

    fn definition(self: &Arc<Self>, said: Said) -> Result<CameraDefinition> {
        let source = said.source.read()?;
        // Reject an invalid source before anything is created or bound.
        source
            .parse::<SourceUrl>()
            .map_err(|failure| self.place_source(&said, failure))?;
        let (group, sign, sound) = (said.group, said.sign, said.sound);
        let all = format!("{} {} {group} {sign} {sound}", *source, said.selection);
        let opener = Arc::clone(self);
        Ok(CameraDefinition {
            said: Zeroizing::new(all),
            packets: None,
            open: Box::new(move || -> OpeningCamera {
                let (opener, said) = (Arc::clone(&opener), said.clone());
                Box::pin(async move { opener.open(said).await })
            }),
        })
    }

    fn place_source(&self, said: &Said, mut failure: Failure) -> Failure {
        if said.among_others {
            failure.what = format!("the camera {}: {}", said.name, failure.what);
        }
        let key = if self.settings.origin("publish.source").is_some() {
            "publish.source"
        } else {
            "camera"
        };
        self.settings.placed(key, failure)
    }

    async fn open(&self, said: Said) -> Result<CameraOptions> {
        let publisher = self.publisher.get().ok_or_else(|| {
            let what = "a camera was opened before its publisher was known";
            Failure::new(FailureKind::Internal, what, "please report this")
        })?;
        let proof = match said.group {
            true => FrameProof::of_group(said.sign),
            false => FrameProof::None,
        };
        let packets = self.packets(&said);
        let opening = Opening::new(said.source.clone(), self.shape, proof, said.selection)
            .with_sound(said.sound)
            .shared_by(packets.as_ref().ok());
        let retry = self.settings.config.publish.retry || said.among_others;
        let begun = opening.begin(retry, self.rate).await;
        let begun = begun.map_err(|mut failure| {
            if failure.kind == FailureKind::Source && !retry {
                failure.hint.push_str("; --retry waits for it");
            }
            if said.among_others {
                failure.what = format!("the camera {}: {}", said.name, failure.what);
            }
            self.settings.placed("publish.encrypt", failure)
        })?;
        let group = said.group.then(|| self.group(publisher, said.sign)).transpose()?;
        Ok(CameraOptions {
            media: CameraMedia::Frames {
                source: begun.source,
                reopen: begun.reopen,
                packets,
            },
            rate: begun.rate,
            sound: said.sound,
            settings: RuntimeSettings::new(said.selection),
            group,
            relays: self.relays.clone(),
            among_others: said.among_others,
            shown: Some(begun.shown),
        })
    }

    /// The connection that gateways share with the source of a camera, or why they cannot.
    fn packets(&self, said: &Said) -> std::result::Result<Arc<PacketTap>, &'static str> {
        // What cannot be read fails when it is opened.
        let url = said.source.read().and_then(|source| source.parse());
        match (url, said.group, self.shape.is_off(), said.sound) {
            (Ok(SourceUrl::Rtsp(_)), false, true, true) => Ok(Arc::default()),
            (Ok(SourceUrl::Rtsp(_)), true, ..) => Err(FOR_A_GROUP),
            (Ok(SourceUrl::Rtsp(_)), _, false, _) => Err(SHAPED),
            (Ok(SourceUrl::Rtsp(_)), ..) => Err(NO_SOUND),
            _ => Err(NO_RTSP),
        }
    }

    fn group(&self, publisher: &Publisher, sign: SignMode) -> Result<GroupOptions> {
        let open = |(local, group)| MulticastOut::open(local, group);
        let multicast = self.multicast.map(open).transpose();
        Ok(GroupOptions {
            sign,
            numbers: publisher.epochs(GROUP_STREAM)?,
            archive_to: self.archive_to.clone(),
            multicast: multicast.map_err(|failure| self.settings.placed("publish.listen", failure))?,
        })
    }
}

/// Opens all cameras at once. One of several that cannot be opened, and does not come by waiting, is left out, as when
/// cameras are read again.
///
/// # Errors
/// None can be opened: the failure is that of the first.
pub(super) async fn open_all(cameras: Vec<PublishedCamera>) -> Result<Vec<(PublishedCamera, CameraOptions)>> {
    let opening = join_all(cameras.iter().map(|camera| (camera.definition.open)())).await;
    let (mut opened, mut failed) = (Vec::new(), Vec::new());
    for (camera, outcome) in cameras.into_iter().zip(opening) {
        match outcome {
            Ok(options) => opened.push((camera, options)),
            Err(failure) => failed.push((camera.name.unwrap_or_default(), failure)),
        }
    }
    if opened.is_empty()
        && let Some((_, failure)) = failed.drain(..).next()
    {
        return Err(failure);
    }
    for (camera, failure) in failed {
        tracing::error!(
            camera,
            "{failure}; the other cameras go on, and SIGHUP has this one tried again"
        );
    }
    Ok(opened)
}

/// The recipients who can open what archive nodes record; nobody if there are no such nodes.
fn archive_to(settings: &Settings) -> Result<Vec<Recipient>> {
    let configured = &settings.config.publish;
    let place = |failure| settings.placed("publish.archive_to", failure);
    let usage = |what: String, hint: &str| place(Failure::new(FailureKind::Usage, what, hint));
    let parsed = configured.archive_to.iter().map(|text| parse_recipients(text));
    let recipients: Vec<Recipient> = parsed.collect::<Result<Vec<_>>>().map_err(place)?.concat();
    if recipients.len() > MAX_RECIPIENTS {
        let what = format!("an archive has at most {MAX_RECIPIENTS} recipients");
        return Err(usage(what, "name fewer of them"));
    }
    match (configured.archive_node.is_empty(), recipients.is_empty()) {
        (false, true) => {
            let what = "nobody could open what the archive's node records".to_owned();
            Err(usage(
                what,
                "add --archive-to RECIPIENT; `sealcast archive keygen FILE` makes one",
            ))
        }
        (true, false) => {
            let what = "there is no archive's node to record for these recipients".to_owned();
            Err(usage(
                what,
                "add --archive-node PEER, whose id `sealcast archive record` prints",
            ))
        }
        _ => Ok(recipients),
    }
}

/// The address that is listened at, and the multicast group, if there is one. Who connects to a viewer listens nowhere.
fn multicast(settings: &Settings) -> Result<Option<(IpAddr, SocketAddr)>> {
    if settings.config.publish.to.is_some() {
        return Ok(None);
    }
    let listen = build::listen_url(settings)?;
    Ok(listen.options.multicast.map(|group| (listen.address.ip(), group)))
}
