//! Hostile cameras: whatever one sends, on its connection or in datagrams, before it is asked to play or after, the
//! publisher's memory grows by little.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use sealcast_proto::rtp::MAX_PICTURE;
use sealcast_proto::rtsp::{Message, MessageReader, Method, Offer, Response, parse_offers, put_data};
use sealcast_testkit::attack::Home;

/// Growth that a camera may cause, in KiB, beyond what its first pictures do.
const MOST: u64 = 32 * 1024;
/// Bytes that a flood sends at most.
const FLOOD: usize = 48 << 20;
/// Packets that it sends at most in datagrams: each takes a call of the system.
const DATAGRAMS: u32 = 300_000;
/// Largest payload of a flood's packets.
const PAYLOAD: usize = 60_000;

/// Packets of the largest picture.
const LARGEST: u32 = (MAX_PICTURE / PAYLOAD) as u32;

/// Writes the packets of a flood, one by one; the number counts from 0.
type Packets = fn(u32, &mut Vec<u8>);

struct Flood {
    name: &'static str,
    /// `m=` section of the picture.
    picture: &'static str,
    packets: Packets,
    /// Name of the request in place of whose answer it comes; if there is none, it comes behind the answer to PLAY.
    in_place_of: Option<&'static str>,
}

impl Flood {
    const fn new(name: &'static str, picture: &'static str, packets: Packets) -> Self {
        Self {
            name,
            picture,
            packets,
            in_place_of: None,
        }
    }
}

const H264: &str = "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n\
    a=fmtp:96 packetization-mode=1;sprop-parameter-sets=Z0LAHtoCgL/lwFqAgICgAAADACAAAAZB4sXU,aM4PyA==\r\n";
const H265: &str = "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H265/90000\r\n";
const JPEG: &str = "m=video 0 RTP/AVP 26\r\n";
const SOUND: &str = "m=audio 0 RTP/AVP 0\r\na=control:sound\r\n";

/// Puts an RTP packet on a channel.
fn put(out: &mut Vec<u8>, channel: u8, second: u8, number: u32, timestamp: u32, source: u32, payload: &[u8]) {
    let [.., high, low] = number.to_be_bytes();
    let mut packet = vec![0x80, second, high, low];
    packet.extend(timestamp.to_be_bytes());
    packet.extend(source.to_be_bytes());
    packet.extend(payload);
    put_data(out, channel, &packet);
}

/// A fragment in the middle of a unit of H.264, or its first.
fn fragment(number: u32) -> Vec<u8> {
    let mut payload = vec![0x7c, if number == 0 { 0x85 } else { 0x05 }];
    // The first macroblock of a picture, in the first fragment.
    payload.push(0x88);
    payload.resize(PAYLOAD, 0x55);
    payload
}

/// Many units of two bytes in one packet of H.264.
fn crumbs() -> Vec<u8> {
    let mut payload = vec![0x78];
    payload.extend([0, 2, 0x65, 0x88].repeat(PAYLOAD / 4));
    payload
}

/// Keyframes as large as they may be, one after the other.
fn largest(number: u32, out: &mut Vec<u8>) {
    let (picture, at) = (number / LARGEST, number % LARGEST);
    let marker = if at == LARGEST - 1 { 0x80 } else { 0 };
    put(out, 0, 96 | marker, number, picture, 1, &fragment(at));
}

const FLOODS: &[Flood] = &[
    Flood {
        in_place_of: Some("PLAY"),
        ..Flood::new("the largest keyframes, in place of the answer to PLAY", H264, largest)
    },
    Flood::new("a picture without end", H264, |number, out| {
        put(out, 0, 96, number, 7, 1, &fragment(number))
    }),
    Flood::new(
        "pictures as large as they may be, without a keyframe among them",
        H264,
        |number, out| {
            let (picture, at) = (number / LARGEST, number % LARGEST);
            let mut payload = fragment(at);
            payload[1] = if at == 0 { 0x81 } else { 0x01 };
            let marker = if at == LARGEST - 1 { 0x80 } else { 0 };
            put(out, 0, 96 | marker, number, picture, 1, &payload);
        },
    ),
    Flood::new("keyframes as large as they may be", H264, largest),
    Flood::new("a picture of crumbs without end", H264, |number, out| {
        put(out, 0, 96, number, 7, 1, &crumbs())
    }),
    Flood::new("tiny pictures", H264, |number, out| {
        put(out, 0, 0x80 | 96, number, number, 1, &[0x65, 0x88])
    }),
    Flood::new("tiny packets of one picture", H264, |number, out| {
        put(out, 0, 96, number, 7, 1, &[0x65, 0x88])
    }),
    Flood::new("parameter sets, all different", H264, |number, out| {
        let mut set = vec![0x67, 0x42, 0xc0, 0x1e];
        set.extend(number.to_be_bytes());
        set.resize(PAYLOAD, 0x5a);
        put(out, 0, 96, number, number, 1, &set);
    }),
    Flood::new("each packet of another source", H264, |number, out| {
        put(out, 0, 96, number, number, number, &fragment(0))
    }),
    Flood::new("packets of types that were not described", H264, |number, out| {
        put(
            out,
            0,
            97 + u8::try_from(number % 8).unwrap_or(0),
            number,
            7,
            1,
            &fragment(1),
        )
    }),
    Flood::new("numbers far apart", H264, |number, out| {
        put(out, 0, 96, number.wrapping_mul(999), 7, 1, &fragment(0))
    }),
    Flood::new("reports, and packets that are no RTP", H264, |number, out| {
        put_data(out, (number % 2) as u8, &[0x80; PAYLOAD])
    }),
    Flood::new("an H.265 picture without end", H265, |number, out| {
        let mut payload = vec![0x62, 1, if number == 0 { 0x93 } else { 0x13 }, 0x88];
        payload.resize(PAYLOAD, 0x55);
        put(out, 0, 96, number, 7, 1, &payload);
    }),
    Flood::new("a JPEG image without end", JPEG, |number, out| {
        let [_, offset @ ..] = (number * 59_992).to_be_bytes();
        let mut payload = vec![0];
        payload.extend(offset);
        payload.extend([1, 50, 80, 60]);
        payload.resize(PAYLOAD, 0x55);
        put(out, 0, 26, number, 7, 1, &payload);
    }),
    Flood::new("sound, and no picture", H264, |number, out| {
        put(out, 2, 0, number, number * 59_000, 1, &[0xd5; 59_000])
    }),
    Flood::new("a head without end", H264, |number, out| {
        out.extend(if number == 0 { &b"RTSP/1.0 200 OK\r\n"[..] } else { b"" });
        out.extend(b"X-Name: value\r\n".repeat(4000));
    }),
    Flood::new("answers that nobody asked for", H264, |_, out| {
        out.extend(b"RTSP/1.0 200 OK\r\nCSeq: 900\r\n\r\n".repeat(2000))
    }),
    Flood::new("questions", H264, |_, out| {
        out.extend(b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n".repeat(2000))
    }),
];

/// Floods before anything plays: each begins with an answer.
const BEFORE: &[Flood] = &[
    Flood {
        in_place_of: Some("DESCRIBE"),
        ..Flood::new("a head without end, in place of a description", H264, |number, out| {
            out.extend(if number == 0 { &b"RTSP/1.0 200 OK\r\n"[..] } else { b"" });
            out.extend(b"X-Name: value\r\n".repeat(4000));
        })
    },
    Flood {
        in_place_of: Some("DESCRIBE"),
        ..Flood::new("a line without end, in place of a description", H264, |number, out| {
            out.extend(if number == 0 {
                &b"RTSP/1.0 200 OK\r\nX-Name: "[..]
            } else {
                b""
            });
            out.extend([b'x'; PAYLOAD]);
        })
    },
    Flood {
        in_place_of: Some("DESCRIBE"),
        ..Flood::new("a description as long as it says", H264, |number, out| {
            let head = format!("{DESCRIBED}Content-Length: 1000000000\r\n\r\nv=0\r\n");
            out.extend(if number == 0 { head.as_bytes() } else { b"" });
            out.extend(H264.repeat(400).bytes());
        })
    },
    Flood {
        in_place_of: Some("DESCRIBE"),
        ..Flood::new("descriptions of as many tracks as there is room for", H264, |_, out| {
            let body = format!(
                "v=0\r\n{}",
                "m=video 0 RTP/AVP 96 97 98 99\r\na=control:x\r\n".repeat(1300)
            );
            out.extend(format!("{DESCRIBED}Content-Length: {}\r\n\r\n{body}", body.len()).bytes());
        })
    },
    Flood {
        in_place_of: Some("DESCRIBE"),
        ..Flood::new("challenges without end", H264, |_, out| {
            let challenge = "WWW-Authenticate: Digest realm=\"a\", nonce=\"b\"\r\n".repeat(40);
            out.extend(
                format!("RTSP/1.0 401 Unauthorized\r\n{challenge}\r\n")
                    .repeat(20)
                    .bytes(),
            );
        })
    },
    Flood {
        in_place_of: Some("DESCRIBE"),
        ..Flood::new("packets, in place of a description", H264, largest)
    },
    Flood {
        in_place_of: Some("SETUP"),
        ..Flood::new("the largest keyframes, in place of the answer to SETUP", H264, largest)
    },
    Flood {
        in_place_of: Some("SETUP"),
        ..Flood::new(
            "a session of many letters, in place of the answer to SETUP",
            H264,
            |number, out| {
                out.extend(if number == 0 {
                    &b"RTSP/1.0 200 OK\r\nSession: "[..]
                } else {
                    b""
                });
                out.extend([b'7'; PAYLOAD]);
            },
        )
    },
];

/// The head of an answer with a description, but for the length.
const DESCRIBED: &str = "RTSP/1.0 200 OK\r\nContent-Type: application/sdp\r\n";

/// Answers a publisher until the flood begins. Returns the ports of the publisher's tracks, if they have any.
fn plays(stream: &mut TcpStream, flood: &Flood) -> Vec<[u16; 2]> {
    let mut ports = Vec::new();
    let mut reader = MessageReader::default();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).expect("a request");
        reader.push(&buffer[..count]).expect("a request");
        while let Ok(Some(Message::Request(request))) = reader.next_message() {
            if flood.in_place_of == Some(request.method.name()) {
                return ports;
            }
            let mut answer = Response::new(200);
            answer
                .headers
                .add("CSeq", request.headers.get("CSeq").expect("a number"));
            answer.headers.add("Session", "1;timeout=60");
            if request.method == Method::Describe {
                let head = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=x\r\nt=0 0\r\n";
                answer.body = format!("{head}{}a=control:picture\r\n{SOUND}", flood.picture).into();
            }
            if let Some(offer) = request.headers.get("Transport") {
                answer.headers.add("Transport", offer);
                if let Some(Offer::Udp(client)) = parse_offers(offer).first() {
                    ports.push([client.rtp, client.rtcp]);
                }
            }
            stream.write_all(&answer.to_bytes()).expect("it listens");
            if request.method == Method::Play {
                return ports;
            }
        }
    }
}

/// Sends packets to the ports of their tracks, and what is no packet to nobody.
fn send(socket: &UdpSocket, ports: &[[u16; 2]], mut packets: &[u8]) {
    while let [b'$', channel, high, low, rest @ ..] = packets {
        let (packet, after) = rest.split_at(usize::from(u16::from_be_bytes([*high, *low])));
        let track = ports.get(usize::from(channel / 2));
        if let Some(ports) = track {
            // Whoever does not keep up loses some.
            let _ = socket.send_to(packet, (Ipv4Addr::LOCALHOST, ports[usize::from(channel % 2)]));
        }
        packets = after;
    }
}

/// Sends the flood until the publisher has had enough. Returns how many bytes it took.
fn floods(stream: &mut TcpStream, ports: &[[u16; 2]], flood: &Flood) -> usize {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let patience = Some(Duration::from_secs(2));
    stream.set_write_timeout(patience).expect("a socket option");
    let (mut number, mut sent) = (0, 0);
    let mut out = Vec::new();
    while sent < FLOOD && (ports.is_empty() || number < DATAGRAMS) {
        out.clear();
        while out.len() < PAYLOAD {
            (flood.packets)(number, &mut out);
            number += 1;
        }
        if !ports.is_empty() && out.starts_with(b"$") {
            send(&socket, ports, &out);
            // So that it reads what it is to be hurt by, and not only loses it.
            thread::sleep(Duration::from_millis(1));
        } else if stream.write_all(&out).is_err() {
            break;
        }
        sent += out.len();
    }
    sent
}

/// Publishes a hostile camera, and returns by how many KiB the program grew at most, and how many bytes it took.
fn grown_by(flood: &Flood, transport: &str) -> (u64, usize) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let home = Home::new();
    let source = format!("rtsp://127.0.0.1:{port}/x?transport={transport}");
    let publisher = home.start(&format!("publish {source} --listen tcp://127.0.0.1:0 --ticket-file -"));
    let (mut stream, _) = listener.accept().expect("it connects");
    let ports = plays(&mut stream, flood);
    let before = publisher.rss();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let largest = scope.spawn(|| {
            let mut largest = before;
            while !over.load(Ordering::Relaxed) {
                // It may have had enough of such a camera, and ended.
                largest = largest.max(publisher.rss_while_it_runs().unwrap_or(0));
                thread::sleep(Duration::from_millis(5));
            }
            largest
        });
        let bytes = floods(&mut stream, &ports, flood);
        over.store(true, Ordering::Relaxed);
        (largest.join().expect("it looks") - before, bytes)
    })
}

/// Publishes each hostile camera.
fn grows_by_little(floods: &[Flood], transport: &str) {
    let mut failed = Vec::new();
    for flood in floods {
        let (grown, bytes) = grown_by(flood, transport);
        println!(
            "{transport}: {}: {} MiB taken, grown by {grown} KiB",
            flood.name,
            bytes >> 20
        );
        if grown > MOST {
            failed.push(format!("{}: it grew by {grown} KiB", flood.name));
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn whatever_a_camera_sends_a_publisher_grows_by_little() {
    grows_by_little(FLOODS, "tcp");
}

#[test]
fn whatever_a_camera_sends_in_datagrams_a_publisher_grows_by_little() {
    grows_by_little(FLOODS, "udp");
}

#[test]
fn whatever_a_camera_answers_before_it_plays_a_publisher_grows_by_little() {
    grows_by_little(BEFORE, "tcp");
}
