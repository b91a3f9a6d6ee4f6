//! Groups of up to ten thousand viewers on a virtual clock, with the protocol's own leader and members.

mod camera;
mod figures;
mod scenario;
mod viewer;
mod world;

pub use figures::CHECK_FAILED;

pub(super) use figures::measure;
pub(super) use scenario::Scenario;
pub(super) use world::Carriage;
