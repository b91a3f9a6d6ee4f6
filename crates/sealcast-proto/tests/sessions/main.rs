//! Sessions, their streams and the gateway pair, on a virtual clock.

mod data;
mod datagram_ends;
mod datagrams;
mod datagrams_altered;
mod datagrams_copies;
mod datagrams_loss;
mod datagrams_outages;
mod gateway_messages;
mod group_datagrams;
mod group_multicast;
mod group_proofs;
mod group_selection;
mod group_shape;
mod group_show;
mod groups;
mod rekeying;
mod repair_policy;
mod rtsp_gateways;
mod selection;
mod session;
mod shape;
mod sound;
