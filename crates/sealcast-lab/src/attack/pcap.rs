//! Captures of tcpdump: what crossed one port, by direction, with times.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use sealcast::eavesdrop::{Carriage, Overheard};
use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::wire::{CONNECTION_LEN, HEADER_LEN, Kind, TAG_LEN};

/// Most bytes of a capture that are kept: an hour of 4 Mbit/s has less.
const MOST_BYTES: usize = 2 << 30;

/// One direction between two sockets.
type FlowKey = (bool, IpAddr, u16, IpAddr, u16);

/// A TCP segment or a UDP datagram.
struct Piece {
    at: Duration,
    /// TCP: the sequence number of its first byte.
    sequence: u32,
    /// TCP: opens the connection.
    opens: bool,
    data: Vec<u8>,
}

fn refused(file: &Path, why: &str) -> Failure {
    let what = format!("{} cannot be attacked: {why}", file.display());
    let hint = "capture all of a session from its first packet on: tcpdump -i lo -s 0 -B 32768 -w FILE.pcap port N";
    Failure::new(FailureKind::Usage, what, hint)
}

/// Reads what was overheard of the session that crossed this port: of the direction that carried most frames.
///
/// # Errors
/// The file is no capture, or has no sealcast session on this port; one that lacks packets in its middle is said to.
pub(crate) fn overhear(file: &Path, port: u16) -> Result<Overheard> {
    let flows = flows(file, port)?;
    let mut best: Option<Overheard> = None;
    let mut torn = false;
    for ((is_tcp, ..), pieces) in flows {
        let overheard = match is_tcp {
            true => {
                let (overheard, is_torn) = stream(pieces);
                torn |= is_torn;
                overheard
            }
            false => datagrams(pieces),
        };
        if best
            .as_ref()
            .is_none_or(|best| best.frames.len() < overheard.frames.len())
        {
            best = Some(overheard);
        }
    }
    match best {
        Some(best) if !best.frames.is_empty() => Ok(best),
        _ if torn => Err(refused(file, "packets of the connection are missing in it")),
        _ => Err(refused(file, &format!("no sealcast session crossed port {port}"))),
    }
}

fn flows(file: &Path, port: u16) -> Result<BTreeMap<FlowKey, Vec<Piece>>> {
    let opened = File::open(file).map_err(|error| refused(file, &error.to_string()))?;
    let mut reader = PcapReader::new(opened).map_err(|error| refused(file, &error.to_string()))?;
    let link = reader.header().datalink;
    let mut flows: BTreeMap<FlowKey, Vec<Piece>> = BTreeMap::new();
    let mut kept = 0;
    while let Some(packet) = reader.next_packet() {
        let packet = packet.map_err(|error| refused(file, &error.to_string()))?;
        let sliced = match link {
            DataLink::ETHERNET => LaxSlicedPacket::from_ethernet(&packet.data).ok(),
            DataLink::RAW | DataLink::IPV4 | DataLink::IPV6 => LaxSlicedPacket::from_ip(&packet.data).ok(),
            other => return Err(refused(file, &format!("it was taken from a network of kind {other:?}"))),
        };
        let Some((key, piece)) = sliced.and_then(|sliced| piece(&sliced, packet.timestamp)) else {
            continue;
        };
        if key.2 != port && key.4 != port {
            continue;
        }
        kept += piece.data.len();
        if kept > MOST_BYTES {
            return Err(refused(file, "it is longer than 2 GiB"));
        }
        flows.entry(key).or_default().push(piece);
    }
    Ok(flows)
}

fn piece(packet: &LaxSlicedPacket<'_>, at: Duration) -> Option<(FlowKey, Piece)> {
    let (from, to): (IpAddr, IpAddr) = match packet.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            (header.source_addr().into(), header.destination_addr().into())
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            (header.source_addr().into(), header.destination_addr().into())
        }
        LaxNetSlice::Arp(_) => return None,
    };
    Some(match packet.transport.as_ref()? {
        TransportSlice::Tcp(tcp) => {
            let piece = Piece {
                at,
                sequence: tcp.sequence_number(),
                opens: tcp.syn(),
                data: tcp.payload().to_vec(),
            };
            ((true, from, tcp.source_port(), to, tcp.destination_port()), piece)
        }
        TransportSlice::Udp(udp) => {
            let piece = Piece {
                at,
                sequence: 0,
                opens: false,
                data: udp.payload().to_vec(),
            };
            ((false, from, udp.source_port(), to, udp.destination_port()), piece)
        }
        _ => return None,
    })
}

fn datagrams(pieces: Vec<Piece>) -> Overheard {
    let mut overheard = Overheard::new(Carriage::Datagrams);
    for piece in &pieces {
        let length = datagram_length(&piece.data);
        piece
            .data
            .chunks(length)
            .for_each(|datagram| overheard.hear(piece.at, datagram));
    }
    overheard
}

/// Length of the datagrams in what was captured as one. Where a sender passes several of one length to the system at
/// once (segmentation offload), a capture on its own machine has them in one piece, one after the other. Each begins
/// with the connection's number and the kind of a record.
fn datagram_length(captured: &[u8]) -> usize {
    let whole = captured.len().max(1);
    let Some(connection) = captured.first_chunk::<CONNECTION_LEN>() else {
        return whole;
    };
    let begins = |datagram: &[u8]| {
        datagram.starts_with(connection) && Kind::of(datagram.get(CONNECTION_LEN..).unwrap_or_default()).is_some()
    };
    let shortest = CONNECTION_LEN + HEADER_LEN + TAG_LEN;
    let is_one = |length: &usize| captured.chunks(*length).all(begins);
    (shortest..captured.len()).find(is_one).unwrap_or(whole)
}

/// Puts the segments of one direction in order. Returns true if some are missing; what comes after them is left out.
fn stream(pieces: Vec<Piece>) -> (Overheard, bool) {
    let mut overheard = Overheard::new(Carriage::Stream);
    let opened = pieces.iter().find(|piece| piece.opens);
    let Some(start) = opened.map(|piece| piece.sequence.wrapping_add(1)) else {
        return (overheard, !pieces.is_empty());
    };
    // Positions count on where sequence numbers begin anew: a segment lies within 2 GiB of the furthest before it.
    let mut furthest = 0_u64;
    let mut placed: Vec<(u64, &Piece)> = Vec::new();
    for piece in pieces.iter().filter(|piece| !piece.data.is_empty()) {
        let low = piece.sequence.wrapping_sub(start);
        let ahead = low.wrapping_sub(furthest as u32).cast_signed();
        let Some(position) = furthest.checked_add_signed(ahead.into()) else {
            continue;
        };
        furthest = furthest.max(position + piece.data.len() as u64);
        placed.push((position, piece));
    }
    placed.sort_by_key(|(position, _)| *position);
    let mut next = 0;
    for (position, piece) in placed {
        if position > next {
            return (overheard, true);
        }
        // Bytes that were sent again are there already.
        let known = usize::try_from(next - position).unwrap_or(usize::MAX);
        if let Some(new) = piece.data.get(known..) {
            overheard.hear(piece.at, new);
            next += new.len() as u64;
        }
    }
    (overheard, false)
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;
    use pcap_file::pcap::{PcapPacket, PcapWriter};
    use sealcast_proto::wire::write_framed;

    use super::*;
    use sealcast_proto::unit::Preamble;

    /// A frame of `length` bytes in clear, in one record on a byte stream.
    fn record(seq: u64, length: usize) -> Vec<u8> {
        let mut message = vec![0x10, 0x0e, 0, 0, 0, 0, 0, 1];
        message.extend_from_slice(&seq.to_be_bytes());
        message.extend_from_slice(&[0; 8]);
        let preamble = Preamble {
            frame: seq,
            ..Preamble::default()
        };
        message.extend_from_slice(&preamble.to_bytes());
        message.resize(message.len() + length, seq as u8);
        message.extend_from_slice(&[0; 16]);
        let mut framed = Vec::new();
        write_framed(&mut framed, &message);
        framed
    }

    /// A capture of these segments of a connection from port 9000: each with its position and its bytes.
    fn captured(start: u32, segments: &[(usize, &[u8])]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut writer = PcapWriter::new(file.reopen().expect("it is there")).expect("a header");
        let mut write = |sequence: u32, opens: bool, data: &[u8]| {
            let builder = PacketBuilder::ethernet2([0; 6], [0; 6]).ipv4([127, 0, 0, 1], [127, 0, 0, 1], 64);
            let tcp = builder.tcp(9000, 40_000, sequence, 1000);
            let tcp = if opens { tcp.syn().ack(1) } else { tcp.ack(1) };
            let mut packet = Vec::new();
            tcp.write(&mut packet, data).expect("it fits");
            let length = packet.len() as u32;
            writer
                .write_packet(&PcapPacket::new(Duration::from_millis(5), length, &packet))
                .expect("written");
        };
        write(start, true, &[]);
        for (position, data) in segments {
            write(start.wrapping_add(1 + *position as u32), false, data);
        }
        file
    }

    #[test]
    fn segments_are_put_in_order_where_sequence_numbers_begin_anew_and_some_came_twice() {
        let bytes: Vec<u8> = (0..3).flat_map(|seq| record(seq, 500)).collect();
        let segments = [
            (0, &bytes[..400]),
            (900, &bytes[900..]),
            (300, &bytes[300..900]),
            (0, &bytes[..400]),
        ];
        let file = captured(u32::MAX - 700, &segments);
        let overheard = overhear(file.path(), 9000).expect("a session");
        let frames: Vec<(u64, usize, bool)> = overheard
            .frames
            .iter()
            .map(|frame| (frame.number, frame.length(), frame.is_whole()))
            .collect();
        assert_eq!(frames, [(0, 500, true), (1, 500, true), (2, 500, true)]);
    }

    #[test]
    fn datagrams_that_left_together_are_told_apart() {
        let datagram = |seq: u64, length| [&[9, 8, 7, 6][..], &record(seq, length)[4..]].concat();
        let together: Vec<u8> = [datagram(1, 300), datagram(2, 300), datagram(3, 100)].concat();
        assert_eq!(datagram_length(&together), datagram(1, 300).len());
        let alone = datagram(1, 300);
        assert_eq!(datagram_length(&alone), alone.len());
        assert_eq!((datagram_length(&[]), datagram_length(&[1, 2])), (1, 2));
    }

    #[test]
    fn a_capture_without_the_session_or_without_some_of_its_packets_is_refused_in_words() {
        let bytes: Vec<u8> = (0..3).flat_map(|seq| record(seq, 500)).collect();
        let torn = captured(7, &[(100, &bytes[100..])]);
        let words = |file: &Path, port| overhear(file, port).expect_err("nothing to be had").what;
        assert!(words(torn.path(), 9000).contains("are missing"));
        assert!(words(torn.path(), 9001).contains("no sealcast session crossed port 9001"));
        let none = tempfile::NamedTempFile::new().expect("a file");
        assert!(words(none.path(), 9000).contains("cannot be attacked"));
    }
}
