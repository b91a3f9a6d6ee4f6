//! Third-party ciphers in C: correct ones are measured, and faulty ones are reported without stopping the others.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};

use sealcast_testkit::counter::Counter;

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");
const PAGE: &str = include_str!("../../../../docs/external-cipher.md");

/// Declarations before the functions under test; with `KEY`, `IV` and `BYTES` a cipher without published values.
const HEADER: &str = "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
    typedef struct { uint8_t key, iv; } ctx;\n";
const KEY: &str = "void ECRYPT_keysetup(ctx *c, const uint8_t *key, uint32_t k, uint32_t v) { c->key = key[0]; }\n";
const IV: &str = "void ECRYPT_ivsetup(ctx *c, const uint8_t *iv) { c->iv = iv[0]; }\n";
const BYTES: &str = "void ECRYPT_process_bytes(int a, ctx *c, const uint8_t *in, uint8_t *out, uint32_t n) {\n\
    for (uint32_t at = 0; at < n; at++) out[at] = in[at] ^ c->key ^ c->iv ^ 0x55; }\n";

/// The first code block of a language in the document.
fn block(language: &str) -> &'static str {
    let mut blocks = PAGE.split("```").skip(1).step_by(2);
    let block = blocks.find_map(|block| block.strip_prefix(language)?.strip_prefix('\n'));
    block.expect("the page has one")
}

fn compile(folder: &Path, name: &str, source: &str) {
    let path = folder.join(name).with_extension("c");
    std::fs::write(&path, source).expect("a file");
    let library = path.with_extension("so");
    let compiler = Command::new("cc")
        .args(["-O2", "-shared", "-fPIC", "-o"])
        .args([&library, &path])
        .status();
    assert!(compiler.expect("a C compiler").success(), "{name}");
}

fn said(output: Output) -> (Option<i32>, String) {
    let texts = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code(), texts.concat())
}

/// Measures libraries of a folder for one round, together with our own RC4. Returns exit code and output.
fn measure(folder: &Path, libraries: &[&str], path: Option<&Path>) -> (Option<i32>, String) {
    let mut lab = Command::new(LAB);
    lab.args(["ciphers", "--quick", "--rounds", "1", "--only", "rc4", "--out", "out"])
        .current_dir(folder);
    for library in libraries {
        lab.args(["--external", library]);
    }
    if let Some(path) = path {
        lab.env("PATH", path);
    }
    said(lab.output().expect("it runs"))
}

type Line = HashMap<String, String>;

/// The lines of the table that an implementation has.
fn lines(folder: &Path, implementation: &str) -> Vec<Line> {
    let mut table = csv::Reader::from_path(folder.join("out/table.csv")).expect("a table");
    let all = table.deserialize().map(|line| line.expect("a line"));
    all.filter(|line: &Line| line["implementation"] == implementation)
        .collect()
}

/// Number of cases of an implementation that were timed, or named as too slow: on a busy machine any may be.
fn judged(folder: &Path, said: &str, implementation: &str) -> usize {
    let is_slow = |line: &&str| {
        line.starts_with("* not measured: ") && line.contains(implementation) && line.contains(": too slow: ")
    };
    lines(folder, implementation).len() + said.lines().filter(is_slow).count()
}

/// The cases of an implementation: 11 loads, and set-up.
const CASES: usize = 12;

#[test]
fn the_cipher_of_the_document_is_held_to_rfc_6229_and_timed() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("rc4.c"), block("c")).expect("a file");
    let programs = Path::new(LAB).parent().expect("a folder").display();
    let script = format!("set -e\nPATH={programs}:$PATH\n{}", block(""));
    let shell = Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder.path())
        .output();
    let (code, said) = said(shell.expect("sh runs"));
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("| 1200-bytes | rc4/definition | ") && said.contains("| 1200-bytes | rc4/rc4.so     | "),
        "{said}"
    );
    assert!(!said.contains("WRONG") && !said.contains("note: "), "{said}");
}

#[test]
fn a_cipher_with_another_constant_is_wrong_and_not_timed_and_a_run_is_not_gone_on_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let right = block("c");
    compile(folder.path(), "rc4", right);
    let (code, said) = measure(folder.path(), &["rc4=rc4.so"], None);
    assert_eq!(
        (code, judged(folder.path(), &said, "rc4.so")),
        (Some(0), CASES),
        "{said}"
    );
    let wrong = right.replace("c->i = c->j = 0", "c->i = c->j = 1");
    assert_ne!(wrong, right);
    compile(folder.path(), "rc4", &wrong);
    let (code, said) = measure(folder.path(), &["rc4=rc4.so"], None);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("another definition"), "{said}");

    std::fs::remove_dir_all(folder.path().join("out")).expect("it is there");
    let (code, said) = measure(folder.path(), &["rc4=rc4.so"], None);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("rc4/rc4.so: WRONG, not timed: ") && said.contains("other bytes than were published"),
        "{said}"
    );
    assert_eq!(
        ["rc4.so", "definition"].map(|of| judged(folder.path(), &said, of)),
        [0, CASES]
    );
}

/// Faulty libraries, which must not be timed: name, source, and words of the message about each.
fn broken() -> Vec<(&'static str, String, &'static str)> {
    let instead = |of: &str, code: &str| [HEADER, KEY, IV, BYTES].concat().replace(of, code);
    let in_key = |code: &str| instead("c->key = key[0];", code);
    let lie = "for (int f = 3; f < 9; f++) (void)!write(f, \"a lie, not an answer\", 20);";
    let late = "static int n; if (n++ > 5000) abort(); c->iv = iv[0];";
    let greedy = "uint8_t room[2 << 20], key, iv;";
    vec![
        (
            "crash",
            in_key("*(volatile int *)8 = 1;"),
            "(signal: 11 (SIGSEGV)) while loading",
        ),
        ("late", instead("c->iv = iv[0];", late), "SIGABRT)"),
        (
            "hang",
            in_key("for (;;) pause();"),
            "no answer within 10 s while loading",
        ),
        ("leave", in_key("_exit(3);"), "(exit status: 3)"),
        (
            "keyless",
            [HEADER, IV, BYTES].concat(),
            "it has no function ECRYPT_keysetup",
        ),
        (
            "bytesless",
            [HEADER, KEY, IV].concat(),
            "it has neither ECRYPT_process_bytes nor",
        ),
        ("unlinked", in_key("void f(void); f();"), "undefined symbol: f"),
        ("liar", in_key(lie), "said what is no answer"),
        (
            "identity",
            instead("c->key ^ c->iv ^ 0x55", "0"),
            "leaves packets as they are",
        ),
        ("oneway", instead("0x55;", "0x55 ^ a;"), "does not open what it sealed"),
        ("greedy", instead("uint8_t key, iv;", greedy), "SIGSEGV"),
        ("unset", in_key(""), "depend on what was in its context"),
        (
            "beyond",
            instead("out[at] =", "out[at + n] = 1, out[at] ="),
            "writes beyond the end of a packet",
        ),
    ]
}

#[test]
fn libraries_that_crash_hang_or_lie_are_named_and_the_others_are_timed() {
    let folder = tempfile::tempdir().expect("a folder");
    compile(folder.path(), "good", &[HEADER, KEY, IV, BYTES].concat());
    let mut libraries = vec!["good=good.so".to_owned(), "small=good.so,context=1".to_owned()];
    for (name, source, _) in broken() {
        compile(folder.path(), name, &source);
        libraries.push(format!("{name}={name}.so"));
    }
    let libraries: Vec<&str> = libraries.iter().map(String::as_str).collect();
    let (code, said) = measure(folder.path(), &libraries, None);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(
        ["good.so", "definition"].map(|of| judged(folder.path(), &said, of)),
        [CASES, CASES],
        "{said}"
    );
    let small = ("small/good", "was said to have 1: give context=2");
    let named = broken()
        .into_iter()
        .map(|(name, _, words)| (name, words))
        .chain([small]);
    for (name, words) in named {
        let line = said
            .lines()
            .find(|line| line.starts_with(&format!("* not measured: {name}")));
        let is_named = |line: &str| line.contains("WRONG, not timed: ") && line.contains(words);
        assert!(line.is_some_and(is_named), "{name}: {said}");
        assert!(lines(folder.path(), &format!("{name}.so")).is_empty(), "{name}");
    }
}

#[test]
fn a_cipher_of_which_nothing_was_published_is_timed_and_a_note_says_what_is_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = KEY.replace("c->key", "puts(\"loaded\"); fflush(stdout); c->key");
    compile(folder.path(), "chatty", &[HEADER, &key, IV, BYTES].concat());
    // Like eSTREAM's Dragon, this library first writes the keystream to the output buffer.
    let (head, _) = BYTES.split_once('\n').expect("two lines");
    let twice = "uint32_t at; for (at = 0; at < n; at++) out[at] = c->key ^ c->iv ^ 0x55;\n\
        for (at = 0; at < n; at++) out[at] ^= in[at]; }\n";
    compile(folder.path(), "twice", &[HEADER, KEY, IV, head, twice].concat());
    let (code, said) = measure(folder.path(), &["chatty=chatty.so,iv=128", "twice=twice.so"], None);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(
        ["chatty.so", "twice.so"].map(|of| judged(folder.path(), &said, of)),
        [CASES, CASES],
        "{said}"
    );
    let note = |name: &str| {
        let begin = format!("* note: {name}/{name}.so: nothing to hold it to: no published value of `{name}`");
        said.lines().find(|line| line.starts_with(&begin)).expect("a note")
    };
    assert!(note("chatty").ends_with("it opens what it seals"), "{said}");
    assert!(
        note("twice").ends_with("it cannot work in place, and goes from one buffer to another and back"),
        "{said}"
    );
    let twice = lines(folder.path(), "twice.so");
    let set_up = twice.iter().find(|line| line["case"] == "set-up").expect("it is there");
    assert_eq!((&*set_up["state_bytes"], &*set_up["iv_bits"]), ("2", "64"));
}

#[test]
fn a_foreign_cipher_has_every_figure_that_ours_have() {
    let folder = tempfile::tempdir().expect("a folder");
    let slow = IV.replace("c->iv", "for (volatile int n = 0; n < 1000; n++); c->iv");
    // It grows by a megabyte with its first key, and has a table and a function that no function of the API names.
    let grown = "static volatile uint8_t room[1 << 20];\n\
        static uint8_t deep(uint8_t n) { volatile uint8_t x = n; return x; }\n\
        uint8_t (*volatile where)(uint8_t) = deep;\n";
    let key = KEY.replace(
        "c->key = key[0]",
        "for (int n = 0; n < 1 << 20; n += 64) room[n] = 1; c->key = where(key[0])",
    );
    compile(folder.path(), "slow", &[HEADER, grown, &key, &slow, BYTES].concat());
    // Our own cipher of that name is compiled into this program, and the library is not.
    let (code, said) = measure(folder.path(), &["chacha20=slow.so,key=128,iv=64"], None);
    assert_eq!(code, Some(0), "{said}");
    for line in lines(folder.path(), "slow.so") {
        let value = |column: &str| line[column].parse::<f64>();
        assert_eq!(line["on_mb_per_s"], "", "{line:?}");
        if line["case"] == "set-up" {
            for known in ["block_seal_ns", "block_open_ns", "iv_ns", "key_ns", "t_ns"] {
                assert!(value(known).is_ok_and(|ns| ns > 0.0), "{known}: {line:?}");
            }
            assert!(value("algorithm_ns").is_ok_and(|ns| ns >= 0.0), "{line:?}");
            continue;
        }
        if line["case"] == "h264-frames" {
            for known in ["code_bytes", "memory_bytes", "rank"] {
                assert!(value(known).is_ok_and(|figure| figure > 0.0), "{known}: {line:?}");
            }
            assert!(
                value("rss_bytes").is_ok_and(|bytes| bytes >= f64::from(1 << 20)),
                "{line:?}"
            );
        }
        // The loop takes less than can be told beside a packet of many kilobytes.
        let is_short = value("packet_bytes").is_ok_and(|bytes| bytes < 2000.0);
        if is_short && !line["loop_cycles_per_byte"].is_empty() {
            assert!(
                value("loop_cycles_per_byte").is_ok_and(|cycles| cycles > 0.0),
                "{line:?}"
            );
        }
        assert!(value("mb_per_s").is_ok_and(|speed| speed > 0.0), "{line:?}");
    }
    assert_eq!(lines(folder.path(), "slow.so").len(), CASES);
}

#[test]
fn a_foreign_ciphers_energy_is_read_while_its_process_works_and_its_code_is_known_without_symbols() {
    let counter = Counter::start(5.0);
    let folder = tempfile::tempdir().expect("a folder");
    compile(folder.path(), "rc4", block("c"));
    compile(folder.path(), "bare", block("c"));
    let stripped = Command::new("strip").arg(folder.path().join("bare.so")).status();
    assert!(stripped.expect("strip").success());
    let meter = format!("rapl:{}", counter.tree().display());
    let mut lab = Command::new(LAB);
    lab.args(["ciphers", "--quick", "--rounds", "1", "--only", "rc4/words,h264-frames"])
        .args([
            "--external",
            "rc4=rc4.so",
            "--external",
            "rc4=bare.so",
            "--meter",
            &meter,
            "--out",
            "out",
        ])
        .current_dir(folder.path());
    let (code, said) = said(lab.output().expect("it runs"));
    assert_eq!(code, Some(0), "{said}");
    let one = |implementation: &str| lines(folder.path(), implementation).pop().expect("a line");
    let (whole, bare, ours) = (one("rc4.so"), one("bare.so"), one("words"));
    let bytes = |line: &Line| line["code_bytes"].parse::<u64>().expect("a number");
    assert!(
        bytes(&whole) > 100 && bytes(&bare) >= bytes(&whole),
        "{whole:?} {bare:?}"
    );
    for line in [whole, bare, ours] {
        // A machine that is busy may not read the counter for too long, which is said then.
        let is_excused = said.contains("energy, in the rest of round 1");
        assert!(is_excused || !line["energy_seconds"].is_empty(), "{line:?}");
        assert!(!line["rank"].is_empty(), "{line:?}");
    }
}

#[test]
fn without_a_compiler_foreign_ciphers_are_named_and_ours_are_timed() {
    let folder = tempfile::tempdir().expect("a folder");
    compile(folder.path(), "rc4", block("c"));
    let (code, said) = measure(folder.path(), &["rc4=rc4.so"], Some(folder.path()));
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("rc4/rc4.so: WRONG, not timed: ") && said.contains("install a C compiler as `cc`"),
        "{said}"
    );
    assert_eq!(judged(folder.path(), &said, "definition"), CASES, "{said}");
}

#[test]
fn a_library_that_is_not_there_or_there_twice_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, said) = measure(folder.path(), &["rc4=nowhere.so"], None);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("nowhere.so cannot be read"), "{said}");
    compile(folder.path(), "rc4", block("c"));
    let (code, said) = measure(folder.path(), &["rc4=rc4.so", "rc4=./rc4.so"], None);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("rc4/rc4.so is there twice"), "{said}");
}
