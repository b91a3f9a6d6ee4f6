//! An ELF file: its functions and constants, and where its pointers lead.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use object::{
    Architecture, Object, ObjectSection, ObjectSegment, ObjectSymbol, ObjectSymbolTable, RelocationTarget, SectionKind,
    SymbolKind,
};

use super::instructions;

/// The running program's file.
const PROGRAM: &str = "/proc/self/exe";
/// The length of an entry of the procedure linkage table, which no symbol names.
const LINKAGE_BYTES: u64 = 16;
/// The beginning of the names of its sections.
const LINKAGE: &str = ".plt";
/// Number of symbols before an address that are asked whether they contain it: assembly has functions within functions.
const NESTED: usize = 8;

/// A program or a shared object.
pub(crate) struct Image {
    architecture: Architecture,
    /// Instructions, by address.
    sections: Vec<Section>,
    /// Functions and constants, by address.
    symbols: BTreeMap<u64, Symbol>,
    /// Pointers that the loader writes into data: the place, and the address that it writes.
    pointers: BTreeMap<u64, u64>,
    /// Offset that the loader added to the addresses of the running program.
    loaded_at: u64,
}

struct Section {
    start: u64,
    code: Vec<u8>,
    is_linkage: bool,
}

struct Symbol {
    end: u64,
    name: String,
}

/// A function or a constant.
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) end: u64,
    /// The symbol; `None` for code without one.
    pub(super) name: Option<String>,
    /// False if it only leads elsewhere.
    pub(super) counts: bool,
}

impl Image {
    /// The running program. `None` if it is not an ELF file, or not where it was started.
    pub(crate) fn of_this_program() -> Option<Self> {
        let bytes = fs::read(PROGRAM).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let first = file.segments().find(|segment| segment.file_range().0 == 0)?.address();
        Some(Self {
            loaded_at: start_of_this_program()?.wrapping_sub(first),
            ..Self::read(&file)?
        })
    }

    /// A shared object. `None` if it is not an ELF file.
    pub(crate) fn of_library(path: &Path) -> Option<Self> {
        Self::read(&object::File::parse(&*fs::read(path).ok()?).ok()?)
    }

    fn read(file: &object::File<'_>) -> Option<Self> {
        let mut sections = Vec::new();
        for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
            sections.push(Section {
                start: section.address(),
                code: section.data().ok()?.to_vec(),
                is_linkage: section.name().is_ok_and(|name| name.starts_with(LINKAGE)),
            });
        }
        let mut symbols: BTreeMap<u64, Symbol> = BTreeMap::new();
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            let is_code = matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Data);
            let is_anonymous = symbol.kind() == SymbolKind::Data && symbol.name().is_ok_and(is_anonymous);
            if !is_code || is_anonymous || symbol.size() == 0 || !is_in_file(file, &symbol) {
                continue;
            }
            let (start, end) = (symbol.address(), symbol.address() + symbol.size());
            if symbols.get(&start).is_none_or(|other| other.end < end) {
                let name = symbol.name().ok()?.to_owned();
                symbols.insert(start, Symbol { end, name });
            }
        }
        Some(Self {
            architecture: file.architecture(),
            sections,
            symbols,
            pointers: pointers(file),
            loaded_at: 0,
        })
    }

    /// The address in the file of an address in the running program.
    pub(crate) fn in_file(&self, address: usize) -> u64 {
        (address as u64).wrapping_sub(self.loaded_at)
    }

    /// The address of a function by its symbol.
    pub(crate) fn function(&self, name: &str) -> Option<u64> {
        let (&start, _) = self.symbols.iter().find(|(_, symbol)| symbol.name == name)?;
        Some(start)
    }

    /// The piece at an address. Code without a name, as in a stripped library, extends to the next that has one.
    pub(super) fn piece(&self, address: u64) -> Option<Piece> {
        let before = self.symbols.range(..=address).rev().take(NESTED);
        let around = before.into_iter().find(|(_, symbol)| address < symbol.end);
        if let Some((&start, symbol)) = around {
            return Some(Piece {
                start,
                end: symbol.end,
                name: Some(symbol.name.clone()),
                counts: true,
            });
        }
        let section = self.section(address)?;
        let section_end = section.start + section.code.len() as u64;
        let next = self
            .symbols
            .range(address..)
            .next()
            .map_or(section_end, |(&start, _)| start);
        let end = match section.is_linkage {
            true => address + LINKAGE_BYTES,
            false => next,
        };
        Some(Piece {
            start: address,
            end: end.min(section_end),
            name: None,
            counts: !section.is_linkage,
        })
    }

    fn section(&self, address: u64) -> Option<&Section> {
        let is_in = |section: &&Section| {
            let offset = address.checked_sub(section.start);
            offset.is_some_and(|offset| offset < section.code.len() as u64)
        };
        self.sections.iter().find(is_in)
    }

    /// The addresses that a function names, or that a constant points to.
    pub(super) fn leads_to(&self, piece: &Piece) -> Vec<u64> {
        let Some(section) = self.section(piece.start) else {
            return self.pointers.range(piece.start..piece.end).map(|(_, &to)| to).collect();
        };
        let [from, to] = [piece.start, piece.end].map(|address| (address - section.start) as usize);
        let code = &section.code[from..to.min(section.code.len())];
        let named = instructions::named(self.architecture, code, piece.start).unwrap_or_default();
        // An instruction may also read a pointer, from a table that has no name.
        let read = named.iter().filter_map(|place| self.pointers.get(place));
        let read: Vec<u64> = read.copied().collect();
        [named, read].concat()
    }
}

/// True for a constant that the compiler named: some builds have such names, others none. Most are texts of panics, and
/// tables of methods for them, through which everything that can be printed would be reached.
fn is_anonymous(name: &str) -> bool {
    ["alloc_", "anon.", "vtable."]
        .iter()
        .any(|begin| name.starts_with(begin))
}

/// False for a symbol of another library, and for data that begins as zeros and takes no room in the file.
fn is_in_file<'data>(file: &object::File<'data>, symbol: &impl ObjectSymbol<'data>) -> bool {
    let section = symbol
        .section_index()
        .and_then(|index| file.section_by_index(index).ok());
    section.is_some_and(|section| section.kind() != SectionKind::UninitializedData)
}

fn pointers(file: &object::File<'_>) -> BTreeMap<u64, u64> {
    let symbols = file.dynamic_symbol_table();
    let all = file.dynamic_relocations().into_iter().flatten();
    let known = all.filter_map(|(place, relocation)| {
        let base = match relocation.target() {
            RelocationTarget::Absolute => 0,
            RelocationTarget::Symbol(index) => {
                let symbol = symbols.as_ref()?.symbol_by_index(index).ok()?;
                (!symbol.is_undefined()).then(|| symbol.address())?
            }
            _ => return None,
        };
        Some((place, base.wrapping_add_signed(relocation.addend())))
    });
    known.collect()
}

/// The address at which the beginning of this program's file is mapped.
fn start_of_this_program() -> Option<u64> {
    let path = fs::read_link(PROGRAM).ok()?;
    let path = path.to_str()?;
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let first = maps.lines().find(|line| {
        let is_beginning = line
            .split_whitespace()
            .nth(2)
            .is_some_and(|offset| offset.bytes().all(|byte| byte == b'0'));
        is_beginning && line.ends_with(path)
    })?;
    u64::from_str_radix(first.split('-').next()?, 16).ok()
}
