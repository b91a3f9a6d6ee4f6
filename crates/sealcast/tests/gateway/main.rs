//! The pair of gateways between cameras and players.

mod beside;
mod cameras;
mod ends;
mod joiners;
mod logins;
mod one_account;
mod order;
mod packets;
mod players;
mod proof;
mod served_streams;
