//! The commands of the laboratory: their output and their files.

mod attack;
mod browser;
mod builds;
mod ciphers;
mod count;
mod delay;
mod documents;
mod external;
mod gateway;
mod glass;
mod groups;
mod handshake;
mod latency;
mod link;
mod live;
mod load;
mod output;
mod papers;
mod pipeline;
mod price;
mod report;
mod selective;
mod throughput;
mod traffic;
mod vectors;
mod viewers;
