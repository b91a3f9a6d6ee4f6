//! Files that are looked at, and findings in them.

/// A text file; its path is relative to the root and uses `/`.
pub(crate) struct File {
    pub(super) path: String,
    pub(super) text: String,
}

impl File {
    pub(super) fn extension(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    pub(super) fn is_code(&self) -> bool {
        matches!(self.extension(), "rs" | "ts" | "py")
    }
}

/// A violation: its place and a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) message: String,
}

impl Finding {
    pub(super) fn new(file: &File, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: file.path.clone(),
            line,
            message: message.into(),
        }
    }
}
