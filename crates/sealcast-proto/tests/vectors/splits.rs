//! `vectors/splits.json`: JPEG images whose first coefficients travel apart from the others.

use sealcast_proto::unit::{MAX_LAST, Splitter, join};
use sealcast_testkit::vectors::{Hex, load};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: Option<String>,
    last: u8,
    image: Hex,
    first: Option<Hex>,
    others: Option<Hex>,
}

#[test]
fn images_are_split_and_joined_as_by_the_reference() {
    let (mut splitter, mut good, mut refused) = (Splitter::default(), 0, 0);
    for case in load::<Vec<Case>>("splits") {
        let split = splitter.split(&case.image.0, case.last);
        let (Some(Hex(first)), Some(Hex(others))) = (case.first, case.others) else {
            assert_eq!(case.expect, "refused");
            assert!(split.is_err(), "{}", case.name);
            refused += 1;
            continue;
        };
        let split = split.unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert_eq!(split.data, [&first[..], &others].concat(), "{}", case.name);
        assert_eq!(split.first, first.len(), "{}", case.name);
        assert_eq!(join(split.data).as_ref(), Ok(&case.image.0), "{}", case.name);
        good += 1;
    }
    assert_eq!((good, refused), (21, 3));
}

/// Checks that an image, whatever was done to it, comes back bit by bit if it can be split.
fn comes_back_or_is_refused(splitter: &mut Splitter, image: &[u8], last: u8) -> bool {
    splitter.split(image, last).is_ok_and(|split| {
        assert_eq!(join(split.data).as_deref(), Ok(image));
        true
    })
}

#[test]
fn a_damaged_image_is_refused_or_comes_back_bit_by_bit() {
    let (mut splitter, mut whole, mut tried) = (Splitter::default(), 0, 0);
    for case in load::<Vec<Case>>("splits").iter().filter(|case| case.last == 5) {
        let image = &case.image.0;
        for length in 0..image.len() {
            tried += 1;
            whole += usize::from(comes_back_or_is_refused(&mut splitter, &image[..length], case.last));
        }
        for at in 0..image.len() * 8 {
            let mut damaged = image.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            tried += 1;
            whole += usize::from(comes_back_or_is_refused(
                &mut splitter,
                &damaged,
                MAX_LAST.min(at as u8 % 64),
            ));
        }
    }
    assert!(whole > 0 && whole < tried, "{whole} of {tried}");
}

#[test]
fn damaged_parts_never_join_to_more_than_a_frame() {
    for case in load::<Vec<Case>>("splits").iter().filter(|case| case.expect == "ok") {
        let [Some(Hex(first)), Some(Hex(others))] = [&case.first, &case.others] else {
            panic!("{} has no parts", case.name)
        };
        let data = [&first[..], others].concat();
        for length in 0..data.len() {
            assert!(join(&data[..length]).is_err(), "{}, {length} bytes", case.name);
        }
        for at in 0..data.len() * 8 {
            let mut damaged = data.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            let joined = join(&damaged).map_or(0, |image| image.len());
            assert!(joined <= 3 * data.len(), "{joined} bytes of {}", data.len());
        }
        assert!(join(&[&data[..], &[0]].concat()).is_err(), "{}", case.name);
    }
}
