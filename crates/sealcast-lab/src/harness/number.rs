//! Formatting of numbers for readers.

use std::time::Duration;

/// Thousands separator: a narrow no-break space.
const APART: char = '\u{202f}';

/// From this number on, powers of ten are written.
const LARGE: f64 = 1e15;

/// The number of digits after the point that shows three significant digits, or all before the point; at most 4.
pub(crate) fn digits(value: f64) -> usize {
    let before_point = value.abs().max(1e-9).log10().floor() as i32 + 1;
    (3 - before_point).clamp(0, 4) as usize
}

/// A number with this many digits after the point and separated thousands; from 10^15 on, a power of ten.
pub(crate) fn written(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    if value >= LARGE {
        let power = value.log10().floor();
        return format!("{:.2} × 10^{power}", value / 10_f64.powf(power));
    }
    let text = format!("{:.digits$}", value.abs());
    let (whole, rest) = text
        .split_once('.')
        .map_or((text.as_str(), ""), |(whole, rest)| (whole, rest));
    let zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let mut said = String::from(if value < 0.0 && !zero { "−" } else { "" });
    for (at, digit) in whole.chars().enumerate() {
        // Numbers of four digits are readable without a separator.
        if at > 0 && whole.len() > 4 && (whole.len() - at).is_multiple_of(3) {
            said.push(APART);
        }
        said.push(digit);
    }
    if !rest.is_empty() {
        said.push('.');
        said.push_str(rest);
    }
    said
}

/// As [`written`], with a sign.
pub(crate) fn signed(value: f64, digits: usize) -> String {
    let text = written(value, digits);
    if text.starts_with(['−', '-']) {
        text
    } else {
        format!("+{text}")
    }
}

/// A time in words, as precise as useful.
pub(crate) fn time(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..90 => format!("{seconds} s"),
        seconds @ ..5400 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart_from_five_digits_on() {
        assert_eq!(written(1_234_567.891, 1), "1\u{202f}234\u{202f}567.9");
        assert_eq!(
            (written(1234.0, 0), written(-12_345.0, 0)),
            ("1234".to_owned(), "−12\u{202f}345".to_owned())
        );
        assert_eq!(
            (written(-0.001, 2), written(f64::NAN, 2)),
            ("0.00".to_owned(), "-".to_owned())
        );
        assert_eq!(written(1.079e19, 0), "1.08 × 10^19");
    }

    #[test]
    fn three_digits_count_or_all_before_the_point() {
        let short = [0.000_012_3, 0.0456, 0.789, 4.5678, 12.345, 678.9, 12_345.6].map(digits);
        assert_eq!(short, [4, 4, 3, 2, 1, 0, 0]);
    }

    #[test]
    fn a_sign_is_always_there_where_it_is_asked_for() {
        assert_eq!(
            [signed(1.0, 1), signed(-1.0, 1), signed(0.0, 0)],
            ["+1.0", "−1.0", "+0"]
        );
    }

    #[test]
    fn a_time_is_told_as_exactly_as_it_matters() {
        let told = [5, 89, 90, 5399, 5400, 9000].map(|seconds| time(Duration::from_secs(seconds)));
        assert_eq!(told, ["5 s", "89 s", "2 min", "90 min", "1 h 30 min", "2 h 30 min"]);
    }
}
