//! Ciphers of libraries: those in use today, and the current lightweight standard.

use std::hint::black_box;

use aegis::aegis128l::Aegis128L;
use aegis::aegis128x4::Aegis128X4;
use ascon_aead::AsconAead128;
use ascon_aead::aead::{AeadInPlace, KeyInit};
use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{
    AES_128, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext, UnboundCipherKey,
};
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use sealcast_cipher::Packet;

use super::implementation::{Implementation, Known, Place};
use super::keyed::Keyed;

/// Length of every tag here, in bytes.
const TAG: usize = 16;

const ZEROS: &str = "00000000000000000000000000000000";
const COUNTED: &str = "000102030405060708090A0B0C0D0E0F";
const COUNTED_ON: &str = "101112131415161718191A1B1C1D1E1F";

/// Names and versions of the libraries other than aws-lc-rs, as in `Cargo.lock`.
pub(crate) const VERSIONS: [(&str, &str); 3] = [("aegis", "0.9.20"), ("ascon-aead", "0.5.2"), ("chacha20", "0.10.2")];

pub(super) fn all() -> impl Iterator<Item = Implementation> {
    of_aws_lc().into_iter().chain(of_crates())
}

fn of_aws_lc() -> [Implementation; 4] {
    [
        // NIST SP 800-38A, F.5.1.
        implementation(
            "aes-128-ctr",
            "aws-lc-rs",
            [16, 16, 0],
            begin::<Ctr>(|key| Box::new(Ctr::new(key))),
            Known {
                key: "2B7E151628AED2A6ABF7158809CF4F3C",
                iv: "F0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF",
                message: "6BC1BEE22E409F96E93D7E117393172AAE2D8A571E03AC9C9EB76FAC45AF8E51".to_owned(),
                from: 0,
                sealed: "874D6191B620E3261BEF6864990DB6CE9806F66B7970FDFF8617187BB9FFFDFF",
            },
        ),
        // The GCM specification's test cases 2 and 14.
        implementation(
            "aes-128-gcm",
            "aws-lc-rs",
            [16, 12, TAG],
            begin::<AwsLc>(|key| Box::new(AwsLc::new(&aead::AES_128_GCM, key))),
            Known {
                key: ZEROS,
                iv: "000000000000000000000000",
                message: ZEROS.to_owned(),
                from: 0,
                sealed: "0388DACE60B6A392F328C2B971B2FE78AB6E47D42CEC13BDF53A67B21257BDDF",
            },
        ),
        implementation(
            "aes-256-gcm",
            "aws-lc-rs",
            [32, 12, TAG],
            begin::<AwsLc>(|key| Box::new(AwsLc::new(&aead::AES_256_GCM, key))),
            Known {
                key: "0000000000000000000000000000000000000000000000000000000000000000",
                iv: "000000000000000000000000",
                message: ZEROS.to_owned(),
                from: 0,
                sealed: "CEA7403D4D606B6E074EC5D3BAF39D18D0D1C8A799996BF0265B98B5D48AB919",
            },
        ),
        // Project Wycheproof, chacha20_poly1305_test.json, tcId 2.
        implementation(
            "chacha20-poly1305",
            "aws-lc-rs",
            [32, 12, TAG],
            begin::<AwsLc>(|key| Box::new(AwsLc::new(&aead::CHACHA20_POLY1305, key))),
            Known {
                key: "80BA3192C803CE965EA371D5FF073CF0F43B6A2AB576B208426E11409C09B9B0",
                iv: "4DA5BF8DFD5852C1EA12379D",
                message: String::new(),
                from: 0,
                sealed: "76ACB342CF3166A5B63C0C0EA1383C8D",
            },
        ),
    ]
}

fn of_crates() -> [Implementation; 4] {
    [
        // draft-irtf-cfrg-aegis-aead, test vectors of AEGIS-128L and of AEGIS-128X4.
        implementation(
            "aegis-128l",
            "aegis",
            [16, 16, TAG],
            begin::<AegisL>(|key| Box::new(AegisL(exactly(key)))),
            Known {
                key: "10010000000000000000000000000000",
                iv: "10000200000000000000000000000000",
                message: ZEROS.to_owned(),
                from: 0,
                sealed: "C1C0E58BD913006FEBA00F4B3CC3594EABE0ECE80C24868A226A35D16BDAE37A",
            },
        ),
        implementation(
            "aegis-128x4",
            "aegis",
            [16, 16, TAG],
            begin::<AegisX4>(|key| Box::new(AegisX4(exactly(key)))),
            Known {
                key: COUNTED,
                iv: COUNTED_ON,
                message: String::new(),
                from: 0,
                sealed: "5BEF762D0947C00455B97BB3AF30DFA3",
            },
        ),
        // The designers' known-answer tests for NIST SP 800-232, count 1.
        implementation(
            "ascon-aead128",
            "ascon-aead",
            [16, 16, TAG],
            begin::<Ascon>(|key| Box::new(Ascon::new(key))),
            Known {
                key: COUNTED,
                iv: COUNTED_ON,
                message: String::new(),
                from: 0,
                sealed: "4F9C278211BEC9316BF68F46EE8B2EC6",
            },
        ),
        // RFC 8439, A.1, the first block.
        implementation(
            "chacha20",
            "chacha20",
            [32, 12, 0],
            begin::<Chacha>(|key| Box::new(Chacha(exactly(key)))),
            Known {
                key: "0000000000000000000000000000000000000000000000000000000000000000",
                iv: "000000000000000000000000",
                message: ZEROS.to_owned(),
                from: 0,
                sealed: "76B8E0ADA0F13D90405D6AE55386BD28",
            },
        ),
    ]
}

/// Function that loads a key, and the addresses of the functions in which the code of `K` begins: this one and its
/// methods.
type Begin = (fn(&[u8]) -> Box<dyn Keyed>, [usize; 4]);

fn begin<K: Keyed>(load: fn(&[u8]) -> Box<dyn Keyed>) -> Begin {
    let entries = [
        load as *const (),
        K::start as *const (),
        K::seal as *const (),
        K::open as *const (),
    ];
    (load, entries.map(<*const ()>::addr))
}

/// `bytes`: lengths of key, IV and tag.
fn implementation(
    cipher: &'static str,
    implementation: &'static str,
    bytes: [usize; 3],
    (load, entries): Begin,
    known: Known,
) -> Implementation {
    let [key_bytes, iv_bytes, tag_bytes] = bytes;
    Implementation {
        cipher: cipher.to_owned(),
        implementation: implementation.to_owned(),
        key_bytes,
        iv_bytes,
        tag_bytes,
        state_bytes: None,
        note: None,
        also: chosen(cipher),
        entries: entries.to_vec(),
        place: Place::Here(Box::new(load)),
        known: vec![known],
    }
}

/// Functions in which libaegis chooses the code for this processor. They are called once, through a closure.
fn chosen(cipher: &str) -> &'static [&'static str] {
    match cipher {
        "aegis-128l" => &["aegis128l_pick_best_implementation"],
        "aegis-128x4" => &["aegis128x4_pick_best_implementation"],
        _ => &[],
    }
}

fn exactly<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the size is the cipher's")
}

/// A packet's data, and the room for its tag.
fn parts<'a>(packet: &'a mut Packet<'_>) -> (&'a mut [u8], &'a mut [u8; TAG]) {
    packet.data.split_last_chunk_mut().expect("there is room for the tag")
}

struct Ctr {
    encrypting: EncryptingKey,
    decrypting: DecryptingKey,
}

impl Ctr {
    fn new(key: &[u8]) -> Self {
        let key = || UnboundCipherKey::new(&AES_128, key).expect("16 bytes");
        Self {
            encrypting: EncryptingKey::ctr(key()).expect("AES has a counter mode"),
            decrypting: DecryptingKey::ctr(key()).expect("AES has a counter mode"),
        }
    }
}

impl Keyed for Ctr {
    fn start(&self, _iv: &[u8]) -> bool {
        false
    }

    fn seal(&self, packets: &mut [Packet<'_>]) {
        for packet in packets {
            let iv = EncryptionContext::Iv128(exactly::<16>(packet.iv).into());
            let sealed = self.encrypting.less_safe_encrypt(packet.data, iv);
            sealed.expect("a counter mode takes any length");
        }
    }

    fn open(&self, packets: &mut [Packet<'_>]) -> bool {
        packets.iter_mut().all(|packet| {
            let iv = DecryptionContext::Iv128(exactly::<16>(packet.iv).into());
            self.decrypting.decrypt(packet.data, iv).is_ok()
        })
    }
}

struct AwsLc(LessSafeKey);

impl AwsLc {
    fn new(algorithm: &'static aead::Algorithm, key: &[u8]) -> Self {
        Self(LessSafeKey::new(
            UnboundKey::new(algorithm, key).expect("the size is the algorithm's"),
        ))
    }
}

impl Keyed for AwsLc {
    fn start(&self, _iv: &[u8]) -> bool {
        false
    }

    fn seal(&self, packets: &mut [Packet<'_>]) {
        for packet in packets {
            let nonce = Nonce::assume_unique_for_key(exactly(packet.iv));
            let (data, room) = parts(packet);
            let tag = self.0.seal_in_place_separate_tag(nonce, Aad::empty(), data);
            room.copy_from_slice(tag.expect("packets are shorter than the algorithm's bound").as_ref());
        }
    }

    fn open(&self, packets: &mut [Packet<'_>]) -> bool {
        packets.iter_mut().all(|packet| {
            let nonce = Nonce::assume_unique_for_key(exactly(packet.iv));
            self.0.open_in_place(nonce, Aad::empty(), packet.data).is_ok()
        })
    }
}

/// The two AEGIS variants have different types and no common trait.
macro_rules! aegis {
    ($name:ident, $cipher:ident) => {
        struct $name([u8; 16]);

        impl Keyed for $name {
            fn start(&self, _iv: &[u8]) -> bool {
                false
            }

            fn seal(&self, packets: &mut [Packet<'_>]) {
                for packet in packets {
                    let cipher = $cipher::<TAG>::new(&self.0, &exactly(packet.iv));
                    let (data, room) = parts(packet);
                    *room = cipher.encrypt_in_place(data, &[]);
                }
            }

            fn open(&self, packets: &mut [Packet<'_>]) -> bool {
                packets.iter_mut().all(|packet| {
                    let cipher = $cipher::<TAG>::new(&self.0, &exactly(packet.iv));
                    let (data, tag) = parts(packet);
                    cipher.decrypt_in_place(data, tag, &[]).is_ok()
                })
            }
        }
    };
}

aegis!(AegisL, Aegis128L);
aegis!(AegisX4, Aegis128X4);

struct Ascon(AsconAead128);

impl Ascon {
    fn new(key: &[u8]) -> Self {
        Self(AsconAead128::new(&exactly::<16>(key).into()))
    }
}

impl Keyed for Ascon {
    fn start(&self, _iv: &[u8]) -> bool {
        false
    }

    fn seal(&self, packets: &mut [Packet<'_>]) {
        for packet in packets {
            let nonce = exactly::<16>(packet.iv).into();
            let (data, room) = parts(packet);
            let tag = self.0.encrypt_in_place_detached(&nonce, &[], data);
            *room = tag.expect("packets are shorter than the algorithm's bound").into();
        }
    }

    fn open(&self, packets: &mut [Packet<'_>]) -> bool {
        packets.iter_mut().all(|packet| {
            let nonce = exactly::<16>(packet.iv).into();
            let (data, tag) = parts(packet);
            self.0
                .decrypt_in_place_detached(&nonce, &[], data, (&*tag).into())
                .is_ok()
        })
    }
}

struct Chacha([u8; 32]);

impl Keyed for Chacha {
    fn start(&self, iv: &[u8]) -> bool {
        black_box(ChaCha20::new(&self.0.into(), &exactly::<12>(iv).into()));
        true
    }

    fn seal(&self, packets: &mut [Packet<'_>]) {
        for packet in packets {
            ChaCha20::new(&self.0.into(), &exactly::<12>(packet.iv).into()).apply_keystream(packet.data);
        }
    }

    fn open(&self, packets: &mut [Packet<'_>]) -> bool {
        self.seal(packets);
        true
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_are_those_of_the_lock_file() {
        let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
        let lock = std::fs::read_to_string(lock).expect("the lock file");
        for (name, version) in super::VERSIONS {
            let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
            assert!(lock.contains(&entry), "{name}: update the list above");
        }
    }
}
