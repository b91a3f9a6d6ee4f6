//! The machine that the program runs on, and the processor features that the cryptography uses.

pub(crate) mod addresses;
pub mod compare;
pub mod kernel_clock;
pub mod kernels;
pub mod machine;
pub mod print_config;
pub mod probe;
pub mod service_manager;
pub mod versions;
pub mod wall_time;
