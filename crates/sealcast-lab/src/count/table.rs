//! The tables: a row for what is counted, a column for each program on each side.

use std::fmt::Write;

use super::Counted;
use crate::harness::markdown::aligned;
use crate::harness::number::{digits, written};

/// Rows in this order; system calls without a row of their own follow by name.
const ROWS: [&str; 21] = [
    "voluntary switches",
    "system calls",
    "epoll_wait",
    "epoll_wait that only looks",
    "epoll_wait until its timeout",
    "eventfd writes",
    "eventfd reads",
    "futex",
    "reads",
    "reads that find nothing",
    "writes",
    "writes that find no room",
    "timerfd_settime",
    "timerfd reads",
    "epoll_ctl",
    "instructions",
    "allocations",
    "bytes allocated",
    "copies",
    "bytes copied",
    "lost %",
];

/// Before the path of a program, in the name of its system.
const AS: &str = " as ";

/// All tables: of each load for a burst, and for a packet if a burst has more than one. Programs have letters in them.
pub(crate) fn tables(counted: &[Counted]) -> String {
    let mut text = String::new();
    let programs = programs(counted);
    for (letter, program) in letters().zip(&programs) {
        let _ = writeln!(text, "* {letter}: {program}");
    }
    if !programs.is_empty() {
        text.push('\n');
    }
    for part in counted.chunk_by(|one, next| one.case == next.case) {
        let first = &part[0];
        let several = first.packets > 1.0;
        let [unit, part_of_it] = first.units;
        let of = format!("of {:.0} {unit}s with {:.0} {part_of_it}s", first.bursts, first.packets);
        let whole = table(part, &programs, |_| 1.0);
        let _ = writeln!(text, "{} for each {unit}, {of}:\n\n{whole}", first.case);
        if several {
            let shared = table(part, &programs, |one| one.packets);
            let _ = writeln!(text, "{} for each {part_of_it}:\n\n{shared}", first.case);
        }
    }
    text
}

/// The paths of programs that are named.
fn programs(counted: &[Counted]) -> Vec<&str> {
    let mut programs = Vec::new();
    for (_, program) in counted.iter().filter_map(|one| one.system.split_once(AS)) {
        if !programs.contains(&program) {
            programs.push(program);
        }
    }
    programs
}

fn letters() -> impl Iterator<Item = char> {
    ('A'..='Z').chain('a'..='z')
}

/// A column's head.
fn head(one: &Counted, programs: &[&str]) -> String {
    let Some((system, program)) = one.system.split_once(AS) else {
        return format!("{} {}", one.system, one.side);
    };
    let found = letters().zip(programs).find(|(_, known)| **known == program);
    let letter = found.map_or('?', |(letter, _)| letter);
    format!("{system} {letter} {}", one.side)
}

fn table(counted: &[Counted], programs: &[&str], share: impl Fn(&Counted) -> f64) -> String {
    let head = counted.iter().map(|one| head(one, programs));
    let mut lines = vec![std::iter::once(String::new()).chain(head).collect::<Vec<_>>()];
    for row in rows(counted) {
        let cells = counted.iter().map(|one| match one.figures.get(row) {
            Some(&figure) => cell(figure / share(one)),
            None => String::new(),
        });
        lines.push(std::iter::once(row.to_owned()).chain(cells).collect());
    }
    aligned(&lines, 1)
}

fn cell(figure: f64) -> String {
    if figure == 0.0 {
        return "0".to_owned();
    }
    written(figure, digits(figure).min(3))
}

/// The rows that any of them has, in order.
fn rows(counted: &[Counted]) -> Vec<&str> {
    let any = |row: &&str| counted.iter().any(|one| one.figures.contains_key(*row));
    let others = counted.iter().flat_map(|one| one.figures.keys().map(String::as_str));
    let mut others: Vec<&str> = others.filter(|row| !ROWS.contains(row)).collect();
    others.sort_unstable();
    others.dedup();
    let at = ROWS.iter().position(|&row| row == "instructions").unwrap_or(ROWS.len());
    let [calls, rest] = [&ROWS[..at], &ROWS[at..]].map(|rows| rows.iter().copied().filter(any));
    calls.chain(others).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(system: &str, packets: f64, figures: &[(&str, f64)]) -> Counted {
        Counted {
            case: "tcp-frames".to_owned(),
            system: system.to_owned(),
            side: "camera",
            units: ["burst", "packet"],
            bursts: 100.0,
            packets,
            figures: figures
                .iter()
                .map(|&(what, number)| (what.to_owned(), number))
                .collect(),
        }
    }

    #[test]
    fn a_row_that_one_program_lacks_is_empty_and_a_packet_has_its_share_of_a_burst() {
        let one = counted(
            "sealcast",
            20.0,
            &[("epoll_wait", 3.0), ("mmap", 0.05), ("lost %", 0.0)],
        );
        let other = counted(
            "sealcast as old/sealcast",
            20.0,
            &[("epoll_wait", 30_000.0), ("reads", 1.5)],
        );
        let text = tables(&[one, other]);
        let cells = |row: &str| -> Vec<Vec<String>> {
            let lines = text.lines().filter(|line| line.starts_with(&format!("| {row} ")));
            lines
                .map(|line| line.split('|').skip(2).map(|cell| cell.trim().to_owned()).collect())
                .collect()
        };
        assert!(
            text.starts_with("* A: old/sealcast\n") && text.contains("| sealcast A camera |"),
            "{text}"
        );
        assert_eq!(
            cells("epoll_wait"),
            [["3.00", "30\u{202f}000", ""], ["0.150", "1500", ""]]
        );
        assert_eq!(cells("mmap")[0], ["0.050", "", ""]);
        let order = ["epoll_wait", "reads", "mmap", "lost %"].map(|row| text.find(&format!("| {row} ")));
        assert!(order.is_sorted() && order[0].is_some(), "{text}");
    }
}
