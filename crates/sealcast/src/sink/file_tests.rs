use std::process::Command;
use std::time::{Duration, Instant};

use sealcast_testkit::skips::skipped;

use super::*;
use crate::media::FrameRate;

fn info(codec: Codec) -> StreamInfo {
    let rate = FrameRate {
        numerator: 25,
        denominator: 1,
    };
    StreamInfo {
        codec,
        width: 16,
        height: 16,
        rate,
        parameters: Vec::new(),
    }
}

fn frame(number: u64) -> ReceivedFrame {
    let media_time = Duration::from_millis(40) * u32::try_from(number).expect("small");
    ReceivedFrame {
        number,
        keyframe: true,
        media_time,
        opened: Instant::now(),
        data: vec![7; 10_000].into(),
    }
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

#[test]
fn an_existing_file_is_safe_unless_overwriting_is_asked_for() {
    let dir = scratch();
    let path = dir.path().join("out.mjpeg");
    fs::write(&path, "precious").expect("space");
    let failure = FileSink::create(&path, false).expect_err("it exists");
    assert_eq!(failure.kind, FailureKind::Sink);
    assert!(failure.hint.contains("?overwrite"), "{failure}");
    // No frame arrived: the old recording stays.
    drop(FileSink::create(&path, true).expect("asked for"));
    assert_eq!(fs::read(&path).expect("the file"), b"precious");
    let mut sink = FileSink::create(&path, true).expect("asked for");
    sink.start(&info(Codec::Mjpeg)).expect("fine");
    sink.write(&ReceivedFrame {
        data: vec![1, 2].into(),
        ..frame(0)
    })
    .expect("fine");
    sink.finish().expect("fine");
    assert_eq!(fs::read(&path).expect("the file"), [1, 2]);
}

#[test]
fn a_file_that_got_no_frame_is_removed() {
    let dir = scratch();
    let path = dir.path().join("out.mp4");
    let mut sink = FileSink::create(&path, false).expect("fine");
    sink.start(&info(Codec::H264)).expect("fine");
    sink.finish().expect("fine");
    drop(sink);
    assert!(!path.exists());
}

#[test]
fn a_path_that_cannot_be_written_is_told_with_its_name() {
    let dir = scratch();
    let told = |path: &Path| FileSink::create(path, false).expect_err("impossible").to_string();
    fs::create_dir(dir.path().join("dir.mp4")).expect("a directory");
    assert!(told(&dir.path().join("dir.mp4")).contains("dir.mp4 is a directory"));
    assert!(told(&dir.path().join("no/where.mp4")).contains("does not exist"));
    assert!(told(Path::new("/proc/self/out.mp4")).contains("/proc/self/out.mp4"));
    let failure = FileSink::create(&dir.path().join("out.avi"), false).expect_err("no such format");
    assert_eq!(failure.kind, FailureKind::Usage);
    assert!(failure.hint.contains("-c copy OUT.avi"), "{failure}");
    let failure = FileSink::create(&dir.path().join("out.txt"), false).expect_err("no such format");
    assert_eq!(failure.kind, FailureKind::Usage);
}

#[test]
fn a_directory_without_permission_is_told() {
    let failure = told(Path::new("out.mp4"), &ErrorKind::PermissionDenied.into());
    assert!(failure.what.contains("out.mp4 may not be written"), "{failure}");
}

#[test]
fn a_stream_that_does_not_fit_the_name_is_refused() {
    let dir = scratch();
    let start = |name: &str, codec| {
        FileSink::create(&dir.path().join(name), false)
            .expect("fine")
            .start(&info(codec))
    };
    assert!(start("a.mjpeg", Codec::H264).expect_err("H.264").hint.contains(".h264"));
    assert!(
        start("a.264", Codec::Mjpeg)
            .expect_err("Motion JPEG")
            .hint
            .contains(".mjpeg")
    );
    let mut sink = FileSink::create(&dir.path().join("a.mp4"), false).expect("fine");
    sink.start(&info(Codec::Mjpeg)).expect("fine");
    sink.start(&info(Codec::Mjpeg)).expect("the same stream again");
    assert!(
        sink.start(&info(Codec::H264))
            .expect_err("another codec")
            .what
            .contains("changed its codec")
    );
}

#[test]
fn a_full_device_is_told() {
    let dir = scratch();
    for name in ["full.mjpeg", "full.mp4"] {
        let path = dir.path().join(name);
        std::os::unix::fs::symlink("/dev/full", &path).expect("a link");
        let mut sink = FileSink::create(&path, false).expect("devices are there to be written");
        sink.start(&info(Codec::Mjpeg)).expect("fine");
        // The first fragment of an MP4 file waits for nearly a second.
        let failure = (0..50)
            .find_map(|number| sink.write(&frame(number)).err())
            .expect("it is full");
        assert_eq!(failure.kind, FailureKind::Sink);
        assert!(
            failure.what.contains(name) && failure.what.contains("is full"),
            "{failure}"
        );
    }
}

/// A file system of one megabyte; only root may mount it.
pub(in crate::sink) struct TinyDisk(tempfile::TempDir);

impl TinyDisk {
    pub(in crate::sink) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(in crate::sink) fn mount() -> Option<Self> {
        let dir = scratch();
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(dir.path())
            .status();
        status.is_ok_and(|status| status.success()).then_some(Self(dir))
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn what_fits_on_a_full_disk_plays() {
    let Some(disk) = TinyDisk::mount() else {
        skipped("only root may mount a file system");
        return;
    };
    let path = disk.0.path().join("out.mp4");
    let mut image = Vec::new();
    let encoder = jpeg_encoder::Encoder::new(&mut image, 60);
    encoder
        .encode(&[9; 256], 16, 16, jpeg_encoder::ColorType::Luma)
        .expect("a picture");
    // Bytes after the end of an image are ignored; they only make the file grow.
    image.resize(20_000, 0);
    let mut sink = FileSink::create(&path, false).expect("fine");
    sink.start(&info(Codec::Mjpeg)).expect("fine");
    let write = |sink: &mut FileSink, number| {
        sink.write(&ReceivedFrame {
            data: image.clone().into(),
            ..frame(number)
        })
    };
    let (written, failure) = (0..)
        .find_map(|number| Some((number, write(&mut sink, number).err()?)))
        .expect("full");
    assert!(failure.what.contains("is full"), "{failure}");
    let _ = sink.finish();
    let reader = crate::source::Container::open(File::open(&path).expect("the file"), None);
    let mut reader = reader.expect("it plays");
    let mut frames = 0;
    while reader.next_frame().expect("without a break").is_some() {
        frames += 1;
    }
    assert!((30..=written).contains(&frames), "{frames} of {written} frames");
}
