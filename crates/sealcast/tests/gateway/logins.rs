//! Players that log in, that guess, and that do not log in at all.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use sealcast_proto::rtsp::{
    CameraClient, CameraConfig, CameraError, CameraEvent, CameraInput, CameraOutput, CameraUrl,
};
use sealcast_proto::rtsp::{Lower, Method};
use sealcast_testkit::gateways::{Camera, Plain, Player, camera_gateway, viewer_gateway};
use sealcast_testkit::media::path;
use sealcast_testkit::program::{PATIENCE, Program, Publisher, free_port, home, sealcast, until, write_private};
use socket2::{Domain, Socket, Type};
use tempfile::TempDir;

const WRONG: &str = "a wrong password, which is answered after";

/// Asks for the camera's description as a player from this local address, with the user name and password of the URL.
fn describe(url: &str, from: Ipv4Addr) -> Result<(), CameraError> {
    let (url, credentials) = CameraUrl::parse(url).expect("a URL");
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket
        .bind(&SocketAddr::from((from, 0)).into())
        .expect("all of 127.0.0.0/8 is ours");
    let gateway = SocketAddr::from((Ipv4Addr::LOCALHOST, url.port));
    socket.connect(&gateway.into()).expect("it listens");
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).expect("not zero");
    let config = CameraConfig {
        url,
        redirects: 0,
        credentials,
        lower: Lower::Interleaved,
        entropy: [7; 16],
    };
    // Time stands still: the client does not give up.
    let now = Duration::from_secs(100);
    let mut client = CameraClient::new(config, now);
    client.handle(now, CameraInput::Timeout)?;
    let mut buffer = [0; 8192];
    loop {
        match client.poll() {
            CameraOutput::Transmit(bytes) => stream.write_all(&bytes).expect("the gateway reads"),
            CameraOutput::Event(CameraEvent::Described(_)) => return Ok(()),
            CameraOutput::Event(_) | CameraOutput::Packet(..) => {}
            CameraOutput::Timeout(_) => {
                let length = stream.read(&mut buffer).expect("an answer");
                assert!(length > 0, "the gateway hung up");
                client.handle(now, CameraInput::Bytes(&buffer[..length]))?;
            }
        }
    }
}

/// A camera and a camera gateway, with homes for both gateways.
struct Near {
    _camera: Camera,
    gateway: Publisher,
    homes: [TempDir; 2],
}

fn near() -> Near {
    let camera = Camera::start(Plain::Tcp, vec![(0, vec![1; 500])], true);
    let homes = [home(), home()];
    let gateway = camera_gateway(homes[0].path(), &camera.url(), &[]);
    Near {
        _camera: camera,
        gateway,
        homes,
    }
}

impl Near {
    /// A viewer gateway where the user `guard` needs the password `letmesee`.
    fn guarded(&self, port: u16) -> Program {
        let secret = self.homes[1].path().join("password");
        write_private(&secret, "letmesee\n");
        let login = ["--rtsp-user", "guard", "--rtsp-password-file", path(&secret), "-v"];
        viewer_gateway(self.homes[1].path(), &self.gateway.ticket, port, &login)
    }

    /// A viewer gateway that prints the URL for players.
    fn printing(&self, port: u16) -> Program {
        let mut command = sealcast(self.homes[1].path());
        let (ticket, rtsp) = (&self.gateway.ticket, format!("127.0.0.1:{port}"));
        command.args(["gateway", "viewer", "-vv", "--peer", ticket, "--rtsp", &rtsp]);
        Program::run("the viewer gateway", command)
    }
}

#[test]
fn without_options_players_need_the_password_that_is_printed_and_not_logged() {
    let near = near();
    let port = free_port();
    let viewer = near.printing(port);
    let url = viewer.line();
    viewer.says("linked to the camera gateway", PATIENCE);
    let (password, rest) = url
        .strip_prefix("rtsp://player:")
        .and_then(|rest| rest.split_once('@'))
        .expect("a URL for players");
    assert_eq!(rest, format!("127.0.0.1:{port}/"));
    assert_eq!(password.len(), 26, "128 bits");
    assert_eq!(describe(&url, Ipv4Addr::LOCALHOST), Ok(()));
    let wrong = url.replace(password, "aaaaaaaaaaaaaaaaaaaaaaaaaa");
    assert!(matches!(
        describe(&wrong, Ipv4Addr::LOCALHOST),
        Err(CameraError::Auth(_))
    ));
    let mut nobody = Player::connect(port, "front", Plain::Tcp);
    assert_eq!(nobody.ask(Method::Describe, "", &[]).status, 401);
    viewer.says(WRONG, PATIENCE);
    assert!(!viewer.said().contains(password), "{}", viewer.said());
}

#[test]
fn players_keep_their_url_over_restarts_of_the_gateway_as_long_as_nobody_else_can_read_the_password() {
    let near = near();
    let port = free_port();
    let file = near.homes[1].path().join("keys/password-players");
    let printed = || near.printing(port).line();
    let url = printed();
    assert_eq!(printed(), url, "the gateway has started again");
    let permissions = std::fs::metadata(&file).expect("it is kept").permissions();
    assert_eq!(permissions.mode() & 0o777, 0o600);
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).expect("ours");
    let mut refused = near.printing(port);
    assert_eq!(refused.ends(PATIENCE), 7);
    assert!(refused.said().contains("chmod 600"), "{}", refused.said());
    std::fs::remove_file(&file).expect("ours");
    assert_ne!(near.printing(port).line(), url, "another password was made");
}

#[test]
fn a_gateway_is_open_to_all_players_where_that_is_asked_for_and_not_along_with_a_password() {
    let near = near();
    let port = free_port();
    let viewer = viewer_gateway(near.homes[1].path(), &near.gateway.ticket, port, &["--rtsp-open"]);
    assert_eq!(
        describe(&format!("rtsp://127.0.0.1:{port}/"), Ipv4Addr::LOCALHOST),
        Ok(())
    );
    drop(viewer);
    for options in [&["--rtsp-open", "--rtsp-user", "guard"][..], &["--rtsp-user", "guard"]] {
        let mut command = sealcast(near.homes[1].path());
        command.args(["gateway", "viewer", "--peer", &near.gateway.ticket]);
        let output = command.args(options).output().expect("it runs");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{options:?}");
    }
}

#[test]
fn who_guesses_waits_longer_and_longer_and_others_do_not() {
    let near = near();
    let port = free_port();
    let viewer = near.guarded(port);
    let wrong = format!("rtsp://guard:letmein@127.0.0.1:{port}/");
    for _ in 0..5 {
        assert!(matches!(
            describe(&wrong, Ipv4Addr::LOCALHOST),
            Err(CameraError::Auth(_))
        ));
    }
    let other = Ipv4Addr::new(127, 0, 0, 2);
    assert!(matches!(describe(&wrong, other), Err(CameraError::Auth(_))));
    viewer.says_times(WRONG, 6, PATIENCE);
    let waits = |from: Ipv4Addr| -> Vec<String> {
        let said = viewer.said();
        let lines = said.lines().filter(|line| line.contains(&format!(" from={from} ")));
        let waits = lines.filter_map(|line| line.split_once(WRONG)?.1.split_whitespace().next());
        waits.map(str::to_owned).collect()
    };
    assert_eq!(waits(Ipv4Addr::LOCALHOST), ["0", "0", "0", "1", "2"]);
    assert_eq!(waits(other), ["0"]);
    let right = wrong.replace("letmein", "letmesee");
    assert_eq!(
        describe(&right, Ipv4Addr::LOCALHOST),
        Ok(()),
        "who knows it still gets in"
    );
}

#[test]
fn players_that_do_not_log_in_hold_few_places_and_not_for_long() {
    let near = near();
    let port = free_port();
    let viewer = near.guarded(port);
    let mut idlers: Vec<Player> = (0..16).map(|_| Player::connect(port, "front", Plain::Tcp)).collect();
    for idler in &mut idlers {
        // What needs no login is answered, and is no reason to stay.
        assert_eq!(idler.ask(Method::Options, "", &[]).status, 200);
    }
    // They keep out nobody of another address: the oldest of theirs gives its place up.
    let right = format!("rtsp://guard:letmesee@127.0.0.1:{port}/");
    assert_eq!(describe(&right, Ipv4Addr::new(127, 0, 0, 2)), Ok(()));
    viewer.says("its place was given to another: it had not logged in yet", PATIENCE);
    assert!(idlers[0].is_ended(PATIENCE));
    viewer.says_times("cut off: it did not log in within 10 s", 15, PATIENCE);
    assert_eq!(describe(&right, Ipv4Addr::LOCALHOST), Ok(()));
    until("each of them is gone", || {
        idlers.iter().all(|idler| idler.is_ended(Duration::from_millis(10)))
    });
}
