//! Numbers and times as people read them.

use std::fmt::Display;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// So many of them, in the singular or the plural.
pub(crate) fn counted(count: usize, one: &str, several: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {several}"),
    }
}

/// A length of time in its two largest units.
pub(super) fn length(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let both = |large: i64, unit: &str, small: i64, of: &str| match small {
        0 => format!("{large} {unit}"),
        _ => format!("{large} {unit} {small} {of}"),
    };
    match seconds {
        ..0 => "0 s".to_owned(),
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{minutes} min"),
        3600..86_400 => both(hours, "h", minutes % 60, "min"),
        _ => both(days, "d", hours % 24, "h"),
    }
}

/// Time since a time of the JSON at `now`; `?` if it is none.
pub(super) fn since(time: &str, now: Timestamp) -> String {
    let past = |time: Timestamp| length(now.as_second().saturating_sub(time.as_second()));
    time.parse().map_or_else(|_| "?".to_owned(), past)
}

/// A time of the JSON by the clock on the wall, with its day unless that is today.
pub(super) fn on_the_wall(time: &str, now: Timestamp, zone: &TimeZone) -> String {
    let Ok(time) = time.parse::<Timestamp>() else {
        return "?".to_owned();
    };
    let [time, now] = [time, now].map(|at| at.to_zoned(zone.clone()));
    let form = if time.date() == now.date() {
        "%H:%M"
    } else {
        "%Y-%m-%d %H:%M"
    };
    time.strftime(form).to_string()
}

/// A bit rate with its unit.
pub(super) fn bit_rate(rate: u64) -> String {
    match rate {
        0..1_000 => format!("{rate} bit/s"),
        1_000..999_500 => format!("{:.0} kbit/s", rate as f64 / 1e3),
        _ => format!("{:.1} Mbit/s", rate as f64 / 1e6),
    }
}

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A figure, or a dash where there is none.
pub(super) fn or_dash<T: Display>(figure: Option<T>) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| figure.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_two_units_at_most() {
        for (seconds, words) in [
            (-5, "0 s"),
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3599, "59 min"),
            (3600, "1 h"),
            (3660, "1 h 1 min"),
            (86_399, "23 h 59 min"),
            (86_400, "1 d"),
            (180_000, "2 d 2 h"),
        ] {
            assert_eq!(length(seconds), words);
        }
    }

    #[test]
    fn figures_have_their_units() {
        let rates = [0, 999, 1_000, 950_000, 999_600, 4_123_456].map(bit_rate);
        let words = [
            "0 bit/s",
            "999 bit/s",
            "1 kbit/s",
            "950 kbit/s",
            "1.0 Mbit/s",
            "4.1 Mbit/s",
        ];
        assert_eq!(rates, words);
        assert_eq!(
            (percent(0.0), percent(0.0234)),
            ("0.0 %".to_owned(), "2.3 %".to_owned())
        );
        assert_eq!(
            (or_dash(Some(3)), or_dash::<u8>(None)),
            ("3".to_owned(), "-".to_owned())
        );
        assert_eq!(
            [0, 1, 2].map(|count| counted(count, "invite", "invites")),
            ["0 invites", "1 invite", "2 invites"]
        );
    }

    #[test]
    fn a_time_has_its_day_unless_that_is_today() {
        let now = "2026-11-29T12:00:00Z".parse().expect("a time");
        for (time, wall, past) in [
            ("2026-11-29T11:58:03Z", "11:58", "1 min"),
            ("2026-11-28T11:58:03Z", "2026-11-28 11:58", "1 d"),
            ("2026-11-30T00:00:00Z", "2026-11-30 00:00", "0 s"),
            ("soon", "?", "?"),
        ] {
            assert_eq!(on_the_wall(time, now, &TimeZone::UTC), wall);
            assert_eq!(since(time, now), past);
        }
    }
}
