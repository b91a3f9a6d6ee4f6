//! H.264 as a byte stream (ITU-T H.264, annex B).

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// Start code of a NAL unit.
const START_CODE: [u8; 3] = [0, 0, 1];

/// Returns the position of the next start code `00 00 01` at or after `from`.
pub fn find_start_code(data: &[u8], from: usize) -> Option<usize> {
    static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(&START_CODE));
    let at = FINDER.find(data.get(from..)?)?;
    Some(from + at)
}

/// The NAL units of an Annex B byte stream, without start codes and zero padding.
pub fn nal_units(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut next = find_start_code(data, 0);
    std::iter::from_fn(move || {
        let begin = next? + 3;
        next = find_start_code(data, begin);
        let mut unit = &data[begin..next.unwrap_or(data.len())];
        while let [head @ .., 0] = unit {
            unit = head;
        }
        Some(unit)
    })
    .filter(|unit| !unit.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_codes_are_found_wherever_they_begin() {
        assert_eq!(find_start_code(&[0, 0, 1], 0), Some(0));
        assert_eq!(find_start_code(&[0, 0, 0, 1], 0), Some(1));
        assert_eq!(find_start_code(&[9, 0, 0, 0, 0, 1, 9], 0), Some(3));
        assert_eq!(find_start_code(&[0, 0, 1, 0, 0, 1], 1), Some(3));
        assert_eq!(find_start_code(&[0, 1, 0, 0, 2, 0, 1], 0), None);
        assert_eq!(find_start_code(&[0, 0], 0), None);
        assert_eq!(find_start_code(&[], 7), None);
    }

    #[test]
    fn nal_units_come_without_start_codes_and_padding() {
        let data = [
            &[0, 0, 0, 1, 0x67, 1, 2][..],
            &[0, 0, 1, 0x68, 3, 0, 0, 0],
            &[0, 0, 1],
            &[0, 0, 1, 0x65, 4],
        ]
        .concat();
        let units = nal_units(&data).collect::<Vec<_>>();
        assert_eq!(units, [&[0x67, 1, 2][..], &[0x68, 3], &[0x65, 4]]);
    }
}
