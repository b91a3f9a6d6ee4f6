//! The sealcast laboratory: verified, paired measurements of what protection costs. Nothing is here yet; the benchmarks
//! of the record layer and of the handshake stand beside the code that they measure.
#![forbid(unsafe_code)]
