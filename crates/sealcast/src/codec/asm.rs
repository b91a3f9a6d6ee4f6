//! Whether the H.264 codec was built with its assembly kernels.
//!
//! The codec's build silently leaves them out where `nasm` is missing, and the program is then about 2.5 times slower
//! at encoding. Nothing in the codec's interface tells. So the program looks at itself: one of the assembly files
//! carries a table of 80 bytes that no compiler would put together, and that survives stripping. (A timing would be a
//! guess on a busy machine; the build's environment says what was installed, not what was linked.)

use std::fs;
use std::hint::black_box;
use std::sync::OnceLock;

/// The table in front of `intra_pred.asm` of the encoder, every word negated: this program must not contain the table
/// itself merely because it looks for it.
const TABLE_NEGATED: [i16; 40] = [
    7, 6, 5, 4, 3, 2, 1, 0, //
    -1, -2, -3, -4, -5, -6, -7, -8, //
    -8, -7, -6, -5, -4, -3, -2, -1, //
    -1, -2, -3, -4, -4, -3, -2, -1, //
    3, 2, 1, 0, -1, -2, -3, -4,
];

/// Whether the H.264 codec in this program has its assembly kernels; without, encoding costs about 2.5 times as much.
/// `None` where the program cannot read its own file.
///
/// Reads the program's file on the first call (tens of milliseconds), so ask for it when reporting, not when starting.
pub fn asm_active() -> Option<bool> {
    static ACTIVE: OnceLock<Option<bool>> = OnceLock::new();
    *ACTIVE.get_or_init(|| {
        if !cfg!(any(target_arch = "x86", target_arch = "x86_64")) {
            // ARM kernels come through the C compiler, which cannot be missing; other machines have none.
            return Some(cfg!(any(target_arch = "arm", target_arch = "aarch64")));
        }
        // The link still opens where the file was replaced while running, as an upgrade does.
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
