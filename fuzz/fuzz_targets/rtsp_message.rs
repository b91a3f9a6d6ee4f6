//! RTSP in arbitrary pieces: the parsed message does not depend on the splits, and survives writing and parsing
//! again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sealcast_proto::rtsp::{MAX_UNREAD, Message, MessageReader, NotRtsp, put_data};

/// Longer inputs are only read whole and byte by byte, since splitting at every position takes quadratic time.
const MAX_SPLIT: usize = 300;

fuzz_target!(|bytes: &[u8]| {
    if bytes.len() > MAX_UNREAD {
        return;
    }
    let whole = read(&[bytes]);
    let splits = if bytes.len() > MAX_SPLIT { 0 } else { bytes.len() };
    for split in 0..splits {
        let (before, after) = bytes.split_at(split);
        assert_eq!(read(&[before, after]), whole, "split at {split}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(read(&single), whole, "byte by byte");
    for message in whole.0 {
        let mut written = Vec::new();
        match &message {
            Message::Request(request) if request.version_one => written = request.to_bytes(),
            // Unknown versions are all written as one, so the text may differ.
            Message::Request(_) => continue,
            Message::Response(response) => written = response.to_bytes(),
            Message::Data { channel, bytes } => put_data(&mut written, *channel, bytes),
        }
        assert_eq!(read(&[&written]), (vec![message], None));
    }
});

fn read(pieces: &[&[u8]]) -> (Vec<Message>, Option<NotRtsp>) {
    let mut reader = MessageReader::default();
    let mut messages = Vec::new();
    for piece in pieces {
        reader.push(piece).expect("no more than fits");
        loop {
            match reader.next_message() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => return (messages, Some(error)),
            }
        }
    }
    (messages, None)
}
