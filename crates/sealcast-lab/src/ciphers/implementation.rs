//! A cipher in one implementation, with the interface that a stopwatch needs.

use data_encoding::HEXUPPER;
use sealcast_cipher::{Facts, PUBLISHED};

use super::code::Image;
use super::external::Library;
use super::keyed::{Load, packets};
use super::worker::{Done, FirstUse, Here, Worker};

/// The name of the readable implementation that follows a cipher's publication.
pub(crate) const DEFINITION: &str = "definition";

/// The key size that is measured, in bytes, if a cipher allows it; otherwise its longest.
const USUAL_KEY_BYTES: usize = 16;

/// Packets in a verified batch: more than any kernel handles at once, and not a multiple of that number.
const BATCH: usize = 67;
/// Longest published keystream in bytes that is verified with a whole batch instead of one packet.
const BATCHED_BYTES: usize = 4096;

/// One implementation of one cipher.
pub(crate) struct Implementation {
    pub(crate) cipher: String,
    /// The name of our kernel, or of the library.
    pub(crate) implementation: String,
    pub(crate) key_bytes: usize,
    pub(crate) iv_bytes: usize,
    /// Length of the authentication tag behind each packet in bytes; 0 for a bare keystream.
    pub(crate) tag_bytes: usize,
    /// Bytes of a loaded key and of a running keystream, if known.
    pub(crate) state_bytes: Option<usize>,
    /// A remark that readers of its figures need.
    pub(crate) note: Option<String>,
    /// Names of further functions in which its code begins, for a library that is asked through no other way.
    pub(in crate::ciphers) also: &'static [&'static str],
    /// Addresses of the functions in which its code begins, if that is in this program.
    pub(in crate::ciphers) entries: Vec<usize>,
    pub(super) place: Place,
    pub(crate) known: Vec<Known>,
}

/// The place where an implementation's code runs.
pub(super) enum Place {
    /// This process. The function loads a key of `key_bytes`.
    Here(Box<Load>),
    /// A process of its own.
    Apart(Library),
}

/// A published test value, in hexadecimal digits.
pub(crate) struct Known {
    pub(super) key: &'static str,
    pub(super) iv: &'static str,
    /// The plaintext.
    pub(super) message: String,
    /// Offset of the published bytes.
    pub(super) from: usize,
    /// The ciphertext, with the tag.
    pub(crate) sealed: &'static str,
}

/// Lengths in bytes of the key and IV that a study cipher is measured with.
pub(super) fn measured_sizes(facts: &Facts) -> (usize, usize) {
    let keys = facts.key_bytes;
    let usual = keys.contains(USUAL_KEY_BYTES);
    (if usual { USUAL_KEY_BYTES } else { keys.most }, facts.iv_bytes.most)
}

/// The published values of a study cipher; empty for others.
pub(super) fn published(cipher: &str) -> impl Iterator<Item = Known> {
    let known = PUBLISHED.iter().filter(move |value| value.cipher == cipher);
    known.map(|value| Known {
        key: value.key,
        iv: value.iv,
        message: "00".repeat(value.from + value.bytes.len() / 2),
        from: value.from,
        sealed: value.bytes,
    })
}

impl Implementation {
    /// The full name, such as `trivium/words`.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.cipher, self.implementation)
    }

    /// The function that loads its key, if its code is in this program.
    pub(crate) fn load(&self) -> Option<&Load> {
        match &self.place {
            Place::Here(load) => Some(load),
            Place::Apart(_) => None,
        }
    }

    /// Bytes of code and of named constants that it may use; see [`Image::reached`]. `None` if they cannot be told.
    ///
    /// `program` is the file of the running program, as [`Image::of_this_program`] reads it.
    pub(crate) fn code_bytes(&self, program: Option<&Image>) -> Option<u64> {
        match &self.place {
            Place::Here(_) => {
                let program = program?;
                program
                    .reached(self.entries_in(program)?)
                    .map(|reached| reached.bytes())
            }
            Place::Apart(library) => library.code_bytes(),
        }
    }

    /// The functions in which its code begins, by their addresses in the program's file.
    pub(in crate::ciphers) fn entries_in(&self, program: &Image) -> Option<Vec<u64>> {
        let entries = self.entries.iter().map(|&entry| Some(program.in_file(entry)));
        entries
            .chain(self.also.iter().map(|name| program.function(name)))
            .collect()
    }

    /// Its first use in a new process, for a foreign cipher: one block, then frames of this many bytes. `None` if its
    /// code is in this program, of which somebody has to start another.
    pub(crate) fn first_use(&self, block_bytes: usize, frame_bytes: usize) -> Option<Done<FirstUse>> {
        match &self.place {
            Place::Here(_) => None,
            Place::Apart(library) => Some(library.first_use(self.key_bytes, block_bytes, frame_bytes)),
        }
    }

    /// Starts it.
    ///
    /// # Errors
    /// Its process cannot be started.
    pub(crate) fn start(&self) -> Done<Box<dyn Worker + '_>> {
        Ok(match &self.place {
            Place::Here(load) => Box::new(Here::new(load)),
            Place::Apart(library) => Box::new(library.start()?),
        })
    }

    /// Checks it against the published values.
    ///
    /// # Errors
    /// It produces other bytes, accepts altered data as authentic, or has no published values though it should; the
    /// message says which.
    pub(crate) fn verify(&self) -> Done<()> {
        match &self.place {
            Place::Here(_) if self.known.is_empty() => Err("no published values to hold it to".to_owned()),
            Place::Apart(library) if self.known.is_empty() => library.agrees_with_itself(self.key_bytes),
            _ => self.known.iter().try_for_each(|known| self.compare(known)),
        }
    }

    fn compare(&self, known: &Known) -> Done<()> {
        let bytes = |hex: &str| HEXUPPER.decode(hex.as_bytes()).expect("hexadecimal digits");
        let (key, iv, sealed) = (bytes(known.key), bytes(known.iv), bytes(known.sealed));
        let mut message = bytes(&known.message);
        let length = message.len();
        message.resize(length + self.tag_bytes, 0);
        let count = if length <= BATCHED_BYTES { BATCH } else { 1 };
        let mut batch = vec![message; count];
        let mut worker = self.start()?;
        worker.load(&key)?;
        worker.seal(&mut packets(&mut batch, &iv))?;
        let place = format!("key {}, IV {}, from byte {}", known.key, known.iv, known.from);
        if batch.iter().any(|data| data[known.from..] != sealed) {
            return Err(format!("{place}: other bytes than were published"));
        }
        let genuine = worker.open(&mut packets(&mut batch, &iv))?;
        if !genuine || batch.iter().any(|data| data[..length] != bytes(&known.message)) {
            return Err(format!("{place}: does not open what it sealed"));
        }
        if self.tag_bytes > 0 {
            worker.seal(&mut packets(&mut batch, &iv))?;
            batch[0][length] ^= 1;
            if worker.open(&mut packets(&mut batch[..1], &iv))? {
                return Err(format!("{place}: takes an altered tag for genuine"));
            }
        }
        Ok(())
    }
}

/// Sets a different IV for each packet, as far as the IV is long enough.
pub(crate) fn set_iv(iv: &mut [u8], number: u64) {
    iv.iter_mut()
        .zip(number.to_le_bytes())
        .for_each(|(byte, count)| *byte = count);
}
