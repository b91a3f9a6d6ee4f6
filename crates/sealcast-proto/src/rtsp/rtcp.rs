//! RTCP that a player may send to a camera (RFC 3550, section 6; RFC 4585).
//!
//! All players share one session with the camera, so a packet of one of them acts on the stream of all: a BYE ends it
//! at some cameras, and a sender report or an APP packet speaks in the name of all. Receiver reports, source
//! descriptions and feedback are what players need. The others are removed one by one, not with the compound packet
//! that holds them: players add BYE or XR to reports that the camera needs.

use crate::wire::Malformed;

/// Maximum number of RTCP packets in one compound packet.
pub const MAX_COMPOUND: usize = 32;

const RECEIVER_REPORT: u8 = 201;
const SOURCE_DESCRIPTION: u8 = 202;
const TRANSPORT_FEEDBACK: u8 = 205;
const PAYLOAD_FEEDBACK: u8 = 206;
/// Formats of payload-specific feedback that ask for a keyframe: picture loss and full intra request (RFC 5104).
const KEYFRAME_FORMATS: [u8; 2] = [1, 4];

/// The part of a player's compound packet that goes to the camera.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForCamera {
    /// The packets that go on, unchanged and in order; empty if there are none.
    pub bytes: Vec<u8>,
    /// Number of packets removed because players may not send their type to a camera.
    pub removed: usize,
    /// True if a request for a keyframe goes on.
    pub keyframe: bool,
    /// Number of requests for a keyframe removed.
    pub keyframes_removed: usize,
}

/// Filters a player's compound packet. At most one request for a keyframe goes on, and only if `keyframe_due`.
///
/// # Errors
/// [`Malformed`]: it is no compound packet, or has more than [`MAX_COMPOUND`] packets.
pub fn rtcp_for_camera(compound: &[u8], keyframe_due: bool) -> Result<ForCamera, Malformed> {
    let mut passed = ForCamera::default();
    let mut rest = compound;
    for _ in 0..MAX_COMPOUND {
        let (packet, after) = split_packet(rest)?;
        let keyframe = packet[1] == PAYLOAD_FEEDBACK && KEYFRAME_FORMATS.contains(&(packet[0] & 0x1f));
        if !may_pass(packet)? {
            passed.removed += 1;
        } else if keyframe && (passed.keyframe || !keyframe_due) {
            passed.keyframes_removed += 1;
        } else {
            passed.keyframe |= keyframe;
            passed.bytes.extend_from_slice(packet);
        }
        rest = after;
        if rest.is_empty() {
            return Ok(passed);
        }
    }
    Err(Malformed)
}

/// Splits the first packet off. Only the last packet may be padded.
fn split_packet(bytes: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let &[first, _, high, low, ..] = bytes else {
        return Err(Malformed);
    };
    let length = (usize::from(u16::from_be_bytes([high, low])) + 1) * 4;
    let (packet, rest) = bytes.split_at_checked(length).ok_or(Malformed)?;
    let padded = first & 0x20 != 0;
    if first >> 6 != 2 || (padded && !rest.is_empty()) {
        return Err(Malformed);
    }
    Ok((packet, rest))
}

/// Returns true if players may send this type of packet to a camera.
fn may_pass(packet: &[u8]) -> Result<bool, Malformed> {
    let count = usize::from(packet[0] & 0x1f);
    let least = match packet[1] {
        // The sender's source, and a block for each source that it reports on.
        RECEIVER_REPORT => 8 + 24 * count,
        // For each source its number and at least the end of the list of items.
        SOURCE_DESCRIPTION => 4 + 8 * count,
        // The sender's source and the one that it is about.
        TRANSPORT_FEEDBACK | PAYLOAD_FEEDBACK => 12,
        _ => return Ok(false),
    };
    let padding = match (packet[0] & 0x20 != 0, packet.last()) {
        (true, Some(&length)) if length > 0 && length % 4 == 0 => usize::from(length),
        (true, _) => return Err(Malformed),
        (false, _) => 0,
    };
    if packet.len() < least + padding {
        return Err(Malformed);
    }
    Ok(true)
}

#[cfg(test)]
#[path = "rtcp_tests.rs"]
mod tests;
