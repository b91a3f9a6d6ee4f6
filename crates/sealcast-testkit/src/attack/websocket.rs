//! A WebSocket by hand: whatever a hostile client would send.

use std::io::{self, Read, Write};

/// The headers that open a WebSocket for sessions.
pub const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                           Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: sealcast.3\r\n";

/// Sends a request with these headers, and returns the head of the answer.
pub fn ask(stream: &mut (impl Read + Write), path: &str, headers: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).expect("a connection");
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("an answer");
        head.push(byte[0]);
    }
    String::from_utf8(head).expect("text")
}

/// Opens a WebSocket.
pub fn upgrade(stream: &mut (impl Read + Write), more: &str) {
    let head = ask(stream, "/sealcast", &format!("{UPGRADE}{more}"));
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
}

/// A frame of a WebSocket's client, whose mask of zeros changes nothing.
pub fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    part(0x80 | opcode, payload)
}

/// As [`frame`], with a first byte that may say that it is not the last.
pub fn part(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match u16::try_from(payload.len()) {
        Ok(length @ 0..126) => frame.push(0x80 | length as u8),
        Ok(length) => frame.extend([&[0x80 | 126][..], &length.to_be_bytes()].concat()),
        Err(_) => frame.extend([&[0x80 | 127][..], &(payload.len() as u64).to_be_bytes()].concat()),
    }
    [frame.as_slice(), &[0; 4], payload].concat()
}

/// The payload of the next binary frame of the server.
pub fn next(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    loop {
        let mut head = [0; 2];
        stream.read_exact(&mut head)?;
        let length = match head[1] {
            126 => {
                let mut length = [0; 2];
                stream.read_exact(&mut length)?;
                usize::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                stream.read_exact(&mut length)?;
                u64::from_be_bytes(length) as usize
            }
            short => usize::from(short),
        };
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload)?;
        if head[0] & 0xf == 2 {
            return Ok(payload);
        }
    }
}
