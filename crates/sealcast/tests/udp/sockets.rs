//! Datagrams on real sockets: runs arrive whole, and datagrams that are too long are reported.

use std::net::SocketAddr;
use std::time::Duration;

use sealcast::transport::udp::{DatagramSocket, Fragments, Path, Runs, Sent};
use sealcast_testkit::skips::has_ipv6;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(60);

fn socket(address: &str) -> DatagramSocket {
    DatagramSocket::bind(address.parse().expect("an address"), Fragments::Forbidden).expect("the loopback interface")
}

/// Numbered datagrams of `size` bytes each, the last perhaps shorter.
fn numbered(bytes: usize, size: usize) -> Vec<u8> {
    let mut run = vec![0xA5; bytes];
    for (number, datagram) in (0_u32..).zip(run.chunks_mut(size)) {
        let number = number.to_be_bytes();
        let length = datagram.len().min(4);
        datagram[..length].copy_from_slice(&number[..length]);
    }
    run
}

/// Sends all datagrams, and waits while the socket is full.
async fn send_all(socket: &DatagramSocket, to: SocketAddr, bytes: &[u8], size: usize) -> Sent {
    let mut all = Sent::default();
    while all.bytes < bytes.len() {
        let sent = socket.try_send_run(Path::to(to), &bytes[all.bytes..], size);
        all.bytes += sent.bytes;
        all.too_long += sent.too_long;
        all.unreachable += sent.unreachable;
        if all.bytes < bytes.len() {
            socket.writable().await;
        }
    }
    all
}

async fn receive(socket: &DatagramSocket, count: usize) -> Vec<(Path, Vec<u8>)> {
    let mut runs = Runs::for_socket();
    let mut received = Vec::new();
    while received.len() < count {
        timeout(PATIENCE, socket.readable()).await.expect("datagrams arrive");
        runs.receive(socket).expect("the socket works");
        while let Some((path, datagram)) = runs.next() {
            received.push((path, datagram.to_vec()));
        }
    }
    received
}

#[tokio::test]
async fn runs_arrive_whole_and_in_order() {
    let (from, to) = (socket("127.0.0.1:0"), socket("127.0.0.1:0"));
    for (bytes, size) in [
        (1200, 1200),
        (100_000, 1200),
        (100_001, 1200),
        (62_000, 311),
        (9, 1),
        (30_000, 8972),
    ] {
        let run = numbered(bytes, size);
        let sent = send_all(&from, to.local_address(), &run, size).await;
        assert_eq!((sent.bytes, sent.too_long, sent.unreachable), (bytes, 0, 0));
        let received = receive(&to, bytes.div_ceil(size)).await;
        for ((path, datagram), expected) in received.iter().zip(run.chunks(size)) {
            assert_eq!(path.remote, from.local_address());
            assert!(datagram == expected, "{bytes} bytes in datagrams of {size}");
        }
        assert_eq!(received.len(), bytes.div_ceil(size));
    }
}

#[tokio::test]
async fn a_socket_of_both_families_talks_to_both_and_says_where_it_was_written_to() {
    if !has_ipv6() {
        return;
    }
    let both = socket("[::]:0");
    let port = both.local_address().port();
    for (client, server) in [("127.0.0.1:0", "127.0.0.9"), ("[::1]:0", "::1")] {
        let client = socket(client);
        let to = SocketAddr::new(server.parse().expect("an address"), port);
        assert_eq!(client.try_send_run(Path::to(to), b"question", 8).bytes, 8);
        let (path, question) = receive(&both, 1).await.remove(0);
        assert_eq!(
            (path.shown(), &question[..]),
            (client.local_address(), &b"question"[..])
        );
        assert_eq!(both.fit(client.local_address()), path.remote);
        assert_eq!(both.try_send_run(path, b"answer", 6).bytes, 6);
        let (path, answer) = receive(&client, 1).await.remove(0);
        assert_eq!(
            (path.remote, &answer[..]),
            (to, &b"answer"[..]),
            "the answer comes from where we wrote to"
        );
    }
}

#[tokio::test]
async fn fragments_are_forbidden_in_both_families() {
    let addresses = ["127.0.0.1:0", "[::1]:0", "[::]:0"];
    for address in &addresses[..if has_ipv6() { 3 } else { 1 }] {
        assert!(socket(address).forbids_fragments(), "{address}");
    }
}

#[tokio::test]
async fn a_datagram_too_long_for_the_path_is_reported_and_the_socket_goes_on() {
    let addresses = ["127.0.0.1:0", "[::1]:0"];
    for address in &addresses[..if has_ipv6() { 2 } else { 1 }] {
        let (from, to) = (socket(address), socket(address));
        let sent = from.try_send_run(Path::to(to.local_address()), &[0; 65_530], 65_530);
        assert_eq!((sent.bytes, sent.too_long), (65_530, 1));
        assert_eq!(send_all(&from, to.local_address(), &[1; 3000], 1200).await.too_long, 0);
        assert_eq!(receive(&to, 3).await.len(), 3);
    }
}

#[tokio::test]
async fn nobody_listening_and_no_way_there_do_not_end_a_socket() {
    let from = socket("127.0.0.1:0");
    let gone = socket("127.0.0.1:0").local_address();
    for _ in 0..10 {
        assert_eq!(from.try_send_run(Path::to(gone), &[0; 100], 100).bytes, 100);
    }
    // A socket bound to a loopback address has no route to other networks.
    let elsewhere = "192.0.2.1:9".parse().expect("an address");
    let sent = from.try_send_run(Path::to(elsewhere), &[0; 300], 100);
    assert_eq!((sent.bytes, sent.unreachable), (300, 3));
    let to = socket("127.0.0.1:0");
    assert!(!Runs::for_socket().receive(&from).expect("the socket works"));
    assert_eq!(
        send_all(&from, to.local_address(), &[1; 3000], 1200).await.unreachable,
        0
    );
    assert_eq!(receive(&to, 3).await.len(), 3);
}
