//! Reads files of test vectors and checks kernels against them. Files are JSON, one cipher each, with keystream as
//! ranges and as a digest.
//!
//! Most fields of a vector are optional, but a vector passes only if everything that it contains was compared.

use std::path::{Path, PathBuf};

use data_encoding::HEXUPPER_PERMISSIVE;
use sealcast_cipher::grain_128a::{Authenticated, TAG_BYTES};
use sealcast_cipher::{IMPLEMENTATIONS, Implementation, Packet, Study};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Limit in bytes, above any published stream, so that a damaged file cannot exhaust the memory.
const MOST_STREAM_BYTES: usize = 1 << 24;

/// Length of a digest in bytes: the XOR of all 64-byte blocks of the stream.
const DIGEST_BYTES: usize = 64;

/// Packets of a batch: more than any kernel handles at once, and not a multiple of that number. Long streams have
/// fewer packets, so that the batch stays below the limit in bytes.
const MOST_BATCH: usize = 67;
const MOST_BATCH_BYTES: usize = 1 << 18;

/// Fields without test data.
const REMARKS: [&str; 7] = ["set", "number", "name", "origin", "source", "comment", "note"];

/// Alternatives to names in `Facts::name`, letters and digits only.
const OTHER_NAMES: [(&str, &str); 7] = [
    ("arc4", "rc4"),
    ("arcfour", "rc4"),
    ("mickey1", "mickey-v1"),
    ("mickey10", "mickey-v1"),
    ("mickey2", "mickey-v2"),
    ("mickey20", "mickey-v2"),
    ("salsa2020", "salsa20"),
];

/// The vectors of one cipher.
pub(crate) struct File {
    pub(crate) path: PathBuf,
    /// As in `Facts::name` if the cipher is known, otherwise as in the file.
    pub(crate) cipher: String,
    pub(crate) vectors: Vec<Result<Vector, Fault>>,
}

/// The reason why a vector has not passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The bytes differ, or the vector contradicts itself or its cipher.
    Wrong(String),
    /// No difference was found, but some part of the vector could not be compared.
    NotUnderstood(String),
}

/// Test data for one keystream.
#[derive(Debug)]
pub(crate) struct Vector {
    /// Set and number, to find the vector in the file.
    label: String,
    key: Vec<u8>,
    iv: Vec<u8>,
    stream_bytes: usize,
    ranges: Vec<(usize, Vec<u8>)>,
    digest: Option<Vec<u8>>,
    authentication: Option<Authentication>,
    /// The first unknown field.
    unknown: Option<String>,
}

/// Grain-128a with tags: test data for messages under the same key and IV.
#[derive(Debug)]
struct Authentication {
    /// The ciphertext of zeros.
    keystream: Vec<u8>,
    /// Messages as strings of zeros and ones, with their tags.
    tags: Vec<(String, Vec<u8>)>,
}

#[derive(Deserialize)]
struct RawFile {
    cipher: String,
    vectors: Vec<Map<String, Value>>,
    #[serde(default)]
    auth_messages_bits: Vec<String>,
}

#[derive(Deserialize)]
struct RawVector {
    key: String,
    #[serde(default)]
    iv: Option<String>,
    keybits: Option<usize>,
    ivbits: Option<usize>,
    stream_len: Option<usize>,
    #[serde(default)]
    stream: Vec<RawRange>,
    xor_digest: Option<String>,
    auth: Option<RawAuthentication>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Deserialize)]
struct RawRange {
    from: usize,
    /// Inclusive.
    to: usize,
    hex: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAuthentication {
    #[serde(default)]
    accumulator: String,
    #[serde(default)]
    register: String,
    #[serde(default)]
    keystream: String,
    #[serde(default)]
    macstream: String,
    #[serde(default)]
    tags: Vec<String>,
}

/// The paths of the JSON files in a folder, in order of their names.
pub(crate) fn json_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries: Result<Vec<_>, _> = std::fs::read_dir(folder)?.collect();
    let paths = entries?.into_iter().map(|entry| entry.path());
    let is_json = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    let mut paths: Vec<PathBuf> = paths.filter(is_json).collect();
    paths.sort();
    Ok(paths)
}

/// Reads a file. Fails if it is not a file of vectors at all; a fault in a single vector takes that vector's place.
pub(crate) fn read_file(path: PathBuf) -> Result<File, String> {
    let complain = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|error| complain(&error))?;
    let raw: RawFile = serde_json::from_str(&text).map_err(|error| complain(&error))?;
    if raw.vectors.is_empty() {
        return Err(complain(&"there is no vector in it"));
    }
    let messages = raw.auth_messages_bits;
    let vectors = raw.vectors.into_iter().map(|vector| read_vector(vector, &messages));
    Ok(File {
        vectors: vectors.collect(),
        cipher: name(&raw.cipher),
        path,
    })
}

/// Normalises a name: `MICKEY 2.0 (80-bit key, …)` is `mickey-v2`, `Salsa20/20 (…)` is `salsa20`.
fn name(cipher: &str) -> String {
    let squeezed = |text: &str| -> String {
        let kept = text.chars().filter(char::is_ascii_alphanumeric);
        kept.map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let before_remarks = cipher.split('(').next().unwrap_or_default().trim();
    let given = squeezed(before_remarks);
    let own = IMPLEMENTATIONS.iter().map(|one| one.facts.name);
    let own = own.map(|name| (squeezed(name), name));
    let other = OTHER_NAMES.map(|(other, name)| (other.to_owned(), name));
    let found = own.chain(other).find(|(known, _)| *known == given);
    found.map_or(before_remarks, |(_, name)| name).to_owned()
}

fn read_vector(fields: Map<String, Value>, messages: &[String]) -> Result<Vector, Fault> {
    let text = |field: &str| {
        let value = fields.get(field).unwrap_or(&Value::Null);
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    };
    let label = format!("set {}, vector {}", text("set"), text("number"));
    let complain = |what: &dyn std::fmt::Display| Fault::Wrong(format!("{label}: {what}"));
    let raw: RawVector = serde_json::from_value(fields.clone().into()).map_err(|error| complain(&error))?;
    vector(raw, &label, messages).map_err(|what| complain(&what))
}

fn vector(raw: RawVector, label: &str, messages: &[String]) -> Result<Vector, String> {
    let (key, iv) = (hex(&raw.key)?, hex(raw.iv.as_deref().unwrap_or_default())?);
    if raw.keybits.is_some_and(|bits| bits != 8 * key.len()) || raw.ivbits.is_some_and(|bits| bits != 8 * iv.len()) {
        return Err("key or IV has not the number of bits that is written beside it".to_owned());
    }
    let mut ranges = Vec::new();
    for range in &raw.stream {
        let bytes = hex(&range.hex)?;
        if range.to >= MOST_STREAM_BYTES || range.from.checked_add(bytes.len()) != Some(range.to + 1) {
            return Err("a range has not the bytes that it says".to_owned());
        }
        ranges.push((range.from, bytes));
    }
    let authentication = match &raw.auth {
        Some(auth) => Some(read_authentication(auth, messages, &mut ranges)?),
        None => None,
    };
    let end = ranges.iter().map(|(from, bytes)| from + bytes.len()).max().unwrap_or(0);
    let stream_bytes = raw.stream_len.unwrap_or(end);
    if stream_bytes > MOST_STREAM_BYTES || stream_bytes < end {
        return Err(format!(
            "a stream of {stream_bytes} bytes: {end} are told, and {MOST_STREAM_BYTES} are the most"
        ));
    }
    let digest = Some(hex(raw.xor_digest.as_deref().unwrap_or_default())?).filter(|digest| !digest.is_empty());
    if digest.as_ref().is_some_and(|digest| digest.len() != DIGEST_BYTES) {
        return Err(format!("a digest has {DIGEST_BYTES} bytes"));
    }
    let mut fields = raw.others.into_iter().map(|(field, _)| field);
    Ok(Vector {
        label: label.to_owned(),
        key,
        iv,
        stream_bytes,
        ranges,
        digest,
        authentication,
        unknown: fields.find(|field| !REMARKS.contains(&field.as_str())),
    })
}

/// The pre-output goes first to the accumulator, then to the register, and then alternately to keystream and hash.
/// Together it is the keystream of the cipher without tags.
fn read_authentication(
    raw: &RawAuthentication,
    messages: &[String],
    ranges: &mut Vec<(usize, Vec<u8>)>,
) -> Result<Authentication, String> {
    let (keystream, hashed) = (hex(&raw.keystream)?, hex(&raw.macstream)?);
    if !hashed.is_empty() && hashed.len() != keystream.len() {
        return Err("keystream and macstream differ in length".to_owned());
    }
    let both = keystream.iter().zip(&hashed);
    let by_turns = both.flat_map(|(&key, &mac)| (spread(key) << 1 | spread(mac)).to_be_bytes());
    let parts = [
        (0, hex(&raw.accumulator)?),
        (TAG_BYTES, hex(&raw.register)?),
        (2 * TAG_BYTES, by_turns.collect()),
    ];
    ranges.extend(parts.into_iter().filter(|(_, bytes)| !bytes.is_empty()));
    if raw.tags.len() > messages.len() {
        return Err(format!("{} tags of {} messages", raw.tags.len(), messages.len()));
    }
    let tags = messages.iter().zip(&raw.tags);
    let tags: Result<Vec<_>, String> = tags.map(|(bits, tag)| Ok((bits.clone(), hex(tag)?))).collect();
    Ok(Authentication { keystream, tags: tags? })
}

/// The bits of a byte, each with a zero before it.
fn spread(byte: u8) -> u16 {
    (0..8).fold(0, |word, bit| word | u16::from(byte >> bit & 1) << (2 * bit))
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: String = text.split_whitespace().collect();
    let decoded = HEXUPPER_PERMISSIVE.decode(digits.as_bytes());
    decoded.map_err(|error| format!("not hexadecimal: {error}"))
}

impl Vector {
    /// Checks that this kernel produces the stream.
    pub(crate) fn check(&self, implementation: &Implementation) -> Result<(), Fault> {
        let mut stream = vec![0; self.stream_bytes];
        let study = (implementation.load)(&self.key).map_err(|error| self.wrong(&error))?;
        let mut keystream = study.keystream(&self.iv).map_err(|error| self.wrong(&error))?;
        keystream.xor(&mut stream);
        for (from, expected) in &self.ranges {
            if stream[*from..from + expected.len()] != expected[..] {
                return Err(self.wrong(&format!("other bytes from {from} on")));
            }
        }
        if self
            .digest
            .as_ref()
            .is_some_and(|digest| sum(&stream)[..] != digest[..])
        {
            return Err(self.wrong(&"another digest"));
        }
        if self.ranges.is_empty() && self.digest.is_none() {
            return Err(self.not_understood("nothing is known of its stream"));
        }
        // A definition handles the packets of a batch one by one, and so do all kernels without a batch function of
        // their own.
        if implementation.kernel != "definition" {
            self.check_batch(&study, &stream)?;
        }
        self.unknown.as_ref().map_or(Ok(()), |field| {
            Err(self.not_understood(&format!("field `{field}` is not understood")))
        })
    }

    /// Checks that each packet of a batch gets the same stream as a single packet.
    fn check_batch(&self, study: &Study, stream: &[u8]) -> Result<(), Fault> {
        let copies = (MOST_BATCH_BYTES / self.stream_bytes.max(1)).clamp(2, MOST_BATCH);
        let mut batch = vec![vec![0; self.stream_bytes]; copies];
        let packets = batch.iter_mut().map(|data| Packet { iv: &self.iv, data });
        let mut packets: Vec<Packet<'_>> = packets.collect();
        study.xor_batch(&mut packets).map_err(|error| self.wrong(&error))?;
        if batch.iter().any(|data| data != stream) {
            return Err(self.wrong(&format!("another stream in a batch of {copies}")));
        }
        Ok(())
    }

    /// Checks Grain-128a with tags against the vector; `None` if the vector has no tags.
    pub(crate) fn check_authentication(&self) -> Option<Result<(), Fault>> {
        let expected = self.authentication.as_ref()?;
        Some(self.compare(expected))
    }

    fn compare(&self, expected: &Authentication) -> Result<(), Fault> {
        let cipher = Authenticated::new(&self.key).map_err(|error| self.wrong(&error))?;
        let iv = self.iv[..].try_into();
        let iv = iv.map_err(|_| self.wrong(&format!("an IV of Grain-128a has {} bytes", Authenticated::IV_BYTES)))?;
        let mut message = vec![0; expected.keystream.len()];
        let _ = cipher.seal(iv, &mut message);
        if message != expected.keystream {
            return Err(self.wrong(&"another keystream beside tags"));
        }
        for (bits, tag) in &expected.tags {
            let message = bytes_of(bits).ok_or_else(|| self.wrong(&format!("{bits} is no message of bits")))?;
            if cipher.tag_of_bits(iv, &message, bits.len())[..] != tag[..] {
                return Err(self.wrong(&format!("another tag of the message {bits:?}")));
            }
        }
        Ok(())
    }

    fn wrong(&self, what: &dyn std::fmt::Display) -> Fault {
        Fault::Wrong(format!("{}: {what}", self.label))
    }

    fn not_understood(&self, what: &str) -> Fault {
        Fault::NotUnderstood(format!("{}: {what}", self.label))
    }
}

/// The XOR of all blocks of the stream.
fn sum(stream: &[u8]) -> [u8; DIGEST_BYTES] {
    let mut sum = [0; DIGEST_BYTES];
    for block in stream.chunks(DIGEST_BYTES) {
        for (sum, byte) in sum.iter_mut().zip(block) {
            *sum ^= byte;
        }
    }
    sum
}

/// A string of zeros and ones as bytes, most significant bit first; the last byte is padded with zeros.
fn bytes_of(bits: &str) -> Option<Vec<u8>> {
    let byte = |eight: &[u8]| {
        (0..8).try_fold(0, |byte, at| match eight.get(at) {
            Some(b'1') => Some(byte | 0x80 >> at),
            Some(b'0') | None => Some(byte),
            Some(_) => None,
        })
    };
    bits.as_bytes().chunks(8).map(byte).collect()
}
