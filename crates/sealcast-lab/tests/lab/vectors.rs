//! Every vector of a folder on every kernel: of the folder in SEALCAST_VECTORS, or of one beside the repository.
//! `sealcast-lab verify` prints more about it, and its tests hold the reader.

use std::path::PathBuf;

use sealcast_cipher::implementations_of;

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

#[test]
fn every_vector_of_the_folder_is_met_by_every_kernel() {
    let Some(folder) = folder() else {
        println!("NOT RUN: no vectors folder; name one in SEALCAST_VECTORS");
        return;
    };
    let paths = reader::json_files(&folder).expect("a folder of vectors");
    assert!(!paths.is_empty(), "no JSON file in {}", folder.display());
    for path in paths {
        let file = reader::read_file(path).expect("a file of vectors");
        let place = file.path.display();
        assert!(
            implementations_of(&file.cipher).count() > 0,
            "{place}: no cipher {} here",
            file.cipher
        );
        for vector in &file.vectors {
            let vector = vector.as_ref().expect("a vector that is understood");
            for one in implementations_of(&file.cipher) {
                assert_eq!(vector.check(one), Ok(()), "{place} {}", one.kernel);
            }
            if let Some(authentication) = vector.check_authentication() {
                assert_eq!(authentication, Ok(()), "{place}");
            }
        }
        println!("{:12} {:4} passed on every kernel", file.cipher, file.vectors.len());
    }
}
