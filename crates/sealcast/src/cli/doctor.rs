//! `sealcast doctor`: what it examines, from the configuration.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use sealcast_proto::wire::TransportKind;

use super::args::DoctorArgs;
use super::cameras::all_sources;
use super::{build, gateway};
use crate::archive::Keeping;
use crate::config::secrets::redact;
use crate::config::{Config, Settings};
use crate::doctor::{Access, Finding, NamedFile, NamedSource, Place, Report, Subject, examine, look_at, try_camera};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::files;
use crate::output;
use crate::rtsp::RtspOptions;
use crate::sink::http::DEFAULT_PORT;
use crate::source::SourceUrl;
use crate::transport::{ListenUrl, Mtu, WebUrl};
use crate::web::Listen;

/// The program itself, as decoders are started from it.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Examines this machine and prints what was found.
#[tokio::main(flavor = "current_thread")]
pub(super) async fn run(args: &DoctorArgs) -> Result<()> {
    let report = match &args.camera {
        Some(source) => tried(source).await?,
        None => examined(args.config.config.as_deref()).await,
    };
    output::print(&match args.json {
        true => report.to_json() + "\n",
        false => report.to_lines(),
    })?;
    report.verdict()
}

/// The findings about a camera, or a file.
async fn tried(source: &str) -> Result<Report> {
    if let SourceUrl::Rtsp(options) = source.parse()? {
        return Ok(try_camera(&options).await);
    }
    let named = NamedSource {
        option: "source",
        url: source.to_owned(),
    };
    look_at(&named).ok_or_else(|| {
        let what = format!("{} cannot be looked at beforehand", redact(source));
        Failure::new(
            FailureKind::Usage,
            what,
            "name a camera, rtsp://HOST/PATH or v4l2:/dev/video0, rtp://127.0.0.1:5600, or file:CLIP.mp4",
        )
    })
}

/// Examines this machine and the configuration.
async fn examined(file: Option<&Path>) -> Report {
    let (settings, configuration) = match Settings::gather(file, std::env::vars_os(), []) {
        Ok(settings) => {
            let configuration = configuration(&settings, file);
            (settings, configuration)
        }
        Err(mut failure) => {
            failure.what += " (what follows is of the defaults)";
            (Settings::default(), Finding::failed("config", &failure))
        }
    };
    examine(&subject(&settings, configuration, file)).await
}

fn configuration(settings: &Settings, file: Option<&Path>) -> Finding {
    match (build::check(settings), file) {
        (Ok(()), Some(file)) => Finding::ok("config", format!("{} has no mistakes", file.display())),
        (Ok(()), None) => Finding::ok(
            "config",
            "no file is named with --config: what follows is of the defaults",
        ),
        (Err(failure), _) => Finding::failed("config", &failure),
    }
}

fn subject(settings: &Settings, configuration: Finding, file: Option<&Path>) -> Subject {
    let config = &settings.config;
    let home = files::home();
    let asked = build::listen_url(settings).ok().and_then(|url| url.options.mtu);
    Subject {
        configuration,
        program: THIS_PROGRAM.into(),
        places: places(settings),
        datagram: match asked {
            Some(Mtu::Bytes(bytes)) => Some(bytes),
            Some(Mtu::Auto) | None => None,
        },
        viewers: config.publish.max_viewers.get(),
        files: named_files(config, file),
        folders: folders(config, home.as_deref().ok()),
        home,
        cameras: cameras(settings),
        sources: sources(settings),
    }
}

/// The addresses to listen at. A URL that cannot be parsed is a finding about the configuration.
pub(super) fn places(settings: &Settings) -> Vec<Place> {
    let config = &settings.config;
    let listens = |option, url: ListenUrl| {
        let tcp = url.transport() == TransportKind::Tcp;
        Place {
            option,
            address: url.address,
            tcp,
            udp: !tcp,
        }
    };
    let by_tcp = |option, address| Place {
        option,
        address,
        tcp: true,
        udp: false,
    };
    let mut places: Vec<Place> = Vec::new();
    places.extend(
        build::listen_url(settings)
            .ok()
            .map(|url| listens("publish.listen", url)),
    );
    let also = config.publish.also_listen.iter().filter_map(|url| url.parse().ok());
    places.extend(also.map(|url| listens("publish.also_listen", url)));
    // A page is served over TCP, and browsers watch over UDP at the same port.
    let web = config.publish.web.as_ref().and_then(|url| url.parse::<WebUrl>().ok());
    places.extend(web.map(|url| Place {
        option: "publish.web",
        address: url.address,
        tcp: true,
        udp: true,
    }));
    let watches = config.watch.ticket.is_some() || config.watch.ticket_file.is_some();
    let page = (watches || settings.origin("watch.to").is_some()).then(|| page(&config.watch.to));
    places.extend(page.flatten().map(|address| by_tcp("watch.to", address)));
    let rtsp = settings.origin("gateway.rtsp").map(|_| config.gateway.rtsp);
    places.extend(rtsp.map(|address| by_tcp("gateway.rtsp", address)));
    let metrics = config.observe.metrics.as_ref();
    places.extend(metrics.map(|url| by_tcp("observe.metrics", url.address)));
    places
}

/// The address of a viewer's page; `None` if frames go elsewhere.
fn page(to: &str) -> Option<SocketAddr> {
    let page = to
        .starts_with("http://")
        .then(|| Listen::parse(to, DEFAULT_PORT, "pictures"));
    page.and_then(Result::ok).map(|page| page.address)
}

/// The file in a value such as `@FILE`.
fn file_of(value: Option<&String>) -> Option<PathBuf> {
    value.and_then(|value| value.strip_prefix('@')).map(PathBuf::from)
}

fn named_files(config: &Config, file: Option<&Path>) -> Vec<NamedFile> {
    let Config {
        publish,
        watch,
        gateway,
        identity,
        probe,
        record,
        observe,
        ..
    } = config;
    let secrets = [
        ("identity.file", identity.file.clone()),
        ("publish.source_file", publish.source_file.clone()),
        ("gateway.camera_file", gateway.camera_file.clone()),
        ("gateway.rtsp_password_file", gateway.rtsp_password_file.clone()),
        (
            "observe.metrics",
            observe.metrics.as_ref().and_then(|url| url.token_file.clone()),
        ),
    ];
    let tickets = [
        ("publish.to", file_of(publish.to.as_ref())),
        ("watch.ticket_file", watch.ticket_file.clone()),
        ("watch.ticket", file_of(watch.ticket.as_ref())),
        ("gateway.peer_file", gateway.peer_file.clone()),
        ("gateway.peer", file_of(gateway.peer.as_ref())),
        ("probe.from", file_of(probe.from.as_ref())),
        ("probe.beside", file_of(probe.beside.as_ref())),
        ("probe.ticket_file", probe.ticket_file.clone()),
        ("probe.events", file_of(probe.events.as_ref())),
        ("record.ticket_file", record.ticket_file.clone()),
        ("record.ticket", file_of(record.ticket.as_ref())),
    ];
    let public = [
        ("--config", file.map(Path::to_owned)),
        ("publish.allow", publish.allow.clone()),
    ];
    let stdout = Path::new("-");
    let new = [(
        "publish.ticket_file",
        publish.ticket_file.clone().filter(|path| path != stdout),
    )];
    let cameras = config.camera.iter();
    let cameras = cameras.map(|camera| ("camera.source_file", camera.source_file.clone()));
    let all = [
        (Access::Secret, secrets.into_iter().chain(cameras).collect::<Vec<_>>()),
        (Access::Ticket, tickets.into()),
        (Access::Public, public.into()),
        (Access::New, new.into()),
    ];
    let named = all.into_iter().flat_map(|(access, files)| {
        files
            .into_iter()
            .filter_map(move |(option, path)| path.map(|path| NamedFile { option, path, access }))
    });
    named.collect()
}

/// The folders that files are written to, each once.
fn folders(config: &Config, home: Option<&Path>) -> Vec<PathBuf> {
    let parent = |path: &Path| match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let recording = config
        .watch
        .to
        .strip_prefix("file:")
        .map(|path| parent(Path::new(path)));
    // The folder of an archive is made if it is not there.
    let archive = config
        .record
        .archive
        .as_ref()
        .and_then(|into| Keeping::parse(into).ok());
    let archive = archive.map(|(folder, _)| match folder.is_dir() {
        true => folder,
        false => parent(&folder),
    });
    let mut folders: Vec<PathBuf> = [
        home.map(Path::to_owned),
        recording,
        archive,
        config.observe.log_dir.clone(),
        config.observe.report.as_deref().map(parent),
    ]
    .into_iter()
    .flatten()
    .collect();
    folders.sort();
    folders.dedup();
    folders
}

/// The cameras that `publish`, `gateway camera` and `probe` would use. Those that cannot be read are findings about the
/// configuration and about files.
fn cameras(settings: &Settings) -> Vec<RtspOptions> {
    let config = &settings.config;
    let published = all_sources(config)
        .into_iter()
        .filter_map(|source| source.read().ok()?.parse().ok());
    let probed = [&config.probe.from, &config.probe.beside];
    let probed = probed.into_iter().filter_map(|url| url.as_ref()?.parse().ok());
    let rtsp = |url: SourceUrl| match url {
        SourceUrl::Rtsp(options) => Some(options),
        _ => None,
    };
    let mut cameras: Vec<RtspOptions> = published.chain(probed).filter_map(rtsp).collect();
    if config.gateway.camera_file.is_some() {
        let configured = gateway::configured_cameras(settings).unwrap_or_default();
        cameras.extend(configured.into_iter().map(|camera| camera.definition));
    }
    cameras
}

/// The sources that commands would open. Secrets are in none that is looked at.
fn sources(settings: &Settings) -> Vec<NamedSource> {
    let config = &settings.config;
    let demo = settings.origin("demo.source").map(|_| config.demo.source.clone());
    let published = all_sources(config).into_iter().filter_map(|source| source.read().ok());
    let published = published.map(|url| ("publish.source", Some(url.to_string())));
    let others = [
        ("demo.source", demo),
        ("probe.from", config.probe.from.clone()),
        ("probe.beside", config.probe.beside.clone()),
    ];
    let of = |(option, url): (_, Option<String>)| url.map(|url| NamedSource { option, url });
    published.chain(others).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examined(config: &str) -> Subject {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("sealcast.toml");
        std::fs::write(&file, config).expect("written");
        let settings = Settings::gather(Some(&file), [], []).expect("valid");
        subject(&settings, configuration(&settings, Some(&file)), Some(&file))
    }

    #[test]
    fn everything_that_a_configuration_names_is_examined() {
        let subject = examined(
            "[publish]\nlisten = \"udp://127.0.0.1:9553?mtu=1400\"\n\
             also_listen = [\"tcp://127.0.0.1:9554\"]\nweb = \"https://127.0.0.1:9443\"\nmax_viewers = 7\n\
             allow = \"/etc/sealcast/allowed\"\nticket_file = \"/run/sealcast/ticket\"\n\
             [watch]\nticket = \"@/etc/sealcast/ticket\"\nto = \"file:/srv/video/out.mp4\"\n\
             [gateway]\nrtsp = \"127.0.0.1:9555\"\n\
             [observe]\nlog_dir = \"/var/log/sealcast\"\nmetrics = \"127.0.0.1:9464\"\n\
             [record]\nticket_file = \"/etc/sealcast/camera\"\narchive = \"/srv/archive/front?keep=7d\"\n\
             [[camera]]\nname = \"front\"\nsource = \"rtsp://127.0.0.1:9/live\"\n\
             [[camera]]\nname = \"yard\"\nsource = \"rtsp://127.0.0.1:10/\"\n",
        );
        let places: Vec<_> = subject
            .places
            .iter()
            .map(|place| (place.option, place.address.port(), place.tcp, place.udp))
            .collect();
        assert_eq!(
            places,
            [
                ("publish.listen", 9553, false, true),
                ("publish.also_listen", 9554, true, false),
                ("publish.web", 9443, true, true),
                ("gateway.rtsp", 9555, true, false),
                ("observe.metrics", 9464, true, false),
            ]
        );
        assert_eq!((subject.datagram, subject.viewers), (Some(1400), 7));
        let files: Vec<_> = subject.files.iter().map(|file| (file.option, file.access)).collect();
        assert_eq!(
            files,
            [
                ("watch.ticket", Access::Ticket),
                ("record.ticket_file", Access::Ticket),
                ("--config", Access::Public),
                ("publish.allow", Access::Public),
                ("publish.ticket_file", Access::New),
            ]
        );
        for folder in ["/srv/video", "/srv/archive", "/var/log/sealcast"] {
            assert!(
                subject.folders.contains(&PathBuf::from(folder)),
                "{:?}",
                subject.folders
            );
        }
        assert_eq!(subject.cameras.len(), 2);
        assert_eq!(subject.sources.len(), 2);
    }

    #[test]
    fn both_ways_of_a_comparison_are_examined_whatever_they_are() {
        let ways = |from: &str, beside: &str| {
            let subject = examined(&format!("[probe]\nfrom = \"{from}\"\nbeside = \"{beside}\"\n"));
            let of = |options: Vec<&'static str>| -> Vec<&str> {
                let both = options.into_iter().filter(|option| option.starts_with("probe."));
                both.collect()
            };
            let files = of(subject.files.iter().map(|file| file.option).collect());
            let looked_at = subject.sources.iter().filter(|source| look_at(source).is_some());
            (
                files,
                of(looked_at.map(|source| source.option).collect()),
                subject.cameras.len(),
            )
        };
        let none: Vec<&str> = Vec::new();
        let both = vec!["probe.from", "probe.beside"];
        assert_eq!(ways("test:", "test:160x120"), (none.clone(), both.clone(), 0));
        assert_eq!(ways("@/etc/near", "@/etc/far"), (both, none.clone(), 0));
        let (near, far) = ("rtsp://127.0.0.1:9/front", "rtsps://127.0.0.1:10/front");
        assert_eq!(ways(near, far), (none, vec![], 2));
        assert_eq!(
            ways("test:", "@/etc/far"),
            (vec!["probe.beside"], vec!["probe.from"], 0)
        );
    }

    #[test]
    fn what_is_not_configured_is_not_examined() {
        let subject = examined("");
        let places: Vec<_> = subject.places.iter().map(|place| place.option).collect();
        assert_eq!(places, ["publish.listen"]);
        assert!(subject.cameras.is_empty() && subject.datagram.is_none());
        let viewer = examined("[watch]\nticket_file = \"/etc/sealcast/ticket\"\n");
        let page = viewer.places.last().expect("a page");
        assert_eq!((page.option, page.address.port()), ("watch.to", 9880));
        assert_eq!(subject.files.len(), 1);
    }
}
