//! Addresses in the tickets of machines that are in other networks than this one, and how viewers there find the
//! publisher.

use std::path::Path;
use std::process::Command;

use sealcast_testkit::program::{PATIENCE, Program, Publisher, home, number, publish_by, report, sealcast, until};
use sealcast_testkit::skips::skipped;

/// Two machines with a cable between them. It ends with them.
struct Cable {
    /// Holds the namespaces.
    holder: Program,
    /// Processes in that of the publisher and in that of the viewer.
    near: String,
    far: String,
}

const NEAR: &str = "cam0";
const FAR: &str = "far0";

/// Makes both namespaces, says a process of each, and waits.
const LAY: &str = "ip link set lo up; ip link add cam0 type veth peer name far0; ip link set cam0 up
    unshare -n sleep 1000 & far=$!
    trap 'kill $far' EXIT
    while [ \"$(readlink /proc/$far/ns/net)\" = \"$(readlink /proc/$$/ns/net)\" ]; do sleep 0.01; done
    ip link set far0 netns $far; nsenter -t $far -n ip link set lo up; nsenter -t $far -n ip link set far0 up
    echo $$ $far; wait $far";

impl Cable {
    /// `None` where the system makes no networks for tests.
    fn lay() -> Option<Self> {
        let script = "(exit 0); ip link add cam0 type veth peer name far0; unshare -n true";
        let tried = Command::new("unshare").args(["-rn", "sh", "-ec", script]).output();
        let tried = tried.expect("unshare is here");
        if !tried.status.success() {
            let why = String::from_utf8_lossy(&tried.stderr).into_owned();
            skipped(format_args!("no network namespaces with interfaces: {why}"));
            return None;
        }
        let mut command = Command::new("unshare");
        command.args(["-rn", "--kill-child", "sh", "-ec", LAY]);
        let holder = Program::run("the cable", command);
        let line = holder.line();
        let (near, far) = line.split_once(' ').expect("two processes");
        let (near, far) = (near.to_owned(), far.to_owned());
        Some(Self { holder, near, far })
    }

    /// A command on one of the machines.
    fn on(&self, device: &str) -> Command {
        let process = if device == NEAR { &self.near } else { &self.far };
        let mut command = Command::new("nsenter");
        command.args(["-t", process, "-U", "-n", "--preserve-credentials", "--"]);
        command
    }

    /// Runs `ip` there.
    fn ip(&self, device: &str, arguments: &str) {
        let output = self.on(device).arg("ip").args(arguments.split(' ')).output();
        let output = output.expect("nsenter is here");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "ip {arguments}: {said}{}", self.holder.said());
    }

    /// Gives a machine an address, which it has at once.
    fn address(&self, device: &str, address: &str) {
        let nodad = if address.contains(':') { " nodad" } else { "" };
        self.ip(device, &format!("addr add {address} dev {device}{nodad}"));
    }

    /// The program there.
    fn sealcast(&self, device: &str, home: &Path) -> Command {
        let (program, mut command) = (sealcast(home), self.on(device));
        command.arg(program.get_program()).current_dir(home);
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    fn publish(&self, home: &Path, arguments: &str) -> Publisher {
        let mut command = self.sealcast(NEAR, home);
        command.args(["publish", "test:"]).args(arguments.split(' '));
        publish_by(command)
    }

    /// Watches until `seconds` are over.
    fn watch(&self, home: &Path, ticket: &str, seconds: &str) -> Program {
        let mut command = self.sealcast(FAR, home);
        command.args(["watch", ticket, "--to", "null:", "--seconds", seconds]);
        command.args(["--report", "report.json", "-v"]);
        Program::run("the viewer", command)
    }
}

/// The frames that a viewer in this home received.
fn frames(home: &Path) -> f64 {
    number(&report(&home.join("report.json")), "/totals/frames_in")
}

/// A ticket's part from its query to its invite.
fn query(ticket: &str) -> &str {
    let query = ticket.split_once('?').map_or("", |(_, query)| query);
    query.split_once('#').map_or(query, |(query, _)| query)
}

#[test]
fn a_ticket_names_the_addresses_of_the_networks_that_there_are() {
    for (addresses, listen, host, others) in [
        (&["10.9.0.1/24"][..], "tcp://0.0.0.0:9553", "10.9.0.1", ""),
        (&["10.9.0.1/24"], "udp://[::]:9553", "10.9.0.1", "transport=udp"),
        (&["fd00::7/64"], "quic://[::]:9553", "[fd00::7]", "transport=quic"),
        (
            &["10.9.0.1/24", "fd00::7/64"],
            "tcp://[::]:9553",
            "10.9.0.1",
            "transport=tcp&addr=[fd00::7]",
        ),
        (
            &["10.9.0.1/24", "2001:db8::7/64"],
            "tcp://[::]:9553",
            "[2001:db8::7]",
            "transport=tcp&addr=10.9.0.1",
        ),
        (&["10.9.0.1/24", "fd00::7/64"], "tcp://0.0.0.0:9553", "10.9.0.1", ""),
        (
            &["10.9.0.1/24"],
            "udp://[::]:9553 --advertise camera.example --advertise 192.0.2.7:80",
            "camera.example",
            "transport=udp&addr=192.0.2.7:80",
        ),
    ] {
        let Some(cable) = Cable::lay() else { return };
        addresses.iter().for_each(|address| cable.address(NEAR, address));
        let home = home();
        let publisher = cable.publish(home.path(), &format!("--listen {listen}"));
        let ticket = &publisher.ticket;
        assert!(
            ticket.starts_with(&format!("sealcast://{host}:9553/")),
            "{listen}: {ticket}"
        );
        assert_eq!(query(ticket), others, "{listen}");
        assert!(
            !publisher.program.said().contains("--advertise"),
            "{}",
            publisher.program.said()
        );
    }
}

#[test]
fn a_machine_that_no_other_can_reach_says_so_and_what_to_give() {
    let Some(cable) = Cable::lay() else { return };
    let home = home();
    let publisher = cable.publish(home.path(), "--listen tcp://0.0.0.0:9553");
    let (ticket, said) = (&publisher.ticket, publisher.program.said());
    assert!(ticket.starts_with("sealcast://localhost:9553/"), "{ticket}{said}");
    assert_eq!(said.matches("no address that another could reach").count(), 1, "{said}");
    assert!(said.contains("--advertise"), "{said}");
}

#[test]
fn a_publisher_that_waits_for_its_camera_waits_for_its_address_too() {
    let Some(cable) = Cable::lay() else { return };
    let home = home();
    let begun = |more: &[&str]| {
        let mut command = cable.sealcast(NEAR, home.path());
        command
            .args(["publish", "test:", "--listen", "tcp://10.9.0.7:21010"])
            .args(more);
        Program::run("the publisher", command)
    };
    assert_eq!(begun(&[]).ends(PATIENCE), 5, "it is asked to wait by --retry alone");
    let waiting = begun(&["--retry", "--ticket-file", "-"]);
    waiting.says("this machine does not have the address", PATIENCE);
    cable.address(NEAR, "10.9.0.7/24");
    assert!(
        waiting.line().starts_with("sealcast://10.9.0.7:21010/"),
        "{}",
        waiting.said()
    );
}

#[test]
fn a_viewer_finds_a_publisher_without_a_default_route_by_whichever_address_it_reaches() {
    let Some(cable) = Cable::lay() else { return };
    for address in ["10.9.0.1/24", "fd00::1/64"] {
        cable.address(NEAR, address);
    }
    // Only one family leads from one to the other, and it is not that of the first address.
    cable.address(FAR, "fd00::2/64");
    for (listen, transport) in [
        ("tcp://[::]:21001", "tcp"),
        ("udp://[::]:21002", "udp"),
        ("quic://[::]:21003", "quic"),
        ("tcp://127.0.0.1:21004 --web https://[::]:21005", "https"),
    ] {
        let [camera, viewer] = [home(), home()];
        let publisher = cable.publish(camera.path(), &format!("--listen {listen} --invite-uses 1"));
        let ticket = match transport {
            "https" => ticket_of(&publisher.program.line()),
            _ => publisher.ticket.clone(),
        };
        assert!(
            ticket.starts_with("sealcast://10.9.0.1:") && ticket.contains("&addr=[fd00::1]"),
            "{ticket}"
        );
        let mut watching = cable.watch(viewer.path(), &ticket, "2");
        watching.succeeds(PATIENCE);
        assert!(frames(viewer.path()) > 0.0, "{transport}: {}", watching.said());
        // Nobody proved the invite a second time.
        assert!(
            !publisher.program.said().contains("refused a viewer"),
            "{}",
            publisher.program.said()
        );
    }
}

/// The ticket in the link to a page.
fn ticket_of(link: &str) -> String {
    let (_, ticket) = link.split_once('#').expect("a link has a ticket");
    ticket.replace("%23", "#")
}

#[test]
fn another_machine_at_the_first_address_delays_a_viewer_and_does_not_stop_it() {
    let Some(cable) = Cable::lay() else { return };
    for address in ["10.9.0.1/24", "10.9.0.3/24"] {
        cable.address(NEAR, address);
    }
    cable.address(FAR, "10.9.0.2/24");
    let [camera, other, viewer] = [home(), home(), home()];
    let publisher = cable.publish(camera.path(), "--listen tcp://10.9.0.3:21006 --invite-uses 1");
    // It listens at the same port, and has another identity.
    let _other = cable.publish(other.path(), "--listen tcp://10.9.0.1:21006");
    let ticket = publisher.ticket.replace("10.9.0.3:21006", "10.9.0.1:21006");
    let (path, invite) = ticket.split_once('#').expect("an invite");
    let ticket = format!("{path}?transport=tcp&addr=10.9.0.3#{invite}");
    let watching = cable.watch(viewer.path(), &ticket, "60");
    until("frames come", || watching.said().contains("10.9.0.3:21006"));
    publisher.program.says("a viewer watches", PATIENCE);
}

#[test]
fn a_viewer_that_was_killed_finds_its_publisher_where_that_told_it_before() {
    let Some(cable) = Cable::lay() else { return };
    cable.address(FAR, "10.9.0.2/24");
    cable.address(NEAR, "10.9.0.1/24");
    let [camera, viewer] = [home(), home()];
    let publisher = cable.publish(camera.path(), "--listen tcp://0.0.0.0:21008 --invite-uses 1");
    let ticket = &publisher.ticket;
    let first = cable.watch(viewer.path(), ticket, "600");
    publisher.program.says("a viewer watches", PATIENCE);
    cable.address(NEAR, "10.9.0.3/24");
    first.says("10.9.0.1:21008, 10.9.0.3:21008", PATIENCE);
    first.signal("KILL");
    drop(first);
    cable.ip(NEAR, "addr del 10.9.0.1/24 dev cam0");
    // Linux removes further addresses of a network with its first one.
    cable.ip(NEAR, "addr replace 10.9.0.3/24 dev cam0");
    let second = cable.watch(viewer.path(), ticket, "600");
    second.says("at=\"10.9.0.3:21008\"", PATIENCE);
}

#[test]
fn a_publisher_whose_address_changed_is_found_where_it_told_that_it_is() {
    for carrier in ["tcp", "udp", "quic"] {
        let Some(cable) = Cable::lay() else { return };
        cable.address(FAR, "10.9.0.2/24");
        cable.address(NEAR, "10.9.0.1/24");
        let [camera, viewer] = [home(), home()];
        let publisher = cable.publish(
            camera.path(),
            &format!("--listen {carrier}://0.0.0.0:21007 --invite-uses 1"),
        );
        assert!(!query(&publisher.ticket).contains("addr="), "{}", publisher.ticket);
        let watching = cable.watch(viewer.path(), &publisher.ticket, "600");
        publisher.program.says("a viewer watches", PATIENCE);
        cable.address(NEAR, "10.9.0.3/24");
        let told = "it tells where it can be reached: 10.9.0.1:21007, 10.9.0.3:21007";
        watching.says(told, PATIENCE);
        cable.ip(NEAR, "addr del 10.9.0.1/24 dev cam0");
        // Linux removes further addresses of a network with its first one.
        cable.ip(NEAR, "addr replace 10.9.0.3/24 dev cam0");
        publisher.program.says_times("a viewer watches", 2, PATIENCE);
        watching.says("at=\"10.9.0.3:21007\"", PATIENCE);
    }
}
