//! The suite that protects nothing, to measure what protection costs.

use sealcast_proto::seal::{Nonce, OpenFailed, PacketKey, Suite};
use sealcast_proto::wire::TAG_LEN;

/// A suite without key, nonce or tag: payloads stay as they are, and whatever arrives is taken. Records keep their
/// form, with zeros in place of the tag. A network sees it only in a program with study suites, between two ends that
/// were both asked for it.
pub const INSECURE_NONE: Suite = Suite {
    id: 236,
    name: "insecure-none",
    key_len: 16,
    block_limit: None,
    make_key: |_| Box::new(NullKey),
};

struct NullKey;

impl PacketKey for NullKey {
    fn seal(&self, _: Nonce, _: &[u8], _: &mut [u8]) -> [u8; TAG_LEN] {
        [0; TAG_LEN]
    }

    fn open(&self, _: Nonce, _: &[u8], _: &mut [u8]) -> Result<(), OpenFailed> {
        Ok(())
    }
}
