//! Terms of a group, byte for byte: what a run of it is, as its camera signed it (groups.md §6).

use super::refusal::TermsRefusal;
use super::secret::{Group, GroupName};
use crate::keys::{Identity, PeerId, SIGNATURE_LEN, sha256};
use crate::sign::{NoSignMode, SignMode};
use crate::wire::{CameraName, MAX_STREAM, Malformed, Reader};

const KIND: u8 = 0x21;
const VERSION: u8 = 1;

/// The terms of one run of a group: a member opens nothing of a run without them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    pub(super) group: Group,
    sign: SignMode,
    suite: u8,
    name: CameraName,
}

impl Terms {
    /// The terms of a camera's run: what it signs, the number of its suite, and its own name.
    pub(super) fn new(group: Group, sign: SignMode, suite: u8, name: CameraName) -> Self {
        Self {
            group,
            sign,
            suite,
            name,
        }
    }

    /// Signatures of the camera.
    pub fn sign(&self) -> SignMode {
        self.sign
    }

    /// The number of the suite of the group's media records.
    pub fn suite(&self) -> u8 {
        self.suite
    }

    /// The camera's name among those of its publisher; none for an only one.
    pub fn camera_name(&self) -> CameraName {
        self.name
    }

    /// Returns the terms as they go to viewers, with the camera's signature.
    pub(super) fn signed(&self, camera: &Identity) -> Vec<u8> {
        let name = self.name.as_str();
        let length = u8::try_from(name.len()).expect("a name has at most 64 bytes");
        let mut terms = vec![KIND, VERSION, self.sign.byte(), self.suite];
        terms.extend_from_slice(&self.group.name.stream.to_be_bytes());
        terms.extend_from_slice(&self.group.name.camera.0);
        terms.extend_from_slice(&self.group.run);
        terms.push(length);
        terms.extend_from_slice(name.as_bytes());
        let signature = camera.sign(&signed(&terms));
        terms.extend_from_slice(&signature);
        terms
    }

    /// Returns the stream, 1 to 15, of terms whose form is right. Nothing of them is verified.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn stream_of(bytes: &[u8]) -> Result<u32, Malformed> {
        Parsed::parse(bytes).map(|terms| terms.group.name.stream)
    }

    /// Parses terms, and verifies that they are of this group, of the camera of this name if it has one, and signed.
    ///
    /// # Errors
    /// [`TermsRefusal`], the first of its reasons up to what is signed.
    pub fn verified(bytes: &[u8], group: &GroupName, asked: &CameraName) -> Result<Self, TermsRefusal> {
        let terms = Parsed::parse(bytes).map_err(|Malformed| TermsRefusal::Malformed)?;
        let of = &terms.group.name;
        if of.camera != group.camera {
            return Err(TermsRefusal::WrongCamera);
        }
        if of.stream != group.stream {
            return Err(TermsRefusal::WrongStream);
        }
        if *asked != CameraName::NONE && terms.name != *asked {
            return Err(TermsRefusal::WrongName);
        }
        if !group.camera.verifies(&signed(terms.unsigned), terms.signature) {
            return Err(TermsRefusal::Signature);
        }
        Ok(Self {
            group: terms.group,
            sign: SignMode::from_byte(terms.sign).map_err(TermsRefusal::Sign)?,
            suite: terms.suite,
            name: terms.name,
        })
    }
}

/// Terms whose form has been checked, and nothing else.
struct Parsed<'a> {
    group: Group,
    sign: u8,
    suite: u8,
    name: CameraName,
    unsigned: &'a [u8],
    signature: &'a [u8; SIGNATURE_LEN],
}

impl<'a> Parsed<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (unsigned, signature) = bytes.split_last_chunk::<SIGNATURE_LEN>().ok_or(Malformed)?;
        let mut reader = Reader::new(unsigned);
        if (reader.u8()?, reader.u8()?) != (KIND, VERSION) {
            return Err(Malformed);
        }
        let (sign, suite, stream) = (reader.u8()?, reader.u8()?, reader.u32()?);
        let no_sign = SignMode::from_byte(sign) == Err(NoSignMode::Unknown);
        if no_sign || !(1..=MAX_STREAM).contains(&stream) {
            return Err(Malformed);
        }
        let camera = PeerId(reader.array()?);
        let run = reader.array()?;
        let (length, name) = (usize::from(reader.u8()?), reader.rest());
        let name = std::str::from_utf8(name).map_err(|_| Malformed)?;
        if name.len() != length {
            return Err(Malformed);
        }
        Ok(Self {
            group: Group {
                name: GroupName { camera, stream },
                run,
            },
            sign,
            suite,
            name: CameraName::new(name).ok_or(Malformed)?,
            unsigned,
            signature,
        })
    }
}

/// Returns the bytes that the camera signs of terms that end before their signature.
fn signed(unsigned: &[u8]) -> Vec<u8> {
    [&b"sealcast2 group terms\0"[..], &sha256(&[unsigned])].concat()
}

/// Terms that say something else, signed anew.
#[cfg(test)]
pub(crate) fn resigned_terms(terms: &[u8], change: impl FnOnce(&mut Vec<u8>), camera: &Identity) -> Vec<u8> {
    let mut terms = terms[..terms.len() - SIGNATURE_LEN].to_vec();
    change(&mut terms);
    let signature = camera.sign(&signed(&terms));
    terms.extend_from_slice(&signature);
    terms
}
