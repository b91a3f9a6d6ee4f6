//! Lengths of functions, measured by indentation: rustfmt and our Python style indent a body deeper than its head.

/// The first line of a function (counted from 1), its name, and its number of lines.
pub(crate) type Function = (usize, String, usize);

/// Counts from the line with `fn` to the line with the closing brace.
pub(crate) fn rust(code: &str) -> Vec<Function> {
    let lines: Vec<&str> = code.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = rust_name(line) else { continue };
        let Some(end) = rust_end(&lines, start) else { continue };
        found.push((start + 1, name, end - start + 1));
    }
    found
}

fn rust_name(line: &str) -> Option<String> {
    let (before, after) = line.split_once("fn ")?;
    let qualifier = |word: &str| {
        matches!(word, "pub" | "const" | "async" | "unsafe" | "extern" | "default")
            || word.starts_with("pub(")
            || word.ends_with(')')
    };
    if !before.split_whitespace().all(qualifier) || before.ends_with(|c: char| !c.is_whitespace()) {
        return None;
    }
    let name: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}

/// The closing line; `None` for a declaration without a body.
fn rust_end(lines: &[&str], start: usize) -> Option<usize> {
    let indentation = indentation(lines[start]);
    let open = (start..lines.len()).find(|&at| {
        let line = lines[at].trim_end();
        line.contains('{') || line.ends_with(';')
    })?;
    let line = lines[open].trim_end();
    if !line.contains('{') {
        return None;
    }
    if line.ends_with('}') {
        return Some(open);
    }
    (open + 1..lines.len())
        .find(|&at| lines[at].trim_start().starts_with('}') && self::indentation(lines[at]) == indentation)
}

/// Counts from the line with `def` to the last line that is indented deeper.
pub(crate) fn python(source: &str) -> Vec<Function> {
    let lines: Vec<&str> = source.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let Some(after) = trimmed.strip_prefix("async ").unwrap_or(trimmed).strip_prefix("def ") else {
            continue;
        };
        let name: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let inside = |line: &&&str| {
            line.trim().is_empty()
                || indentation(line) > indentation(lines[start])
                || line.trim_start().starts_with(')')
        };
        let body: Vec<&&str> = lines[start + 1..].iter().take_while(inside).collect();
        let length = body
            .iter()
            .rposition(|line| !line.trim().is_empty())
            .map_or(1, |last| last + 2);
        found.push((start + 1, name, length));
    }
    found
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(lines: usize) -> String {
        "    x();\n".repeat(lines)
    }

    #[test]
    fn a_function_is_counted_from_fn_to_its_closing_brace() {
        let source = format!(
            "fn short() {{\n{}}}\n\npub(crate) async fn long(\n    a: u8,\n) -> u8 {{\n{}}}\n",
            body(3),
            body(80)
        );
        assert_eq!(rust(&source), [(1, "short".to_owned(), 5), (7, "long".to_owned(), 84)]);
    }

    #[test]
    fn methods_blocks_inside_and_one_liners_are_understood() {
        let source = "impl X {\n    fn a(&self) {\n        if y {\n        }\n    }\n    const fn b() -> u8 { 1 }\n}\n";
        assert_eq!(rust(source), [(2, "a".to_owned(), 4), (6, "b".to_owned(), 1)]);
    }

    #[test]
    fn a_declaration_without_a_body_is_none() {
        let source = "trait X {\n    fn a(&self);\n    fn b(\n        &self,\n    ) -> u8;\n}\nlet f: fn (u8);\n";
        assert_eq!(rust(source), []);
    }

    #[test]
    fn python_functions_end_where_the_indentation_does() {
        let source = "def a():\n    x\n\n    y\n\n\nclass B:\n    def c(\n        self,\n    ):\n        z\n\nw\n";
        assert_eq!(python(source), [(1, "a".to_owned(), 4), (8, "c".to_owned(), 4)]);
    }
}
