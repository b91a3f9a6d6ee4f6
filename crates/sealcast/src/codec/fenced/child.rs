//! The decoder's process: it fences itself, and only then reads its first byte.

use rustix::io::{Errno, pwrite, read, write};
use rustix::process::Signal;
use rustix::process::set_parent_process_death_signal;
use rustix::stdio::{stdin, stdout};

use super::answer::{Answer, MAX_WORDS};
use super::fence;
use crate::codec::BareDecoder;
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Codec, Picture};

/// Decode the frames that come on standard input, a socket, until it is closed. Answers go back on the same socket, and
/// pictures into the memory that is standard output.
///
/// # Errors
/// The decoder or the fence does not start, which is said on the socket as well; or the socket broke.
pub fn serve(codec: Codec) -> Result<()> {
    let prepared = BareDecoder::new(codec).and_then(|decoder| {
        // A process that hangs in a frame would not notice that its socket was closed.
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(broken)?;
        // Otherwise it is called `exe`. A process without a name of its own decodes as well.
        let _ = rustix::thread::set_name(c"sealcast-decode");
        Ok((decoder, fence::raise()?))
    });
    let (mut decoder, raised) = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => {
            say_failed(&failure).map_err(broken)?;
            return Err(failure);
        }
    };
    say(&Answer::Ready(raised).to_bytes()).map_err(broken)?;
    let mut frame = Vec::new();
    while next_frame(&mut frame).map_err(broken)? {
        match decoder.decode(&frame) {
            Ok(Some(picture)) => hand_over(&picture),
            Ok(None) => say(&Answer::Nothing.to_bytes()),
            Err(failure) => say_failed(&failure),
        }
        .map_err(broken)?;
    }
    Ok(())
}

fn broken(error: Errno) -> Failure {
    Failure::new(
        FailureKind::Usage,
        format!("the decoder's process has lost who started it ({error})"),
        "it is started by `sealcast watch` and `sealcast demo`, not by hand",
    )
}

/// Read a frame behind its length. False if there is none any more.
fn next_frame(frame: &mut Vec<u8>) -> Result<bool, Errno> {
    let mut length = [0; 4];
    if !fill(&mut length)? {
        return Ok(false);
    }
    // The length comes from our own program, which bounds it.
    frame.resize(u32::from_le_bytes(length) as usize, 0);
    fill(frame)
}

fn fill(mut space: &mut [u8]) -> Result<bool, Errno> {
    while !space.is_empty() {
        match read(stdin(), &mut *space) {
            Ok(0) => return Ok(false),
            Ok(count) => space = &mut space[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn hand_over(picture: &Picture) -> Result<(), Errno> {
    let mut offset = 0;
    for mut plane in [&picture.y[..], &picture.u, &picture.v] {
        while !plane.is_empty() {
            let count = pwrite(stdout(), plane, offset)?;
            offset += count as u64;
            plane = &plane[count..];
        }
    }
    say(&Answer::Picture(picture.width, picture.height).to_bytes())
}

fn say_failed(failure: &Failure) -> Result<(), Errno> {
    let words = failure.what.as_bytes();
    let words = &words[..words.len().min(MAX_WORDS)];
    say(&[&Answer::Failed(words.len()).to_bytes(), words].concat())
}

fn say(mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match write(stdin(), bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
