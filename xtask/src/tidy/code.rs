//! Rust source without its comments and literals.

/// The same text with comments, strings and characters replaced by blanks; line numbers and indentation stay the
/// same.
pub(crate) fn code_only(source: &str) -> String {
    let mut scanner = Scanner {
        rest: source,
        out: String::with_capacity(source.len()),
    };
    while !scanner.rest.is_empty() {
        scanner.piece();
    }
    scanner.out
}

struct Scanner<'a> {
    rest: &'a str,
    out: String,
}

impl Scanner<'_> {
    fn piece(&mut self) {
        let rest = self.rest;
        if rest.starts_with("//") {
            self.blank(rest.find('\n').unwrap_or(rest.len()));
        } else if rest.starts_with("/*") {
            self.blank(block_comment(rest));
        } else if let Some(length) = self.raw_string() {
            self.blank(length);
        } else if rest.starts_with('"') {
            self.blank(quoted(rest, '"'));
        } else if let Some(length) = character(rest) {
            self.blank(length);
        } else {
            let length = rest.chars().next().map_or(0, char::len_utf8);
            self.out.push_str(&rest[..length]);
            self.rest = &rest[length..];
        }
    }

    /// Recognises `r"…"`, `r#"…"#` and `br##"…"##`, if the r does not end another word.
    fn raw_string(&self) -> Option<usize> {
        if self
            .out
            .chars()
            .next_back()
            .is_some_and(|last| last.is_alphanumeric() && last != 'b' && last != 'c')
        {
            return None;
        }
        let after = self.rest.strip_prefix('r')?;
        let hashes = after.len() - after.trim_start_matches('#').len();
        let body = after[hashes..].strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        let length = body.find(&end)?;
        Some(1 + hashes + 1 + length + end.len())
    }

    fn blank(&mut self, length: usize) {
        let (gone, rest) = self.rest.split_at(length);
        self.out
            .extend(gone.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        self.rest = rest;
    }
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// Length of a quoted literal with backslash escapes.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// Recognises `'x'` and `'
/// '`, but not the lifetime `'x`.
fn character(rest: &str) -> Option<usize> {
    let mut characters = rest.strip_prefix('\'')?.char_indices();
    let (_, first) = characters.next()?;
    if first == '\\' {
        return Some(quoted(rest, '\''));
    }
    let (at, second) = characters.next()?;
    (second == '\'').then_some(1 + at + 1)
}

#[cfg(test)]
mod tests {
    use super::code_only;

    #[test]
    fn comments_and_literals_are_blanked_and_the_rest_stays() {
        let cases = [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ d */ e", "a                   e"),
            (r#"f("a\"b", c)"#, "f(      , c)"),
            (r##"f(r#"a"b"#, c)"##, "f(        , c)"),
            ("let x = '\"'; y", "let x =    ; y"),
            ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
            (r"let x = '\''; y", "let x =     ; y"),
            ("\"a\nb\" c", "  \n   c"),
            ("'é' 'x'", "       "),
        ];
        for (source, expected) in cases {
            assert_eq!(code_only(source), expected, "{source}");
        }
    }
}
