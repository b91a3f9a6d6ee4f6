//! The RTP and RTCP packets that an RTSP server sent to its client, extracted from a capture.

use std::collections::BTreeMap;

use sealcast_proto::rtsp::{Message, MessageReader};

/// Length of the RTP header of GStreamer's packets.
pub const RTP_HEADER: usize = 12;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// One TCP segment or UDP datagram.
struct Piece<'a> {
    protocol: u8,
    from: u16,
    to: u16,
    /// For TCP: the sequence number of the first byte, and true if the segment opens the connection.
    sequence: u32,
    opens: bool,
    data: &'a [u8],
}

fn piece(ip: &[u8]) -> Option<Piece<'_>> {
    let word = |at: usize| u16::from_be_bytes([ip[at], ip[at + 1]]);
    let header = usize::from(ip[0] & 0x0f) * 4;
    let protocol = ip[9];
    let data = match protocol {
        TCP => header + usize::from(ip[header + 12] >> 4) * 4,
        UDP => header + 8,
        _ => return None,
    };
    // A packet that the kernel has not segmented yet may be too long for the length field of its header.
    let end = Some(usize::from(word(2)))
        .filter(|length| *length > 0)
        .unwrap_or(ip.len());
    Some(Piece {
        protocol,
        from: word(header),
        to: word(header + 2),
        sequence: u32::from_be_bytes(ip[header + 4..header + 8].try_into().expect("four bytes")),
        opens: protocol == TCP && ip[header + 13] & 2 != 0,
        data: &ip[data..end],
    })
}

/// The reassembled bytes that a server sent on each connection.
fn streams(server: u16, pieces: &[Piece<'_>]) -> Vec<Vec<u8>> {
    let mut starts = BTreeMap::new();
    let mut segments: BTreeMap<u16, Vec<(u32, &[u8])>> = BTreeMap::new();
    for piece in pieces
        .iter()
        .filter(|piece| piece.protocol == TCP && piece.from == server)
    {
        if piece.opens {
            starts.insert(piece.to, piece.sequence.wrapping_add(1));
        } else if let Some(start) = starts.get(&piece.to) {
            let at = piece.sequence.wrapping_sub(*start);
            segments.entry(piece.to).or_default().push((at, piece.data));
        }
    }
    let together = |mut segments: Vec<(u32, &[u8])>| {
        segments.sort_by_key(|(at, _)| *at);
        let mut stream = Vec::new();
        for (at, data) in segments {
            let at = at as usize;
            assert!(at <= stream.len(), "a segment was not captured");
            // Retransmitted bytes are there already.
            stream.extend(data.iter().skip(stream.len() - at));
        }
        stream
    };
    segments.into_values().map(together).collect()
}

/// A pair of ports or channels in a transport header, such as `server_port=8000-8001`.
fn pair(transport: &str, name: &str) -> Option<[u16; 2]> {
    let value = transport.split(';').find_map(|field| field.strip_prefix(name))?;
    let (first, second) = value.strip_prefix('=')?.split_once('-')?;
    Some([first.parse().expect("a number"), second.parse().expect("a number")])
}

/// Every packet that the RTSP server at a port sent, by channel: twice the number of the track, in the order of
/// SETUP, plus one for RTCP.
pub fn sent_by(server: u16, capture: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let ip = super::packets(capture);
    let pieces: Vec<Piece<'_>> = ip.iter().filter_map(|packet| piece(packet)).collect();
    let mut sent: Vec<Vec<Vec<u8>>> = Vec::new();
    for stream in streams(server, &pieces) {
        let (mut reader, mut interleaved) = (MessageReader::default(), Vec::new());
        for part in stream.chunks(1 << 12) {
            reader.push(part).expect("RTSP");
            while let Some(message) = reader.next_message().expect("RTSP") {
                let transport = match &message {
                    Message::Response(response) => response.headers.get("Transport"),
                    Message::Data { channel, bytes } => {
                        let at = interleaved.iter().position(|number| number == channel);
                        sent[at.expect("a channel of a track")].push(bytes.clone());
                        None
                    }
                    Message::Request(_) => None,
                };
                let Some(transport) = transport else { continue };
                if let Some(numbers) = pair(transport, "interleaved") {
                    interleaved.extend(numbers.map(|number| number as u8));
                    sent.extend([Vec::new(), Vec::new()]);
                } else {
                    let from = pair(transport, "server_port").expect("ports");
                    let to = pair(transport, "client_port").expect("ports");
                    sent.extend([0, 1].map(|at| datagrams(&pieces, from[at], to[at])));
                }
            }
        }
    }
    sent
}

fn datagrams(pieces: &[Piece<'_>], from: u16, to: u16) -> Vec<Vec<u8>> {
    let ours = pieces
        .iter()
        .filter(|piece| (piece.protocol, piece.from, piece.to) == (UDP, from, to));
    ours.flat_map(|piece| cut(piece.data)).map(<[u8]>::to_vec).collect()
}

/// Splits a captured datagram into RTP packets. On the loopback interface the capture shows a batch before the kernel
/// segments it: packets of one source with ascending numbers, all of one length but the last.
fn cut(data: &[u8]) -> std::slice::Chunks<'_, u8> {
    let header = |at: usize| data.get(at..at + 12);
    let number = |header: &[u8]| u16::from_be_bytes([header[2], header[3]]);
    let follows = |before: usize, at: usize| {
        let pair = header(before).zip(header(at));
        pair.is_some_and(|(before, after)| {
            let risen = number(after).wrapping_sub(number(before));
            after[0] >> 6 == 2 && after[8..] == before[8..] && (1..1000).contains(&risen)
        })
    };
    let lengths = 12..data.len().max(12);
    let found = lengths.into_iter().find(|&length| {
        let mut ends = (length..data.len()).step_by(length);
        ends.all(|at| follows(at - length, at))
    });
    data.chunks(found.unwrap_or(data.len()).max(1))
}

/// Fails unless the packets that left are, bit for bit and in order, among those that entered. Returns true if none
/// before the last is missing. A player that ends early leaves the rest undelivered.
pub fn carried_whole(left: &[Vec<Vec<u8>>], entered: &[Vec<Vec<u8>>]) -> bool {
    assert_eq!(left.len(), entered.len(), "other tracks were set up");
    for (channel, (left, entered)) in left.iter().zip(entered).enumerate() {
        let mut rest = entered.iter();
        for (at, packet) in left.iter().enumerate() {
            let found = rest.any(|entered| entered == packet);
            assert!(found, "packet {at} of channel {channel} is not what entered");
        }
    }
    left.iter()
        .zip(entered)
        .all(|(left, entered)| entered.starts_with(left))
}
