//! The segments of an archive that is being written, whoever makes their blocks (archive.md §7).

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use sealcast_proto::archive::{EndCause, Head, SegmentKey, SegmentStart, SegmentWriter};

use super::age_file;
use super::folder::{Folder, Next, PART, SegmentFile};
use super::index::{Entry, Index};
use super::options::Keeping;
use super::recipients::Recipient;
use super::sync::Syncer;
use super::times::wall_now;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::entropy;
use crate::media::Orientation;
use crate::meter::telling::Telling;
use crate::private_file;
use crate::sink::{GroupProof, full_disk};

/// From this length on a keyframe is asked for, so that another segment can begin.
const LONG_SEGMENT: u64 = 128 << 20;
/// No frame is added to a segment of this length. What follows is lost up to the next keyframe.
const LONGEST_SEGMENT: u64 = 384 << 20;

/// Appends the blocks of a frame.
pub(super) type Fill<'a> = &'a mut dyn FnMut(&mut SegmentWriter, &mut Vec<u8>);

/// The segment that is being written.
struct Current {
    writer: SegmentWriter,
    file: Arc<File>,
    number: u64,
    began: Instant,
    /// Bytes that are whole blocks.
    whole: u64,
}

/// Relation of a frame to the segment that is being written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// There is none, or it is long enough: a keyframe begins another.
    Due,
    /// It takes more frames.
    GoesOn,
    /// It takes no more, and the frame is no keyframe.
    Full,
}

/// An archive that is being written.
pub(super) struct Recording {
    keeping: Keeping,
    folder: Folder,
    next: Next,
    /// The segments that are complete, the oldest first.
    closed: Vec<SegmentFile>,
    index: Index,
    current: Option<Current>,
    syncer: Syncer,
    wants_keyframe: bool,
    /// The certificate of the key that signs groups of pictures.
    gop_key: Option<Vec<u8>>,
    /// Orientation of the pictures.
    orientation: Orientation,
    /// Frames that could not be kept since no keyframe came first.
    dropped: Telling,
}

impl Recording {
    /// Opens the archive in a folder for writing. It goes on where it ended.
    ///
    /// # Errors
    /// Kind `Sink`: the folder cannot be written, or somebody else writes to it.
    pub(super) fn open(folder: &Path, keeping: Keeping) -> Result<Self> {
        let folder = Folder::lock(folder)?;
        let mut closed = folder.segments()?;
        let next = folder.next(&closed)?;
        // The newest head says that these are no part of the archive any more; removing them was interrupted.
        let gone = closed.partition_point(|segment| segment.number < next.oldest);
        remove(closed.drain(..gone));
        let mut index = Index::read(folder.path());
        index
            .0
            .retain(|number, _| closed.iter().any(|segment| segment.number == *number));
        tracing::info!(folder = %folder.path().display(), segment = next.number, "recording to an archive");
        Ok(Self {
            keeping,
            folder,
            next,
            closed,
            index,
            current: None,
            syncer: Syncer::start()?,
            wants_keyframe: false,
            gop_key: None,
            orientation: Orientation::default(),
            dropped: Telling::default(),
        })
    }

    fn told(&self, error: &io::Error) -> Failure {
        let path = self.folder.path().display();
        if full_disk(error) {
            let what = format!("the disk that holds the archive {path} is full");
            let hint = "free some space, or bound the archive with max=; what is there can be replayed";
            return Failure::new(FailureKind::Sink, what, hint);
        }
        let what = format!("the archive {path} cannot be written: {error}");
        Failure::new(FailureKind::Sink, what, "check the disk; what is there can be replayed")
    }

    /// The segment that is being written.
    pub(super) fn writer(&self) -> Option<&SegmentWriter> {
        Some(&self.current.as_ref()?.writer)
    }

    /// Relation of the next frame to the segment that is being written.
    pub(super) fn standing(&self, keyframe: bool) -> Standing {
        let Some(current) = &self.current else {
            return Standing::Due;
        };
        let long = current.began.elapsed() >= self.keeping.segment || current.whole >= LONG_SEGMENT;
        match keyframe {
            true if long => Standing::Due,
            false if current.whole >= LONGEST_SEGMENT => Standing::Full,
            _ => Standing::GoesOn,
        }
    }

    /// True if a keyframe should be asked for. The answer counts as one request.
    pub(super) fn wants_keyframe(&mut self) -> bool {
        std::mem::take(&mut self.wants_keyframe)
    }

    /// A frame is not kept, since no keyframe came before it.
    pub(super) fn drop_frame(&mut self) {
        self.wants_keyframe = true;
        if let Some(total) = self.dropped.count(Instant::now()) {
            tracing::warn!(total, "a frame is not in the archive: no keyframe came before it");
        }
    }

    /// Completes the segment that is being written.
    pub(super) fn end(&mut self, cause: EndCause) -> Result<()> {
        let Some(current) = self.current.take() else {
            return Ok(());
        };
        let (frames, times) = (current.writer.frames(), current.writer.times());
        let mut end = Vec::new();
        let link = current.writer.end(cause, &mut end);
        put(&current.file, current.whole, &end).map_err(|error| self.told(&error))?;
        self.syncer.end().map_err(|error| self.told(&error))?;
        current.file.sync_all().map_err(|error| self.told(&error))?;
        self.next.previous = link;
        let bytes = current.whole + end.len() as u64;
        if let Some((first, last)) = times {
            let entry = Entry {
                first,
                last,
                frames,
                bytes,
            };
            self.index.0.insert(current.number, entry);
        }
        self.closed.push(SegmentFile {
            number: current.number,
            path: self.folder.segment(current.number),
            bytes,
            changed: wall_now(),
        });
        // It can be made anew, so recording goes on without it.
        if let Err(error) = self.index.write(self.folder.path()) {
            tracing::warn!(%error, "the archive's index was not written");
        }
        Ok(())
    }

    /// Begins a segment for these recipients. `fill` appends its first frame, which is a keyframe.
    pub(super) fn begin(&mut self, recipients: &[Recipient], fill: Fill<'_>) -> Result<()> {
        let gone = self.expired();
        let key = SegmentKey(entropy::random()?);
        let head = Head {
            archive: self.next.archive,
            number: self.next.number,
            oldest: self.closed.get(gone).map_or(self.next.number, |segment| segment.number),
            previous: self.next.previous,
            began: wall_now(),
            key_file: age_file::encrypt(&key.0, recipients)?,
        };
        let number = head.number;
        let mut bytes = Vec::new();
        let mut writer = SegmentWriter::begin(&SegmentStart { head, key }, &mut bytes);
        if let Some(certificate) = &self.gop_key {
            writer.gop_key(certificate, &mut bytes);
        }
        writer.orientation(self.orientation, &mut bytes);
        fill(&mut writer, &mut bytes);
        let path = self.folder.segment(number);
        let file = create(&path, &bytes).and_then(|file| self.folder.sync().map(|()| file));
        let file = Arc::new(file.map_err(|error| self.told(&error))?);
        self.syncer.begin(Arc::clone(&file));
        self.next.number += 1;
        self.next.previous = writer.link();
        self.current = Some(Current {
            writer,
            file,
            number,
            began: Instant::now(),
            whole: bytes.len() as u64,
        });
        self.remove(gone);
        Ok(())
    }

    /// Number of the oldest segments that are too old, or too many.
    fn expired(&self) -> usize {
        let now = wall_now();
        let keep = self
            .keeping
            .keep
            .map(|keep| u64::try_from(keep.as_nanos()).unwrap_or(u64::MAX));
        let old = |segment: &SegmentFile| keep.is_some_and(|keep| segment.changed.saturating_add(keep) < now);
        let by_age = self.closed.iter().take_while(|segment| old(segment)).count();
        let Some(max) = self.keeping.max else { return by_age };
        // Room for the segment that begins, which may become as long as the one before.
        let mut total = self.closed.iter().map(|segment| segment.bytes).sum::<u64>();
        total += self.closed.last().map_or(0, |segment| segment.bytes);
        let mut by_size = 0;
        while let Some(segment) = self.closed.get(by_size).filter(|_| total > max) {
            total -= segment.bytes;
            by_size += 1;
        }
        by_age.max(by_size)
    }

    /// Removes the oldest segments. The newest head says already that the archive begins after them.
    fn remove(&mut self, gone: usize) {
        let gone = self.closed.drain(..gone);
        remove(gone.inspect(|segment| {
            self.index.0.remove(&segment.number);
        }));
    }

    /// Keeps what signs groups of pictures. Without a segment there is nothing that it could prove.
    pub(super) fn group_proof(&mut self, proof: &GroupProof) -> Result<()> {
        match proof {
            GroupProof::Key(certificate) => self.gop_key = Some(certificate.clone()),
            GroupProof::Signature(_) if self.gop_key.is_none() => return Ok(()),
            GroupProof::Signature(_) => {}
        }
        let key = self.gop_key.clone().unwrap_or_default();
        self.append(&mut |writer, out| {
            writer.gop_key(&key, out);
            if let GroupProof::Signature(message) = proof {
                writer.gop_signature(message, out);
            }
        })
    }

    /// From here on pictures are turned so.
    pub(super) fn orient(&mut self, orientation: Orientation) -> Result<()> {
        self.orientation = orientation;
        self.append(&mut |writer, out| writer.orientation(orientation, out))
    }

    /// Another session begins, which tells its key, and how pictures are turned, anew.
    pub(super) fn begin_anew(&mut self) {
        (self.gop_key, self.orientation) = (None, Orientation::default());
    }

    /// Appends a frame to the current segment.
    pub(super) fn append(&mut self, fill: Fill<'_>) -> Result<()> {
        let Some(current) = &mut self.current else {
            return Ok(());
        };
        let mut bytes = Vec::new();
        fill(&mut current.writer, &mut bytes);
        if let Err(error) = put(&current.file, current.whole, &bytes) {
            // What is written is whole, but the segment does not go on.
            self.current = None;
            return Err(self.told(&error));
        }
        current.whole += bytes.len() as u64;
        self.wants_keyframe |= current.whole >= LONG_SEGMENT;
        self.syncer.wrote().map_err(|error| self.told(&error))
    }
}

fn remove(segments: impl Iterator<Item = SegmentFile>) {
    for segment in segments {
        if let Err(error) = fs::remove_file(&segment.path) {
            tracing::warn!(segment = %segment.name(), %error, "an old segment of the archive was not removed");
        }
    }
}

/// Appends bytes to a file that has `whole` bytes. If that fails, those remain and no more.
fn put(mut file: &File, whole: u64, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes).inspect_err(|_| {
        // If truncating fails, too, the file ends within a block, which readers know.
        let _ = file.set_len(whole);
    })
}

/// Creates a segment's file, which has its name only once these bytes are on the disk.
fn create(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let mut part = path.as_os_str().to_owned();
    part.push(PART);
    let part = PathBuf::from(part);
    let mut file = private_file::options()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&part)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if let Err(error) = written.and_then(|()| fs::rename(&part, path)) {
        let _ = fs::remove_file(&part);
        return Err(error);
    }
    Ok(file)
}
