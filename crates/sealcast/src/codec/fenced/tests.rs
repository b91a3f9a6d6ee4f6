//! Answers of a process that another party may have taken over.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::answer::{Answer, HEADER, MAX_WORDS, printable};
use super::channel::{Channel, Fault, Reply};
use super::fence::Raised;

/// Long enough for every answer that is there already.
const PATIENCE: Duration = Duration::from_secs(60);
/// For answers that never come.
const MOMENT: Duration = Duration::from_millis(20);

/// A channel, and the other end's socket, whose answer to a frame is `said`.
fn told(said: &[u8]) -> (Channel, UnixStream) {
    let (channel, ends) = Channel::new().expect("a channel");
    let mut other = UnixStream::from(ends.requests);
    other.write_all(said).expect("room for an answer");
    (channel, other)
}

fn header(numbers: [u32; 3]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[test]
fn every_answer_is_read_as_it_was_said() {
    let raised = |landlock, seccomp| Raised { landlock, seccomp };
    for answer in [
        Answer::Ready(raised(true, false)),
        Answer::Ready(raised(false, true)),
        Answer::Picture(1280, 720),
        Answer::Nothing,
        Answer::Failed(MAX_WORDS),
    ] {
        assert_eq!(Answer::from_bytes(answer.to_bytes()), Some(answer));
    }
}

#[test]
fn answers_that_no_decoder_gives_are_nonsense() {
    let ready = u32::from_le_bytes([0x57, 0xca, 0xa1, 0x5e]);
    let cases = [
        [0, 0, 0],
        [u32::MAX; 3],
        [ready, 1, 1],
        [ready, 2, 0],
        [1, 0, 0],
        [1, 3, 2],
        [1, u32::MAX, u32::MAX],
        [1, 8192, 8192],
        [1, 65_536, 65_536],
        [2, 1, 0],
        [3, MAX_WORDS as u32 + 1, 0],
        [3, u32::MAX, 0],
    ];
    for numbers in cases {
        let (mut channel, _other) = told(&header(numbers));
        let fault = channel.decode(b"frame", PATIENCE).expect_err("nonsense");
        assert!(matches!(fault, Fault::Nonsense(_)), "{numbers:x?}: {fault:?}");
    }
    for answer in [Answer::Picture(16, 16), Answer::Nothing] {
        let (mut channel, _other) = told(&answer.to_bytes());
        let fault = channel.greeting(PATIENCE).expect_err("nonsense");
        assert!(matches!(fault, Fault::Nonsense(_)), "{fault:?}");
    }
}

#[test]
fn words_are_bounded_and_printable() {
    let words = b"it \x1b[2J fails\n\xe2\x80\xae";
    let (mut channel, _other) = told(&[&header([3, words.len() as u32, 0]), &words[..]].concat());
    match channel.decode(b"frame", PATIENCE) {
        Ok(Reply::Failed(words)) => assert_eq!(words, "it ?[2J fails????"),
        other => panic!("{other:?}"),
    }
    assert_eq!(printable(&[0, 7, b'a', 0x9b]), "??a?");
}

#[test]
fn a_process_that_says_half_an_answer_or_nothing_is_given_up() {
    for said in [&b""[..], &[1; HEADER - 1], &header([3, 10, 0])] {
        let (mut channel, other) = told(said);
        let fault = channel.decode(b"frame", MOMENT).expect_err("silence");
        assert!(matches!(fault, Fault::Silent), "{fault:?}");
        drop(other);
        let fault = channel.decode(b"frame", PATIENCE).expect_err("an end");
        assert!(matches!(fault, Fault::Ended), "{fault:?}");
    }
}

#[test]
fn a_process_that_reads_nothing_is_given_up() {
    let (mut channel, _other) = told(b"");
    let fault = channel.decode(&vec![0; 16 << 20], MOMENT).expect_err("silence");
    assert!(matches!(fault, Fault::Silent), "{fault:?}");
}

#[test]
fn a_frame_arrives_behind_its_length() {
    let (mut channel, mut other) = told(&Answer::Nothing.to_bytes());
    assert!(matches!(channel.decode(b"frame", PATIENCE), Ok(Reply::Nothing)));
    let mut request = [0; 9];
    other.read_exact(&mut request).expect("a request");
    assert_eq!(&request, b"\x05\0\0\0frame");
}

#[test]
fn nobody_can_shrink_or_grow_the_memory_of_pictures() {
    let (mut channel, ends) = Channel::new().expect("a channel");
    for length in [0, 1 << 30] {
        let refused = rustix::fs::ftruncate(&ends.pictures, length);
        assert_eq!(refused, Err(rustix::io::Errno::PERM));
    }
    let mut other = UnixStream::from(ends.requests);
    let said = [Answer::Picture(8192, 4320), Answer::Picture(16, 16)];
    other.write_all(&said[0].to_bytes()).expect("room for an answer");
    // The largest picture that there may be, of which nothing was written.
    match channel.decode(b"frame", PATIENCE) {
        Ok(Reply::Picture(picture)) => assert!(picture.y.iter().chain(&picture.v).all(|&byte| byte == 0)),
        other => panic!("{other:?}"),
    }
    rustix::io::pwrite(&ends.pictures, &[7; 16 * 16], 0).expect("room for a picture");
    other.write_all(&said[1].to_bytes()).expect("room for an answer");
    match channel.decode(b"frame", PATIENCE) {
        Ok(Reply::Picture(picture)) => assert!(picture.y == [7; 256] && picture.u == [0; 64]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_part_that_the_fence_lacks_is_named_with_who_lacks_it() {
    let words = |landlock, seccomp, listed| super::missing(Raised { landlock, seccomp }, listed);
    assert_eq!(words(true, true, true), None);
    for (landlock, seccomp, listed, named) in [
        (false, true, true, "this kernel lacks landlock;"),
        (true, false, true, "this kernel lacks seccomp;"),
        (false, false, true, "this kernel lacks landlock and seccomp;"),
        (true, false, false, "this program has no list of system calls"),
        (
            false,
            false,
            false,
            "this kernel lacks landlock, and this program has no list",
        ),
    ] {
        assert!(words(landlock, seccomp, listed).is_some_and(|words| words.starts_with(named)));
    }
}
