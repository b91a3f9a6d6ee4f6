//! What address a ticket names, on machines that are in other networks than this one.

use std::process::Command;

use sealcast_testkit::program::{home, sealcast};
use sealcast_testkit::skips::skipped;

/// Makes an interface and gives it an address.
const ETHERNET: &str = "ip link add cam0 type veth peer name far0; ip link set cam0 up; ip addr add";

/// Ticket and log of a publisher at all addresses, on a machine of this network. `None` where the system makes no
/// network for tests.
fn ticket_in(network: &str, listen: &str) -> Option<(String, String)> {
    let home = home();
    let program = sealcast(home.path());
    let mut command = Command::new("unshare");
    let script = format!("ip link set lo up; {network}; exec \"$0\" \"$@\"");
    command.args(["-rn", "sh", "-ec", &script]).arg(program.get_program());
    let more = ["--seconds", "1", "--ticket-file", "-"];
    command.args(["publish", "test:", "--listen", listen]).args(more);
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.current_dir(home.path()).output().expect("unshare is here");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let ticket = String::from_utf8_lossy(&output.stdout).into_owned();
    if ticket.is_empty() && !said.contains("sealcast") && !said.contains("INFO") {
        skipped(format_args!("no network namespace with an interface: {said}"));
        return None;
    }
    Some((ticket, said))
}

#[test]
fn a_ticket_names_an_address_of_the_network_that_there_is() {
    for (network, listen, host) in [
        (
            "10.9.0.1/24 dev cam0",
            "tcp://0.0.0.0:9553",
            "sealcast://10.9.0.1:9553/",
        ),
        ("10.9.0.1/24 dev cam0", "udp://[::]:9553", "sealcast://10.9.0.1:9553/"),
        (
            "fd00::7/64 dev cam0 nodad",
            "quic://[::]:9553",
            "sealcast://[fd00::7]:9553/",
        ),
    ] {
        let Some((ticket, said)) = ticket_in(&format!("{ETHERNET} {network}"), listen) else {
            return;
        };
        assert!(ticket.starts_with(host), "{listen}: {ticket}{said}");
        assert!(!said.contains("--host"), "{said}");
    }
}

#[test]
fn a_machine_that_no_other_can_reach_says_so_and_what_to_give() {
    let Some((ticket, said)) = ticket_in("true", "tcp://0.0.0.0:9553") else {
        return;
    };
    assert!(ticket.starts_with("sealcast://localhost:9553/"), "{ticket}{said}");
    assert_eq!(said.matches("no address that another could reach").count(), 1, "{said}");
    assert!(said.contains("--host"), "{said}");
}
