//! The code of a cipher: what can be reached from the functions in which it begins.
//!
//! Names cannot tell it. Compilers inline kernels into loops that several ciphers share, and libraries are C and
//! assembly. So the instructions of the program's file are read: calls, jumps and addresses in them lead on, and so do
//! pointers in named constants.

mod image;
mod instructions;
mod runtime;

pub(crate) use image::Image;

use std::collections::BTreeMap;

use image::Piece;

/// The functions and named constants that were reached.
pub(crate) struct Reached {
    /// By their first address.
    pieces: BTreeMap<u64, Piece>,
}

impl Image {
    /// Everything that can be reached from these functions, less what belongs to the languages' run-time libraries:
    /// panics, formatting, memory, lists of errors. `None` if one of them has no name, as in a stripped program.
    pub(crate) fn reached(&self, entries: Vec<u64>) -> Option<Reached> {
        let is_named = |&entry: &u64| self.piece(entry).is_some_and(|piece| piece.name.is_some());
        if entries.is_empty() || !entries.iter().all(is_named) {
            return None;
        }
        let mut open = entries;
        let mut pieces = BTreeMap::new();
        while let Some(address) = open.pop() {
            let Some(piece) = self.piece(address) else {
                continue;
            };
            let is_runtime = piece.name.as_deref().is_some_and(runtime::is_runtime);
            if pieces.contains_key(&piece.start) || is_runtime {
                continue;
            }
            open.extend(self.leads_to(&piece));
            pieces.insert(piece.start, piece);
        }
        Some(Reached { pieces })
    }
}

impl Reached {
    /// Their bytes. Two names for the same bytes count once.
    pub(crate) fn bytes(&self) -> u64 {
        let mut end = 0;
        let mut bytes = 0;
        for piece in self.pieces.values().filter(|piece| piece.counts) {
            bytes += piece.end.saturating_sub(piece.start.max(end));
            end = end.max(piece.end);
        }
        bytes
    }
}

#[cfg(test)]
mod tests;
