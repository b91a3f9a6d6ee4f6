//! Whether the interfaces carry our datagrams in one piece.

use std::path::Path;

use sealcast_proto::wire::BASE_DATAGRAM;

use super::finding::Finding;
use crate::failure::FailureKind;

const CHECK: &str = "mtu";
/// Bytes of the headers of UDP and IPv6, the longer ones, around a datagram.
const HEADERS: usize = 8 + 40;
/// The MTU that IPv6 guarantees on every path.
const IPV6_MINIMUM: usize = 1280;
/// Maximum number of interfaces that are shown.
const MAX_SHOWN: usize = 8;

/// An interface that is up, loopback left out.
struct Interface {
    name: String,
    mtu: usize,
}

/// Reads the interfaces. `datagrams` is true if the configuration listens on UDP or QUIC, `asked` the length of
/// datagrams in bytes that it asks for.
pub(super) fn check(interfaces: &Path, datagrams: bool, asked: Option<u16>) -> Finding {
    judge(&up(interfaces), datagrams, asked.map_or(BASE_DATAGRAM, usize::from))
}

fn up(folder: &Path) -> Vec<Interface> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<Interface> = entries
        .filter_map(|entry| {
            let read = |name: &str| std::fs::read_to_string(entry.path().join(name)).ok();
            let name = entry.file_name().to_string_lossy().into_owned();
            // Tunnels say "unknown" while they work.
            let up = matches!(read("operstate")?.trim(), "up" | "unknown") && name != "lo";
            let mtu = read("mtu")?.trim().parse().ok()?;
            up.then_some(Interface { name, mtu })
        })
        .collect();
    found.sort_by_key(|interface| interface.mtu);
    found
}

fn judge(interfaces: &[Interface], datagrams: bool, length: usize) -> Finding {
    let beyond = "the path beyond them is not measured here, the session finds it out";
    let Some(narrow) = interfaces.first() else {
        return Finding::unknown(
            CHECK,
            "no network interface is up besides loopback",
            "look with: ip link",
        );
    };
    let shown: Vec<String> = interfaces
        .iter()
        .take(MAX_SHOWN)
        .map(|interface| format!("{} {}", interface.name, interface.mtu))
        .collect();
    let shown = shown.join(", ");
    let needed = length + HEADERS;
    let Interface { name, mtu } = narrow;
    if *mtu < needed {
        let saw = format!("MTU of {shown}: {name} does not carry datagrams of {length} bytes, which need {needed}");
        let advice = match length > BASE_DATAGRAM && *mtu >= BASE_DATAGRAM + HEADERS {
            true => format!("leave out mtu={length} from the URL, or write mtu={}", mtu - HEADERS),
            false => format!("run: sudo ip link set {name} mtu {IPV6_MINIMUM}; or listen on tcp://"),
        };
        return match datagrams {
            true => Finding::wrong(CHECK, FailureKind::Network, saw, advice),
            false => Finding::warning(CHECK, saw, advice),
        };
    }
    if *mtu < IPV6_MINIMUM {
        let saw =
            format!("MTU of {shown}: datagrams of {length} bytes fit, but {name} carries no IPv6, which needs 1280");
        return Finding::warning(CHECK, saw, format!("run: sudo ip link set {name} mtu {IPV6_MINIMUM}"));
    }
    Finding::ok(
        CHECK,
        format!("MTU of {shown}: datagrams of {length} bytes fit; {beyond}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    fn system(interfaces: &[(&str, &str, usize)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a directory");
        for (name, state, mtu) in interfaces {
            let path = folder.path().join(name);
            std::fs::create_dir(&path).expect("made");
            std::fs::write(path.join("operstate"), format!("{state}\n")).expect("written");
            std::fs::write(path.join("mtu"), format!("{mtu}\n")).expect("written");
        }
        folder
    }

    #[test]
    fn an_interface_too_narrow_for_datagrams_is_wrong_where_they_are_configured() {
        let narrow = system(&[("eth0", "up", 1500), ("wg0", "unknown", 1240), ("lo", "unknown", 16)]);
        let found = check(narrow.path(), true, None);
        assert!(
            found.verdict == Verdict::Wrong && found.saw.contains("wg0 1240"),
            "{found:?}"
        );
        assert!(
            found
                .advice
                .is_some_and(|words| words.contains("ip link set wg0 mtu 1280"))
        );
        assert_eq!(check(narrow.path(), false, None).verdict, Verdict::Warning);
        let off = system(&[("eth0", "up", 1500), ("wg0", "down", 576)]);
        assert_eq!(check(off.path(), true, None).verdict, Verdict::Ok);
    }

    #[test]
    fn datagrams_that_were_asked_for_and_ipv6_are_judged_too() {
        let usual = system(&[("eth0", "up", 1500)]);
        let found = check(usual.path(), true, Some(8000));
        assert!(found.verdict == Verdict::Wrong, "{found:?}");
        assert!(found.advice.is_some_and(|words| words.contains("mtu=1452")));
        assert_eq!(check(usual.path(), true, Some(1452)).verdict, Verdict::Ok);
        let little = system(&[("ppp0", "unknown", 1260)]);
        assert_eq!(check(little.path(), true, None).verdict, Verdict::Warning);
        assert_eq!(check(system(&[]).path(), true, None).verdict, Verdict::Unknown);
    }
}
