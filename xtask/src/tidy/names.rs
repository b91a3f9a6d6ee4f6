//! Names in Rust source, module by module: what it defines, its `use` lines, and the paths in its code.
//!
//! Code for tests alone is left out: a test may drive a type through another one that stands above it.

use std::collections::BTreeSet;

/// Words before the name of an item.
const ITEMS: [&str; 8] = ["fn", "struct", "enum", "trait", "const", "static", "type", "union"];
/// Words that may stand between one of them and the name.
const BETWEEN: [&str; 5] = ["fn", "unsafe", "async", "extern", "mut"];

/// Names of one module.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) modules: Vec<Module>,
    pub(super) uses: Vec<Use>,
    /// Items that it defines.
    pub(super) items: BTreeSet<String>,
    /// Paths of several words in its code.
    pub(super) paths: Vec<Vec<String>>,
    /// First words of paths in its code: types, constants, modules, and functions that are called.
    pub(super) words: BTreeSet<String>,
}

/// A module within another.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Module {
    pub(super) name: String,
    /// `None` if it has a file of its own.
    pub(super) inside: Option<Names>,
}

/// One name of a `use` line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) path: Vec<String>,
    /// Name in this module; `*` for all of the path's.
    pub(super) name: String,
    /// True if others may take the name from here.
    pub(super) public: bool,
}

impl Names {
    /// Those of a file, from its text without comments and literals.
    pub(super) fn of(code: &str) -> Self {
        let tokens = tokens(code);
        Reader { tokens, at: 0 }.module()
    }
}

/// Words, `::`, `..`, and every other character by itself.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            _ if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ if rest.starts_with("::") || rest.starts_with("..") => 2,
            _ => first.len_utf8(),
        };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

struct Reader<'a> {
    tokens: Vec<&'a str>,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).copied().unwrap_or_default()
    }

    fn next(&mut self) -> Option<&'a str> {
        let token = self.tokens.get(self.at).copied()?;
        self.at += 1;
        Some(token)
    }

    /// The rest of a module, up to the brace that ends it.
    fn module(&mut self) -> Names {
        let mut names = Names::default();
        let (mut depth, mut public) = (0, false);
        while let Some(token) = self.next() {
            let was_public = std::mem::take(&mut public);
            match token {
                "pub" => {
                    self.restriction();
                    public = true;
                }
                "#" if self.is_for_tests() => self.skip_item(),
                "mod" if is_name(self.peek(0)) => names.modules.extend(self.submodule()),
                "use" if self.peek(0) != "<" => self.used(&[], was_public, &mut names.uses),
                "{" => depth += 1,
                "}" if depth == 0 => break,
                "}" => depth -= 1,
                // What follows is a field, a method, or another part of a type's path.
                "." | "::" if is_name(self.peek(0)) => self.at += 1,
                "macro_rules" => {
                    self.at += 1;
                    names.items.extend(self.next().map(str::to_owned));
                }
                _ if ITEMS.contains(&token) && is_name(self.peek(0)) && !BETWEEN.contains(&self.peek(0)) => {
                    let name = self.next().filter(|_| depth == 0);
                    names.items.extend(name.map(str::to_owned));
                }
                _ if is_name(token) => self.path(token, &mut names),
                _ => {}
            }
        }
        names
    }

    /// Passes over `(crate)` behind `pub`.
    fn restriction(&mut self) {
        if self.peek(0) == "(" {
            while self.next().is_some_and(|token| token != ")") {}
        }
    }

    /// True if an attribute begins here without which the item is for tests alone.
    fn is_for_tests(&self) -> bool {
        let words = [0, 1, 2, 3, 4, 5].map(|ahead| self.peek(ahead));
        matches!(
            words,
            ["[", "cfg", "(", "test", ")", _] | ["[", "cfg", "(", "all", "(", "test"]
        )
    }

    /// Passes over the item behind an attribute: up to the end of its body, or to what separates it from the next.
    fn skip_item(&mut self) {
        let mut depth = 0;
        let mut attribute = true;
        loop {
            match self.peek(0) {
                "" => return,
                "(" | "[" | "{" => depth += 1,
                "}" if depth == 0 => return,
                closing @ (")" | "]" | "}") => {
                    depth -= 1;
                    if depth == 0 && closing == "}" {
                        self.at += 1;
                        return;
                    }
                    if depth == 0 && attribute {
                        attribute = self.peek(1) == "#";
                    }
                }
                ";" | "," if depth == 0 => {
                    self.at += 1;
                    return;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    fn submodule(&mut self) -> Option<Module> {
        let name = self.next()?.to_owned();
        let inside = match self.next()? {
            "{" => Some(self.module()),
            _ => None,
        };
        Some(Module { name, inside })
    }

    /// One tree of a `use` line, below the words before its braces.
    fn used(&mut self, before: &[String], public: bool, uses: &mut Vec<Use>) {
        let mut path = before.to_vec();
        while let Some(token) = self.next() {
            match token {
                "::" => {}
                "{" => {
                    while !matches!(self.peek(0), "}" | "") {
                        self.used(&path, public, uses);
                        if self.peek(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "*" => {
                    let name = "*".to_owned();
                    uses.push(Use { path, name, public });
                    return;
                }
                _ => {
                    if token != "self" || path.is_empty() {
                        path.push(token.to_owned());
                    }
                    if self.peek(0) == "::" {
                        continue;
                    }
                    let mut name = path.last().cloned().unwrap_or_default();
                    if self.peek(0) == "as" {
                        self.peek(1).clone_into(&mut name);
                        self.at += 2;
                    }
                    uses.push(Use { path, name, public });
                    return;
                }
            }
        }
    }

    /// A path in the code, of which the first word was read.
    fn path(&mut self, first: &str, names: &mut Names) {
        let mut path = vec![first.to_owned()];
        while self.peek(0) == "::" && is_name(self.peek(1)) {
            path.push(self.peek(1).to_owned());
            self.at += 2;
        }
        // A word in small letters alone is a variable or a field, unless it is called.
        let is_item = first.starts_with(char::is_uppercase) || path.len() > 1 || self.peek(0) == "(";
        if is_item && self.peek(0) != ":" {
            names.words.insert(first.to_owned());
        }
        if path.len() > 1 {
            names.paths.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(uses: &[Use]) -> Vec<String> {
        let shown = uses.iter().map(|used| {
            let public = if used.public { "pub " } else { "" };
            format!("{public}{} as {}", used.path.join("::"), used.name)
        });
        shown.collect()
    }

    #[test]
    fn every_name_of_a_use_line_is_found() {
        let names = Names::of(
            "use std::fmt;\npub(crate) use self::a::{B, c::{self, D as E}, f::*};\nuse super::G as _;\n\
             fn f() -> impl Sized + use<'_> {}",
        );
        let expected = [
            "std::fmt as fmt",
            "pub self::a::B as B",
            "pub self::a::c as c",
            "pub self::a::c::D as E",
            "pub self::a::f as *",
            "super::G as _",
        ];
        assert_eq!(shown(&names.uses), expected);
    }

    #[test]
    fn items_paths_and_modules_are_those_of_their_module() {
        let names = Names::of(
            "mod there;\nmod here { pub struct Inner; use super::X; }\npub const fn f(a: A) { b.c(); d::e(..g::H) }\n\
             impl I { const J: u8 = k::<l::M>::n(); fn o() {} }",
        );
        let modules: Vec<_> = names.modules.iter().map(|module| module.name.as_str()).collect();
        assert_eq!(modules, ["there", "here"]);
        let inside = names.modules[1].inside.as_ref().unwrap();
        assert!(inside.items.contains("Inner"));
        assert_eq!(shown(&inside.uses), ["super::X as X"]);
        assert_eq!(Vec::from_iter(&names.items), ["f"]);
        let paths: Vec<String> = names.paths.iter().map(|path| path.join("::")).collect();
        assert_eq!(paths, ["d::e", "g::H", "l::M"]);
        let has = |word: &str| names.words.contains(word);
        assert!(has("A") && has("d") && !has("a") && !has("b") && !has("c") && !has("n"));
    }

    #[test]
    fn code_for_tests_is_left_out() {
        let names = Names::of(
            "#[cfg(test)]\n#[allow(x)]\nmod tests { use super::a::B; }\n#[cfg(test)]\nmod more_tests;\n\
             #[cfg(test)]\nuse c::D;\nstruct S { #[cfg(test)] e: f::G, h: i::J }\n#[cfg(all(test, unix))]\n\
             fn k() { l::m() }\n#[cfg(any(test, unix))]\nuse n::O;\n",
        );
        assert_eq!(names.modules, []);
        assert_eq!(shown(&names.uses), ["n::O as O"]);
        assert_eq!(names.paths, [["i", "J"]]);
        assert_eq!(Vec::from_iter(&names.items), ["S"]);
    }
}
