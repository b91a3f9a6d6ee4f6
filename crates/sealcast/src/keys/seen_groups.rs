//! Progress of this end in a camera's group, kept over restarts: a relay may give it again what is older.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sealcast_proto::group::GroupName;
use sealcast_proto::group_media::{GroupStart, Seen};
use sealcast_proto::keys::PeerId;
use sealcast_proto::unit::SOUND_STREAM;
use sealcast_proto::wire::CameraName;

use crate::private_file::{read_regular, update_secret};

/// Minimum time between two writes while a viewer runs.
const WRITE_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum number of lines: of pictures and sound of a publisher's cameras. One more takes the place of the oldest.
const MAX_LINES: usize = 64;
/// Bytes of a file that are read: a line has at most two numbers of 20 digits and a name of 64 bytes.
const MAX_FILE: u64 = 16 << 10;

/// Progress of this end in a camera's group, in a file for each publisher with a line for each stream and camera:
///
/// ```text
/// STREAM EPOCH GROUP CAMERA-NAME
/// ```
pub struct SeenGroups {
    /// `None` keeps nothing over restarts.
    file: Option<PathBuf>,
    camera: CameraName,
    /// The stream of pictures.
    stream: u32,
    state: Mutex<State>,
    /// Held while the file is changed.
    writing: Mutex<()>,
}

#[derive(Default)]
struct State {
    seen: Seen,
    /// When what was seen was written last, or is going to be.
    written: Option<Instant>,
    /// The user knows that nothing is kept.
    warned: bool,
}

/// A line of the file.
struct Line {
    stream: u32,
    start: GroupStart,
    camera: String,
}

impl SeenGroups {
    /// Keeps nothing over restarts.
    pub fn nowhere() -> Arc<Self> {
        Arc::new(Self::of(None, CameraName::NONE, 0))
    }

    /// Progress of the end with the identity `own` in a group, in this folder. `camera` is the name by which the
    /// publisher's camera was asked for. If the file cannot be read, that is logged, and there is no progress.
    pub fn at(folder: &Path, own: &PeerId, group: &GroupName, camera: CameraName) -> Arc<Self> {
        let file = folder.join(own.to_string()).join(group.camera.to_string());
        let groups = Self::of(Some(file), camera, group.stream);
        groups.state().seen = groups.read();
        Arc::new(groups)
    }

    fn of(file: Option<PathBuf>, camera: CameraName, stream: u32) -> Self {
        Self {
            file,
            camera,
            stream,
            state: Mutex::default(),
            writing: Mutex::default(),
        }
    }

    // Each statement leaves what is locked consistent, so a panic in another thread does no harm.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the progress, now and before.
    pub fn seen(&self) -> Seen {
        self.state().seen
    }

    /// Notes what was seen. It is written aside, at most once in 10 s.
    pub fn note(self: &Arc<Self>, seen: Seen) {
        let mut state = self.state();
        let newer = state.seen.with(seen);
        if newer == state.seen {
            return;
        }
        state.seen = newer;
        let rests = |written: Instant| written.elapsed() < WRITE_INTERVAL;
        if self.file.is_none() || state.written.is_some_and(rests) {
            return;
        }
        state.written = Some(Instant::now());
        let this = Arc::clone(self);
        tokio::task::spawn_blocking(move || this.write());
    }

    /// Writes what was seen, unless more is written there already: several programs may have one identity. If that is
    /// impossible, it is logged once.
    pub fn write(&self) {
        self.change(|lines, camera, seen| {
            for (stream, start) in [(self.stream, seen.picture), (SOUND_STREAM, seen.sound)] {
                let of_it = |line: &Line| line.stream == stream && line.camera == camera;
                let before = lines.iter().position(of_it).map(|at| lines.remove(at).start);
                if let Some(start) = start.max(before) {
                    let camera = camera.to_owned();
                    lines.push(Line { stream, start, camera });
                }
            }
        });
    }

    /// Forgets what was seen: the camera has enrolled this end anew, with keys that open nothing of before.
    pub fn clear(&self) {
        self.state().seen = Seen::default();
        self.change(|lines, camera, _| lines.retain(|line| line.camera != camera));
    }

    /// Changes the lines of the file.
    fn change(&self, change: impl FnOnce(&mut Vec<Line>, &str, Seen)) {
        let Some(file) = &self.file else { return };
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let written = update_secret(file, |text| {
            // What is no line says nothing, and is left out.
            let mut lines = lines(&text.unwrap_or_default()).unwrap_or_default();
            change(&mut lines, self.camera.as_str(), self.seen());
            let excess = lines.len().saturating_sub(MAX_LINES);
            Ok((text_of(&lines[excess..]), ()))
        });
        if let Err(error) = written
            && !std::mem::replace(&mut self.state().warned, true)
        {
            tracing::warn!(
                file = %file.display(),
                "what was seen of the camera cannot be kept ({error}): after a restart a relay can show older pictures \
                 to this viewer if it is started with --without-session; make it a file that you may write to"
            );
        }
    }

    /// Reads the file.
    fn read(&self) -> Seen {
        let Some(file) = &self.file else {
            return Seen::default();
        };
        let text = match read_regular(file, MAX_FILE) {
            Ok(Some(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            Ok(None) => return Seen::default(),
            Err(error) => {
                unreadable(file, &error.to_string());
                return Seen::default();
            }
        };
        let Some(lines) = lines(&text) else {
            unreadable(file, "it has something else in it");
            return Seen::default();
        };
        let of = |stream| {
            let of_it = |line: &&Line| line.stream == stream && line.camera == self.camera.as_str();
            lines.iter().find(of_it).map(|line| line.start)
        };
        Seen {
            picture: of(self.stream),
            sound: of(SOUND_STREAM),
        }
    }
}

fn unreadable(file: &Path, why: &str) {
    tracing::warn!(
        file = %file.display(),
        "what was seen of the camera before cannot be read ({why}): a relay can show older pictures to this viewer if \
         it is started with --without-session; the file is made anew"
    );
}

/// The lines of a file; `None` if there is something else in it.
fn lines(text: &str) -> Option<Vec<Line>> {
    text.lines().take(MAX_LINES).map(parse).collect()
}

fn parse(line: &str) -> Option<Line> {
    // A camera's name may have spaces.
    let mut words = line.splitn(4, ' ');
    Some(Line {
        stream: words.next()?.parse().ok()?,
        start: GroupStart {
            epoch: words.next()?.parse().ok()?,
            group: words.next()?.parse().ok()?,
        },
        camera: words.next().unwrap_or_default().to_owned(),
    })
}

fn text_of(lines: &[Line]) -> String {
    let mut text = String::new();
    for Line { stream, start, camera } in lines {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{stream} {} {} {camera}", start.epoch, start.group);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(byte: u8) -> PeerId {
        PeerId([byte; 32])
    }

    fn group() -> GroupName {
        GroupName {
            camera: peer(2),
            stream: 1,
        }
    }

    fn seen(epoch: u64, group: u64) -> Seen {
        Seen {
            picture: Some(GroupStart { epoch, group }),
            sound: None,
        }
    }

    fn named(folder: &Path, camera: &str) -> Arc<SeenGroups> {
        let camera = CameraName::new(camera).expect("a name");
        SeenGroups::at(folder, &peer(1), &group(), camera)
    }

    fn write(groups: &SeenGroups, seen: Seen) {
        groups.state().seen = seen;
        groups.write();
    }

    #[test]
    fn the_greatest_of_several_programs_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let [one, other] = [named(folder.path(), ""), named(folder.path(), "")];
        assert_eq!(one.seen(), Seen::default());
        write(&one, seen(7, 70));
        write(&other, seen(6, 60));
        assert_eq!(named(folder.path(), "").seen(), seen(7, 70));
        write(&other, seen(7, 71));
        let sound = Some(GroupStart { epoch: 5, group: 9 });
        write(&other, Seen { picture: None, sound });
        let both = Seen { sound, ..seen(7, 71) };
        assert_eq!(named(folder.path(), "").seen(), both);
    }

    #[test]
    fn cameras_of_one_publisher_and_identities_are_kept_apart_and_an_enrolment_forgets_one() {
        let folder = tempfile::tempdir().expect("a folder");
        write(&named(folder.path(), ""), seen(1, 1));
        write(&named(folder.path(), "the yard"), seen(2, 2));
        let other_own = SeenGroups::at(folder.path(), &peer(3), &group(), CameraName::NONE);
        assert_eq!(other_own.seen(), Seen::default());
        let yard = named(folder.path(), "the yard");
        assert_eq!(yard.seen(), seen(2, 2));
        yard.clear();
        // What was under way when it was cleared writes nothing back.
        yard.write();
        assert_eq!(named(folder.path(), "the yard").seen(), Seen::default());
        assert_eq!(named(folder.path(), "").seen(), seen(1, 1));
    }

    #[test]
    fn a_file_with_something_else_in_it_or_none_at_all_stops_nobody() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(peer(1).to_string()).join(peer(2).to_string());
        write(&named(folder.path(), ""), seen(3, 3));
        std::fs::write(&file, "much\n").expect("our own file");
        let groups = named(folder.path(), "");
        assert_eq!(groups.seen(), Seen::default());
        write(&groups, seen(4, 4));
        assert_eq!(named(folder.path(), "").seen(), seen(4, 4), "it is made anew");
        // Where a folder stands nothing can be written.
        std::fs::remove_file(&file).expect("our own file");
        std::fs::create_dir(&file).expect("our own folder");
        let groups = named(folder.path(), "");
        write(&groups, seen(5, 5));
        assert!(groups.state().warned);
        assert_eq!(groups.seen(), seen(5, 5), "it goes on");
    }

    #[test]
    fn there_are_no_more_lines_than_the_bound() {
        let folder = tempfile::tempdir().expect("a folder");
        for number in 0..=MAX_LINES as u64 {
            write(&named(folder.path(), &format!("camera {number}")), seen(number, 1));
        }
        assert_eq!(
            named(folder.path(), "camera 0").seen(),
            Seen::default(),
            "the oldest is gone"
        );
        assert_eq!(named(folder.path(), "camera 1").seen(), seen(1, 1));
    }
}
