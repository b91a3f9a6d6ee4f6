use sealcast::failure::FailureKind;
use sealcast_cipher::implementations_of;

use super::*;

/// One vector of XOR under the key 1, 2, 3.
const XOR: &str = r#"{"cipher": "XOR (any key)", "vectors": [{"set": 1, "number": 7, "key": "010203", "iv": "",
    "stream_len": 4, "stream": [{"from": 1, "to": 3, "hex": "020301"}]}]}"#;

/// The paper's vector with tags.
const TAGS: &str = r#"{"cipher": "Grain-128a (128-bit key, 96-bit IV)",
    "auth_messages_bits": ["", "0", "1", "00010010001101000000", "00010010001101000101011001111000100111101"],
    "vectors": [{"set": "paper", "number": 3, "key": "0123456789ABCDEF123456789ABCDEF0",
    "iv": "8123456789ABCDEF12345678", "stream_len": 40, "stream": [], "auth": {
    "accumulator": "7f2acdb7", "register": "adfb701f", "keystream": "a49d971c976bf596b45f93e242ded8c1",
    "macstream": "3015919d61787b5cd7678db840a6571e",
    "tags": ["d2d1bda8", "24dc2d89", "89275d96", "379d2899", "9226b196"]}}]}"#;

fn verified(texts: &[&str]) -> Verified {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (index, text) in texts.iter().enumerate() {
        std::fs::write(folder.path().join(format!("{index}.json")), text).expect("a file in it");
    }
    std::fs::write(folder.path().join("README.md"), "no vectors").expect("a file in it");
    verify(folder.path()).expect("a folder with JSON files")
}

fn replaced(text: &str, part: &str, replacement: &str) -> Verified {
    assert!(text.contains(part), "nothing to replace: {part}");
    verified(&[&text.replace(part, replacement)])
}

fn kind(verified: &Verified) -> Option<FailureKind> {
    verified.judge().err().map(|failure| failure.kind)
}

#[test]
fn a_vector_may_lack_what_can_be_done_without() {
    let leaves_out = [
        ("\"key\"", "\"key\""),
        ("\"iv\": \"\",", ""),
        ("\"iv\": \"\"", "\"iv\": null"),
        ("\"stream_len\": 4, ", ""),
        ("\"set\": 1, \"number\": 7, ", ""),
        (
            "\"number\": 7",
            "\"number\": 7, \"keybits\": 24, \"ivbits\": 0, \"origin\": \"arithmetic\"",
        ),
        ("\"stream\"", "\"xor_digest\": \"\", \"stream\""),
        ("020301", "02 03\\n01"),
        ("XOR (any key)", "Xor"),
    ];
    for (part, replacement) in leaves_out {
        let verified = replaced(XOR, part, replacement);
        assert_eq!(
            (verified.counts(), kind(&verified)),
            ((1, 0, 0), None),
            "{replacement}: {verified}"
        );
    }
    let digest = format!("\"xor_digest\": \"01020301{}\"", "00".repeat(60));
    let alone = replaced(XOR, r#""stream": [{"from": 1, "to": 3, "hex": "020301"}]"#, &digest);
    assert_eq!(alone.counts(), (1, 0, 0), "{alone}");
}

#[test]
fn a_damaged_vector_fails_and_is_named() {
    let damages = [
        ("\"key\"", "\"schlüssel\"", "missing field `key`"),
        ("010203", "01020", "not hexadecimal"),
        ("010203", "", "does not take a 0-byte key"),
        ("\"iv\": \"\"", "\"iv\": \"00\"", "does not take a 1-byte IV"),
        ("\"number\": 7", "\"number\": 7, \"keybits\": 16", "number of bits"),
        (
            "\"stream_len\": 4",
            "\"stream_len\": 3",
            "a stream of 3 bytes: 4 are told",
        ),
        ("\"stream_len\": 4", "\"stream_len\": 99999999999", "are the most"),
        ("\"stream_len\": 4", "\"stream_len\": \"four\"", "invalid type"),
        ("\"from\": 1", "\"from\": 0", "not the bytes that it says"),
        (
            "\"from\": 1, \"to\": 3",
            "\"from\": 18446744073709551615, \"to\": 1",
            "not the bytes that it says",
        ),
        ("020301", "020302", "other bytes from 1 on"),
        (
            "\"stream\"",
            "\"xor_digest\": \"00\", \"stream\"",
            "a digest has 64 bytes",
        ),
    ];
    let digest = format!("\"xor_digest\": \"01020302{}\", \"stream\"", "00".repeat(60));
    for (part, replacement, complaint) in damages
        .into_iter()
        .chain([("\"stream\"", &digest[..], "another digest")])
    {
        let verified = replaced(XOR, part, replacement);
        assert_eq!(
            (verified.counts(), kind(&verified)),
            ((0, 1, 0), Some(FailureKind::Internal)),
            "{verified}"
        );
        let said = verified.to_string();
        let named = said
            .lines()
            .find(|line| line.starts_with("FAILED: "))
            .expect("a line of its own");
        assert!(
            named.contains("0.json, xor definition: set 1, vector 7: ") && named.contains(complaint),
            "{said}"
        );
    }
}

#[test]
fn a_vector_that_is_not_wholly_understood_has_not_passed() {
    let incomplete = [
        (
            r#"{"from": 1, "to": 3, "hex": "020301"}"#,
            "",
            "nothing is known of its stream",
        ),
        (
            "\"stream\"",
            "\"mac\": \"00\", \"stream\"",
            "field `mac` is not understood",
        ),
    ];
    for (part, replacement, reason) in incomplete {
        let verified = replaced(XOR, part, replacement);
        assert_eq!(
            (verified.counts(), kind(&verified)),
            ((0, 0, 1), Some(FailureKind::Source)),
            "{verified}"
        );
        assert!(verified.to_string().contains(reason), "{verified}");
    }
}

#[test]
fn a_file_that_is_no_file_of_vectors_fails_and_the_others_are_still_run() {
    for text in [
        "{",
        "[]",
        "{\"cipher\": \"xor\", \"vectors\": []}",
        &XOR.replace("XOR", "XOR-128"),
    ] {
        let verified = verified(&[text, XOR]);
        assert_eq!(
            (verified.counts(), kind(&verified)),
            ((1, 0, 0), Some(FailureKind::Source)),
            "{text}"
        );
        let said = verified.to_string();
        assert!(said.contains("NOT UNDERSTOOD: ") && said.contains("0.json: "), "{said}");
    }
}

#[test]
fn ciphers_go_by_the_names_that_files_give_them() {
    let names = ["RC4", "arc4", "ARCFOUR (no drop)", "rc-4"];
    let kernels = implementations_of("rc4").count();
    for name in names {
        let text = format!(
            r#"{{"cipher": "{name}", "vectors": [{{"key": "0102030405", "stream":
            [{{"from": 0, "to": 3, "hex": "b2396305"}}]}}]}}"#
        );
        assert_eq!(verified(&[&text]).counts(), (kernels, 0, 0), "{name}");
    }
    let other = r#"{"cipher": "Salsa20/12", "vectors": [{"key": "00", "stream": []}]}"#;
    assert_eq!(verified(&[other]).not_understood.len(), 1);
}

#[test]
fn tags_of_grain_128a_are_compared_too() {
    let right = verified(&[TAGS]);
    let (passed, failed, skipped) = right.counts();
    assert_eq!((failed, kind(&right)), (0, None), "{right}");
    // The line "with tags", and a line for every kernel's pre-output.
    assert_eq!(passed + skipped, right.lines.len());
    for line in &right.lines {
        let there = implementations_of(&line.cipher).any(|one| one.kernel == line.kernel);
        let passed = usize::from(there || line.kernel == "with tags");
        assert_eq!(line.passed, passed, "{}: {right}", line.kernel);
    }
    let with_tags = right.lines.iter().filter(|line| line.kernel == "with tags");
    assert_eq!(with_tags.count(), 1);

    for hex in [
        "7f2acdb7", "adfb701f", "a49d971c", "3015919d", "d2d1bda8", "24dc2d89", "89275d96", "379d2899", "9226b196",
    ] {
        let damaged = replaced(
            TAGS,
            hex,
            &format!("{}{}", &hex[..7], if hex.ends_with('0') { '1' } else { '0' }),
        );
        assert!(damaged.counts().1 > 0, "{hex}: {damaged}");
    }
}
