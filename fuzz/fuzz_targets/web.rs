//! Input of a page from strangers: HTTP, WebSockets and HTTP/3, as our settings have the libraries read it. Nothing
//! panics, and for who reads no answer no more is held than one message and the answer to one ping.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast::fuzzing::{page, web_transport};

/// Most that a WebSocket may hold for its client: a message.
const MOST_HELD: usize = 64 << 10;
/// Most bytes of one piece.
const MOST_PIECE: usize = 128 << 10;
const UPGRADE: &[u8] = b"GET /sealcast HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\
    Sec-WebSocket-Protocol: sealcast.3\r\n\r\n";

#[derive(Debug, Arbitrary)]
enum Piece {
    Raw(Vec<u8>),
    Upgrade,
    Ask {
        path: String,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    },
    Frame {
        first: u8,
        mask: Option<[u8; 4]>,
        payload: Vec<u8>,
        times: u8,
    },
}

#[derive(Debug, Arbitrary)]
enum Said {
    Page(Vec<Piece>),
    WebTransport {
        settings: Vec<u8>,
        request: Vec<u8>,
        capsules: Vec<Vec<u8>>,
    },
}

impl Piece {
    fn bytes(self) -> Vec<u8> {
        let mut bytes = match self {
            Self::Raw(bytes) => bytes,
            Self::Upgrade => UPGRADE.to_vec(),
            Self::Ask { path, headers, body } => {
                let headers: String = headers
                    .iter()
                    .map(|(name, value)| format!("{name}: {value}\r\n"))
                    .collect();
                let length = body.len();
                let length = format!("Content-Length: {length}\r\n");
                let head = format!("POST /{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{length}{headers}\r\n");
                [head.into_bytes(), body].concat()
            }
            Self::Frame {
                first,
                mask,
                payload,
                times,
            } => {
                let masked = if mask.is_some() { 0x80 } else { 0 };
                let length = match u16::try_from(payload.len()) {
                    Ok(length @ 0..126) => vec![masked | length as u8],
                    Ok(length) => [&[masked | 126][..], &length.to_be_bytes()].concat(),
                    Err(_) => [&[masked | 127][..], &(payload.len() as u64).to_be_bytes()].concat(),
                };
                let frame = [&[first][..], &length, &mask.map_or(vec![], Vec::from), &payload].concat();
                frame.repeat(usize::from(times).min(MOST_PIECE / frame.len()))
            }
        };
        bytes.truncate(MOST_PIECE);
        bytes
    }
}

fuzz_target!(|said: Said| {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("memory");
    match said {
        Said::Page(pieces) => {
            let pieces = pieces.into_iter().take(32).map(Piece::bytes).collect();
            let (_, held) = runtime.block_on(page(pieces));
            assert!(held <= MOST_HELD, "{held} bytes are held");
        }
        Said::WebTransport {
            settings,
            request,
            capsules,
        } => {
            runtime.block_on(web_transport(&settings, &request, capsules));
        }
    }
});
