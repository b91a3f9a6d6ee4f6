//! Bounds of what is received: everything here that a camera can make grow has one of these, with its unit and reason.
//! A few bytes more come with each (headers, the packet in hand).

use std::time::Duration;

// Packets of a track in their order.

/// Packets that wait for a missing one: more than any network lets one packet overtake, and few enough that a camera's
/// gap costs no queue.
pub const MAX_WAITING: usize = 64;
/// Bytes of packets that wait, whatever for: far more than [`MAX_WAITING`] packets of a usual length, and 512 KiB
/// where each has 64 KiB.
pub const MAX_WAITING_BYTES: usize = 512 << 10;
/// Time for which a packet waits for a missing one, at most: less than a picture of 30 a second, so that a loss delays
/// no picture by a whole one. Where pictures follow each other faster, it is a quarter of their distance.
pub const MAX_PATIENCE: Duration = Duration::from_millis(30);
/// Packets that wait for what says that a sequence begins with them, and how far apart their numbers are: a few, since
/// the second of them in a row decides.
pub(super) const MAX_FRESH: usize = 16;
/// Numbers that can have been lost at once; beyond it a sequence starts anew (RFC 3550, A.1).
pub(super) const MAX_DROPOUT: u16 = 3000;
/// Waits in vain, one after the other, after which packets do not wait any more until one comes late: a camera may
/// leave out numbers of its own accord, and each would delay its picture.
pub(super) const MAX_VAIN: u8 = 64;
/// Distance of two pictures, by their arrival, from which on it counts for how fast they come. No camera makes more
/// than [`MAX_RATE`] a second: those that are nearer came together after a pause, and say nothing of it.
pub(super) const MIN_INTERVAL: Duration = Duration::from_millis(1);
/// Distance of two pictures, by their arrival, up to which it counts for how fast they come: what is longer is a pause.
pub(super) const MAX_INTERVAL: Duration = Duration::from_secs(1);

// Packets of other payload types than was described.

/// Packets of another type that are kept until it counts: a second of a stream of 10 Mbit/s.
pub(super) const MAX_KEPT: usize = 1024;
/// Bytes of those packets: as the packets above, where they are of 4 KiB.
pub(super) const MAX_KEPT_BYTES: usize = 4 << 20;
/// Other types that are told apart: one alone may count, so more than two need no names.
pub(super) const MAX_OTHER_TYPES: usize = 4;

// Pictures.

/// Bytes of one picture that is put together from packets: 6 MiB. A camera may send one after the other, and the one
/// under way, a copy with its parameter sets, and the one that is kept for who joins are held at once; with what grows
/// until they are whole, and with the packets that wait, a hostile camera takes less than 32 MiB.
pub const MAX_PICTURE: usize = crate::unit::MAX_FRAME / 8 * 3;
/// Pieces (NAL units, fragments) of one picture: each costs an entry besides its bytes, and the largest pictures of
/// cameras have some hundreds.
pub const MAX_PIECES: usize = 4096;
/// Bytes of capacity that are kept for the next picture: most keyframes fit, and a large one does not keep its memory.
pub(super) const MAX_SPARE: usize = 1 << 20;
/// Access units that wait to be polled: more than one come out of a packet only if whole pictures are in it.
pub(super) const MAX_READY_PICTURES: usize = 64;
/// Bytes of those access units: one that ends with a packet, and one that begins and ends in it.
pub(super) const MAX_READY_BYTES: usize = 2 * MAX_PICTURE;
/// Images of Motion JPEG that wait to be polled: a packet ends one or two.
pub(super) const MAX_READY_IMAGES: usize = 4;
/// Bytes of a unit that is looked at as a parameter set: they have some tens, and each of a picture is read.
pub(super) const MAX_SET: usize = 1024;
/// Tables of quantization of a picture: one for each component, of which it has three.
pub(super) const MAX_TABLES: usize = 3;

// Sound.

/// Packets of sound that wait to be polled: of one packet of AAC there are [`MAX_UNITS`] at most, and the caller takes
/// them after each.
pub(super) const MAX_READY_SOUND: usize = 256;
/// Access units of AAC in one packet: more than a second of sound, and no camera waits so long.
pub(super) const MAX_UNITS: usize = 64;
/// Bits of a field of an access unit's header: what a number here holds.
pub(super) const MAX_FIELD: u32 = 32;
/// Bytes of an AudioSpecificConfig: those of AAC-LC have 2 to 5, with extensions some tens.
pub(super) const MAX_CONFIG: usize = 256;

// Descriptions, which are read once for each call; the message that they come in has a bound of its own.

/// Formats of a medium; more are left out. Cameras describe one or two.
pub const MAX_FORMATS: usize = 32;
/// Bytes of an attribute; longer ones are left out. The longest have parameter sets in Base64.
pub(super) const MAX_LINE: usize = 8 << 10;
/// Bytes of the parameters of a format; what is beyond is left out. A line of them fits, several join.
pub(super) const MAX_PARAMETERS: usize = MAX_LINE - 16;
/// Letters of the name of an encoding or a kind, which messages show; longer ones are cut.
pub(super) const MAX_NAME: usize = 64;
/// Highest payload type: it has seven bits.
pub(super) const MAX_PAYLOAD_TYPE: u8 = 127;
/// Pictures a second that a camera may be said to make: what is beyond is no rate of pictures, but of a clock.
pub(super) const MAX_RATE: u32 = 1000;
/// Parameter sets of a description: the formats allow 32 and 256, cameras use one of each kind.
pub(super) const MAX_SETS: usize = 64;

// Reports.

/// Packets in a compound packet of RTCP that are looked at: they are a report and a name for each source.
pub(super) const MAX_COMPOUND: usize = 32;
