//! Pictures to frames and back.
