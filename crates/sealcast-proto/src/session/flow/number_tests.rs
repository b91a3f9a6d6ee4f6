//! Numbers on the wire are 32 bits of a number that goes on.

use super::unwrap_number;

/// The definition: of all numbers with these low bits, the nearest one, and the lower of two.
fn nearest(wire: u32, near: u64) -> i128 {
    let near = i128::from(near);
    let turn = 1_i128 << 32;
    let candidates = (-1..=1).map(|turns| (near / turn + turns) * turn + i128::from(wire));
    candidates
        .min_by_key(|candidate| ((candidate - near).abs(), *candidate))
        .expect("three candidates")
}

#[test]
fn numbers_agree_with_the_definition_around_every_half_turn() {
    let mut compared = 0;
    for half_turns in (0_u64..=5).chain((1 << 32) - 3..1 << 32) {
        for offset in -20..=20_i64 {
            let Some(near) = (half_turns << 31).checked_add_signed(offset) else {
                continue;
            };
            for wire in [0, 1 << 31, near as u32, (near as u32).wrapping_add(1 << 31)] {
                for wire in (-20..=20).map(|offset| wire.wrapping_add_signed(offset)) {
                    let expected = u64::try_from(nearest(wire, near).max(0)).unwrap_or(u64::MAX);
                    assert_eq!(unwrap_number(wire, near), expected, "{wire:#x} near {near:#x}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 50_000, "only {compared} numbers");
}

#[test]
fn nothing_lies_before_the_first_number() {
    assert_eq!(unwrap_number(u32::MAX, 0), 0);
}
