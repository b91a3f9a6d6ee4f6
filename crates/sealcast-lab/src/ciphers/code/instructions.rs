//! The addresses that the instructions of a function name.

use iced_x86::{Decoder, DecoderOptions};
use object::Architecture;

/// The addresses that these instructions call, jump to, read or take. `None` for a processor whose instructions are
/// not read here.
pub(super) fn named(architecture: Architecture, code: &[u8], at: u64) -> Option<Vec<u64>> {
    match architecture {
        Architecture::X86_64 => Some(on_x86_64(code, at)),
        Architecture::Aarch64 => Some(on_aarch64(code, at)),
        _ => None,
    }
}

fn on_x86_64(code: &[u8], at: u64) -> Vec<u64> {
    let instructions = Decoder::with_ip(64, code, at, DecoderOptions::NONE).into_iter();
    let each = instructions.flat_map(|instruction| {
        let branch = instruction.near_branch_target();
        let memory = instruction.is_ip_rel_memory_operand();
        [
            (branch != 0).then_some(branch),
            memory.then(|| instruction.ip_rel_memory_address()),
        ]
    });
    each.flatten().collect()
}

/// A branch names its target; any other address is made in two steps: a page (`adrp`), and an offset in it that an
/// addition or a load adds.
fn on_aarch64(code: &[u8], at: u64) -> Vec<u64> {
    let mut pages = [None; 32];
    let mut named = Vec::new();
    for (word, at) in code.as_chunks::<4>().0.iter().zip((at..).step_by(4)) {
        let word = u32::from_le_bytes(*word);
        let (to, from) = ((word & 31) as usize, (word >> 5 & 31) as usize);
        let offset = u64::from(word >> 10 & 0xfff);
        if word & 0x7c00_0000 == 0x1400_0000 {
            named.push(at.wrapping_add_signed(signed(word, 26) * 4));
        } else if word & 0x9f00_0000 == 0x9000_0000 {
            let distance = signed(word >> 5, 19) << 2 | i64::from(word >> 29 & 3);
            pages[to] = Some((at & !0xfff).wrapping_add_signed(distance << 12));
        } else if word & 0xff80_0000 == 0x9100_0000 {
            named.extend(pages[from].map(|page| page + (offset << (12 * (word >> 22 & 1)))));
        } else if word & 0x3b40_0000 == 0x3940_0000 {
            // Vectors of 16 bytes have a size of 0 and a bit of their own.
            let whole = word & 0xff80_0000 == 0x3d80_0000;
            let scale = if whole { 4 } else { word >> 30 };
            named.extend(pages[from].map(|page| page + (offset << scale)));
        }
        for register in overwritten(word) {
            pages[register] = None;
        }
    }
    named
}

/// The general registers that hold something else after this instruction, which is not `adrp`: at most two.
fn overwritten(word: u32) -> impl Iterator<Item = usize> {
    let [first, second] = [word & 31, word >> 10 & 31].map(|register| register as usize);
    // Branches, and what writes to vector registers.
    let elsewhere = word & 0x0400_0000 != 0;
    let is_page = word & 0x9f00_0000 == 0x9000_0000;
    let stores = word & 0x0a40_0000 == 0x0800_0000;
    let is_pair = word & 0x3a00_0000 == 0x2800_0000;
    let writes = !(elsewhere || is_page || stores);
    let first = writes.then_some(first);
    first.into_iter().chain((writes && is_pair).then_some(second))
}

/// The lowest `bits` of a word as a signed number.
fn signed(word: u32, bits: u32) -> i64 {
    i64::from((word << (32 - bits)).cast_signed() >> (32 - bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_jumps_and_addresses_of_x86_64_are_found() {
        let code = [
            [0xe8, 0x0b, 0, 0, 0].as_slice(),            // call 0x1010
            &[0x48, 0x8d, 0x05, 0xf4, 0x0f, 0, 0],       // lea rax, [0x2000]
            &[0x75, 0xfe],                               // jne 0x100c
            &[0xff, 0x25, 0xec, 0x1f, 0, 0],             // jmp [0x3000]
            &[0xc5, 0xfd, 0x6f, 0x05, 0xe4, 0x2f, 0, 0], // vmovdqa ymm0, [0x4000]
        ];
        let named = named(Architecture::X86_64, &code.concat(), 0x1000);
        assert_eq!(named, Some(vec![0x1010, 0x2000, 0x100c, 0x3000, 0x4000]));
    }

    #[test]
    fn calls_and_addresses_of_aarch64_are_found() {
        let code = [
            0x9400_0004, // bl 0x1010
            0x17ff_ffff, // b 0x1000
            0xb000_0008, // adrp x8, 0x2000
            0x9104_0100, // add x0, x8, #0x100
            0xf940_0909, // ldr x9, [x8, #16]
            0x3dc0_0500, // ldr q0, [x8, #16]
            0xd65f_03c0, // ret
        ];
        let bytes: Vec<u8> = code.into_iter().flat_map(u32::to_le_bytes).collect();
        let named = named(Architecture::Aarch64, &bytes, 0x1000);
        assert_eq!(named, Some(vec![0x1010, 0x1000, 0x2100, 0x2010, 0x2010]));
    }

    #[test]
    fn a_page_is_forgotten_once_its_register_holds_something_else() {
        for (between, known) in [
            (0x9104_0108, false), // add x8, x8, #0x100
            (0x5280_8008, false), // mov w8, #0x400
            (0xf940_0108, false), // ldr x8, [x8]
            (0xa940_23e9, false), // ldp x9, x8, [sp]
            (0xf900_03e8, true),  // str x8, [sp]
            (0xa900_23e9, true),  // stp x9, x8, [sp]
            (0x3dc0_0108, true),  // ldr q8, [x8]
            (0x9400_0008, true),  // bl 0x1024
        ] {
            // adrp x8, 0x2000; the instruction; ldr x9, [x8, #24]
            let code = [0xb000_0008, between, 0xf940_0d09];
            let bytes: Vec<u8> = code.into_iter().flat_map(u32::to_le_bytes).collect();
            let named = named(Architecture::Aarch64, &bytes, 0x1000).expect("known");
            assert_eq!(named.contains(&0x2018), known, "{between:#x}");
        }
    }
}
