//! Reads files of test vectors: JSON, one cipher a file, keystream in ranges and as a digest.

use std::path::{Path, PathBuf};

use data_encoding::HEXUPPER_PERMISSIVE;
use serde::Deserialize;

/// More than any published stream has, so that a damaged file cannot fill the memory.
const MOST_STREAM_BYTES: usize = 1 << 24;

/// Bytes of a digest: all 64-byte blocks of the stream, added by XOR.
const DIGEST_BYTES: usize = 64;

/// The vectors of one cipher.
pub(crate) struct File {
    pub(crate) path: PathBuf,
    /// As in `Facts::name`, if the cipher is known by a name like it.
    pub(crate) cipher: String,
    pub(crate) vectors: Vec<Vector>,
}

/// What is known of one keystream.
pub(crate) struct Vector {
    /// Set and number, to find it in the file.
    pub(crate) label: String,
    pub(crate) key: Vec<u8>,
    pub(crate) iv: Vec<u8>,
    pub(crate) stream_bytes: usize,
    ranges: Vec<(usize, Vec<u8>)>,
    digest: Option<Vec<u8>>,
}

#[derive(Deserialize)]
struct RawFile {
    cipher: String,
    vectors: Vec<RawVector>,
}

#[derive(Deserialize)]
struct RawVector {
    set: serde_json::Value,
    number: u64,
    key: String,
    iv: String,
    keybits: Option<usize>,
    ivbits: Option<usize>,
    stream_len: usize,
    stream: Vec<RawRange>,
    #[serde(default)]
    xor_digest: String,
}

#[derive(Deserialize)]
struct RawRange {
    from: usize,
    /// The last byte, not the one after.
    to: usize,
    hex: String,
}

/// The JSON files in a folder, by name. Anything in one that is not understood is an error: what it is, and where.
pub(crate) fn read_folder(folder: &Path) -> Result<Vec<File>, String> {
    let complain = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(complain)? {
        let path = entry.map_err(complain)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    paths.into_iter().map(read_file).collect()
}

fn read_file(path: PathBuf) -> Result<File, String> {
    let complain = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|error| complain(&error))?;
    let raw: RawFile = serde_json::from_str(&text).map_err(|error| complain(&error))?;
    if raw.vectors.is_empty() {
        return Err(complain(&"there is no vector in it"));
    }
    let vectors: Result<_, _> = raw.vectors.into_iter().map(vector).collect();
    Ok(File {
        vectors: vectors.map_err(|error: String| complain(&error))?,
        cipher: name(&raw.cipher),
        path,
    })
}

/// `MICKEY 2.0 (80-bit key, …)` becomes `mickey-v2`, `Salsa20/20 (…)` becomes `salsa20`.
fn name(cipher: &str) -> String {
    let words = cipher.split(['(', '/']).next().unwrap_or_default();
    let name = words.trim().to_lowercase().replace(' ', "-");
    name.replace("mickey-1.0", "mickey-v1")
        .replace("mickey-2.0", "mickey-v2")
}

fn vector(raw: RawVector) -> Result<Vector, String> {
    let set = raw.set.as_str().map_or_else(|| raw.set.to_string(), str::to_owned);
    let label = format!("set {set}, vector {}", raw.number);
    let complain = |what: &str| format!("{label}: {what}");
    let hex = |text: &str| {
        HEXUPPER_PERMISSIVE
            .decode(text.as_bytes())
            .map_err(|error| complain(&format!("not hexadecimal: {error}")))
    };
    let (key, iv) = (hex(&raw.key)?, hex(&raw.iv)?);
    if raw.keybits.is_some_and(|bits| bits != 8 * key.len()) || raw.ivbits.is_some_and(|bits| bits != 8 * iv.len()) {
        return Err(complain(
            "key or IV has not the number of bits that is written beside it",
        ));
    }
    if raw.stream_len > MOST_STREAM_BYTES {
        return Err(complain(&format!("a stream has at most {MOST_STREAM_BYTES} bytes")));
    }
    let mut ranges = Vec::new();
    for range in &raw.stream {
        let bytes = hex(&range.hex)?;
        if range.to >= raw.stream_len || range.from + bytes.len() != range.to + 1 {
            return Err(complain("a range has not the bytes that it says"));
        }
        ranges.push((range.from, bytes));
    }
    let digest = Some(hex(&raw.xor_digest)?).filter(|digest| !digest.is_empty());
    if digest.as_ref().is_some_and(|digest| digest.len() != DIGEST_BYTES) {
        return Err(complain("a digest has 64 bytes"));
    }
    if ranges.is_empty() && digest.is_none() {
        return Err(complain("nothing is known of the stream"));
    }
    Ok(Vector {
        label,
        key,
        iv,
        stream_bytes: raw.stream_len,
        ranges,
        digest,
    })
}

impl Vector {
    /// Is this the stream? It has `stream_bytes` bytes.
    pub(crate) fn check(&self, stream: &[u8]) -> Result<(), String> {
        for (from, expected) in &self.ranges {
            if stream[*from..from + expected.len()] != expected[..] {
                return Err(format!("{}: other bytes from {from} on", self.label));
            }
        }
        let mut sum = [0; DIGEST_BYTES];
        for block in stream.chunks(DIGEST_BYTES) {
            for (sum, byte) in sum.iter_mut().zip(block) {
                *sum ^= byte;
            }
        }
        match &self.digest {
            Some(digest) if sum[..] != digest[..] => Err(format!("{}: another digest", self.label)),
            _ => Ok(()),
        }
    }
}
