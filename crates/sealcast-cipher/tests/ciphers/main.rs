//! Every kernel against the definition of its cipher and against published values.

mod kernels;
mod published;
