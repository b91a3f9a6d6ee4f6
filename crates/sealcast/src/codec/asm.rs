//! Detects whether the H.264 codec was built with its assembly kernels.
//!
//! The codec's build silently leaves them out if `nasm` is missing; encoding is then about 2.5 times slower, and
//! nothing in the codec's interface shows it. So the program inspects its own file: one of the assembly files
//! contains a table of 80 bytes that no compiler would produce and that survives stripping. (A timing would be
//! unreliable on a busy machine, and the build's environment shows what was installed, not what was linked.)

use std::fs;
use std::hint::black_box;
use std::sync::OnceLock;

/// The table at the beginning of the encoder's `intra_pred.asm`, every word negated: this program must not contain
/// the table itself merely because it searches for it.
const TABLE_NEGATED: [i16; 40] = [
    7, 6, 5, 4, 3, 2, 1, 0, //
    -1, -2, -3, -4, -5, -6, -7, -8, //
    -8, -7, -6, -5, -4, -3, -2, -1, //
    -1, -2, -3, -4, -4, -3, -2, -1, //
    3, 2, 1, 0, -1, -2, -3, -4,
];

/// True if the H.264 codec in this program has its assembly kernels; without them encoding takes about 2.5 times as
/// long. `None` if the program cannot read its own file.
///
/// The first call reads the program's file (tens of milliseconds), so call it when reporting, not at startup.
pub fn asm_active() -> Option<bool> {
    static ACTIVE: OnceLock<Option<bool>> = OnceLock::new();
    *ACTIVE.get_or_init(|| {
        if !cfg!(any(target_arch = "x86", target_arch = "x86_64")) {
            // ARM kernels are built by the C compiler, which cannot be missing; other architectures have none.
            return Some(cfg!(any(target_arch = "arm", target_arch = "aarch64")));
        }
        // The link still works after the file was replaced while running, as by an upgrade.
        let own = fs::read("/proc/self/exe").or_else(|_| fs::read(std::env::current_exe()?));
        own.ok().map(|bytes| contains_table(&bytes))
    })
}

fn contains_table(bytes: &[u8]) -> bool {
    let table: Vec<u8> = black_box(TABLE_NEGATED)
        .iter()
        .flat_map(|word| (-word).to_le_bytes())
        .collect();
    bytes.windows(table.len()).any(|window| window == table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{H264Encoder, H264Settings};
    use crate::media::{FrameRate, Picture};

    #[test]
    fn the_codec_is_the_fast_one() {
        // Use the encoder, so that the linker keeps it.
        let settings = H264Settings::new(
            64,
            64,
            FrameRate {
                numerator: 25,
                denominator: 1,
            },
            100_000,
        );
        let mut encoder = H264Encoder::new(settings).expect("an encoder");
        encoder.encode(&Picture::black(64, 64)).expect("a frame");
        assert_eq!(
            asm_active(),
            Some(true),
            "the H.264 codec was built without nasm: `cargo xtask test` installs it, \
             then `cargo clean -p openh264-sys2` and build again"
        );
    }

    #[test]
    fn a_program_without_the_codec_does_not_pass() {
        assert!(!contains_table(&fs::read("/bin/sh").expect("a shell")));
    }
}
