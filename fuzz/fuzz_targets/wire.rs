//! All parsers of bytes that need no key: accepted input is written again as the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sealcast_proto::unit::{PREAMBLE_LEN, Preamble, SoundInfo, StreamInfo, UNIT_HEADER_LEN, UnitHeader};
use sealcast_proto::wire::{
    Accept, Control, HEADER_LEN, Header, LENGTH_PREFIX, MAX_CONTROL_RECORD, MAX_HANDSHAKE_MESSAGE, MAX_RECORD,
    MessageLength, message_length, write_framed,
};

fuzz_target!(|bytes: &[u8]| {
    for accept in [Accept::EncryptedOnly, Accept::ClearMedia] {
        if let Ok(header) = Header::parse(bytes, accept) {
            assert_eq!(header.to_bytes(), bytes[..HEADER_LEN]);
            assert!(header.flags.encrypted() || accept == Accept::ClearMedia);
        }
    }
    if let Ok(message) = Control::parse(bytes)
        && message != Control::Unknown
    {
        assert_eq!(message.to_bytes(), bytes);
    }
    for repair in [false, true] {
        if let Ok((header, rest)) = UnitHeader::split(bytes, repair) {
            assert_eq!(header.to_bytes(), bytes[..UNIT_HEADER_LEN]);
            assert_eq!(rest, &bytes[UNIT_HEADER_LEN..]);
        }
    }
    if let Ok(info) = StreamInfo::parse(bytes) {
        assert_eq!(info.to_bytes(), bytes);
    }
    if let Ok(info) = SoundInfo::parse(bytes) {
        assert_eq!(info.to_bytes(), bytes);
    }
    if let Ok((preamble, rest)) = Preamble::split(bytes) {
        assert_eq!(preamble.to_bytes(), bytes[..PREAMBLE_LEN]);
        assert_eq!(rest, &bytes[PREAMBLE_LEN..]);
    }
    for (limit, longest) in [
        (MessageLength::Handshake, MAX_HANDSHAKE_MESSAGE),
        (MessageLength::Control, MAX_CONTROL_RECORD),
        (MessageLength::Record, MAX_RECORD),
    ] {
        match message_length(bytes, limit) {
            Ok(Some(length)) => assert!((1..=longest).contains(&length) && bytes.len() >= LENGTH_PREFIX),
            Ok(None) => assert!(bytes.len() < LENGTH_PREFIX),
            Err(_) => assert!(bytes.len() >= LENGTH_PREFIX),
        }
    }
    let mut framed = Vec::new();
    write_framed(&mut framed, bytes);
    // Framing works for input cut at any position.
    for cut in 0..framed.len().min(16) {
        let length = message_length(&framed[..cut], MessageLength::Record);
        let whole = cut >= LENGTH_PREFIX;
        assert!(bytes.is_empty() || length == Ok(whole.then_some(bytes.len())));
    }
});
