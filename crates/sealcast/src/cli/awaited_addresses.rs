//! Waiting for the addresses to listen at, as `--retry` waits for a camera.

use std::io::ErrorKind;
use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

use super::doctor::places;
use crate::config::Settings;

/// Interval at which it is looked whether an address is here.
const LOOK: Duration = Duration::from_secs(1);

/// With `--retry`, wait until this machine has every address at which the settings have it listen: that of a cable or
/// of a tunnel may come after the program.
pub(super) async fn wait_for_addresses(settings: &Settings) {
    if !settings.config.publish.retry {
        return;
    }
    for place in places(settings) {
        let (option, address) = (place.option, place.address);
        if is_here(address.ip()) {
            continue;
        }
        tracing::warn!(option, %address, "this machine does not have the address: waiting until it has");
        while !is_here(address.ip()) {
            tokio::time::sleep(LOOK).await;
        }
        tracing::info!(%address, "the address is here");
    }
}

/// False if this machine does not have the address. Whatever else is wrong with it is told when it is listened at.
fn is_here(ip: IpAddr) -> bool {
    let bound = UdpSocket::bind((ip, 0));
    bound
        .err()
        .is_none_or(|error| error.kind() != ErrorKind::AddrNotAvailable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_another_machine_is_not_here() {
        for (ip, here) in [("127.0.0.1", true), ("0.0.0.0", true), ("192.0.2.77", false)] {
            assert_eq!(is_here(ip.parse().expect("an address")), here, "{ip}");
        }
    }
}
