use std::process::Command;

use super::*;
use crate::ciphers::catalogue;
use crate::ciphers::implementation::Implementation;

fn program() -> Image {
    Image::of_this_program().expect("tests are not stripped")
}

fn reached(program: &Image, one: &Implementation) -> Reached {
    let reached = one.entries_in(program).and_then(|entries| program.reached(entries));
    reached.unwrap_or_else(|| panic!("{}: a function in which it begins has no name", one.name()))
}

fn named<'a>(reached: &'a Reached, part: &str) -> Vec<&'a Piece> {
    let has = |piece: &&Piece| {
        let name = piece.name.as_deref().unwrap_or_default();
        format!("{:#}", rustc_demangle::demangle(name)).contains(part)
    };
    reached.pieces.values().filter(has).collect()
}

/// From a cipher that does nothing but XOR, optimised as a whole, to aws-lc's AES-GCM, which has 680 kB for AVX-512.
const PLAUSIBLE: std::ops::Range<u64> = 100..1_000_000;

#[test]
fn every_implementation_has_a_size() {
    let program = program();
    let all = catalogue::all();
    let sizes: Vec<(String, u64)> = all
        .iter()
        .map(|one| (one.name(), reached(&program, one).bytes()))
        .collect();
    for (one, (name, bytes)) in all.iter().zip(&sizes) {
        assert_eq!(one.code_bytes(Some(&program)), Some(*bytes));
        assert!(PLAUSIBLE.contains(bytes), "{name}: {bytes}");
        for &entry in &one.entries {
            let piece = program.piece(program.in_file(entry)).expect("it is there");
            assert!(
                piece.end - piece.start <= *bytes,
                "{name}: more than its first function"
            );
        }
    }
    let of = |name: &str| sizes.iter().find(|(one, _)| one == name).map_or(0, |(_, bytes)| *bytes);
    // How much of a library is inlined into each depends on how the compiler cuts the crates.
    for (name, bytes) in sizes.iter().filter(|(name, _)| name != "xor/definition") {
        assert!(2 * bytes > of("xor/definition"), "{name}: {bytes}, far less than XOR");
    }
}

#[test]
fn a_kernel_reaches_its_own_functions_and_not_those_of_other_ciphers() {
    let program = program();
    let ours = catalogue::all();
    let ours = ours
        .iter()
        .filter(|one| sealcast_cipher::implementations_of(&one.cipher).next().is_some());
    let module = |one: &Implementation| {
        one.cipher
            .trim_end_matches("-v2")
            .trim_end_matches("-v1")
            .replace('-', "_")
    };
    let modules: Vec<String> = ours
        .clone()
        .map(|one| format!("sealcast_cipher::{}", module(one)))
        .collect();
    for (one, own) in ours.zip(&modules) {
        let reached = reached(&program, one);
        let grain = one.cipher.starts_with("grain");
        for other in modules.iter().filter(|other| *other != own && !grain) {
            let foreign = named(&reached, &format!("{other}::"));
            // A name may also have a cipher as its parameter; its own is then there as well.
            let names = foreign.iter().filter_map(|piece| piece.name.as_deref());
            // The compiler merges equal functions under one of their names, and drop glue of registers does nothing.
            let foreign: Vec<_> = names.filter(|name| !name.contains("drop_in_place")).collect();
            assert!(foreign.is_empty(), "{} reaches {foreign:?}", one.name());
        }
    }
}

#[test]
fn libraries_are_reached_through_tables_of_functions_and_their_siblings_are_not() {
    let program = program();
    let all = catalogue::all();
    let reached = |cipher: &str| {
        let one = all.iter().find(|one| one.cipher == cipher).expect("it is here");
        reached(&program, one)
    };
    let has = |cipher: &str, part: &str| !named(&reached(cipher), part).is_empty();
    assert!(has("aes-128-gcm", "aead_aes_gcm") && !has("aes-128-gcm", "aead_chacha20_poly1305"));
    assert!(has("chacha20-poly1305", "aead_chacha20_poly1305") && !has("chacha20-poly1305", "aead_aes_gcm"));
    assert!(has("aegis-128l", "aegis128l_encrypt") && !has("aegis-128l", "aegis128x4"));
    assert!(has("aegis-128x4", "aegis128x4_encrypt") && !has("aegis-128x4", "aegis128l"));
    #[cfg(target_arch = "x86_64")]
    assert!(has("aegis-128l", "aegis128l_aesni") && has("aegis-128x4", "aegis128x4_avx512"));
    #[cfg(target_arch = "x86_64")]
    for cipher in ["aes-128-gcm", "aes-256-gcm", "aes-128-ctr"] {
        assert!(has(cipher, "aes_hw_ctr32_encrypt_blocks"), "{cipher}");
    }
}

/// A library whose function `used` calls another by a table, and has one that nobody calls.
const LIBRARY: &str = "static int deep(int n) { volatile int x = n; return x * 3; }\n\
    static int (*const table[])(int) = { deep };\n\
    int (*const *volatile where)(int) = table;\n\
    int used(int n) { return (*where)(n); }\n\
    int unused(int n) { volatile int x = n; return x / 7; }\n";

#[test]
fn a_library_is_read_with_its_tables_and_without_what_nobody_calls() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, library) = (folder.path().join("l.c"), folder.path().join("l.so"));
    std::fs::write(&source, LIBRARY).expect("a file");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-O1", "-shared", "-fPIC", "-o"])
        .args([&library, &source]);
    assert!(compiler.status().expect("a C compiler").success());
    let image = Image::of_library(&library).expect("an ELF file");
    let reached = image
        .reached(vec![image.function("used").expect("it is exported")])
        .expect("it has a name");
    let names: Vec<&str> = reached
        .pieces
        .values()
        .filter_map(|piece| piece.name.as_deref())
        .collect();
    assert!(
        ["used", "deep", "table"].iter().all(|name| names.contains(name)),
        "{names:?}"
    );
    assert!(!names.contains(&"unused"), "{names:?}");
    assert!(reached.bytes() > 0 && image.reached(vec![1]).is_none());
}
