//! A publisher that tells too many addresses, and the wrong ones.

use sealcast_proto::keys::{Role, WishedMedia};
use sealcast_proto::wire::{Addresses, Control};
use sealcast_testkit::attack::{Home, Puppet};

/// Limit for the growth of a viewer's memory, in KiB.
const MOST_GROWTH: u64 = 4 * 1024;

#[test]
fn ten_thousand_lists_of_addresses_cost_a_viewer_nothing_and_a_malformed_one_ends_the_session() {
    let viewer = Home::new();
    let mut watching = viewer.start("watch --listen tcp://127.0.0.1:0 --ticket-file - --to null:");
    let mut puppet = Puppet::connect(&watching.ticket(), Role::Publisher, WishedMedia::Frames, true);
    watching.says("INFO watching");
    let before = watching.rss();
    for round in 0..10_000 {
        let texts = [
            format!("127.0.0.1:{}", 1 + round),
            format!("[fe80::{:x}]:9", 1 + round),
            format!("224.0.{}.1:9", round % 256),
            format!("{}.example:9", "a".repeat(1 + round % 63)),
        ];
        let told = match round % 3 {
            0 => Addresses::new([&b"\x00\xff"[..], b"nonsense", &[b':'; 255]]),
            _ => Addresses::new(texts.iter().map(String::as_bytes)),
        };
        assert!(puppet.say(&Control::Addresses(told).to_bytes()), "{}", watching.said());
    }
    let after = watching.rss();
    assert!(
        after.saturating_sub(before) < MOST_GROWTH,
        "from {before} to {after} KiB"
    );
    assert!(watching.running(), "{}", watching.said());
    puppet.say(&[37, 5]);
    watching.says("broke the protocol");
}
