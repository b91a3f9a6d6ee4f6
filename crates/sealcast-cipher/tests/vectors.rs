//! Every vector of a folder on every kernel: of the folder in SEALCAST_VECTORS, or of one beside the repository.

mod reader;

use std::path::PathBuf;

use reader::Vector;
use sealcast_cipher::{Implementation, implementations_of};

fn folder() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("SEALCAST_VECTORS") {
        return Some(PathBuf::from(given));
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut places = ["../shared/vectors", "../../shared/vectors"]
        .map(|place| root.join(place))
        .into_iter();
    places.find(|place| place.is_dir())
}

fn run(implementation: &Implementation, vector: &Vector) -> Result<(), String> {
    let complain = |error| format!("{}: {error}", vector.label);
    let mut stream = vec![0; vector.stream_bytes];
    let study = (implementation.load)(&vector.key).map_err(complain)?;
    study.keystream(&vector.iv).map_err(complain)?.xor(&mut stream);
    vector.check(&stream)
}

#[test]
fn every_vector_of_the_folder_is_met_by_every_kernel() {
    let Some(folder) = folder() else {
        println!("NOT RUN: no vectors folder; name one in SEALCAST_VECTORS");
        return;
    };
    let files = reader::read_folder(&folder).expect("a folder of vectors");
    assert!(!files.is_empty(), "no JSON file in {}", folder.display());
    for file in files {
        let mut kernels = 0;
        for implementation in implementations_of(&file.cipher) {
            for vector in &file.vectors {
                if let Err(wrong) = run(implementation, vector) {
                    panic!("{} {}: {wrong}", file.path.display(), implementation.kernel);
                }
            }
            println!(
                "{:12} {:12} {:4} passed",
                file.cipher,
                implementation.kernel,
                file.vectors.len()
            );
            kernels += 1;
        }
        assert!(kernels > 0, "{}: no cipher {} here", file.path.display(), file.cipher);
    }
}

/// A file with one vector of XOR under the key 1, 2, 3, after a replacement that damages it.
fn read_damaged(part: &str, replacement: &str) -> Result<(), String> {
    let range = r#"{"from": 1, "to": 3, "hex": "020301"}"#;
    let vector =
        format!(r#"{{"set": 1, "number": 7, "key": "010203", "iv": "", "stream_len": 4, "stream": [{range}]}}"#);
    let text = format!(r#"{{"cipher": "XOR (any key)", "vectors": [{vector}]}}"#);
    assert!(text.contains(part), "nothing to replace");

    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("xor.json"), text.replace(part, replacement)).expect("a file in it");
    let files = reader::read_folder(folder.path())?;
    let implementation = implementations_of(&files[0].cipher).next().ok_or("no such cipher")?;
    run(implementation, &files[0].vectors[0])
}

#[test]
fn a_damaged_file_does_not_pass() {
    assert_eq!(read_damaged("020301", "020301"), Ok(()));
    let damages = [
        ("XOR", "XOR-128", "no such cipher"),
        (r#""key""#, r#""schlüssel""#, "missing field `key`"),
        ("010203", "01020", "not hexadecimal"),
        (r#""iv": """#, r#""iv": "00""#, "does not take a 1-byte IV"),
        (r#""number": 7"#, r#""number": 7, "keybits": 16"#, "number of bits"),
        (r#""stream_len": 4"#, r#""stream_len": 3"#, "not the bytes that it says"),
        (r#""from": 1"#, r#""from": 0"#, "not the bytes that it says"),
        ("020301", "020302", "set 1, vector 7: other bytes from 1 on"),
        (
            r#""stream""#,
            r#""xor_digest": "00", "stream""#,
            "a digest has 64 bytes",
        ),
        (r#"{"from": 1, "to": 3, "hex": "020301"}"#, "", "nothing is known"),
    ];
    for (part, replacement, complaint) in damages {
        let refused = read_damaged(part, replacement).expect_err(replacement);
        assert!(refused.contains(complaint), "{refused}");
    }
    let digest = format!(r#""xor_digest": "01020302{}", "stream""#, "00".repeat(60));
    let refused = read_damaged(r#""stream""#, &digest).expect_err("another digest");
    assert_eq!(refused, "set 1, vector 7: another digest");
    assert_eq!(
        read_damaged(r#""stream""#, &digest.replace("01020302", "01020301")),
        Ok(())
    );
}
