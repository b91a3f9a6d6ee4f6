//! Channel between the program and a decoder's process: frames and answers on a socket, pictures in shared memory.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::{Errno, pread};

use super::answer::{Answer, HEADER, printable};
use super::fence::Raised;
use crate::codec::size::{MAX_PIXELS, check_size};
use crate::media::Picture;

/// Size of the shared memory: the largest picture. It takes no memory before something is written there.
const MAX_PICTURE_BYTES: u64 = MAX_PIXELS as u64 / 2 * 3;

/// Longest single wait, and the most that one wait counts: a machine that stood still, or a program that was stopped,
/// finds the process's time hardly used.
const TURN: Duration = Duration::from_millis(250);

/// Reason why a decoder's process is of no more use.
#[derive(Debug)]
pub(super) enum Fault {
    /// It ended.
    Ended,
    /// It did not answer in time.
    Silent,
    /// It said what no decoder says.
    Nonsense(String),
    /// The system refuses something to this program.
    System(io::Error),
}

/// The answer to a frame.
#[derive(Debug)]
pub(super) enum Reply {
    Picture(Picture),
    Nothing,
    /// The frame does not decode, in the words of the process.
    Failed(String),
}

/// The program's end. Nothing that comes from the other end is trusted.
pub(super) struct Channel {
    socket: UnixStream,
    pictures: OwnedFd,
}

/// The other end's descriptors.
pub(super) struct Ends {
    pub(super) requests: OwnedFd,
    pub(super) pictures: OwnedFd,
}

impl Channel {
    /// A channel, and the descriptors for the process.
    pub(super) fn new() -> io::Result<(Self, Ends)> {
        let (socket, other) = UnixStream::pair()?;
        let memory = shared_memory()?;
        let ends = Ends {
            requests: other.into(),
            pictures: memory.try_clone()?,
        };
        let pictures = memory;
        Ok((Self { socket, pictures }, ends))
    }

    /// Wait until the process is fenced. `Err` of words: it cannot start.
    pub(super) fn greeting(&mut self, patience: Duration) -> Result<Result<Raised, String>, Fault> {
        let mut patience = Patience(patience);
        match self.answer(&mut patience)? {
            Answer::Ready(raised) => Ok(Ok(raised)),
            Answer::Failed(words) => Ok(Err(self.words(words, &mut patience)?)),
            other => Err(Fault::Nonsense(format!("{other:?} before its first frame"))),
        }
    }

    /// Have one frame decoded.
    pub(super) fn decode(&mut self, frame: &[u8], patience: Duration) -> Result<Reply, Fault> {
        let mut patience = Patience(patience);
        self.ask(frame, &mut patience)?;
        match self.answer(&mut patience)? {
            Answer::Picture(width, height) => self.picture(width, height).map(Reply::Picture),
            Answer::Nothing => Ok(Reply::Nothing),
            Answer::Failed(words) => Ok(Reply::Failed(self.words(words, &mut patience)?)),
            Answer::Ready(_) => Err(Fault::Nonsense("that it is ready, a second time".into())),
        }
    }

    fn ask(&mut self, frame: &[u8], patience: &mut Patience) -> Result<(), Fault> {
        let too_long = |_| Fault::System(ErrorKind::InvalidInput.into());
        let length = u32::try_from(frame.len()).map_err(too_long)?.to_le_bytes();
        let mut parts = [IoSlice::new(&length), IoSlice::new(frame)];
        let mut rest = &mut parts[..];
        while !rest.is_empty() {
            let turn = patience.turn()?;
            self.socket.set_write_timeout(Some(turn)).map_err(Fault::System)?;
            let count = patience.spend(|| self.socket.write_vectored(rest))?.unwrap_or(0);
            IoSlice::advance_slices(&mut rest, count);
        }
        Ok(())
    }

    fn answer(&mut self, patience: &mut Patience) -> Result<Answer, Fault> {
        let mut header = [0; HEADER];
        self.receive(&mut header, patience)?;
        Answer::from_bytes(header).ok_or_else(|| Fault::Nonsense(format!("{header:02x?}")))
    }

    /// The words of an answer: the length was bounded with its header.
    fn words(&mut self, length: usize, patience: &mut Patience) -> Result<String, Fault> {
        let mut words = vec![0; length];
        self.receive(&mut words, patience)?;
        Ok(printable(&words))
    }

    fn receive(&mut self, mut space: &mut [u8], patience: &mut Patience) -> Result<(), Fault> {
        while !space.is_empty() {
            let turn = patience.turn()?;
            self.socket.set_read_timeout(Some(turn)).map_err(Fault::System)?;
            match patience.spend(|| self.socket.read(space))? {
                Some(0) => return Err(Fault::Ended),
                Some(count) => space = &mut space[count..],
                None => {}
            }
        }
        Ok(())
    }

    fn picture(&self, width: usize, height: usize) -> Result<Picture, Fault> {
        if check_size(width, height).is_err() {
            return Err(Fault::Nonsense(format!("a picture of {width}x{height} pixels")));
        }
        let (luma, chroma) = (width * height, width / 2 * (height / 2));
        let plane = |length, offset| self.plane(length, offset).map_err(Fault::System);
        Ok(Picture {
            width,
            height,
            y: plane(luma, 0)?,
            u: plane(chroma, luma)?,
            v: plane(chroma, luma + chroma)?,
        })
    }

    /// Some bytes of the shared memory. They are not zeroed before they are read: that would be a pass more.
    fn plane(&self, length: usize, offset: usize) -> io::Result<Vec<u8>> {
        let mut plane = Vec::with_capacity(length);
        while plane.len() < length {
            let at = (offset + plane.len()) as u64;
            match pread(&self.pictures, spare_capacity(&mut plane), at) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        plane.truncate(length);
        Ok(plane)
    }
}

/// The time that is left to a process for its answer.
struct Patience(Duration);

impl Patience {
    /// Time to wait now.
    fn turn(&self) -> Result<Duration, Fault> {
        match self.0.min(TURN) {
            Duration::ZERO => Err(Fault::Silent),
            turn => Ok(turn),
        }
    }

    /// Wait for `transfer`. Returns the bytes that went over the socket; `None` if it was interrupted, or its turn is
    /// over.
    fn spend(&mut self, transfer: impl FnOnce() -> io::Result<usize>) -> Result<Option<usize>, Fault> {
        let began = Instant::now();
        let result = transfer();
        self.0 = self.0.saturating_sub(began.elapsed().min(TURN));
        match result {
            Ok(count) => Ok(Some(count)),
            Err(error) => match error.kind() {
                ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut => Ok(None),
                ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => Err(Fault::Ended),
                _ => Err(Fault::System(error)),
            },
        }
    }
}

/// Memory for pictures. Nobody can shrink it under the reader, let it grow, or run it.
fn shared_memory() -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = match memfd_create(c"picture", flags | MemfdFlags::NOEXEC_SEAL) {
        // Linux before 6.3 does not know the flag.
        Err(Errno::INVAL) => memfd_create(c"picture", flags),
        other => other,
    }?;
    ftruncate(&memory, MAX_PICTURE_BYTES)?;
    fcntl_add_seals(&memory, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(memory)
}
