//! Tables whose columns are aligned, whatever letters are in them, and that fit a terminal.

use sealcast_proto::words::plain;

/// Columns between two others.
const GAP: usize = 2;
/// A column that gives way keeps this many.
const LEAST: usize = 8;

/// A table.
pub(super) struct Table {
    /// The heads of the columns, and then the rows.
    rows: Vec<Vec<String>>,
    /// Columns that give way on a narrow terminal, the first of them first.
    give: &'static [usize],
}

impl Table {
    pub(super) fn new(heads: &[&str], give: &'static [usize]) -> Self {
        let heads = heads.iter().map(|&head| head.to_owned()).collect();
        Self {
            rows: vec![heads],
            give,
        }
    }

    /// Add a row, which has as many cells as there are heads. No letter of a cell does harm in a terminal.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| plain(&cell)).collect());
    }

    /// The lines of the table, of so many columns at most if there is a bound and columns can give way to it. A column
    /// in which every row has a dash says nothing and is left out.
    pub(super) fn lines(mut self, most: Option<usize>) -> Vec<String> {
        let columns = self.rows[0].len();
        let mut widths: Vec<usize> = (0..columns).map(|at| self.widest(at)).collect();
        let silent: Vec<bool> = (0..columns)
            .map(|at| self.rows.len() > 1 && self.rows[1..].iter().all(|row| row[at] == "-"))
            .collect();
        let shown = |at: &usize| !silent[*at];
        let whole: usize = (0..columns).filter(shown).map(|at| widths[at] + GAP).sum();
        let mut excess = most.map_or(0, |most| (whole.saturating_sub(GAP)).saturating_sub(most));
        for &at in self.give {
            let given = excess.min(widths[at].saturating_sub(LEAST));
            (widths[at], excess) = (widths[at] - given, excess - given);
            self.rows.iter_mut().for_each(|row| row[at] = cut(&row[at], widths[at]));
        }
        let line = |row: &Vec<String>| {
            let mut line = String::new();
            for at in (0..columns).filter(shown) {
                line.push_str(&row[at]);
                line.extend(std::iter::repeat_n(' ', widths[at] + GAP - width(&row[at])));
            }
            line.truncate(line.trim_end().len());
            line
        };
        self.rows.iter().map(line).collect()
    }

    fn widest(&self, at: usize) -> usize {
        self.rows.iter().map(|row| width(&row[at])).max().unwrap_or_default()
    }
}

/// A text of so many columns at most: a longer one ends with dots.
pub(super) fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let (mut kept, mut taken) = (String::new(), 1);
    for letter in text.chars() {
        taken += columns(letter);
        if taken > most {
            break;
        }
        kept.push(letter);
    }
    kept + "…"
}

/// The columns that a text takes on a terminal.
fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// The columns of a letter: none of one that is put onto another, two of those of East Asia and of small pictures.
fn columns(letter: char) -> usize {
    match u32::from(letter) {
        0x300..=0x36f | 0x483..=0x489 | 0x591..=0x5bd | 0x610..=0x61a | 0x64b..=0x65f | 0x200b..=0x200d => 0,
        0x20d0..=0x20ff | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f => 0,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f => 2,
        0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1f64f | 0x1f680..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(most: Option<usize>) -> Vec<String> {
        let mut table = Table::new(&["who", "from", "loss"], &[0, 1]);
        table.row(["grandma's phone", "192.0.2.7:51234", "-"].map(str::to_owned));
        table.row(["日本の\u{202e}\n", "[2001:db8::1]:1", "-"].map(str::to_owned));
        table.lines(most)
    }

    #[test]
    fn columns_are_aligned_by_what_letters_take_and_silent_ones_are_left_out() {
        let lines = [
            "who              from",
            "grandma's phone  192.0.2.7:51234",
            "日本の\u{fffd}\u{fffd}         [2001:db8::1]:1",
        ];
        assert_eq!(table(None), lines);
        assert_eq!(table(Some(80)), lines);
    }

    #[test]
    fn on_a_narrow_terminal_columns_give_way_in_their_order() {
        let narrow = table(Some(26));
        assert_eq!(narrow[1], "grandma'…  192.0.2.7:51234");
        assert!(narrow.iter().all(|line| width(line) <= 26), "{narrow:?}");
        assert_eq!(table(Some(20))[1], "grandma…  192.0.2.7…");
        assert_eq!(table(Some(5))[1], "grandma…  192.0.2…", "less than this says nothing");
    }

    #[test]
    fn a_text_is_cut_between_letters() {
        for (text, most, kept) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本", 3, "日…"),
            ("日本", 2, "…"),
        ] {
            assert_eq!(cut(text, most), kept);
        }
    }
}
