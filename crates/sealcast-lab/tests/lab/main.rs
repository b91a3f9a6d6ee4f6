//! The commands of the laboratory: their output and their files.

mod ciphers;
mod delay;
mod documents;
mod external;
mod gateway;
mod handshake;
mod link;
mod live;
mod load;
mod papers;
mod pipeline;
mod report;
mod throughput;
mod vectors;
