//! Small age files (age-encryption.org/v1) for post-quantum recipients, which hold the keys of segments.

use std::convert::Infallible;

use aws_lc_rs::{aead, hkdf, hmac};
use data_encoding::BASE64_NOPAD;
use hpke::aead::ChaCha20Poly1305;
use hpke::kdf::HkdfSha256;
use hpke::kem::XWing;
use hpke::{Deserializable, OpModeR, OpModeS, Serializable, single_shot_open, single_shot_seal_with_rng};
use rand::rand_core::{TryCryptoRng, TryRng};
use zeroize::Zeroizing;

use super::recipients::{ArchiveIdentity, Recipient};
use crate::failure::Result;
use crate::keys::entropy;

const INTRO: &str = "age-encryption.org/v1\n";
const STANZA: &str = "mlkem768x25519";
const HPKE_INFO: &[u8] = b"age-encryption.org/mlkem768x25519";
const FILE_KEY_LEN: usize = 16;
const NONCE_LEN: usize = 16;
/// The nonce of the only chunk of a payload, which is the last one.
const ONLY_CHUNK: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

/// Random bytes drawn before: an encapsulation takes 64.
struct Drawn(Zeroizing<[u8; 64]>, usize);

impl TryRng for Drawn {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        let end = self.1 + out.len();
        out.copy_from_slice(self.0.get(self.1..end).expect("an encapsulation takes 64 bytes"));
        self.1 = end;
        Ok(())
    }
}

impl TryCryptoRng for Drawn {}

fn header_mac(file_key: &[u8; FILE_KEY_LEN], header: &[u8]) -> hmac::Tag {
    let key = derive(file_key, &[], b"header");
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key.as_ref()), header)
}

fn payload_key(file_key: &[u8; FILE_KEY_LEN], nonce: &[u8]) -> aead::LessSafeKey {
    let key = derive(file_key, nonce, b"payload");
    let key = aead::UnboundKey::new(&aead::CHACHA20_POLY1305, key.as_ref()).expect("it has 32 bytes");
    aead::LessSafeKey::new(key)
}

fn derive(file_key: &[u8; FILE_KEY_LEN], salt: &[u8], info: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut key = Zeroizing::new([0; 32]);
    let prk = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(file_key);
    prk.expand(&[info], hkdf::HKDF_SHA256)
        .and_then(|okm| okm.fill(key.as_mut()))
        .expect("HKDF gives 32 bytes");
    key
}

/// Encrypts a secret, shorter than 64 KiB, for each recipient.
///
/// # Errors
/// The operating system's generator failed.
pub(crate) fn encrypt(secret: &[u8], recipients: &[Recipient]) -> Result<Vec<u8>> {
    let file_key = Zeroizing::new(entropy::random::<FILE_KEY_LEN>()?);
    let mut file = INTRO.as_bytes().to_vec();
    for Recipient(key) in recipients {
        let mut drawn = Drawn(Zeroizing::new(entropy::random()?), 0);
        let sealed = single_shot_seal_with_rng::<ChaCha20Poly1305, HkdfSha256, XWing>(
            &OpModeS::Base,
            key,
            HPKE_INFO,
            file_key.as_ref(),
            b"",
            &mut drawn,
        );
        let (encapsulated, sealed) = sealed.expect("the recipient's key was checked when it was read");
        let encapsulated = BASE64_NOPAD.encode(&encapsulated.to_bytes());
        let stanza = format!("-> {STANZA} {encapsulated}\n{}\n", BASE64_NOPAD.encode(&sealed));
        file.extend_from_slice(stanza.as_bytes());
    }
    file.extend_from_slice(b"---");
    let mac = BASE64_NOPAD.encode(header_mac(&file_key, &file).as_ref());
    file.extend_from_slice(format!(" {mac}\n").as_bytes());
    let nonce = entropy::random::<NONCE_LEN>()?;
    file.extend_from_slice(&nonce);
    let mut payload = secret.to_vec();
    payload_key(&file_key, &nonce)
        .seal_in_place_append_tag(
            aead::Nonce::assume_unique_for_key(ONLY_CHUNK),
            aead::Aad::empty(),
            &mut payload,
        )
        .expect("the payload is short");
    file.extend_from_slice(&payload);
    Ok(file)
}

/// Opens such a file. `None` if none of the identities is a recipient, or the file was altered.
pub(super) fn decrypt(file: &[u8], identities: &[ArchiveIdentity]) -> Option<Zeroizing<Vec<u8>>> {
    let end = file.windows(5).position(|window| window == b"\n--- ")? + 1;
    let (header, rest) = file.split_at_checked(end + 3)?;
    let line_end = rest.iter().position(|&byte| byte == b'\n')?;
    let mac = BASE64_NOPAD.decode(rest.get(1..line_end)?).ok()?;
    let stanzas = std::str::from_utf8(header).ok()?.strip_prefix(INTRO)?;
    let file_key = file_key(stanzas, identities)?;
    let key = derive(&file_key, &[], b"header");
    hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, key.as_ref()), header, &mac).ok()?;
    let (nonce, sealed) = rest[line_end + 1..].split_at_checked(NONCE_LEN)?;
    let mut payload = Zeroizing::new(sealed.to_vec());
    let nonce_of_chunk = aead::Nonce::assume_unique_for_key(ONLY_CHUNK);
    let opened = payload_key(&file_key, nonce).open_in_place(nonce_of_chunk, aead::Aad::empty(), &mut payload);
    Some(Zeroizing::new(opened.ok()?.to_vec()))
}

fn file_key(stanzas: &str, identities: &[ArchiveIdentity]) -> Option<Zeroizing<[u8; FILE_KEY_LEN]>> {
    let mut lines = stanzas.lines();
    while let Some(line) = lines.next() {
        let Some(encapsulated) = line.strip_prefix("-> ").and_then(|line| line.strip_prefix(STANZA)) else {
            continue;
        };
        let encapsulated = BASE64_NOPAD.decode(encapsulated.trim_start().as_bytes()).ok()?;
        let encapsulated = <XWing as hpke::Kem>::EncappedKey::from_bytes(&encapsulated).ok()?;
        let sealed = BASE64_NOPAD.decode(lines.next()?.as_bytes()).ok()?;
        for ArchiveIdentity(key) in identities {
            let opened = single_shot_open::<ChaCha20Poly1305, HkdfSha256, XWing>(
                &OpModeR::Base,
                key,
                &encapsulated,
                HPKE_INFO,
                &sealed,
                b"",
            );
            let opened = opened.ok().map(Zeroizing::new);
            if let Some(opened) = opened.filter(|opened| opened.len() == FILE_KEY_LEN) {
                let mut file_key = Zeroizing::new([0; FILE_KEY_LEN]);
                file_key.copy_from_slice(&opened);
                return Some(file_key);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_recipient_opens_the_key_and_nobody_else() {
        let mut identities: Vec<_> = (0..3).map(|_| ArchiveIdentity::generate().expect("drawn")).collect();
        let recipients: Vec<_> = identities[..2].iter().map(ArchiveIdentity::recipient).collect();
        let file = encrypt(&[7; 32], &recipients).expect("encrypted");
        let stranger = identities.pop().expect("three");
        assert!(decrypt(&file, &[stranger]).is_none());
        for identity in identities {
            assert_eq!(*decrypt(&file, &[identity]).expect("opens"), [7; 32]);
        }
    }

    #[test]
    fn no_byte_of_it_can_be_altered() {
        let identity = [ArchiveIdentity::generate().expect("drawn")];
        let file = encrypt(&[9; 32], &[identity[0].recipient()]).expect("encrypted");
        assert_eq!(*decrypt(&file, &identity).expect("opens"), [9; 32]);
        for at in (0..file.len()).step_by(13) {
            let mut altered = file.clone();
            altered[at] ^= 1;
            assert!(decrypt(&altered, &identity).is_none(), "byte {at}");
        }
    }

    #[test]
    fn recipients_survive_as_text_and_a_wrong_character_is_told() {
        let recipient = ArchiveIdentity::generate().expect("drawn").recipient();
        let text = recipient.to_string();
        assert!(text.starts_with("age1pq1"), "{text}");
        assert!(text.parse::<Recipient>().expect("parses") == recipient);
        let wrong = text.replacen("pq1", "pq1q", 1);
        assert!(wrong.parse::<Recipient>().is_err());
        let old = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p".parse::<Recipient>();
        assert!(old.expect_err("not post-quantum").what.contains("quantum"));
    }
}
