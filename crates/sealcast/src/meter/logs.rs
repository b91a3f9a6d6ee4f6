//! CSV logs: one row per handshake, per tenth of a second, per frame at the viewer, and per sealed unit and picture at
//! a viewer gateway.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;

pub use super::log_rows::{FrameRow, HandshakeRow, Phase, PictureRow, SteadyRow, UnitRow};
use crate::failure::{Failure, FailureKind, Result};
use crate::private_file;

/// Maximum of rows queued for the writer: at 60 frames a second more than four minutes, for units of 128 bytes at 4
/// Mbit/s four seconds. Further rows are dropped and counted.
const QUEUE_ROWS: usize = 16_384;

/// A log that reaches this length in bytes is renamed and a new one begun, so each log has at most two such files.
const MAX_LOG: u64 = 1 << 30;

/// Interval for flushing rows to the files: a crash loses at most this much.
const FLUSH_PERIOD: Duration = Duration::from_secs(1);

/// Rows after which a log that is appended to is flushed: a second or so of frames.
const FLUSH_ROWS: u64 = 32;

const HANDSHAKE: usize = 0;
const STEADY: usize = 1;
const FRAMES: usize = 2;
const UNITS: usize = 3;
const PICTURES: usize = 4;
const FILES: [(&str, &[&str]); 5] = [
    ("handshake.csv", HandshakeRow::HEADER),
    ("steady_stream.csv", SteadyRow::HEADER),
    ("frames_latency.csv", FrameRow::HEADER),
    ("network_latency.csv", UnitRow::HEADER),
    ("picture_latency.csv", PictureRow::HEADER),
];

enum Row {
    Handshake(Box<HandshakeRow>),
    Steady(SteadyRow),
    Frame(Box<FrameRow>),
    Unit(Box<UnitRow>),
    Picture(Box<PictureRow>),
}

#[derive(Debug, Default)]
struct LogState {
    written: AtomicU64,
    lost: AtomicU64,
    failure: Mutex<Option<Failure>>,
}

/// Result of logging.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LogSummary {
    /// The directory.
    pub directory: PathBuf,
    /// Rows written.
    pub rows: u64,
    /// Rows lost because the disk was too slow or full.
    pub lost_rows: u64,
    /// The error, if there was one.
    pub failure: Option<String>,
}

/// A directory of CSV logs, written by a separate thread. Logging never waits for the disk: if the queue is full, the
/// row is dropped and counted. Clone a [`LogHandle`] for every task; [`finish`](Self::finish) writes the remaining
/// rows.
#[derive(Debug)]
pub struct LogDir {
    handle: LogHandle,
    thread: Option<JoinHandle<()>>,
    directory: PathBuf,
}

/// Accepts rows for the logs of a [`LogDir`]. Each row costs an allocation or two and never blocks.
#[derive(Clone)]
pub struct LogHandle {
    queue: SyncSender<Option<Row>>,
    shared: Arc<LogState>,
}

impl std::fmt::Debug for LogHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogHandle")
            .field("shared", &self.shared)
            .finish_non_exhaustive()
    }
}

impl LogDir {
    /// Opens the logs in `directory`, which is created if it does not exist. Logs of an earlier run are continued.
    ///
    /// # Errors
    /// Kind `Sink` if the directory or a file cannot be created or written, or if an existing file has other columns.
    pub fn create(directory: &Path) -> Result<Self> {
        LogFile::folder(directory)?;
        let mut files = Vec::with_capacity(FILES.len());
        for (name, header) in FILES {
            files.push(LogFile::open(&directory.join(name), header)?);
        }
        let (queue, rows) = sync_channel(QUEUE_ROWS);
        let shared = Arc::new(LogState::default());
        let writer = Writer {
            files,
            shared: Arc::clone(&shared),
        };
        let thread = std::thread::Builder::new()
            .name("logs".to_owned())
            .spawn(move || writer.run(&rows));
        let thread = thread.map_err(|error| {
            Failure::new(
                FailureKind::Internal,
                format!("the log writer cannot start: {error}"),
                "the system may be out of threads or memory",
            )
        })?;
        Ok(Self {
            handle: LogHandle { queue, shared },
            thread: Some(thread),
            directory: directory.to_owned(),
        })
    }

    /// Returns a handle to log with.
    pub fn handle(&self) -> LogHandle {
        self.handle.clone()
    }

    /// Writes the remaining rows, closes the files and returns the result. Rows logged after this are lost.
    pub fn finish(mut self) -> LogSummary {
        self.close();
        let shared = &self.handle.shared;
        LogSummary {
            directory: self.directory.clone(),
            rows: shared.written.load(Ordering::Relaxed),
            lost_rows: shared.lost.load(Ordering::Relaxed),
            failure: self.handle.failure().map(|failure| failure.to_string()),
        }
    }

    fn close(&mut self) {
        if let Some(thread) = self.thread.take() {
            // Sending fails only if the thread has panicked; then it need not be woken.
            let _ = self.handle.queue.send(None);
            let _ = thread.join();
        }
    }
}

impl Drop for LogDir {
    fn drop(&mut self) {
        self.close();
    }
}

impl LogHandle {
    /// Logs a handshake.
    pub fn handshake(&self, row: HandshakeRow) {
        self.push(Row::Handshake(Box::new(row)));
    }

    /// Logs a sample of the running stream.
    pub fn steady(&self, row: SteadyRow) {
        self.push(Row::Steady(row));
    }

    /// Logs a frame at the viewer.
    pub fn frame(&self, row: FrameRow) {
        self.push(Row::Frame(Box::new(row)));
    }

    /// Logs a sealed unit at a viewer gateway.
    pub fn unit(&self, row: UnitRow) {
        self.push(Row::Unit(Box::new(row)));
    }

    /// Logs a picture at a viewer gateway.
    pub fn picture(&self, row: PictureRow) {
        self.push(Row::Picture(Box::new(row)));
    }

    /// Rows lost so far.
    pub fn lost_rows(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }

    /// The first error of a file, if any. The stream continues without that log.
    pub fn failure(&self) -> Option<Failure> {
        self.shared
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn push(&self, row: Row) {
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = self.queue.try_send(Some(row)) {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// One open log. After an error it stays closed: a log with a gap and an incomplete row is of no use.
pub(crate) struct LogFile {
    path: PathBuf,
    header: &'static [&'static str],
    writer: Option<csv::Writer<File>>,
    unflushed: u64,
    /// Length in bytes at which it is renamed.
    most: u64,
}

impl LogFile {
    /// Creates the folder of logs, unless it exists.
    ///
    /// # Errors
    /// Kind `Sink`: it cannot be made.
    pub(crate) fn folder(directory: &Path) -> Result<()> {
        private_file::create_folder(directory).map_err(|error| refuse(directory, "cannot be made", &error))
    }

    /// Writes a row, for who waits for the disk rather than lose one.
    ///
    /// # Errors
    /// Kind `Sink`: it cannot be written.
    pub(crate) fn append(&mut self, row: &impl Serialize) -> Result<()> {
        let written = self.write(row);
        written.map_err(|error| refuse(&self.path, "cannot be written any more", &error))?;
        if self.unflushed >= FLUSH_ROWS {
            self.flush_all()
        } else {
            Ok(())
        }
    }

    /// Hands all rows to the operating system.
    ///
    /// # Errors
    /// Kind `Sink`: they cannot be written.
    pub(crate) fn flush_all(&mut self) -> Result<()> {
        let flushed = self.flush().map(drop);
        flushed.map_err(|error| refuse(&self.path, "cannot be written any more", &error))
    }

    /// Opens or continues a log.
    ///
    /// # Errors
    /// Kind `Sink`: it cannot be written, or has other columns.
    pub(crate) fn open(path: &Path, header: &'static [&'static str]) -> Result<Self> {
        let mut file = appending(path).map_err(|error| refuse(path, "cannot be opened for writing", &error))?;
        let fresh =
            continue_log(&mut file, &header.join(",")).map_err(|error| refuse(path, "cannot be continued", &error))?;
        // Write the header now, so that a full disk is noticed before the stream starts.
        let writer = begin(file, header, fresh).map_err(|error| refuse(path, "cannot be written", &error))?;
        Ok(Self {
            path: path.to_owned(),
            header,
            writer: Some(writer),
            unflushed: 0,
            most: MAX_LOG,
        })
    }

    /// Writes a row; returns true if it is on its way to the file.
    fn write(&mut self, row: &impl Serialize) -> io::Result<bool> {
        let Some(writer) = self.writer.as_mut() else {
            return Ok(false);
        };
        writer.serialize(row).map_err(into_io)?;
        self.unflushed += 1;
        Ok(true)
    }

    /// Flushes written rows to the operating system; returns their number.
    fn flush(&mut self) -> io::Result<u64> {
        let Some(writer) = self.writer.as_mut() else {
            return Ok(0);
        };
        writer.flush()?;
        let rows = std::mem::take(&mut self.unflushed);
        let written = writer.get_ref().metadata()?;
        if written.is_file() && written.len() >= self.most {
            fs::rename(&self.path, self.path.with_extension("old.csv"))?;
            self.writer = Some(begin(appending(&self.path)?, self.header, true)?);
        }
        Ok(rows)
    }
}

fn appending(path: &Path) -> io::Result<File> {
    private_file::options().read(true).append(true).create(true).open(path)
}

/// Creates a writer of rows. If the file is `fresh`, the header is written and flushed first.
fn begin(file: File, header: &[&str], fresh: bool) -> io::Result<csv::Writer<File>> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(file);
    if fresh {
        writer.write_record(header).map_err(into_io)?;
        writer.flush()?;
    }
    Ok(writer)
}

/// Prepares `file` for appending; returns true if it still needs its header. A file with another header is refused.
/// If a crash cut off the last line, that line is terminated, so that it does not damage the next one.
fn continue_log(file: &mut File, header: &str) -> io::Result<bool> {
    // A device or pipe has no earlier content and no length.
    if !file.metadata()?.is_file() || file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut first = String::new();
    BufReader::new(io::Read::take(&mut *file, 4096)).read_line(&mut first)?;
    if first.trim_end() != header {
        return Err(io::Error::new(
            ErrorKind::InvalidData,
            "it has other columns than this log",
        ));
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    io::Read::read_exact(file, &mut last)?;
    if last != *b"\n" {
        file.write_all(b"\n")?;
    }
    Ok(false)
}

fn into_io(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn refuse(path: &Path, what: &str, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "the disk is full: make room, or log to another one",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "choose a directory that you may write to",
        ErrorKind::InvalidData => "move the old logs away, or choose another directory",
        _ => "choose another directory",
    };
    Failure::new(
        FailureKind::Sink,
        format!("the log {} {what}: {error}", path.display()),
        hint,
    )
}

struct Writer {
    files: Vec<LogFile>,
    shared: Arc<LogState>,
}

impl Writer {
    fn run(mut self, rows: &Receiver<Option<Row>>) {
        let mut flush_due = Instant::now() + FLUSH_PERIOD;
        loop {
            match rows.recv_timeout(flush_due.saturating_duration_since(Instant::now())) {
                Ok(Some(Row::Handshake(row))) => self.write(HANDSHAKE, &*row),
                Ok(Some(Row::Steady(row))) => self.write(STEADY, &row),
                Ok(Some(Row::Frame(row))) => self.write(FRAMES, &*row),
                Ok(Some(Row::Unit(row))) => self.write(UNITS, &*row),
                Ok(Some(Row::Picture(row))) => self.write(PICTURES, &*row),
                Ok(None) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            // Check after every row: under load the queue may never be empty.
            if Instant::now() >= flush_due {
                self.flush();
                flush_due = Instant::now() + FLUSH_PERIOD;
            }
        }
        self.flush();
    }

    fn write(&mut self, file: usize, row: &impl Serialize) {
        match self.files[file].write(row) {
            Ok(true) => {}
            Ok(false) => {
                self.shared.lost.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => self.fail(file, 1, &error),
        }
    }

    fn flush(&mut self) {
        for file in 0..self.files.len() {
            match self.files[file].flush() {
                Ok(rows) => {
                    self.shared.written.fetch_add(rows, Ordering::Relaxed);
                }
                Err(error) => self.fail(file, 0, &error),
            }
        }
    }

    fn fail(&mut self, file: usize, lost: u64, error: &io::Error) {
        let log = &mut self.files[file];
        if let Some(writer) = log.writer.take() {
            // Dropping the writer would try to write its buffer again, and fail again.
            drop(writer.into_inner());
        }
        let lost = lost + std::mem::take(&mut log.unflushed);
        self.shared.lost.fetch_add(lost, Ordering::Relaxed);
        let failure = refuse(&log.path, "cannot be written any more", error);
        tracing::warn!("{failure}; the stream goes on without this log");
        self.shared
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(failure);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    fn frame(number: u64) -> FrameRow {
        FrameRow {
            frame: number,
            keyframe: true,
            decoded_ns: Some(5),
            ..FrameRow::default()
        }
    }

    fn lines(directory: &Path, name: &str) -> Vec<String> {
        fs::read_to_string(directory.join(name))
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn every_log_has_its_header_and_a_value_in_every_column() {
        let directory = tempfile::tempdir().unwrap();
        let logs = LogDir::create(&directory.path().join("new")).unwrap();
        let handle = logs.handle();
        handle.handshake(HandshakeRow {
            peer: "a,\"b\"".to_owned(),
            ..HandshakeRow::default()
        });
        handle.steady(SteadyRow::default());
        handle.frame(frame(7));
        handle.unit(UnitRow::default());
        handle.picture(PictureRow::default());
        let summary = logs.finish();
        assert_eq!((summary.rows, summary.lost_rows, summary.failure), (5, 0, None));
        for (name, header) in FILES {
            let mut reader = csv::Reader::from_path(summary.directory.join(name)).unwrap();
            assert_eq!(reader.headers().unwrap(), header, "{name}");
            let rows: Vec<_> = reader.records().map(|row| row.unwrap()).collect();
            assert_eq!(rows.len(), 1, "{name}");
            assert_eq!(rows[0].len(), header.len(), "{name}");
            assert_eq!(&rows[0][0], "1970-01-01T00:00:00.000000Z", "{name}");
        }
    }

    #[test]
    fn a_second_run_continues_the_logs_and_ends_a_torn_line() {
        let directory = tempfile::tempdir().unwrap();
        let log = |number| {
            let logs = LogDir::create(directory.path()).unwrap();
            logs.handle().frame(frame(number));
            logs.finish()
        };
        log(1);
        let path = directory.path().join("frames_latency.csv");
        OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"2026-01-0")
            .unwrap();
        log(2);
        let lines = lines(directory.path(), "frames_latency.csv");
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[2], "2026-01-0");
        assert!(
            lines[3].starts_with("1970-01-01T00:00:00.000000Z,steady,2,true,"),
            "{}",
            lines[3]
        );
    }

    #[test]
    fn a_file_with_other_columns_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("handshake.csv"), "a,b\n1,2\n").unwrap();
        let failure = LogDir::create(directory.path()).unwrap_err();
        assert!(failure.to_string().contains("other columns"), "{failure}");
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_said_with_its_name() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let failure = LogDir::create(file.path()).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Sink);
        assert!(failure.what.contains(&*file.path().to_string_lossy()), "{failure}");
    }

    #[test]
    fn rows_are_on_disk_while_the_log_is_open() {
        let directory = tempfile::tempdir().unwrap();
        let logs = LogDir::create(directory.path()).unwrap();
        logs.handle().frame(frame(1));
        let deadline = Instant::now() + Duration::from_secs(60);
        while lines(directory.path(), "frames_latency.csv").len() < 2 {
            assert!(Instant::now() < deadline, "the row did not reach the file");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_found_before_the_stream_starts() {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", directory.path().join("frames_latency.csv")).unwrap();
        let failure = LogDir::create(directory.path()).unwrap_err();
        assert!(failure.hint.contains("disk is full"), "{failure}");
    }

    #[test]
    fn a_disk_that_fills_up_is_said_once_and_the_other_logs_go_on() {
        let directory = tempfile::tempdir().unwrap();
        let open = |(name, header): (&str, &'static [&'static str])| {
            LogFile::open(&directory.path().join(name), header).unwrap()
        };
        let mut writer = Writer {
            files: FILES.map(open).into(),
            shared: Arc::default(),
        };
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        writer.files[FRAMES].writer = Some(csv::Writer::from_writer(full));
        (0..3).for_each(|number| writer.write(FRAMES, &frame(number)));
        writer.flush();
        writer.write(FRAMES, &frame(3));
        writer.write(STEADY, &SteadyRow::default());
        writer.flush();
        assert_eq!(writer.shared.lost.load(Ordering::Relaxed), 4);
        assert_eq!(writer.shared.written.load(Ordering::Relaxed), 1);
        let failure = writer.shared.failure.lock().unwrap().clone().unwrap();
        assert!(failure.hint.contains("disk is full"), "{failure}");
        assert_eq!(lines(directory.path(), "steady_stream.csv").len(), 2);
    }

    #[test]
    fn a_log_that_has_grown_long_is_set_aside_and_begun_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("frames_latency.csv");
        let mut log = LogFile::open(&path, FrameRow::HEADER).unwrap();
        log.most = 1500;
        for number in 0..100 {
            assert!(log.write(&frame(number)).unwrap());
            assert_eq!(log.flush().unwrap(), 1);
        }
        let header = FrameRow::HEADER.join(",");
        let parts = ["frames_latency.old.csv", "frames_latency.csv"].map(|name| lines(directory.path(), name));
        let numbers = parts.iter().flat_map(|lines| {
            assert_eq!(lines[0], header);
            lines[1..].iter().map(|line| line.split(',').nth(2).unwrap().to_owned())
        });
        let numbers: Vec<u64> = numbers.map(|number| number.parse().unwrap()).collect();
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1) && numbers.last() == Some(&99));
        let longest = fs::metadata(directory.path().join("frames_latency.old.csv"))
            .unwrap()
            .len();
        assert!((1500..1800).contains(&longest), "{longest}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_writer_that_cannot_keep_up_costs_rows_and_never_time() {
        let (queue, rows) = sync_channel(2);
        let handle = LogHandle {
            queue,
            shared: Arc::default(),
        };
        (0..5).for_each(|number| handle.frame(frame(number)));
        assert_eq!(handle.lost_rows(), 3);
        assert_eq!(rows.try_iter().count(), 2);
    }
}
