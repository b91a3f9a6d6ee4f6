//! A shared object with a cipher in it.

use std::path::PathBuf;
use std::sync::Arc;

use super::host::Host;
use super::session::{Found, Session};
use crate::ciphers::code::Image;
use crate::ciphers::keyed::packets;
use crate::ciphers::worker::{Done, FirstUse, Worker};

/// Packet lengths for the check that a cipher opens what it sealed.
const LENGTHS: [usize; 6] = [1, 15, 64, 600, 1200, 2464];
/// The functions of the API, as far as a library has them.
const FUNCTIONS: [&str; 6] = [
    "ECRYPT_init",
    "ECRYPT_keysetup",
    "ECRYPT_ivsetup",
    "ECRYPT_process_bytes",
    "ECRYPT_encrypt_bytes",
    "ECRYPT_decrypt_bytes",
];

/// A shared object with a cipher in it.
pub(in crate::ciphers) struct Library {
    pub(super) path: PathBuf,
    pub(super) iv_bytes: usize,
    /// The largest context that it may write, in bytes, if given.
    pub(super) context_bytes: Option<usize>,
    pub(super) host: Arc<Host>,
    /// Result of loading a key for the first time.
    pub(super) found: Found,
    /// The reason why it cannot be used.
    pub(super) fault: Option<String>,
}

impl Library {
    /// Starts a process for it.
    ///
    /// # Errors
    /// The process cannot be started, or the library failed its first check.
    pub(in crate::ciphers) fn start(&self) -> Done<Session> {
        match &self.fault {
            Some(why) => Err(why.clone()),
            None => Session::start(self.host.program()?, &self.path, self.iv_bytes, self.context_bytes),
        }
    }

    /// Bytes of its code and named constants that can be reached from the functions of the API.
    pub(in crate::ciphers) fn code_bytes(&self) -> Option<u64> {
        let file = Image::of_library(&self.path)?;
        let entries = FUNCTIONS.iter().filter_map(|name| file.function(name));
        file.reached(entries.collect()).map(|reached| reached.bytes())
    }

    /// Loads a first key and enciphers in a new process.
    ///
    /// # Errors
    /// The process failed.
    pub(in crate::ciphers) fn first_use(
        &self,
        key_bytes: usize,
        block_bytes: usize,
        frame_bytes: usize,
    ) -> Done<FirstUse> {
        let key: Vec<u8> = (1..).take(key_bytes).collect();
        self.start()?.first_use(&self.found, &key, [block_bytes, frame_bytes])
    }

    /// Checks a cipher without published values against itself.
    ///
    /// # Errors
    /// It does not open what it sealed, or its output equals its input.
    pub(in crate::ciphers) fn agrees_with_itself(&self, key_bytes: usize) -> Done<()> {
        let mut session = self.start()?;
        session.load(&vec![1; key_bytes])?;
        let message: Vec<Vec<u8>> = LENGTHS.iter().map(|&length| vec![7; length]).collect();
        let iv = vec![2; self.iv_bytes];
        let mut batch = message.clone();
        session.seal(&mut packets(&mut batch, &iv))?;
        if batch == message {
            return Err("leaves packets as they are".to_owned());
        }
        session.open(&mut packets(&mut batch, &iv))?;
        if batch != message {
            return Err("does not open what it sealed".to_owned());
        }
        Ok(())
    }
}
