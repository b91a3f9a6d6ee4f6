//! Garbage, silence and malice on an open port: their cost is bounded, and viewers are not disturbed.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use sealcast_proto::keys::{Role, WishedMedia};
use sealcast_proto::wire::{MAX_HANDSHAKE_MESSAGE, MAX_RECORD};
use sealcast_testkit::attack::{
    Clip, Home, PATIENCE, PING, Program, Proxy, Puppet, Stage, WANT_KEYFRAME, excused, until,
};
use sealcast_testkit::words::accusation;
use socket2::{Domain, Socket, Type};

/// Limit for the growth of a publisher's memory because of an attacker, in KiB: the queues and buffers of a viewer, and
/// a margin.
const MOST_GROWTH: u64 = 40 * 1024;
/// Limits for the memory that a stranger, and an admitted viewer, costs a publisher, in KiB.
const MOST_OF_STRANGER: u64 = 64;
const MOST_OF_VIEWER: u64 = 4 * 1024;
/// Number of peers whose memory is measured together, so that noise does not decide.
const STRANGERS: u64 = 60;
const VIEWERS: u64 = 12;
/// Logged when a place was needed for another connection.
const EVICTED: &str = "its place was given to another";
/// Timeout of a handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// Logged when a handshake takes longer.
const TIMED_OUT: &str = "did not complete the handshake within 5 s";

fn stage() -> Stage {
    // With the log of everybody who was turned away, not of every second, fourth and eighth alone.
    Stage::new(|home, clip| home.publish(clip, "--report report.json -v"))
}

/// Checks that the viewer has received every frame, that a new viewer gets in, and that the publisher has released its
/// descriptors and grown by less than [`MOST_GROWTH`]. Returns its report.
fn unharmed(stage: Stage, memory: u64, descriptors: usize) -> serde_json::Value {
    stage.assert_small(memory, MOST_GROWTH);
    until("connections are let go", || {
        (stage.publisher.descriptors() <= descriptors + 2).then_some(())
    });
    stage.unharmed()
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// Connects from one of the addresses of this machine.
fn connect_from(host: u32, port: u16) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let from = Ipv4Addr::from_bits(0x7F01_0001 + host);
    socket
        .bind(&std::net::SocketAddr::from((from, 0)).into())
        .expect("all of 127.0.0.0/8 is ours");
    let to = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    socket.connect(&to.into()).expect("it listens");
    socket.into()
}

/// A connection that the other end closed: the times from its beginning until all bytes were sent, and until the end
/// was noticed.
struct HungUp {
    said: Duration,
    seen: Duration,
}

/// Connects, sends `words`, and waits until the other end closes the connection.
fn hung_up_on(port: u16, words: &[u8]) -> HungUp {
    let began = Instant::now();
    let mut stream = connect(port);
    // The other end may close the connection before everything is sent.
    let _ = stream.write_all(words);
    let said = began.elapsed();
    let mut answer = Vec::new();
    let ended = stream.read_to_end(&mut answer).map_err(|error| error.kind());
    assert!(ended != Err(ErrorKind::WouldBlock), "it does not hang up");
    assert!(answer.is_empty(), "a stranger is answered: {answer:02x?}");
    HungUp {
        said,
        seen: began.elapsed(),
    }
}

/// Number of lines in a publisher's log about those who were turned away.
fn turned_away(publisher: &Program) -> usize {
    publisher.count(" reason=")
}

fn garbage() -> Vec<(&'static str, Vec<u8>, bool)> {
    // Name, bytes, and whether they are refused at once. If they may still become a hello, the publisher waits.
    let mut random = vec![0x5a; 3000];
    random
        .iter_mut()
        .enumerate()
        .for_each(|(at, byte)| *byte ^= (at * 151 + 0x81) as u8);
    let tls = [&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3][..], &[7; 500]].concat();
    let hello = [&[0, 0, 5, 0, 1][..], b"sealcast"].concat();
    let empty_hello = [&[0, 0, 0, 9, 1][..], b"sealcast"].concat();
    vec![
        ("random bytes", random, true),
        ("HTTP", b"GET / HTTP/1.1\r\nHost: camera\r\n\r\n".to_vec(), true),
        ("TLS", tls, true),
        ("a length of zero", vec![0; 4], true),
        ("four GiB", vec![0xff; 8], true),
        ("one byte over the limit", vec![0, 0, 0x10, 0x01, 1], true),
        ("a hello without anything", empty_hello, true),
        (
            "a record before the handshake",
            [&[0, 0, 0, 40, 0x10, 0x0d][..], &[0; 38]].concat(),
            true,
        ),
        ("an alert", vec![0, 0, 0, 2, 5, 1], true),
        ("half a hello", hello, false),
        ("half a length", vec![0, 0], false),
        ("nothing", vec![], false),
    ]
}

#[test]
fn garbage_on_the_port_is_hung_up_on_and_each_is_counted() {
    let stage = stage();
    let (memory, descriptors) = (stage.publisher.rss(), stage.publisher.descriptors());
    let (port, lines) = (stage.port(), turned_away(&stage.publisher));
    let waits: Vec<_> = garbage()
        .into_iter()
        .map(|(name, bytes, at_once)| (name, at_once, thread::spawn(move || hung_up_on(port, &bytes))))
        .collect();
    let count = waits.len();
    let (mut waited_for, mut said_late) = (0, 0);
    for (name, at_once, wait) in waits {
        let hung_up = wait.join().unwrap_or_else(|_| panic!("{name}"));
        if at_once {
            said_late += usize::from(hung_up.said >= HANDSHAKE);
        } else {
            waited_for += 1;
            assert!(hung_up.seen >= HANDSHAKE, "{name}: hung up after {:?}", hung_up.seen);
        }
    }
    until("every handshake is told of", || {
        (turned_away(&stage.publisher) >= lines + count).then_some(())
    });
    // Garbage is refused for its content, and not because the handshake timed out.
    let timed_out = stage.publisher.count(TIMED_OUT);
    assert!(
        (waited_for..=waited_for + said_late).contains(&timed_out),
        "{timed_out} timed out:\n{}",
        stage.publisher.said()
    );
    for number in 0..200 {
        let mut stream = connect(stage.port());
        if number % 2 == 0 {
            // The other end may have closed the connection already.
            let _ = stream.write_all(&[0, 0, 4, 0, 1, b's']);
        }
    }
    until("every handshake is told of", || {
        (turned_away(&stage.publisher) >= lines + count + 200).then_some(())
    });
    thread::sleep(Duration::from_millis(300));
    let told = turned_away(&stage.publisher) - lines;
    assert_eq!(told, count + 200, "one line each:\n{}", stage.publisher.said());
    unharmed(stage, memory, descriptors);
}

#[test]
fn five_hundred_silent_connections_are_bounded_and_time_out() {
    let stage = stage();
    let (memory, descriptors) = (stage.publisher.rss(), stage.publisher.descriptors());
    let silent: Vec<TcpStream> = (0..500).map(|_| connect(stage.port())).collect();
    // All come from one address, which has sixteen places, and may take twenty of them in a second.
    stage.publisher.says("turned a connection away");
    assert!(stage.publisher.descriptors() <= descriptors + 80);
    stage.assert_small(memory, MOST_GROWTH);
    // A viewer that connects meanwhile is turned away, tries again, and gets in once the silent ones have timed out.
    let late = Home::new();
    let mut another = late.start(&format!("watch {} --to file:out.h264", stage.ticket));
    late.flows(&another);
    assert_eq!(another.stop(), 0);
    let ends = ["turned a connection away", TIMED_OUT, EVICTED];
    let told = || ends.iter().map(|words| stage.publisher.count(words)).sum::<usize>();
    until("of each silent one is told", || (told() >= 500).then_some(()));
    drop(silent);
    unharmed(stage, memory, descriptors);
}

#[test]
fn a_thousand_addresses_that_say_nothing_keep_nobody_out() {
    let stage = stage();
    let (memory, descriptors) = (stage.publisher.rss(), stage.publisher.descriptors());
    let silent: Vec<TcpStream> = (0..1000).map(|host| connect_from(host, stage.port())).collect();
    until("all but 64 have lost their places", || {
        (stage.publisher.count(EVICTED) + stage.publisher.count(TIMED_OUT) >= silent.len() - 64).then_some(())
    });
    assert!(stage.publisher.descriptors() <= descriptors + 80);
    stage.admits_a_newcomer();
    assert_eq!(stage.publisher.count("turned a connection away"), 0);
    drop(silent);
    unharmed(stage, memory, descriptors);
}

#[test]
fn a_stranger_costs_little_memory() {
    let stage = stage();
    let words = [
        &(MAX_HANDSHAKE_MESSAGE as u32).to_be_bytes()[..],
        &[1; MAX_HANDSHAKE_MESSAGE - 1],
    ]
    .concat();
    let memory = stage.publisher.rss();
    let strangers: Vec<TcpStream> = (0..STRANGERS as u32)
        .map(|host| connect_from(host, stage.port()))
        .collect();
    for mut stranger in &strangers {
        stranger.write_all(&words).expect("a connection");
    }
    stage.plays_a_round();
    stage.assert_small(memory, STRANGERS * MOST_OF_STRANGER);
    drop(strangers);
    stage.unharmed();
}

#[test]
fn an_admitted_viewer_costs_little_memory_whatever_it_announces() {
    let stage = stage();
    let memory = stage.publisher.rss();
    let mut viewers: Vec<Puppet> = (0..VIEWERS).map(|_| deaf(&stage)).collect();
    for viewer in &mut viewers {
        // The publisher may have closed the connection already, for the length.
        let _ = viewer.stream.write_all(&(MAX_RECORD as u32).to_be_bytes());
    }
    stage.publisher.says("what arrived is no record");
    stage.assert_small(memory, VIEWERS * MOST_OF_VIEWER);
    drop(viewers);
    stage.unharmed();
}

#[test]
fn one_byte_at_a_time_does_not_hold_a_place() {
    let stage = stage();
    let (memory, descriptors) = (stage.publisher.rss(), stage.publisher.descriptors());
    let mut stream = connect(stage.port());
    // So many bytes that all of them take two minutes.
    let hello = [&[0, 0, 5, 0, 1][..], b"sealcast", &[1; 1187]].concat();
    let sent = hello
        .iter()
        .take_while(|byte| {
            thread::sleep(Duration::from_millis(100));
            stream.write_all(&[**byte]).is_ok()
        })
        .count();
    assert!(sent < hello.len(), "all {sent} bytes were waited for");
    stage.publisher.says(TIMED_OUT);
    unharmed(stage, memory, descriptors);
}

/// A viewer that watches and never reads.
fn deaf(stage: &Stage) -> Puppet {
    let watching = stage.publisher.count("a viewer watches");
    let puppet = Puppet::connect(&stage.ticket, Role::Viewer, WishedMedia::Frames, true);
    until("it watches", || {
        (stage.publisher.count("a viewer watches") > watching).then_some(())
    });
    puppet
}

/// Lets viewers that never read send these messages all the time, until much more was sent to them than the system
/// buffers. The publisher only skips frames for them. A viewer that could send nothing for two seconds is dropped, and
/// replaced by another.
fn live_for_a_round(stage: &Stage, puppets: &mut [Puppet], words: &[&[u8]]) {
    thread::scope(|scope| {
        let played = scope.spawn(|| stage.plays_a_round());
        while !played.is_finished() {
            for puppet in &mut *puppets {
                if !words.iter().all(|words| puppet.say(words)) {
                    until("it is told why", || stage.publisher.heard_nothing().then_some(()));
                    *puppet = deaf(stage);
                }
            }
            thread::sleep(Duration::from_millis(100));
        }
    });
}

#[test]
fn who_asks_and_never_reads_is_cut_off() {
    let stage = stage();
    let (memory, descriptors) = (stage.publisher.rss(), stage.publisher.descriptors());
    let mut puppet = deaf(&stage);
    let deadline = Instant::now() + PATIENCE;
    while puppet.say(&PING) {
        assert!(Instant::now() < deadline, "it may ask without end");
    }
    stage.publisher.says("it asks and does not read the answers");
    unharmed(stage, memory, descriptors);
}

#[test]
fn who_never_reads_costs_no_more_than_a_queue() {
    let stage = stage();
    let (memory, descriptors) = (stage.publisher.rss(), stage.publisher.descriptors());
    let mut puppets = [deaf(&stage)];
    // It sends pings to stay alive, and keyframe requests, which would reduce the picture quality for others.
    live_for_a_round(&stage, &mut puppets, &[&PING, &WANT_KEYFRAME]);
    drop(puppets);
    let report = unharmed(stage, memory, descriptors);
    assert!(
        report["totals"]["frames_dropped"]["queue"].as_u64() > Some(0),
        "its queue was full: {report}"
    );
}

#[test]
fn who_never_reads_and_half_hangs_up_holds_nobody_up() {
    let stage = stage();
    let (memory, descriptors) = (stage.publisher.rss(), stage.publisher.descriptors());
    let mut puppets = [(); 4].map(|()| deaf(&stage));
    live_for_a_round(&stage, &mut puppets, &[&PING]);
    for puppet in &puppets {
        puppet.stream.shutdown(Shutdown::Write).expect("a connection");
    }
    until("they are let go", || {
        (stage.publisher.count("closed without a word") >= puppets.len()).then_some(())
    });
    let report = unharmed(stage, memory, descriptors);
    assert!(
        report["totals"]["frames_dropped"]["queue"].as_u64() > Some(0),
        "their queues were full: {report}"
    );
}

#[test]
fn a_listening_viewer_waits_for_its_publisher_whoever_else_comes() {
    let (viewer, publisher) = (Home::new(), Home::new());
    let mut watching =
        viewer.start("watch --listen tcp://127.0.0.1:0 --ticket-file - --to file:out.h264 --report report.json");
    let ticket = watching.ticket();
    let port = Proxy::port_of(&ticket);
    for (_, bytes, _) in garbage().into_iter().filter(|(_, _, at_once)| *at_once) {
        hung_up_on(port, &bytes);
    }
    // A stranger that proves an identity. Its messages before admission are ignored.
    let not_authorised = [&[2, 2, 0, 0][..]].concat();
    let end_of_stream = [&[2, 1, 0, 0][..]].concat();
    for words in [None, Some(not_authorised), Some(end_of_stream)] {
        let mut stranger = Puppet::connect(&ticket, Role::Publisher, WishedMedia::Frames, false);
        if let Some(words) = words {
            stranger.say(&words);
        }
    }
    watching.says("refused a publisher");
    assert!(watching.running(), "{}", watching.said());
    let clip = Clip::make(publisher.path(), 100);
    let mut command = publisher.command();
    let mut real = Program::start({
        command.args(["publish", &clip.url(50, ""), "--to", &ticket, "--report", "report.json"]);
        command
    });
    assert_eq!(
        (real.ends(), watching.ends()),
        (0, 0),
        "{}\n{}",
        real.said(),
        watching.said()
    );
    let excused = excused([(&publisher, &real), (&viewer, &watching)]);
    viewer.assert_whole_but_for(excused, &clip, "the real publisher's");
}

#[test]
fn a_listening_viewer_serves_its_publisher_beside_silent_strangers_and_only_one() {
    let [viewer, publisher, late] = [Home::new(), Home::new(), Home::new()];
    viewer.write(
        "allow-publishers",
        format!("{}\n{}\n", publisher.peer_id("publisher"), late.peer_id("publisher")),
    );
    let watching = viewer.start("watch --listen tcp://127.0.0.1:0 --to file:out.h264 --ticket-file -");
    let ticket = watching.ticket();
    let port = Proxy::port_of(&ticket);
    let silent: Vec<TcpStream> = (0..50).map(|host| connect_from(host, port)).collect();
    let clip = Clip::make(publisher.path(), 100);
    let source = clip.url(50, "&loop");
    let ticket = ticket.split('#').next().expect("a ticket");
    let mut first = publisher.start(&format!("publish {source} --to {ticket}"));
    viewer.flows(&watching);
    assert_eq!(first.count("WARN"), 0, "it gets in at once: {}", first.said());
    let second = late.start(&format!("publish {source} --to {ticket}"));
    watching.says("all places are taken");
    second.says("too many");
    viewer.grows_by(clip.bytes.len() as u64);
    assert!(first.running());
    assert_eq!(watching.count("INFO watching"), 1, "{}", watching.said());
    // The place is free for the other as soon as the first has left.
    assert_eq!(first.stop(), 0);
    until("the second is watched", || {
        (watching.count("INFO watching") == 2).then_some(())
    });
    drop(silent);
}

#[test]
fn a_viewer_survives_what_a_false_publisher_says() {
    for (name, bytes, at_once) in garbage() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        thread::spawn(move || {
            let mut held = Vec::new();
            for mut stream in listener.incoming().flatten() {
                // The viewer may have closed the connection.
                let _ = stream.write_all(&bytes);
                held.push(stream);
            }
        });
        if !at_once && name != "nothing" {
            continue;
        }
        let home = Home::new();
        let ticket = format!("sealcast://127.0.0.1:{port}/{}", "b".repeat(51) + "a");
        let mut viewer = home.start(&format!("watch {ticket} --to file:out.h264 --no-reconnect"));
        let code = viewer.ends();
        let said = viewer.said();
        assert!(matches!(code, 5 | 6), "{name}: {code}\n{said}");
        assert_eq!(accusation(&said), None, "{name} is no attack: {said}");
        assert_eq!(
            said.lines().filter(|line| line.starts_with("sealcast: ")).count(),
            1,
            "{name}: {said}"
        );
        assert!(!home.file("out.h264").exists(), "{name}");
    }
}
