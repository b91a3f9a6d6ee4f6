//! Every kernel against its definition and against what was published.

mod kernels;
mod published;
