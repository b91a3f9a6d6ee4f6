//! Cameras of the camera gateway: over TLS, with an allow list for each camera, and with a configuration that is read
//! again while players watch.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use rustls::crypto::aws_lc_rs::{default_provider, sign::any_supported_type};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion};
use sealcast_proto::rtsp::Method;
use sealcast_testkit::gateways::{
    Camera, Heard, Packet, Plain, Player, camera_gateway, digests_by_ffmpeg, pair, viewer_gateway,
};
use sealcast_testkit::media::{STREET, clip, path, tool};
use sealcast_testkit::program::{self, PATIENCE, Publisher, free_port, home, sealcast, succeeds_once, write_private};
use sealcast_testkit::servers::gstreamer;

/// Creates a self-signed certificate. Returns a file with it and its key, and its fingerprint as computed by OpenSSL.
fn certificate(dir: &Path, name: &str) -> (PathBuf, String) {
    let file = dir.join(name);
    let [key, shown] = ["key", "certificate"].map(|end| dir.join(format!("{name}.{end}")));
    let openssl = |arguments: &[&str]| {
        let output = tool("openssl").args(arguments).output().expect("OpenSSL runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let curve = "ec_paramgen_curve:prime256v1";
    let made = [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        curve,
        "-nodes",
        "-subj",
        "/CN=camera",
    ];
    openssl(&[&made[..], &["-keyout", path(&key), "-out", path(&shown)]].concat());
    let parts = [&key, &shown].map(|part| std::fs::read_to_string(part).expect("it is there"));
    std::fs::write(&file, parts.concat()).expect("written");
    let said = openssl(&["x509", "-noout", "-fingerprint", "-sha256", "-in", path(&shown)]);
    let digits = said.trim().split_once('=').expect("a fingerprint").1.replace(':', "");
    (file, format!("sha256:{}", digits.to_lowercase()))
}

fn status_of(port: u16, camera: &str) -> u16 {
    let mut player = Player::connect(port, camera, Plain::Tcp);
    player.ask(Method::Describe, "", &[]).status
}

#[test]
fn a_camera_within_tls_is_carried_with_its_password_and_shows_what_it_shows_directly() {
    let dir = home();
    let (pem, pin) = certificate(dir.path(), "camera.pem");
    let login = ["--user", "admin", "--password", "secret", "--method", "digest"];
    let camera = gstreamer(
        &clip(STREET, dir.path()),
        &[&login[..], &["--tls", path(&pem)]].concat(),
    );
    let direct = camera.url().replace("rtsp://", "rtsps://admin:secret@");
    let show =
        |url: &str| digests_by_ffmpeg(&["-rtsp_transport", "tcp", "-i", url, "-map", "0:v:0", "-frames:v", "50"]);
    let list = dir.path().join("cameras");
    write_private(&list, format!("{direct}?fingerprint={pin}\n"));
    let gateways = pair("", &["--camera-file", path(&list)], &[]);
    // The server drops packets that a busy machine does not read in time, so several attempts are allowed.
    let compare = || {
        let (shown, through) = (show(&direct), show(&gateways.url()));
        match shown == through && shown.len() == 50 {
            true => Ok(()),
            false => Err(format!(
                "{} pictures directly, {} through gateways",
                shown.len(),
                through.len()
            )),
        }
    };
    assert!(succeeds_once("a camera within TLS", compare), "other things are shown");
    gateways.assert_calm();
}

#[test]
fn a_camera_that_is_not_pinned_or_is_another_is_refused_with_what_it_showed() {
    let dir = home();
    let (pem, pin) = certificate(dir.path(), "camera.pem");
    let (_, other) = certificate(dir.path(), "other.pem");
    let camera = gstreamer(&clip(STREET, dir.path()), &["--tls", path(&pem)]);
    let url = camera.url().replace("rtsp://", "rtsps://");
    let cameras = [
        format!("missing={url}"),
        format!("wrong={url}?fingerprint={other}"),
        format!("right={url}?fingerprint={pin}"),
    ];
    let arguments: Vec<&str> = cameras.iter().flat_map(|camera| ["--camera", camera]).collect();
    let gateways = pair("", &arguments, &[]);
    assert_eq!(
        ["missing", "wrong", "right"].map(|name| status_of(gateways.port, name)),
        [503, 503, 200]
    );
    for words in [
        format!("shows the certificate {pin}, and none is pinned; compare it with the camera's own"),
        format!("then add fingerprint={pin} to its URL"),
        format!("shows the certificate {pin} and not {other}, which is pinned"),
    ] {
        gateways.camera.program.says(&words, PATIENCE);
    }
}

/// Presents a certificate, and signs with a key that need not belong to it.
#[derive(Debug)]
struct Shows(Arc<CertifiedKey>);

impl ResolvesServerCert for Shows {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

/// A TLS server. Returns its port, and a channel with the first plaintext that each client sends; it is empty if the
/// client sends none.
fn tls_server(certificate: &Path, key: &Path, version: &'static SupportedProtocolVersion) -> (u16, Receiver<String>) {
    let shown = CertificateDer::from_pem_file(certificate).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(key).expect("a key");
    let key = CertifiedKey::new(vec![shown], any_supported_type(&key).expect("a known kind"));
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[version])
        .expect("a version that is known")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Shows(Arc::new(key))));
    let config = Arc::new(config);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let (sender, heard) = channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut connection = ServerConnection::new(Arc::clone(&config)).expect("a connection");
            let mut first = [0; 1024];
            let read = rustls::Stream::new(&mut connection, &mut stream).read(&mut first);
            let said = String::from_utf8_lossy(&first[..read.unwrap_or(0)]).into_owned();
            if sender.send(said).is_err() {
                return;
            }
        }
    });
    (port, heard)
}

#[test]
fn a_server_that_shows_the_pinned_certificate_and_does_not_hold_its_key_is_told_nothing() {
    let dir = home();
    let (pem, pin) = certificate(dir.path(), "camera.pem");
    let (thief, _) = certificate(dir.path(), "thief.pem");
    for version in [&TLS12, &TLS13] {
        for (key, told) in [(&pem, true), (&thief, false)] {
            let (port, heard) = tls_server(&pem, key, version);
            let gateways = pair(&format!("rtsps://127.0.0.1:{port}/cam?fingerprint={pin}"), &[], &[]);
            assert_ne!(status_of(gateways.port, "front"), 200);
            let said = heard.recv_timeout(PATIENCE).expect("the gateway called");
            assert_eq!(said.starts_with("OPTIONS rtsps://"), told, "{version:?}: {said}");
            assert_eq!(said.is_empty(), !told, "{version:?}: {said}");
            if !told {
                gateways.camera.program.says("does not agree on TLS", PATIENCE);
            }
        }
    }
}

#[test]
fn a_camera_without_tls_hears_no_rtsp_where_tls_was_asked_for() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let (sender, heard) = channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut first = [0; 1024];
            let length = stream.read(&mut first).unwrap_or(0);
            let _ = stream.write_all(b"RTSP/1.0 400 Bad Request\r\n\r\n");
            if sender.send(first[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    let gateways = pair(&format!("rtsps://127.0.0.1:{port}/cam"), &[], &[]);
    assert_eq!(status_of(gateways.port, "front"), 503);
    assert_eq!(status_of(gateways.port, "front"), 503);
    gateways.camera.program.says("nothing was sent in plain", PATIENCE);
    let heard: Vec<Vec<u8>> = heard.try_iter().collect();
    // The content type of the record with a ClientHello is `handshake`, 22 (RFC 8446 §5.1).
    assert!(
        heard.len() >= 2 && heard.iter().all(|first| first[0] == 22),
        "{heard:?}"
    );
}

/// A camera gateway with a configuration file.
struct Configured {
    gateway: Publisher,
    file: PathBuf,
    _home: tempfile::TempDir,
}

impl Configured {
    fn start(sections: &str, more: &[&str]) -> Self {
        let home = home();
        let file = home.path().join("sealcast.toml");
        std::fs::write(&file, sections).expect("written");
        let gateway = camera_gateway(home.path(), "", &[&["--config", path(&file)], more].concat());
        Self {
            gateway,
            file,
            _home: home,
        }
    }

    /// Makes the gateway read another configuration, and waits until it has printed `words` `times` times.
    fn reload(&self, sections: &str, words: &str, times: usize) {
        std::fs::write(&self.file, sections).expect("written");
        self.gateway.program.signal("HUP");
        self.gateway.program.says_times(words, times, PATIENCE);
    }
}

/// Printed after a new configuration was accepted.
const TAKEN: &str = "cameras and the lists of peers were read again";

/// A viewer gateway with its own home and peer id, to be started.
struct Viewer {
    home: tempfile::TempDir,
    peer: String,
    port: u16,
}

impl Viewer {
    fn new() -> Self {
        let home = home();
        let mut keygen = sealcast(home.path());
        let output = keygen
            .args(["keygen", "--for", "gateway-viewer"])
            .output()
            .expect("it runs");
        let peer = String::from_utf8(output.stdout).expect("text").trim().to_owned();
        assert!(!peer.is_empty());
        let port = free_port();
        Self { home, peer, port }
    }

    fn link(&self, ticket: &str) -> program::Program {
        viewer_gateway(self.home.path(), ticket, self.port, &[])
    }

    fn play(&self, camera: &str) -> Player {
        let mut player = Player::connect(self.port, camera, Plain::Tcp);
        player.play();
        player
    }
}

fn section(path: &str, url: &str, more: &str) -> String {
    format!("[[camera]]\nname = \"{path}\"\nsource = \"{url}\"\n{more}\n")
}

/// A camera that never stops. Its packets contain its name and are numbered.
fn numbered(name: &str) -> (Camera, Vec<Packet>) {
    let packet = |at: usize| ((at % 4) as u8, format!("{name} {at}").into_bytes());
    let packets: Vec<Packet> = (0..97).map(packet).collect();
    (Camera::start(Plain::Tcp, packets.clone(), true), packets)
}

/// Checks that the next `count` packets of a player are those of the camera from `from` on, without a gap. Returns the
/// number of the packet after them.
fn follow(player: &Player, packets: &[Packet], from: usize, count: usize) -> usize {
    for (at, came) in (from..).zip(player.packets(count)) {
        assert!(came == packets[at % packets.len()], "packet {at} is {came:?}");
    }
    from + count
}

#[test]
fn cameras_that_are_read_again_change_and_the_others_lose_no_packet() {
    let [(kept, sent), (removed, _), (before, _), (after, _), (added, _)] =
        ["kept", "removed", "before", "after", "added"].map(numbered);
    let first = section("kept", &kept.url(), "")
        + &section("removed", &removed.url(), "")
        + &section("changed", &before.url(), "");
    let configured = Configured::start(&first, &[]);
    let viewer = Viewer::new();
    let _link = viewer.link(&configured.gateway.ticket);
    let watching = viewer.play("kept");
    let mut came = follow(&watching, &sent, 0, 300);
    let [gone, other] = ["removed", "changed"].map(|camera| viewer.play(camera));
    gone.packets(20);
    other.packets(20);
    assert_eq!(status_of(viewer.port, "added"), 404);

    let second =
        section("added", &added.url(), "") + &section("kept", &kept.url(), "") + &section("changed", &after.url(), "");
    configured.reload(&second, TAKEN, 1);
    let words = "added=\"added\" removed=\"removed\" changed=\"changed\" unchanged=\"kept\"";
    assert!(
        configured.gateway.program.said().contains(words),
        "{}",
        configured.gateway.program.said()
    );
    assert!(gone.is_ended(PATIENCE) && other.is_ended(PATIENCE));
    for camera in [&removed, &before] {
        camera.hears(&Heard::Asked("TEARDOWN".to_owned()));
        camera.hears(&Heard::Gone);
    }
    assert_eq!(status_of(viewer.port, "removed"), 404);
    for (path, name) in [("added", "added"), ("changed", "after")] {
        let packets = viewer.play(path).packets(20);
        assert!(
            packets.iter().all(|packet| packet.1.starts_with(name.as_bytes())),
            "{packets:?}"
        );
    }
    came = follow(&watching, &sent, came, 1000);

    configured.reload("[[camera]]\nname = 7\n", "everything stays as it was", 1);
    configured.gateway.program.says("line 2, column 8", PATIENCE);
    configured.reload(&first, TAKEN, 2);
    assert_eq!(
        status_of(viewer.port, "removed"),
        200,
        "it is there again, where it was"
    );
    follow(&watching, &sent, came, 1000);
    let plays = |camera: &Camera| {
        let play = Heard::Asked("PLAY".to_owned());
        camera.heard_so_far().iter().filter(|heard| **heard == play).count()
    };
    assert_eq!(plays(&kept), 1, "it was never asked again");
    assert!(!configured.gateway.program.said().contains("packets dropped"));
}

#[test]
fn a_camera_is_hidden_from_viewers_that_are_not_on_its_list_and_lost_by_those_taken_from_it() {
    let [(front, sent), (yard, _)] = ["front", "yard"].map(numbered);
    let [friend, stranger] = [Viewer::new(), Viewer::new()];
    let sections = |allowed: &[&Viewer]| {
        let peers: Vec<String> = allowed.iter().map(|viewer| format!("\"{}\"", viewer.peer)).collect();
        let allow = format!("allow = [{}]", peers.join(", "));
        section("front", &front.url(), &allow) + &section("yard", &yard.url(), "")
    };
    let configured = Configured::start(&sections(&[&friend]), &[]);
    let links = [&friend, &stranger].map(|viewer| viewer.link(&configured.gateway.ticket));
    for (link, viewer, told) in [(&links[0], &friend, "front, yard"), (&links[1], &stranger, "yard")] {
        let first = told.split(',').next().unwrap_or_default();
        let url = format!("such_as=\"rtsp://127.0.0.1:{}/{first}\"", viewer.port);
        link.says(&format!("cameras=\"{told}\" {url}"), PATIENCE);
    }
    let watching = friend.play("front");
    let came = follow(&watching, &sent, 0, 300);
    let yards = [&friend, &stranger].map(|viewer| viewer.play("yard"));
    let answer = |camera: &str| {
        let answer = Player::connect(stranger.port, camera, Plain::Tcp).ask(Method::Describe, "", &[]);
        (answer.status, answer.to_bytes())
    };
    assert_eq!(answer("front"), answer("cellar"));
    assert_eq!(answer("front").0, 404);
    let hidden = format!("peer={} camera=\"front\"", stranger.peer);
    configured.gateway.program.says(&hidden, PATIENCE);
    let said = configured.gateway.program.said();
    assert_eq!(said.matches(&hidden).count(), 1, "once a session: {said}");

    configured.reload(&sections(&[&friend, &stranger]), TAKEN, 1);
    links[1].says("cameras=\"front, yard\"", PATIENCE);
    let late = stranger.play("front");
    late.packets(20);
    let came = follow(&watching, &sent, came, 300);
    configured.reload(&sections(&[&friend]), TAKEN, 2);
    assert!(late.is_ended(PATIENCE), "it was taken from the list");
    assert_eq!(answer("front").0, 404);
    follow(&watching, &sent, came, 1000);
    assert!(yards.iter().all(Player::receives));
}

#[test]
fn players_change_a_camera_only_where_its_list_names_their_gateway() {
    let (camera, _) = numbered("front");
    let [friend, other] = [Viewer::new(), Viewer::new()];
    let controlled = |by: &str| section("front", &camera.url(), &format!("control = [{by}]"));
    let configured = Configured::start(&controlled(""), &[]);
    let _links = [&friend, &other].map(|viewer| viewer.link(&configured.gateway.ticket));
    let mut players = [&friend, &other].map(|viewer| viewer.play("front"));
    let asked = Heard::Asked("SET_PARAMETER".to_owned());
    let mut statuses = || {
        players.each_mut().map(|player| {
            let kind = [("Content-Type", "text/parameters")];
            let answer = player.ask_with(Method::SetParameter, "", &kind, b"brightness: 3\r\n");
            let kept = player.ask(Method::SetParameter, "", &[]).status == 200
                && player.ask(Method::GetParameter, "", &[]).status == 200;
            assert!(kept, "keep-alives need no right");
            let words = String::from_utf8(answer.body).expect("text");
            assert_eq!(words.contains("`control`"), answer.status == 403, "{words}");
            answer.status
        })
    };
    assert_eq!(statuses(), [403, 403], "nobody has the right by default");
    assert!(!camera.heard_so_far().contains(&asked));
    configured.reload(&controlled(&format!("\"{}\"", friend.peer)), TAKEN, 1);
    assert_eq!(statuses(), [200, 403]);
    let heard = camera.heard_so_far();
    assert_eq!(heard.iter().filter(|heard| **heard == asked).count(), 1, "{heard:?}");
    configured.reload(&controlled(""), TAKEN, 2);
    assert_eq!(statuses(), [403, 403]);
}

#[test]
fn a_viewer_gateway_that_is_taken_from_the_gateways_own_list_loses_its_session() {
    let (camera, sent) = numbered("front");
    let [friend, former] = [Viewer::new(), Viewer::new()];
    let lists = home();
    let list = lists.path().join("allow");
    let allow = |viewers: &[&Viewer]| {
        let peers: Vec<&str> = viewers.iter().map(|viewer| viewer.peer.as_str()).collect();
        std::fs::write(&list, peers.join("\n")).expect("written");
    };
    allow(&[&friend, &former]);
    let sections = section("front", &camera.url(), "");
    let configured = Configured::start(&sections, &["--allow", path(&list), "--no-invite"]);
    let [_kept, mut lost] = [&friend, &former].map(|viewer| viewer.link(&configured.gateway.ticket));
    let players = [&friend, &former].map(|viewer| viewer.play("front"));
    players[1].packets(20);
    allow(&[&friend]);
    configured.reload(&sections, TAKEN, 1);
    assert!(players[1].is_ended(PATIENCE));
    assert_eq!(lost.ends(PATIENCE), 6, "{}", lost.said());
    assert!(lost.said().contains("not admitted any more"), "{}", lost.said());
    follow(&players[0], &sent, 0, 1000);
}

#[test]
fn cameras_are_checked_with_the_rest_of_the_configuration() {
    let home = home();
    let file = home.path().join("sealcast.toml");
    let check = |sections: &str| {
        std::fs::write(&file, sections).expect("written");
        let output = sealcast(home.path())
            .args(["config", "check", "--config", path(&file)])
            .output();
        let output = output.expect("it runs");
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).expect("text"))
    };
    let front = section("front", "rtsp://192.0.2.1/", "");
    let (code, said) = check(&(front.clone() + &section("yard", "rtsp://192.0.2.2/?transport=udp", "")));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(
        said.lines().filter(|line| line.starts_with("camera ")).count(),
        2,
        "{said}"
    );
    for (sections, words) in [
        (
            section("front", "rtsps://192.0.2.1/?transport=udp", ""),
            "the camera at front: over rtsps:// packets",
        ),
        (section("front", "http://192.0.2.1/", ""), "the camera at front: "),
        (
            section("front", "rtsp://192.0.2.1/", "allow = [\"nobody\"]"),
            "is no peer id",
        ),
        (front.clone() + &front, "two cameras would be at front"),
        (
            section("front", "rtsp://192.0.2.1/", "allow = \"/nowhere\""),
            "/nowhere",
        ),
    ] {
        let (code, said) = check(&sections);
        assert!(
            code.is_some_and(|code| code == 7 || code == 8) && said.contains(words),
            "{words}: {said}"
        );
    }
}
