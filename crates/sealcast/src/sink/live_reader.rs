//! The reader of a pipe, which may come later than the pictures, be slow, or stand still.

use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use rustix::fs::{FileType, fstat};
use rustix::io::ioctl_fionread;
use rustix::pipe::fcntl_setpipe_size;

use crate::media::ReceivedFrame;

/// A picture that waited here for longer is not written: the player would be late with all that follow.
const LATE: Duration = Duration::from_millis(300);
/// Size of a pipe in bytes: what waits in it grows old.
const PIPE_BYTES: usize = 16 << 10;
/// Time between two looks whether the reader reads.
const LOOK: Duration = Duration::from_millis(2);

/// Answers whether bytes wait in the pipe.
type Waiting = Box<dyn Fn() -> bool + Send>;

/// Chooses what is written for a reader.
///
/// A live stream begins with a keyframe when the reader reads. What comes late for it is left out, up to the next
/// keyframe that does not.
pub(super) struct LiveReader {
    waiting: Option<Waiting>,
    /// Nothing is left out.
    patient: bool,
    /// It is left out up to a keyframe.
    skips: bool,
    /// A keyframe was asked for.
    asked: bool,
    /// Pictures that were left out, since they were taken.
    left_out: u64,
}

impl LiveReader {
    /// The reader of an output, of which a pipe is made small.
    pub(super) fn of(output: &(impl AsFd + Send + 'static)) -> Self {
        let is_pipe = fstat(output).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo);
        let handle = is_pipe.then(|| output.as_fd().try_clone_to_owned().ok()).flatten();
        let waiting = handle.map(|pipe| {
            // It may belong to another user, or hold more already.
            let _ = fcntl_setpipe_size(&pipe, PIPE_BYTES);
            Box::new(move || ioctl_fionread(&pipe).is_ok_and(|bytes| bytes > 0)) as Waiting
        });
        Self::new(waiting)
    }

    /// A reader behind a pipe, or something that takes all at once.
    pub(super) fn new(waiting: Option<Waiting>) -> Self {
        Self {
            waiting,
            patient: false,
            skips: false,
            asked: false,
            left_out: 0,
        }
    }

    /// Leaves nothing out from here on.
    pub(super) fn wait(&mut self) {
        self.patient = true;
    }

    /// False if it waits for everything.
    pub(super) fn is_live(&self) -> bool {
        !self.patient
    }

    /// True if the picture is to be written. Something before the first one was.
    pub(super) fn takes(&mut self, picture: &ReceivedFrame) -> bool {
        if self.patient {
            return true;
        }
        let depends = self.skips && !picture.keyframe;
        self.skips = depends || late(picture) || !self.reads(picture);
        self.left_out += u64::from(self.skips);
        self.asked &= self.skips;
        !self.skips
    }

    /// True if a packet of sound is to be written.
    pub(super) fn takes_sound(&self, packet: &ReceivedFrame) -> bool {
        self.patient || !(self.skips || late(packet))
    }

    /// Waits until the reader took what was written at the beginning. False if it is late for the picture.
    fn reads(&mut self, picture: &ReceivedFrame) -> bool {
        while self.waiting.as_ref().is_some_and(|waiting| waiting()) {
            if late(picture) {
                return false;
            }
            thread::sleep(LOOK);
        }
        // A pipe that is full later holds up who writes.
        self.waiting = None;
        true
    }

    /// True if a keyframe is to be asked for: pictures are left out, and the reader reads.
    pub(super) fn wants_keyframe(&mut self) -> bool {
        let reads = self.waiting.as_ref().is_none_or(|waiting| !waiting());
        self.skips && reads && !std::mem::replace(&mut self.asked, true)
    }

    /// Number of pictures that were left out since the last call.
    pub(super) fn take_left_out(&mut self) -> u64 {
        std::mem::take(&mut self.left_out)
    }
}

fn late(frame: &ReceivedFrame) -> bool {
    frame.opened.elapsed() > LATE
}

impl std::fmt::Debug for LiveReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveReader")
            .field("skips", &self.skips)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write, pipe};
    use std::time::Instant;

    use super::*;

    fn picture(keyframe: bool, late: bool) -> ReceivedFrame {
        let opened = Instant::now();
        ReceivedFrame {
            number: 0,
            keyframe,
            media_time: Duration::ZERO,
            opened: match late {
                true => opened.checked_sub(2 * LATE).expect("the machine is up for longer"),
                // However busy the machine is.
                false => opened + 1000 * LATE,
            },
            data: vec![7; 10].into(),
        }
    }

    #[test]
    fn what_comes_late_is_left_out_up_to_the_next_keyframe_and_one_is_asked_for_once() {
        let mut reader = LiveReader::new(None);
        let steps = [
            ((true, false), true),
            ((false, false), true),
            ((false, true), false),
            ((true, true), false),
            ((false, false), false),
            ((true, false), true),
            ((false, false), true),
            ((false, true), false),
        ];
        let mut asked = 0;
        for (at, ((keyframe, late), taken)) in steps.into_iter().enumerate() {
            assert_eq!(reader.takes(&picture(keyframe, late)), taken, "{at}");
            asked += u32::from(reader.wants_keyframe());
            assert_eq!(reader.takes_sound(&picture(true, false)), taken, "{at}");
        }
        assert!(!reader.takes_sound(&picture(true, true)));
        assert_eq!((reader.take_left_out(), reader.take_left_out(), asked), (4, 0, 2));
        reader.wait();
        assert!(reader.takes(&picture(false, true)) && reader.takes_sound(&picture(true, true)));
    }

    #[test]
    fn nothing_is_written_and_no_keyframe_asked_for_before_the_reader_reads() {
        let (mut output, mut input) = pipe().expect("a pipe");
        input.write_all(b"head").expect("room");
        let mut reader = LiveReader::of(&input);
        let first = ReceivedFrame {
            opened: Instant::now(),
            ..picture(true, false)
        };
        assert!(!reader.takes(&first) && !reader.takes(&picture(false, false)));
        assert!(!reader.wants_keyframe());
        output.read_exact(&mut [0; 4]).expect("the head");
        assert!(!reader.takes(&picture(false, false)) && reader.wants_keyframe());
        assert!(reader.takes(&picture(true, false)));
        input.write_all(b"more").expect("room");
        assert!(reader.takes(&picture(false, false)), "it has begun to read");
    }
}
