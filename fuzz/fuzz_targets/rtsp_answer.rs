//! A malicious camera: whatever it answers, opening it ends soon after it hangs up, and memory use is bounded by the
//! bytes it sent.
#![no_main]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use std::{panic, thread};

use libfuzzer_sys::fuzz_target;
use sealcast::source;

/// Separates two answers in the input.
const SEPARATOR: &[u8] = &[0xff, 0x00];

/// Placeholder for the request's number. Without the right number, no answer passes the client's first check.
const NUMBER: &[u8] = b"CSeq: ?";

/// No request of the client is longer.
const MAX_REQUEST_BYTES: usize = 1 << 16;

/// Far below the timeout for a silent camera, since this one hangs up.
const PROMPT: Duration = Duration::from_secs(5);

/// The SDP parser (sdp-types 0.1.8, a dependency of retina) panics on a line without a key after a media line. This
/// bug is known and in third-party code; it must not hide others.
const KNOWN_PANIC: &str = "/sdp-types-0.1.8/src/parser.rs";

fuzz_target!(init: {
    // libFuzzer's own hook, which ends the process, is already installed.
    let fatal = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !info.location().is_some_and(|at| at.file().ends_with(KNOWN_PANIC)) {
            fatal(info);
        }
    }));
}, |bytes: &[u8]| {
    // A new listener for each input, so that a late connection of the previous input cannot take answers of this one.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let began = Instant::now();
    thread::scope(|scope| {
        scope.spawn(move || {
            let Ok((client, _)) = listener.accept() else { return };
            // A second connection gets no answer.
            drop(listener);
            let _ = answer(client, bytes);
        });
        let url = format!("rtsp://{address}/x?reconnect=no&transport=tcp");
        // Only the known panic returns here.
        let Ok(Ok(mut camera)) = panic::catch_unwind(|| source::open(&url)) else {
            return;
        };
        let mut total = 0;
        while let Ok(Some(frame)) = camera.next() {
            assert!(!frame.data.is_empty() && frame.data.len() <= source::MAX_FRAME_BYTES);
            total += 1;
            // A frame takes at least one byte of the input, so more frames than bytes mean an endless loop.
            assert!(total <= bytes.len(), "a camera that hung up goes on");
        }
    });
    assert!(began.elapsed() < PROMPT, "a camera that hung up was waited for");
});

/// Answers each request with the next part of the input, then hangs up.
fn answer(mut client: TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    client.set_read_timeout(Some(Duration::from_millis(500)))?;
    client.set_nodelay(true)?;
    let mut rest = Some(bytes);
    while let Some(parts) = rest {
        let Some(number) = request(&mut client)? else {
            return Ok(());
        };
        let part;
        (part, rest) = match find(parts, SEPARATOR) {
            Some(at) => (&parts[..at], Some(&parts[at + SEPARATOR.len()..])),
            None => (parts, None),
        };
        match find(part, NUMBER) {
            Some(at) => {
                let (before, after) = part.split_at(at + NUMBER.len());
                client.write_all(&[&before[..before.len() - 1], &number, after].concat())?;
            }
            None => client.write_all(part)?,
        }
    }
    client.shutdown(Shutdown::Write)?;
    // Closing while a request is unread would discard answers that the client has not read yet.
    while client.read(&mut [0; 1024])? > 0 {}
    Ok(())
}

/// The number of the next request, or `None` if the client has hung up.
fn request(client: &mut TcpStream) -> std::io::Result<Option<Vec<u8>>> {
    let mut text = Vec::new();
    let mut chunk = [0; 1024];
    while !text.ends_with(b"\r\n\r\n") {
        let n = client.read(&mut chunk)?;
        if n == 0 {
            return Ok(None);
        }
        text.extend_from_slice(&chunk[..n]);
        assert!(text.len() <= MAX_REQUEST_BYTES, "a request without end");
    }
    let value = find(&text, b"CSeq: ").map_or(&[][..], |at| &text[at + 6..]);
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit());
    Ok(Some(digits.copied().collect()))
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
