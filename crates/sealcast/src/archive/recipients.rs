//! Recipients who can open an archive: age's post-quantum recipients and identities, as text (archive.md §4).

use std::path::Path;

use bech32::primitives::checksum::Checksum;
use bech32::primitives::decode::CheckedHrpstring;
use bech32::{Bech32, Hrp};
use hpke::kem::{Kem as _, XWing};
use hpke::{Deserializable, Serializable};
use zeroize::Zeroizing;

use crate::failure::{Failure, FailureKind, Result};
use crate::keys::entropy;
use crate::private_file::{read_secret, write_secret};

/// Maximum number of recipients of an archive: as many as a segment's head has room for.
pub const MAX_RECIPIENTS: usize = 32;
/// Maximum length of a file of recipients in bytes.
const MAX_RECIPIENTS_FILE: u64 = 256 << 10;

const RECIPIENT: &str = "age1pq";
const IDENTITY: &str = "AGE-SECRET-KEY-PQ-";

/// The checksum of Bech32 without the bound on the length, which age does not have either.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Long {}

impl Checksum for Long {
    type MidstateRepr = u32;
    type CorrectionField = <Bech32 as Checksum>::CorrectionField;
    const ROOT_GENERATOR: Self::CorrectionField = Bech32::ROOT_GENERATOR;
    const ROOT_EXPONENTS: std::ops::RangeInclusive<usize> = Bech32::ROOT_EXPONENTS;
    const CODE_LENGTH: usize = 4096;
    const CHECKSUM_LENGTH: usize = Bech32::CHECKSUM_LENGTH;
    const GENERATOR_SH: [u32; 5] = Bech32::GENERATOR_SH;
    const TARGET_RESIDUE: u32 = Bech32::TARGET_RESIDUE;
}

type PublicKey = <XWing as hpke::Kem>::PublicKey;
type PrivateKey = <XWing as hpke::Kem>::PrivateKey;

/// Recipient who can open an archive: a public key, `age1pq1…`.
#[derive(Clone, PartialEq, Eq)]
pub struct Recipient(pub(super) PublicKey);

impl std::fmt::Display for Recipient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hrp = Hrp::parse_unchecked(RECIPIENT);
        let text = bech32::encode_lower::<Long>(hrp, &self.0.to_bytes()).map_err(|_| std::fmt::Error)?;
        f.write_str(&text)
    }
}

impl std::fmt::Debug for Recipient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = self.to_string();
        write!(f, "{}…", &text[..20.min(text.len())])
    }
}

impl std::str::FromStr for Recipient {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self> {
        let fail = |why: &str| {
            let shown: String = text.chars().take(20).collect();
            let hint =
                "give an age1pq1… recipient, as `sealcast archive keygen` and `age-keygen -pq` print it, or @FILE";
            Failure::new(FailureKind::Keys, format!("\"{shown}…\" is no recipient: {why}"), hint)
        };
        if text.starts_with("age1") && !text.starts_with("age1pq1") {
            return Err(fail("it is one that quantum computers will break"));
        }
        let decoded = CheckedHrpstring::new::<Long>(text).map_err(|_| fail("a character is wrong or missing"))?;
        if decoded.hrp().to_lowercase() != RECIPIENT {
            return Err(fail("it does not begin with age1pq1"));
        }
        let bytes: Vec<u8> = decoded.byte_iter().collect();
        let key = PublicKey::from_bytes(&bytes).map_err(|_| fail("it holds no key of ML-KEM-768 and X25519"))?;
        Ok(Self(key))
    }
}

/// The secret half of a recipient. It has no `Debug`.
pub struct ArchiveIdentity(pub(super) PrivateKey);

impl ArchiveIdentity {
    /// Draws a new one.
    ///
    /// # Errors
    /// The operating system's generator failed.
    pub fn generate() -> Result<Self> {
        let seed = Zeroizing::new(entropy::random::<32>()?);
        let key = PrivateKey::from_bytes(seed.as_ref());
        Ok(Self(key.expect("every seed of 32 bytes is a key")))
    }

    /// Its public half.
    pub fn recipient(&self) -> Recipient {
        Recipient(XWing::sk_to_pk(&self.0))
    }

    /// Its text, `AGE-SECRET-KEY-PQ-1…`.
    fn reveal(&self) -> Zeroizing<String> {
        let mut seed = Zeroizing::new([0; 32]);
        self.0.write_exact(seed.as_mut());
        let hrp = Hrp::parse_unchecked(IDENTITY);
        let text = bech32::encode_upper::<Long>(hrp, seed.as_ref());
        Zeroizing::new(text.expect("32 bytes are short"))
    }

    fn parse(text: &str) -> Option<Self> {
        let decoded = CheckedHrpstring::new::<Long>(text).ok()?;
        let fits = decoded.hrp().to_lowercase() == IDENTITY.to_lowercase();
        let seed: Zeroizing<Vec<u8>> = Zeroizing::new(decoded.byte_iter().collect());
        PrivateKey::from_bytes(&seed).ok().filter(|_| fits).map(Self)
    }

    /// Writes it to a new file that only its owner can read.
    ///
    /// # Errors
    /// The file exists, or cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let head = format!("# public key: {}\n", self.recipient());
        let text = Zeroizing::new(format!("{head}{}\n", *self.reveal()));
        write_secret(path, text.as_bytes())
    }
}

/// Reads the identities of a file.
///
/// # Errors
/// Kind `Keys`: it cannot be read, others can read it, or there is no identity in it.
pub fn read_identities(path: &Path) -> Result<Vec<ArchiveIdentity>> {
    let text = read_secret(path)?;
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let found: Option<Vec<_>> = lines.map(ArchiveIdentity::parse).collect();
    found.filter(|found| !found.is_empty()).ok_or_else(|| {
        let what = format!("{} holds no identity of an archive", path.display());
        let hint = "name the file that `sealcast archive keygen` or `age-keygen -pq` wrote";
        Failure::new(FailureKind::Keys, what, hint)
    })
}

/// The recipients of an option: one by its text, or those in `@FILE`, one a line.
///
/// # Errors
/// Kind `Keys`.
pub fn parse_recipients(text: &str) -> Result<Vec<Recipient>> {
    let Some(path) = text.strip_prefix('@') else {
        return Ok(vec![text.parse()?]);
    };
    let fail = |why: String| {
        let what = format!("the recipients in {text} cannot be read: {why}");
        Failure::new(
            FailureKind::Keys,
            what,
            "name a file with one age1pq1… recipient a line",
        )
    };
    if path.is_empty() {
        return Err(fail("no file is named behind the @".into()));
    }
    let length = std::fs::metadata(path).map_err(|error| fail(error.to_string()))?.len();
    if length > MAX_RECIPIENTS_FILE {
        return Err(fail("it is far too long".into()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    let lines = text.lines().map(str::trim);
    // The file of an identity has its recipient in a comment.
    let lines = lines.map(|line| line.strip_prefix("# public key: ").unwrap_or(line));
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let lines = lines.filter(|line| !line.starts_with(IDENTITY));
    let found: Vec<Recipient> = lines.map(str::parse).collect::<Result<_>>()?;
    if found.is_empty() {
        return Err(fail("it names nobody".into()));
    }
    Ok(found)
}
