//! The commands of the laboratory: what they leave and say.

mod ciphers;
mod delay;
mod documents;
mod external;
mod gateway;
mod link;
mod load;
mod throughput;
mod vectors;
