use super::*;
use crate::rtsp::message::{MAX_HEADERS, Method, put_data};

fn read(bytes: &[u8]) -> Result<Vec<Message>, NotRtsp> {
    read_in(bytes, bytes.len().max(1))
}

/// All messages that are read when the bytes arrive in pieces of this length.
fn read_in(bytes: &[u8], piece: usize) -> Result<Vec<Message>, NotRtsp> {
    let mut reader = MessageReader::default();
    let mut messages = Vec::new();
    for piece in bytes.chunks(piece) {
        reader.push(piece)?;
        while let Some(message) = reader.next_message()? {
            messages.push(message);
        }
    }
    Ok(messages)
}

fn one_response(bytes: &[u8]) -> Response {
    match read(bytes).unwrap().pop() {
        Some(Message::Response(response)) => response,
        other => panic!("{other:?}"),
    }
}

fn dialogue() -> Vec<u8> {
    let mut bytes =
        b"\r\nDESCRIBE rtsp://127.0.0.1/cam RTSP/1.0\r\nCSeq: 2\r\nAccept: application/sdp\r\n\r\n".to_vec();
    bytes.extend_from_slice(b"RTSP/1.0 200 OK\r\nCSeq: 2\r\nContent-Length: 5\r\n\r\nv=0\r\n");
    put_data(&mut bytes, 0, b"$\r\n\r\nRTSP/1.0 200 OK\r\n\r\n");
    put_data(&mut bytes, 1, &[]);
    bytes.extend_from_slice(b"PLAY rtsp://127.0.0.1/cam/ RTSP/1.0\nCSeq: 3\nRange: npt=0-\n\n");
    put_data(&mut bytes, 0, &[0x80; 1400]);
    bytes
}

#[test]
fn messages_are_the_same_at_every_split_point() {
    let bytes = dialogue();
    let whole = read(&bytes).unwrap();
    assert_eq!(whole.len(), 6);
    for piece in 1..bytes.len() {
        assert_eq!(read_in(&bytes, piece).unwrap(), whole, "in pieces of {piece}");
    }
    for split in 0..bytes.len() {
        let mut reader = MessageReader::default();
        let mut messages = Vec::new();
        for part in [&bytes[..split], &bytes[split..]] {
            reader.push(part).unwrap();
            while let Some(message) = reader.next_message().unwrap() {
                messages.push(message);
            }
        }
        assert_eq!(messages, whole, "split at {split}");
    }
}

#[test]
fn what_is_written_again_is_read_the_same() {
    for message in read(&dialogue()).unwrap() {
        let bytes = match &message {
            Message::Request(request) => request.to_bytes(),
            Message::Response(response) => response.to_bytes(),
            Message::Data { channel, bytes } => {
                let mut out = Vec::new();
                put_data(&mut out, *channel, bytes);
                out
            }
        };
        assert_eq!(read(&bytes).unwrap(), [message]);
    }
}

#[test]
fn cameras_may_write_as_they_do() {
    let response = one_response(
        b"RTSP/1.0 401 Unauthorized\r\nCSeq: 1 \r\n\
          Server: Rtsp Server 1920*1080*20*2048\r\nWWW-Authenticate: Digest realm=\"x\", nonce=\"98481030\"\r\n\r\n",
    );
    assert_eq!(response.status, 401);
    assert_eq!(response.headers.get("cseq"), Some("1"));

    let response = one_response(b"RTSP/1.0 200\nCseq:2\nServer: caf\xe9\nSession: 1;\n timeout=60\n\n");
    assert_eq!((response.status, response.reason.as_str()), (200, ""));
    assert_eq!(response.headers.get("CSeq"), Some("2"));
    assert_eq!(response.headers.get("Session"), Some("1; timeout=60"));
    assert_eq!(response.headers.get("server"), Some("caf\u{fffd}"));

    let response =
        one_response("RTSP/1.0 499 \x1b[2Jno\u{202e}\u{9b}!\nCSeq: 3\nServer: a\x07b\u{2067}c\n\n".as_bytes());
    assert_eq!(response.reason, "[2Jno!", "what is logged of a camera's reason");
    assert_eq!(response.headers.get("Server"), Some("abc"));
}

#[test]
fn what_is_no_rtsp_is_refused_by_name() {
    let long = format!("OPTIONS * RTSP/1.0\r\nX: {}\r\n\r\n", "y".repeat(MAX_HEAD));
    let many = format!("OPTIONS * RTSP/1.0\r\n{}\r\n", "X: y\r\n".repeat(MAX_HEADERS + 1));
    let length = |length: &str| format!("OPTIONS * RTSP/1.0\r\nContent-Length: {length}\r\n\r\n");
    let refused: [(&str, NotRtsp); 13] = [
        (&long, NotRtsp::LongHead),
        (&many, NotRtsp::ManyHeaders),
        ("GET / HTTP/1.1\r\n\r\n", NotRtsp::FirstLine),
        ("OPTIONS *\r\n\r\n", NotRtsp::FirstLine),
        ("OPT:IONS * RTSP/1.0\r\n\r\n", NotRtsp::FirstLine),
        ("RTSP/1.0 2000 OK\r\n\r\n", NotRtsp::FirstLine),
        ("OPTIONS * RTSP/1.0\r\nno header\r\n\r\n", NotRtsp::Header),
        ("OPTIONS * RTSP/1.0\r\n folded\r\n\r\n", NotRtsp::Header),
        (&length("-1"), NotRtsp::BodyLength),
        (&length("+1"), NotRtsp::BodyLength),
        (&length("65537"), NotRtsp::BodyLength),
        (&length("99999999999999999999"), NotRtsp::BodyLength),
        (&length("1\r\nContent-Length: 2"), NotRtsp::BodyLength),
    ];
    for (text, reason) in refused {
        assert_eq!(read(text.as_bytes()), Err(reason), "{text:.80}");
    }
}

#[test]
fn a_head_without_end_is_refused_before_it_fills_the_memory() {
    let mut reader = MessageReader::default();
    let mut pushed = 0;
    loop {
        reader.push(b"OPTIONS").unwrap();
        pushed += 7;
        match reader.next_message() {
            Ok(None) => assert!(pushed <= MAX_HEAD),
            Err(error) => break assert_eq!(error, NotRtsp::LongHead),
            Ok(Some(message)) => panic!("{message:?}"),
        }
    }
    assert!(pushed <= MAX_HEAD + 7);
}

#[test]
fn bytes_that_nobody_reads_are_refused_at_the_bound() {
    let mut reader = MessageReader::default();
    reader.push(&vec![b'$'; MAX_UNREAD]).unwrap();
    assert_eq!(reader.room(), 0);
    assert_eq!(reader.push(b"x"), Err(NotRtsp::Unread));
}

#[test]
fn a_value_cannot_smuggle_a_header_in() {
    let mut request = Request::new(Method::Options, "*");
    request.headers.add("X", "a\r\nSession: 1");
    let Message::Request(read) = read(&request.to_bytes()).unwrap().remove(0) else {
        panic!("a request is a request");
    };
    assert_eq!(read.headers.get("Session"), None);
}

#[test]
fn printing_a_request_shows_no_credentials() {
    let mut request = Request::new(Method::Setup, "rtsp://viewer:sesame@127.0.0.1/cam");
    request.headers.add("Authorization", "Basic dmlld2VyOnNlc2FtZQ==");
    let shown = format!("{request:?}");
    assert!(shown.contains("SETUP") && shown.contains("Authorization"));
    assert!(!shown.contains("sesame") && !shown.contains("dmll"), "{shown}");
}

/// All packets and statuses that are read of a camera when the bytes arrive in pieces of this length.
fn read_of_camera(bytes: &[u8], piece: usize) -> Result<(Vec<String>, u64), NotRtsp> {
    let mut reader = MessageReader::of_camera();
    reader.carries(0);
    reader.carries(1);
    let mut read = Vec::new();
    for piece in bytes.chunks(piece) {
        reader.push(piece)?;
        while let Some(message) = reader.next_message()? {
            read.push(match message {
                Message::Data { channel, bytes } => format!("${channel} {}", bytes.len()),
                Message::Response(response) => response.status.to_string(),
                Message::Request(request) => request.method.name().to_owned(),
            });
        }
    }
    Ok((read, reader.skipped()))
}

#[test]
fn junk_between_a_cameras_messages_is_skipped_at_every_split_point() {
    let mut bytes = b"RTSP/1.0 200 OK\r\nno header\r\nCSeq: 1\r\n\r\n".to_vec();
    put_data(&mut bytes, 0, b"\x80\x60first");
    bytes.extend_from_slice(b"\x01\x02$\x63\x00\x05\x80RTSP$\x00\x00\x04\x01no packet");
    put_data(&mut bytes, 1, b"\x80\xc8second");
    bytes.extend_from_slice(b"junk of words\r\nRTSP/2.0 404\r\n\r\nANNOUNCE * RTSP/1.0\r\n\r\n RTSP/1.0 oops\r\n\r\n");
    put_data(&mut bytes, 0, b"\x80\x60third");
    let (whole, skipped) = read_of_camera(&bytes, bytes.len()).unwrap();
    assert_eq!(whole, ["200", "$0 7", "$1 8", "404", "ANNOUNCE", "$0 7"]);
    assert!(skipped > 30);
    for piece in 1..bytes.len() {
        assert_eq!(
            read_of_camera(&bytes, piece).unwrap(),
            (whole.clone(), skipped),
            "in pieces of {piece}"
        );
    }
}

#[test]
fn junk_of_a_camera_has_a_bound_and_a_lower_one_before_its_first_answer() {
    let endless = |beginning: &[u8], junk: &[u8]| {
        let mut reader = MessageReader::of_camera();
        reader.push(beginning).unwrap();
        let mut bytes = 0;
        loop {
            match reader.next_message() {
                Err(_) => return bytes,
                Ok(Some(_)) => {}
                Ok(None) => {
                    reader.push(junk).unwrap();
                    bytes += junk.len();
                }
            }
        }
    };
    let answer = b"RTSP/1.0 200 OK\r\n\r\n";
    for junk in [&b"SSH-2.0-x\r\n"[..], b"\0", b"x", b"RTSP/", b"GET / HTTP/1.1\r\n"] {
        assert!(endless(b"", junk) <= 2 * MAX_HEAD, "{junk:?}");
        assert!(
            (MAX_JUNK..=MAX_JUNK + 2 * MAX_HEAD).contains(&endless(answer, junk)),
            "{junk:?}"
        );
    }
}
