//! The suite that seals and opens each record several times, to measure what doing so once costs.
//!
//! A single seal takes microseconds, which scheduling hides. Sealed 64 times it shows, and the slope of a latency or of
//! CPU time against the number of times is the cost of one seal; the intercept is everything else.

use std::sync::{Mutex, PoisonError};

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce as AeadNonce, UnboundKey};
use sealcast_proto::seal::{Nonce, OpenFailed, PacketKey, Suite};
use sealcast_proto::sim::Random;
use sealcast_proto::wire::{HEADER_LEN, Header, Kind, TAG_LEN};

/// Numbers of times that records are sealed at one end and opened at the other; [`dose`] chooses among them.
pub const DOSES: [u32; 8] = [0, 1, 2, 4, 8, 16, 32, 64];
/// Time for which the dose stays the same, in nanoseconds.
pub const DOSE_PERIOD_NS: u64 = 500_000_000;
/// Seed of the order.
const ORDER_SEED: u64 = 0xD05E;

/// AES-128-GCM, with media records sealed and opened as many times as [`dose`] says. With a dose of 0 a record is
/// neither encrypted nor authenticated.
pub const INSECURE_DOSE: Suite = Suite {
    id: 237,
    name: "insecure-dose",
    key_len: 16,
    block_limit: None,
    make_key: |key| Box::new(DoseKey::new(key)),
};

/// The dose of a record that is sealed at this time, in nanoseconds since 1970. Of eight periods that follow one
/// another, the first of which has a number divisible by eight, each has another dose, in an order of their own.
pub fn dose(sealed_ns: u64) -> u32 {
    let period = sealed_ns / DOSE_PERIOD_NS;
    let count = DOSES.len() as u64;
    let mut order = DOSES;
    let mut random = Random::new(ORDER_SEED ^ (period / count));
    for at in (1..order.len()).rev() {
        order.swap(at, random.uniform(0..at as u64 + 1) as usize);
    }
    order[(period % count) as usize]
}

struct DoseKey {
    key: LessSafeKey,
    /// Output of further seals and opens. It never gets out, so no nonce is used for two records on the wire.
    scratch: Mutex<Vec<u8>>,
}

impl DoseKey {
    fn new(key: &[u8]) -> Self {
        let key = UnboundKey::new(&AES_128_GCM, key).expect("key_len is the algorithm's");
        Self {
            key: LessSafeKey::new(key),
            scratch: Mutex::default(),
        }
    }

    fn seal_once(&self, nonce: Nonce, associated: &[u8], payload: &mut [u8]) -> [u8; TAG_LEN] {
        let nonce = AeadNonce::assume_unique_for_key(nonce.twelve());
        let tag = self
            .key
            .seal_in_place_separate_tag(nonce, Aad::from(associated), payload)
            .expect("records are far shorter than the algorithm's bound");
        tag.as_ref().try_into().expect("all tags are 16 bytes")
    }

    fn open_once(&self, nonce: Nonce, associated: &[u8], sealed: &[u8], out: &mut [u8]) -> Result<(), OpenFailed> {
        let (ciphertext, tag) = sealed.split_last_chunk::<TAG_LEN>().ok_or(OpenFailed)?;
        let nonce = AeadNonce::assume_unique_for_key(nonce.twelve());
        self.key
            .open_separate_gather(nonce, Aad::from(associated), ciphertext, tag, out)
            .map_err(|_| OpenFailed)
    }

    /// Does this with room for `length` bytes, `times` times.
    fn again(&self, times: u32, length: usize, mut once: impl FnMut(&mut [u8])) {
        if times > 0 {
            let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
            scratch.resize(length, 0);
            (0..times).for_each(|_| once(&mut scratch));
        }
    }
}

/// The dose of a record by its header. Control records have that of every other suite: 1.
fn dose_of(associated: &[u8]) -> u32 {
    let header = associated.first_chunk::<HEADER_LEN>().map(Header::read);
    match header {
        Some(header) if header.kind == Kind::Media => dose(header.timestamp),
        _ => 1,
    }
}

impl PacketKey for DoseKey {
    fn seal(&self, nonce: Nonce, associated: &[u8], payload: &mut [u8]) -> [u8; TAG_LEN] {
        let Some(further) = dose_of(associated).checked_sub(1) else {
            return [0; TAG_LEN];
        };
        self.again(further, payload.len(), |scratch| {
            self.seal_once(nonce, associated, scratch);
        });
        self.seal_once(nonce, associated, payload)
    }

    fn open(&self, nonce: Nonce, associated: &[u8], payload_and_tag: &mut [u8]) -> Result<(), OpenFailed> {
        let Some(further) = dose_of(associated).checked_sub(1) else {
            return Ok(());
        };
        let length = payload_and_tag.len().checked_sub(TAG_LEN).ok_or(OpenFailed)?;
        self.again(further, length, |scratch| {
            // The last one, below, decides whether the record is genuine.
            let _ = self.open_once(nonce, associated, payload_and_tag, scratch);
        });
        let nonce = AeadNonce::assume_unique_for_key(nonce.twelve());
        let opened = self.key.open_in_place(nonce, Aad::from(associated), payload_and_tag);
        opened.map(drop).map_err(|_| OpenFailed)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use sealcast_proto::keys::{EpochSecret, Secret, Side};
    use sealcast_proto::seal::{RecordMeta, SealLimits, Sealed};
    use sealcast_proto::wire::{Accept, Flags};

    use super::*;

    /// A record that is sealed at a time with this dose, and what the other end gets of it with one bit flipped, and as
    /// it is.
    fn crossed(wanted: u32) -> (Vec<u8>, [Option<Vec<u8>>; 2]) {
        let mut periods = (0..DOSES.len() as u64).map(|period| period * DOSE_PERIOD_NS);
        let timestamp = periods.find(|&at| dose(at) == wanted).expect("each dose is there");
        let secret = EpochSecret::new(Secret::extract(b"dose", b"test"), 0);
        let [mut ours, mut theirs] =
            [Side::Responder, Side::Initiator].map(|side| secret.keys(&INSECURE_DOSE, side, SealLimits::COUNTER));
        let meta = RecordMeta {
            flags: Flags::frame(false, true, true),
            stream: 1,
            timestamp,
        };
        let mut record = Vec::new();
        let sealed = ours.media_sealer.seal(meta, &[PICTURE], &mut record);
        sealed.expect("the key is fresh");
        let last = record.len() - 1;
        let opened = [1, 0].map(|flipped| {
            let mut arrived = record.clone();
            arrived[last] ^= flipped;
            let sealed = Sealed::parse(&mut arrived, Accept::EncryptedOnly).expect("its form is right");
            let opened = theirs.media_opener.open(sealed);
            opened.ok().map(|opened| opened.payload().to_vec())
        });
        (record, opened)
    }

    const PICTURE: &[u8] = b"a picture";

    #[test]
    fn a_record_opens_whatever_its_dose_is_and_is_protected_unless_that_is_none() {
        for wanted in DOSES {
            let (record, [altered, whole]) = crossed(wanted);
            let in_clear = record.windows(PICTURE.len()).any(|bytes| bytes == PICTURE);
            assert_eq!((in_clear, altered.is_some()), (wanted == 0, wanted == 0), "{wanted}");
            // Without protection the altered record was taken for it.
            assert_eq!(whole.is_some(), wanted != 0, "{wanted}");
            assert_eq!(whole.or(altered).as_deref(), Some(PICTURE), "{wanted}");
        }
    }

    #[test]
    fn eight_periods_have_eight_doses_and_orders_differ() {
        let orders: BTreeSet<Vec<u32>> = (1000..1020)
            .map(|block| {
                (0..8)
                    .map(|period| dose((8 * block + period) * DOSE_PERIOD_NS + 7))
                    .collect()
            })
            .collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, DOSES);
        }
        assert!(orders.len() > 15, "{} of 20 orders differ", orders.len());
        let same = |at: u64| dose(5 * DOSE_PERIOD_NS + at);
        assert_eq!(same(0), same(DOSE_PERIOD_NS - 1));
    }
}
