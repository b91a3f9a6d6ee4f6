//! Strangers, and an admitted viewer, at the port of WebTransport: whatever they open, announce or send, and however
//! little they read, what is held for them is bounded.

use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::future::join_all;
use quinn::{Connection, RecvStream, SendStream};
use sealcast_proto::keys::Role;
use sealcast_testkit::attack::{PATIENCE, PING, QuicAttacker, Stage, until};
use tokio::time::timeout;
use web_transport_quinn::proto::{ConnectRequest, ConnectResponse, Settings};

/// Number of strangers who flood together, and limits in KiB for what they, and an admitted viewer beyond its media,
/// make the program grow by.
const STRANGERS: u32 = 64;
const MOST_OF_STRANGERS: u64 = 16 * 1024;
const MOST_OF_MEMBER: u64 = 4 * 1024;
/// Bytes that each of them tries to send.
const MOST_SENT: usize = 1 << 20;
/// Time without progress after which a flood counts as refused. On a busy machine less is taken by then, which no check
/// minds.
const STUCK: Duration = Duration::from_millis(200);
/// The frames and capsules of HTTP/3 and WebTransport, as variable-length integers.
const DATA: u8 = 0x00;
const HEADERS: u8 = 0x01;
const GREASE: u8 = 0x21;
const WEBTRANSPORT_BI: [u8; 2] = [0x40, 0x41];
const WEBTRANSPORT_UNI: [u8; 2] = [0x40, 0x54];

/// A publisher with a page that is reached by WebTransport, and the port of that.
struct Page {
    stage: Stage,
    attacker: QuicAttacker,
}

/// Streams that stay open: what comes back on them is never read.
type Open = Vec<(SendStream, Option<RecvStream>)>;

/// The length of what follows, in four bytes.
fn varint(length: u32) -> [u8; 4] {
    (length | 0x8000_0000).to_be_bytes()
}

fn framed(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = varint(payload.len().try_into().expect("a short frame"));
    [&[kind], &length[..], payload].concat()
}

/// Sends this again and again until nothing is taken any more, or enough was.
async fn flood(stream: &mut SendStream, bytes: &[u8]) {
    let mut taken = 0;
    while taken < MOST_SENT && matches!(timeout(STUCK, stream.write_all(bytes)).await, Ok(Ok(()))) {
        taken += bytes.len();
    }
}

/// The control stream of HTTP/3, with its settings. `None`, as below, if the listener has ended the connection.
async fn settings(connection: &Connection) -> Option<SendStream> {
    let mut control = connection.open_uni().await.ok()?;
    let mut settings = Settings::default();
    settings.enable_webtransport(1);
    settings.write(&mut control).await.ok()?;
    Some(control)
}

/// The request of a session, which was answered.
async fn connect(connection: &Connection) -> Option<(SendStream, RecvStream)> {
    let (mut send, mut receive) = connection.open_bi().await.ok()?;
    let url: url::Url = "https://127.0.0.1/sealcast".parse().expect("a URL");
    let request = ConnectRequest::new(url);
    request.write(&mut send).await.ok()?;
    ConnectResponse::read(&mut receive).await.ok()?;
    Some((send, receive))
}

/// The stream that carries a session of sealcast.
async fn session(connection: &Connection) -> Option<(SendStream, RecvStream)> {
    let (mut send, receive) = connection.open_bi().await.ok()?;
    let beginning = [&WEBTRANSPORT_BI[..], &[0]].concat();
    send.write_all(&beginning).await.ok()?;
    Some((send, receive))
}

/// As many streams in one direction as may be opened, each with this on it.
async fn all_streams(connection: &Connection, one_way: bool, bytes: &[u8], open: &mut Open) {
    loop {
        let stream = match one_way {
            true => timeout(STUCK, connection.open_uni())
                .await
                .map(|uni| uni.map(|uni| (uni, None))),
            false => timeout(STUCK, connection.open_bi())
                .await
                .map(|bi| bi.map(|(send, receive)| (send, Some(receive)))),
        };
        let Ok(Ok((mut send, receive))) = stream else { return };
        flood(&mut send, bytes).await;
        open.push((send, receive));
    }
}

/// Streams that are opened and reset, as fast as it goes.
async fn resets(connection: &Connection) {
    for _ in 0..2000 {
        let Ok(Ok((mut send, mut receive))) = timeout(STUCK, connection.open_bi()).await else {
            return;
        };
        let _ = send.write_all(&[HEADERS, 4]).await;
        let _ = send.reset(7_u32.into());
        let _ = receive.stop(7_u32.into());
    }
}

async fn datagrams(connection: &Connection) {
    let mut sent = 0;
    while sent < MOST_SENT {
        let datagram = [&[0][..], &[7; 1000]].concat();
        if !matches!(
            timeout(STUCK, connection.send_datagram_wait(datagram.into())).await,
            Ok(Ok(()))
        ) {
            return;
        }
        sent += 1000;
    }
}

/// Ways to flood, as a stranger on a connection of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    StreamsOfNoKind,
    EndlessSettings,
    Grease,
    LongRequest,
    EndlessRequest,
    Resets,
    Capsules,
    Datagrams,
    Streams,
    HalfAHello,
}

const WAYS: [Way; 10] = [
    Way::StreamsOfNoKind,
    Way::EndlessSettings,
    Way::Grease,
    Way::LongRequest,
    Way::EndlessRequest,
    Way::Resets,
    Way::Capsules,
    Way::Datagrams,
    Way::Streams,
    Way::HalfAHello,
];

impl Way {
    /// Floods. `None` if the listener ended the connection before everything was sent.
    async fn floods(self, connection: &Connection, open: &mut Open) -> Option<()> {
        match self {
            Self::StreamsOfNoKind => {
                all_streams(connection, true, &[0x3f; 4096], open).await;
                all_streams(connection, false, &[0x3f; 4096], open).await;
            }
            Self::EndlessSettings => {
                let endless = [&[0, 4][..], &varint(0x3fff_ffff)].concat();
                Self::on_control(connection, &endless, &[0x33, 1].repeat(2000), open).await?;
            }
            Self::Grease => Self::on_control(connection, &[0], &framed(GREASE, &[7; 16_000]), open).await?,
            Self::LongRequest | Self::EndlessRequest | Self::Resets => {
                open.push((settings(connection).await?, None));
                self.before_a_session(connection, open).await?;
            }
            Self::Capsules | Self::Datagrams | Self::Streams | Self::HalfAHello => {
                open.push((settings(connection).await?, None));
                self.in_a_session(connection, open).await?;
            }
        }
        Some(())
    }

    /// Floods the control stream of HTTP/3, which begins so.
    async fn on_control(connection: &Connection, beginning: &[u8], bytes: &[u8], open: &mut Open) -> Option<()> {
        let mut control = connection.open_uni().await.ok()?;
        control.write_all(beginning).await.ok()?;
        flood(&mut control, bytes).await;
        open.push((control, None));
        Some(())
    }

    async fn before_a_session(self, connection: &Connection, open: &mut Open) -> Option<()> {
        if self == Self::Resets {
            resets(connection).await;
            return Some(());
        }
        let announced = if self == Self::LongRequest { 0xf000 } else { 0x3fff_ffff };
        let (mut send, receive) = connection.open_bi().await.ok()?;
        let head = [&[HEADERS][..], &varint(announced)].concat();
        send.write_all(&head).await.ok()?;
        let _ = timeout(STUCK, send.write_all(&[7; 0xefff])).await;
        open.push((send, Some(receive)));
        Some(())
    }

    async fn in_a_session(self, connection: &Connection, open: &mut Open) -> Option<()> {
        let (mut request, response) = connect(connection).await?;
        match self {
            Self::Capsules => flood(&mut request, &framed(DATA, &capsule())).await,
            Self::Datagrams => datagrams(connection).await,
            Self::Streams => {
                let one_way = [&WEBTRANSPORT_UNI[..], &[0], &[7; 4000]].concat();
                all_streams(connection, true, &one_way, open).await;
                let both = [&WEBTRANSPORT_BI[..], &[0], &[7; 4000]].concat();
                all_streams(connection, false, &both, open).await;
            }
            _ => {
                let (mut send, receive) = session(connection).await?;
                let half = [&4096_u32.to_be_bytes()[..], &[1; 4000]].concat();
                send.write_all(&half).await.ok()?;
                open.push((send, Some(receive)));
            }
        }
        open.push((request, Some(response)));
        Some(())
    }
}

/// A capsule of a kind that nobody knows.
fn capsule() -> Vec<u8> {
    [&[0x40, 0x99][..], &varint(60_000), &[7; 60_000]].concat()
}

impl Page {
    fn new() -> Self {
        let options = "--web https://127.0.0.1:0 --metrics 127.0.0.1:0 --report report.json";
        let stage = Stage::new(|home, clip| home.publish(clip, options));
        let link = stage.publisher.page_link();
        let port = link.split(['/', ':']).find_map(|part| part.parse().ok());
        let attacker = QuicAttacker::of_page(port.expect("a port"));
        Self { stage, attacker }
    }

    /// Floods as strangers, each on a connection of its own, and returns these.
    fn strangers(&self, number: u32, way: Way) -> Vec<(Connection, Open)> {
        let connections = (0..STRANGERS).filter_map(|host| {
            let from = Ipv4Addr::from_bits(0x7F04_0001 + STRANGERS * number + host);
            self.attacker.connects(from, PATIENCE)
        });
        let connections: Vec<Connection> = connections.collect();
        let floods = connections.into_iter().map(|connection| async move {
            let mut open = Open::new();
            let _ = timeout(PATIENCE, way.floods(&connection, &mut open)).await;
            (connection, open)
        });
        self.attacker.runtime.block_on(join_all(floods))
    }
}

#[test]
fn strangers_at_webtransport_hold_little_of_a_publisher_s_memory() {
    let page = Page::new();
    for (number, way) in (0..).zip(WAYS) {
        let before = page.stage.publisher.rss();
        let open = page.strangers(number, way);
        let grown = page.stage.publisher.rss().saturating_sub(before);
        println!("{way:?}: {grown} KiB more with {} connections", open.len());
        assert!(grown <= MOST_OF_STRANGERS, "{way:?}: it grew by {grown} KiB");
        assert!(!open.is_empty(), "{way:?}: nobody got through");
    }
    page.stage.admits_a_newcomer();
    page.stage.unharmed();
}

#[test]
fn an_admitted_viewer_at_webtransport_that_reads_nothing_holds_little_memory() {
    let page = Page::new();
    let before = page.stage.publisher.rss();
    let from = Ipv4Addr::new(127, 5, 0, 1);
    let connection = page.attacker.connects(from, PATIENCE).expect("it listens");
    let run = &page.attacker.runtime;
    let (_settings, (mut request, _response), (send, mut receive)) = run.block_on(async {
        let settings = settings(&connection).await.expect("a connection");
        let request = connect(&connection).await.expect("it is answered");
        (settings, request, session(&connection).await.expect("a session"))
    });
    let watching = page.stage.publisher.count("a viewer watches");
    let mut puppet = page
        .attacker
        .shake_hands(&page.stage.ticket, Role::Viewer, send, &mut receive);
    until("it watches", || {
        (page.stage.publisher.count("a viewer watches") > watching).then_some(())
    });
    let mut open = Open::new();
    let pings = (0..100).flat_map(|_| puppet.seal(&PING)).collect::<Vec<u8>>();
    run.block_on(async {
        let _ = timeout(PATIENCE, puppet.stream.write_all(&pings)).await;
        flood(&mut request, &framed(DATA, &capsule())).await;
        datagrams(&connection).await;
        let both = [&WEBTRANSPORT_BI[..], &[0], &[7; 4000]].concat();
        all_streams(&connection, false, &both, &mut open).await;
        resets(&connection).await;
    });
    // Media waits for a viewer in queues of its own, which have their own bound.
    let media = page.stage.publisher.counts(r#"sealcast_peer_bytes{queue="media"}"#) as u64 / 1024;
    page.stage.assert_small(before, MOST_OF_MEMBER + media);
    page.stage.unharmed();
}
