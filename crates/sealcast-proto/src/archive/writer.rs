//! Writes the bytes of a segment (archive.md §2 to §4).

use std::collections::BTreeMap;
use std::sync::Arc;

use aws_lc_rs::aead;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::block::{self, Kind, MAGIC, MacKey};
use super::contents::{ARCHIVE_ID_LEN, End, EndCause, FrameBlock, Head};
use super::gather::Gathered;
use crate::keys::Secret;
use crate::seal::{MediaKey, SealedFrame, SealedRecord, Suite};
use crate::sign::Hash;
use crate::unit::SOUND_STREAM;
use crate::wire::{Malformed, Orientation, PeerId, Reader};

/// The key of one segment: 32 random bytes, which the recipients get encrypted. It is wiped when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct SegmentKey(pub [u8; 32]);

impl SegmentKey {
    fn derive(&self, label: &[u8], archive: &[u8; ARCHIVE_ID_LEN], number: u64) -> Zeroizing<[u8; 32]> {
        let mut context = [0; ARCHIVE_ID_LEN + 8];
        context[..ARCHIVE_ID_LEN].copy_from_slice(archive);
        context[ARCHIVE_ID_LEN..].copy_from_slice(&number.to_be_bytes());
        let mut key = Zeroizing::new([0; 32]);
        Secret::from_bytes(&self.0).expand(label, &context, key.as_mut());
        key
    }

    pub(super) fn mac(&self, head: &Head) -> MacKey {
        MacKey::new(&self.derive(b"archive mac", &head.archive, head.number))
    }

    pub(super) fn keys(&self, head: &Head) -> KeySealer {
        let key = self.derive(b"archive keys", &head.archive, head.number);
        let key = aead::UnboundKey::new(&aead::AES_256_GCM, key.as_ref()).expect("AES-256 keys have 32 bytes");
        KeySealer(aead::LessSafeKey::new(key))
    }
}

/// Seals the media keys of a segment (archive.md §4).
pub(super) struct KeySealer(aead::LessSafeKey);

impl KeySealer {
    fn nonce(index: u32) -> aead::Nonce {
        let mut nonce = [0; 12];
        nonce[8..].copy_from_slice(&index.to_be_bytes());
        aead::Nonce::assume_unique_for_key(nonce)
    }

    fn seal(&self, index: u32, key: &MediaKey) -> Vec<u8> {
        let mut sealed = key_to_bytes(key).to_vec();
        self.0
            .seal_in_place_append_tag(Self::nonce(index), aead::Aad::empty(), &mut sealed)
            .expect("a key is short");
        sealed
    }

    /// Opens a key. `suites` are those that this end knows.
    pub(super) fn open(&self, index: u32, sealed: &[u8], suites: &[Suite]) -> Result<MediaKey, Malformed> {
        let mut plain = Zeroizing::new(sealed.to_vec());
        let opened = self.0.open_in_place(Self::nonce(index), aead::Aad::empty(), &mut plain);
        key_from_bytes(opened.map_err(|_| Malformed)?, suites)
    }
}

/// Bytes of a media key before the key itself: suite, epoch, camera and nonce base.
const KEY_HEAD: usize = 1 + 8 + 32 + 8;
/// Stream of a group's sound, which follows the key of that sound.
const OF_SOUND: u8 = SOUND_STREAM as u8;

/// A media key as it is encrypted for an archive (archive.md §4).
pub fn key_to_bytes(key: &MediaKey) -> Zeroizing<Vec<u8>> {
    let (bytes, base) = key.reveal();
    let mut plain = Zeroizing::new(Vec::with_capacity(96));
    plain.push(key.suite().id);
    plain.extend_from_slice(&key.epoch().to_be_bytes());
    plain.extend_from_slice(&key.camera().0);
    plain.extend_from_slice(&base);
    plain.extend_from_slice(bytes);
    if key.is_of_sound() {
        plain.push(OF_SOUND);
    }
    plain
}

/// The keys of a group's epoch as they are encrypted for who records it sealed (archive.md §8): of the picture, and
/// then of the sound.
pub fn keys_to_bytes(keys: &[MediaKey; 2]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(keys.iter().flat_map(|key| key_to_bytes(key).to_vec()).collect())
}

/// Parses a media key. `suites` are those that this end knows.
///
/// # Errors
/// [`Malformed`]: it is none, or of another suite.
pub fn key_from_bytes(bytes: &[u8], suites: &[Suite]) -> Result<MediaKey, Malformed> {
    let mut reader = Reader::new(bytes);
    let id = reader.u8()?;
    let suite = suites.iter().find(|suite| suite.id == id).ok_or(Malformed)?;
    let (epoch, camera, base) = (reader.u64()?, PeerId(reader.array()?), reader.array()?);
    let bytes = reader.bytes(suite.key_len)?;
    let key = MediaKey::new(camera, epoch, *suite, bytes, base).ok_or(Malformed)?;
    match reader.rest() {
        [] => Ok(key),
        [OF_SOUND] => Ok(key.of_sound()),
        _ => Err(Malformed),
    }
}

/// Parses the keys of a group's epoch: that of the picture, and that of the sound if it follows.
///
/// # Errors
/// [`Malformed`]: as [`key_from_bytes`], or they are not those of one epoch.
pub fn keys_from_bytes(bytes: &[u8], suites: &[Suite]) -> Result<Vec<MediaKey>, Malformed> {
    let id = bytes.first().ok_or(Malformed)?;
    let suite = suites.iter().find(|suite| suite.id == *id).ok_or(Malformed)?;
    let (picture, sound) = bytes.split_at_checked(KEY_HEAD + suite.key_len).ok_or(Malformed)?;
    let picture = key_from_bytes(picture, suites)?;
    if sound.is_empty() {
        return Ok(vec![picture]);
    }
    let sound = key_from_bytes(sound, suites)?;
    let fits = sound.is_of_sound() && (sound.epoch(), sound.camera()) == (picture.epoch(), picture.camera());
    if fits { Ok(vec![picture, sound]) } else { Err(Malformed) }
}

/// A key that stands in a segment.
enum KeyHere {
    /// Known to the writer.
    Known(Arc<MediaKey>),
    /// Of this epoch, and encrypted before it came.
    Wrapped(u64),
}

/// The low 16 bits of an epoch, and whether the key is that of a group's sound.
type KeyName = (u16, bool);

fn key_name(key: &MediaKey) -> KeyName {
    (key.epoch() as u16, key.is_of_sound())
}

/// Head of a segment, and its key.
pub struct SegmentStart {
    /// The head.
    pub head: Head,
    /// The key that the head's file holds.
    pub key: SegmentKey,
}

/// Writes one segment. Its caller brings every block to the disk, in order.
pub struct SegmentWriter {
    mac: MacKey,
    sealer: KeySealer,
    link: Hash,
    /// The keys that stand in the segment.
    keys: BTreeMap<KeyName, KeyHere>,
    /// The certificate that stands in the segment.
    gop_key: Option<Vec<u8>>,
    /// Orientation of the pictures that follow.
    orientation: Orientation,
    frames: u64,
    times: Option<(u64, u64)>,
    written: u64,
}

impl SegmentWriter {
    /// Begins a segment, and appends its beginning to `out`.
    pub fn begin(start: &SegmentStart, out: &mut Vec<u8>) -> Self {
        let mac = start.key.mac(&start.head);
        let before = out.len();
        out.extend_from_slice(MAGIC);
        let link = block::put(out, Kind::Head, &start.head.to_bytes(), &block::first_link(), &mac);
        Self {
            mac,
            sealer: start.key.keys(&start.head),
            link,
            keys: BTreeMap::new(),
            gop_key: None,
            orientation: Orientation::default(),
            frames: 0,
            times: None,
            written: (out.len() - before) as u64,
        }
    }

    /// Returns true if the frame may be in this segment: its keys contradict none that stand here.
    pub fn takes(&self, frame: &SealedFrame) -> bool {
        let wrapped = |name: KeyName| matches!(self.keys.get(&(name.0, false)), Some(KeyHere::Wrapped(_)));
        let same = |record: &Arc<SealedRecord>| match self.keys.get(&key_name(&record.key)) {
            None => !wrapped(key_name(&record.key)),
            Some(KeyHere::Known(known)) => Arc::ptr_eq(known, &record.key),
            Some(KeyHere::Wrapped(_)) => false,
        };
        frame.records.iter().all(same)
    }

    /// Returns true if the wrapped key of this epoch may be in this segment.
    pub fn takes_wrapped(&self, epoch: u64) -> bool {
        let known = self.keys.get(&(epoch as u16, false));
        known.is_none_or(|known| matches!(known, KeyHere::Wrapped(same) if *same == epoch))
    }

    /// Returns true if the wrapped keys of an epoch with these low 16 bits stand here.
    pub fn has_wrapped(&self, low_bits: u16) -> bool {
        matches!(self.keys.get(&(low_bits, false)), Some(KeyHere::Wrapped(_)))
    }

    /// Appends the keys of an epoch, which came encrypted as an age file, unless it stands here. The segment
    /// [takes](Self::takes_wrapped) it.
    pub fn wrapped_key(&mut self, epoch: u64, file: &[u8], out: &mut Vec<u8>) {
        if self.keys.contains_key(&(epoch as u16, false)) {
            return;
        }
        let mut body = epoch.to_be_bytes().to_vec();
        body.extend_from_slice(file);
        self.block(Kind::WrappedKey, &body, out);
        self.keys.insert((epoch as u16, false), KeyHere::Wrapped(epoch));
    }

    /// Appends the certificate of the key that signs groups of pictures, unless it stands here.
    pub fn gop_key(&mut self, certificate: &[u8], out: &mut Vec<u8>) {
        if self.gop_key.as_deref() != Some(certificate) {
            self.block(Kind::GopKey, certificate, out);
            self.gop_key = Some(certificate.to_vec());
        }
    }

    /// Appends the signature of a group of pictures, or of a part of one, whose [key](Self::gop_key) stands here.
    pub fn gop_signature(&mut self, message: &[u8], out: &mut Vec<u8>) {
        self.block(Kind::GopSignature, message, out);
    }

    /// Appends how the pictures after this are turned, unless that stands here. A segment begins with upright ones.
    pub fn orientation(&mut self, orientation: Orientation, out: &mut Vec<u8>) {
        if self.orientation != orientation {
            self.block(Kind::Orientation, &orientation.to_bytes(), out);
            self.orientation = orientation;
        }
    }

    /// Appends the description that frames after this need, which came earlier.
    pub fn description(&mut self, description: &SealedFrame, time: (u64, u64), out: &mut Vec<u8>) {
        self.put(Kind::Description, true, description, time, out);
    }

    /// Appends a frame to `out`: its keys if they are new here, and its records. `time` is the instant that the source
    /// stamped by the writer's clock, and to within how many nanoseconds that is known.
    pub fn frame(&mut self, keyframe: bool, frame: &SealedFrame, time: (u64, u64), out: &mut Vec<u8>) {
        self.put(Kind::Frame, keyframe, frame, time, out);
        self.count(time.0);
    }

    /// Appends a frame, or a description, that was gathered without being opened. The keys of its records stand here.
    pub fn gathered(&mut self, gathered: &Gathered, time: (u64, u64), out: &mut Vec<u8>) {
        let kind = match gathered.describes_only() {
            true => Kind::Description,
            false => Kind::Frame,
        };
        let mut body = Vec::new();
        let records = gathered.records.iter().map(Vec::as_slice);
        FrameBlock::write(&mut body, (gathered.keyframe, gathered.units), records, time);
        self.block(kind, &body, out);
        if kind == Kind::Frame {
            self.count(time.0);
        }
    }

    fn count(&mut self, time: u64) {
        self.frames += 1;
        self.times = Some((self.times.map_or(time, |(first, _)| first), time));
    }

    fn block(&mut self, kind: Kind, body: &[u8], out: &mut Vec<u8>) {
        let before = out.len();
        self.link = block::put(out, kind, body, &self.link, &self.mac);
        self.written += (out.len() - before) as u64;
    }

    fn put(&mut self, kind: Kind, keyframe: bool, frame: &SealedFrame, time: (u64, u64), out: &mut Vec<u8>) {
        for record in &frame.records {
            let name = key_name(&record.key);
            if self.keys.contains_key(&name) {
                continue;
            }
            let body = self.sealer.seal(self.keys.len() as u32, &record.key);
            self.block(Kind::Key, &body, out);
            self.keys.insert(name, KeyHere::Known(Arc::clone(&record.key)));
        }
        let mut body =
            Vec::with_capacity(frame.records.iter().map(|record| record.bytes.len() + 4).sum::<usize>() + 17);
        let records = frame.records.iter().map(|record| record.bytes.as_slice());
        FrameBlock::write(&mut body, (keyframe, frame.units), records, time);
        self.block(kind, &body, out);
    }

    /// Appends the end to `out`.
    pub fn end(mut self, cause: EndCause, out: &mut Vec<u8>) -> Hash {
        let (first, last) = self.times.unwrap_or_default();
        let end = End {
            cause,
            frames: self.frames,
            first,
            last,
        };
        self.link = block::put(out, Kind::End, &end.to_bytes(), &self.link, &self.mac);
        self.link
    }

    /// Number of frames so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Bytes so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The link of the last block so far.
    pub fn link(&self) -> Hash {
        self.link
    }

    /// Times of the first and the last frame.
    pub fn times(&self) -> Option<(u64, u64)> {
        self.times
    }
}
