//! Imports between the files of a crate: which file takes which names from which other one.

use std::collections::{BTreeMap, BTreeSet};

use super::code::code_only;
use super::names::Names;

/// Longest way of a name from where it is used to where it is defined, in `use` lines that lead on.
const LONGEST_WAY: usize = 32;

/// Names that one file takes from another, by the two paths.
pub(super) type Imports = BTreeMap<(String, String), BTreeSet<String>>;

/// The modules of a crate.
struct Crate {
    modules: Vec<Module>,
}

struct Module {
    file: String,
    parent: Option<usize>,
    names: Names,
    children: BTreeMap<String, usize>,
}

/// End of a path.
enum Found {
    Module(usize),
    /// A name that a module defines, or a part of such a name.
    Item(usize, String),
}

/// The imports of the crate whose root is this file. A name counts where it is defined, whoever hands it on, and a
/// `use` line that only hands it on is no import.
pub(super) fn imports(root: &str, texts: &BTreeMap<&str, &str>) -> Imports {
    let mut all = Crate { modules: Vec::new() };
    if let Some(text) = texts.get(root) {
        all.add(root, None, Names::of(&code_only(text)), &folder_of(root), texts);
    }
    let mut imports = Imports::new();
    for from in 0..all.modules.len() {
        for found in all.used_by(from) {
            let Found::Item(to, name) = found else { continue };
            let files = [from, to].map(|module| all.modules[module].file.clone());
            if files[0] != files[1] {
                imports.entry(files.into()).or_default().insert(name);
            }
        }
    }
    imports
}

/// The folder with the files of a file's modules.
fn folder_of(file: &str) -> String {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    match name {
        "mod.rs" | "lib.rs" | "main.rs" => folder.to_owned(),
        _ => file.trim_end_matches(".rs").to_owned(),
    }
}

impl Crate {
    /// Adds a module with all that are in it, whose files are in this folder. A file that is not there is not of Rust's
    /// usual place, and left out.
    fn add(
        &mut self,
        file: &str,
        parent: Option<usize>,
        names: Names,
        folder: &str,
        texts: &BTreeMap<&str, &str>,
    ) -> usize {
        let own = self.modules.len();
        let mut names = names;
        let inner = std::mem::take(&mut names.modules);
        self.modules.push(Module {
            file: file.to_owned(),
            parent,
            names,
            children: BTreeMap::new(),
        });
        for module in inner {
            let place = format!("{folder}/{}", module.name);
            let child = match module.inside {
                Some(inside) => Some(self.add(file, Some(own), inside, &place, texts)),
                None => [format!("{place}.rs"), format!("{place}/mod.rs")]
                    .into_iter()
                    .find_map(|file| texts.get(file.as_str()).map(|text| (file, text)))
                    .map(|(file, text)| self.add(&file, Some(own), Names::of(&code_only(text)), &place, texts)),
            };
            if let Some(child) = child {
                self.modules[own].children.insert(module.name, child);
            }
        }
        own
    }

    /// All that a module uses.
    fn used_by(&self, from: usize) -> Vec<Found> {
        let names = &self.modules[from].names;
        let mut found = Vec::new();
        for used in &names.uses {
            let is_used = !used.public || names.words.contains(&used.name);
            match (used.name.as_str(), self.resolve(from, &used.path, 0)) {
                ("*", Some(Found::Module(to))) if !used.public => {
                    let words = names.words.iter();
                    found.extend(words.filter_map(|word| self.defined(to, std::slice::from_ref(word), 0)));
                }
                (name, Some(end)) if name != "*" && is_used => found.push(end),
                _ => {}
            }
        }
        found.extend(names.paths.iter().filter_map(|path| self.resolve(from, path, 0)));
        found
    }

    /// The end of a path that is written in this module.
    fn resolve(&self, from: usize, path: &[String], way: usize) -> Option<Found> {
        let (mut module, mut rest) = (from, path);
        while let Some((first, more)) = rest.split_first() {
            module = match first.as_str() {
                "crate" => 0,
                "self" => module,
                "super" => self.modules[module].parent?,
                _ => break,
            };
            rest = more;
        }
        if rest.len() < path.len() {
            return self.within(module, rest, way);
        }
        self.known(module, rest, way)
    }

    /// The end of a path that begins in a module. A name that nothing is known of was made by a macro there.
    fn within(&self, module: usize, path: &[String], way: usize) -> Option<Found> {
        let Some(first) = path.first() else {
            return Some(Found::Module(module));
        };
        let known = self.known(module, path, way);
        known.or_else(|| Some(Found::Item(module, first.clone())))
    }

    /// The same, for a name of the module; `None` if it has none such, as for another crate's.
    fn known(&self, module: usize, path: &[String], way: usize) -> Option<Found> {
        let here = &self.modules[module];
        let (first, rest) = path.split_first().filter(|_| way < LONGEST_WAY)?;
        let child = here.children.get(first);
        let leads_on = child.is_some() && !rest.is_empty();
        if here.names.items.contains(first) && !leads_on {
            return Some(Found::Item(module, first.clone()));
        }
        let named = here.names.uses.iter().filter(|used| used.name == *first && !leads_on);
        for used in named.filter(|used| used.path.len() > 1 || used.path[0] != *first) {
            match self.resolve(module, &used.path, way + 1) {
                Some(Found::Module(to)) => return self.within(to, rest, way + 1),
                Some(item) => return Some(item),
                None => {}
            }
        }
        if let Some(child) = child {
            return self.within(*child, rest, way);
        }
        let all = here.names.uses.iter().filter(|used| used.name == "*");
        let mut all = all.filter_map(|used| self.resolve(module, &used.path, way + 1));
        all.find_map(|found| match found {
            Found::Module(to) if to != module => self.defined(to, path, way + 1),
            _ => None,
        })
    }

    /// The end of a path that a `use` line with a star brings, if an item is known by that name.
    fn defined(&self, module: usize, path: &[String], way: usize) -> Option<Found> {
        let found = self.known(module, path, way)?;
        let known = match &found {
            Found::Item(module, name) => self.modules[*module].names.items.contains(name),
            Found::Module(_) => false,
        };
        known.then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let texts: BTreeMap<&str, &str> = files.iter().copied().collect();
        let imports = imports("src/lib.rs", &texts).into_iter();
        let shown = imports.map(|((from, to), names)| format!("{from} > {to}: {}", Vec::from_iter(names).join(" ")));
        shown.collect()
    }

    #[test]
    fn names_are_followed_to_the_file_that_defines_them() {
        let files = [
            ("src/lib.rs", "mod a;\nmod b;\npub use b::Deep;\n"),
            (
                "src/a.rs",
                "use crate::{Deep, b::{self, Other as _}};\nfn f() { b::deep::g() }\n",
            ),
            ("src/b/mod.rs", "pub mod deep;\npub use deep::*;\npub struct Other;\n"),
            (
                "src/b/deep.rs",
                "pub struct Deep;\npub fn g() { super::super::a::f() }\n",
            ),
        ];
        let expected = [
            "src/a.rs > src/b/deep.rs: Deep g",
            "src/a.rs > src/b/mod.rs: Other",
            "src/b/deep.rs > src/a.rs: f",
        ];
        assert_eq!(found(&files), expected);
    }

    #[test]
    fn what_is_only_handed_on_is_no_import_and_what_is_used_as_well_is_one() {
        let handed = [
            ("src/lib.rs", "mod a;\npub use a::A;\n"),
            ("src/a.rs", "pub struct A;\n"),
        ];
        assert_eq!(found(&handed), [""; 0]);
        let used = [
            ("src/lib.rs", "mod a;\npub use a::A;\npub fn f(a: A) {}\n"),
            ("src/a.rs", "pub struct A;\n"),
        ];
        assert_eq!(found(&used), ["src/lib.rs > src/a.rs: A"]);
    }

    #[test]
    fn stars_bring_the_names_that_are_used() {
        let files = [
            (
                "src/lib.rs",
                "mod a;\nmod b { use super::a::*;\nfn f(a: A, c: C) {} }\n",
            ),
            ("src/a.rs", "pub struct A;\npub struct B;\n"),
        ];
        assert_eq!(found(&files), ["src/lib.rs > src/a.rs: A"]);
    }

    #[test]
    fn names_of_other_crates_are_nobodys_here() {
        let files = [
            ("src/lib.rs", "mod a;\nuse std::fmt;\nfn f() -> fmt::Result {}\n"),
            ("src/a.rs", "use tokio::Y;\nfn f(y: Y) -> a::Z {}\n"),
        ];
        assert_eq!(found(&files), [""; 0]);
    }

    #[test]
    fn names_that_only_lead_to_each_other_end_somewhere() {
        let files = [
            ("src/lib.rs", "mod a;\nmod b;\n"),
            (
                "src/a.rs",
                "pub use crate::b::*;\npub use crate::b::X;\nfn f(x: X, y: Y) {}\n",
            ),
            (
                "src/b.rs",
                "pub use crate::a::*;\npub use crate::a::X;\nfn f(x: X, y: Y) {}\n",
            ),
        ];
        assert!(found(&files).len() <= 2);
    }
}
