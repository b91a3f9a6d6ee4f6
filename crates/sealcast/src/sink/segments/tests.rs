use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Instant;

use sealcast_testkit::skips::skipped;

use super::super::file::tests::TinyDisk;
use super::*;
use crate::media::{Codec, FrameRate};
use crate::sink;

/// Pictures of a second, and from keyframe to keyframe.
const RATE: u32 = 10;
const GROUP: u64 = 5;

fn info(codec: Codec) -> StreamInfo {
    StreamInfo {
        codec,
        width: 16,
        height: 16,
        rate: FrameRate {
            numerator: RATE,
            denominator: 1,
        },
        parameters: Vec::new(),
    }
}

fn frame(number: u64) -> ReceivedFrame {
    ReceivedFrame {
        number,
        keyframe: number.is_multiple_of(GROUP),
        media_time: Duration::from_millis(100 * number),
        opened: Instant::now(),
        data: vec![u8::try_from(number % 251).expect("small"); 40].into(),
    }
}

fn open(folder: &Path, query: &str) -> Box<dyn Sink> {
    let url = format!("file:{}/%Y-%m-%d/%H-%M-%S.mjpeg?{query}", folder.display());
    let mut sink = sink::open(&url).expect("it opens");
    sink.start(&info(Codec::Mjpeg)).expect("fine");
    sink
}

/// Writes frames whose stamps are this many seconds after 2001-09-09 01:46:40.
fn record(sink: &mut dyn Sink, frames: impl Iterator<Item = u64>) -> Result<()> {
    for number in frames {
        sink.stamped(1_000_000_000_000_000_000 + number * 100_000_000, None);
        sink.write(&frame(number))?;
    }
    Ok(())
}

/// Names and contents of the recordings below the folder, sorted.
fn recordings(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next)
            .expect("a folder")
            .map(|entry| entry.expect("an entry"))
        {
            let path = entry.path();
            if entry.file_type().expect("a type").is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "mjpeg") {
                let name = path.strip_prefix(folder).expect("below").to_string_lossy().into_owned();
                found.push((name, fs::read(&path).expect("the file")));
            }
        }
    }
    found.sort();
    found
}

fn names(folder: &Path) -> Vec<String> {
    recordings(folder).into_iter().map(|(name, _)| name).collect()
}

fn index_file(folder: &Path) -> PathBuf {
    folder.join("%Y-%m-%d+%H-%M-%S.mjpeg.index")
}

#[test]
fn each_frame_is_in_one_file_and_each_file_begins_with_a_keyframe() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut sink = open(dir.path(), "segment=2s");
    // It begins inside a group: what comes before a keyframe is of no use.
    record(&mut *sink, 3..100).expect("space");
    sink.finish().expect("space");
    let recordings = recordings(dir.path());
    let named = recordings.iter().map(|(name, _)| &**name).collect::<Vec<_>>();
    assert_eq!(
        named[..3],
        [
            "2001-09-09/01-46-40.mjpeg",
            "2001-09-09/01-46-42.mjpeg",
            "2001-09-09/01-46-44.mjpeg"
        ]
    );
    let expected = (5..100)
        .flat_map(|number| frame(number).data.to_vec())
        .collect::<Vec<_>>();
    let written = recordings
        .iter()
        .flat_map(|(_, bytes)| bytes.clone())
        .collect::<Vec<_>>();
    assert_eq!(written, expected);
    for (name, bytes) in &recordings {
        assert_eq!(u64::from(bytes[0]) % GROUP, 0, "{name}");
        assert!(bytes.len() <= 20 * 40, "{name}");
    }
    let lines = fs::read_to_string(index_file(dir.path())).expect("the index");
    assert_eq!(
        lines.lines().collect::<Vec<_>>(),
        named.iter().map(|name| format!("+ {name}")).collect::<Vec<_>>()
    );
}

#[test]
fn a_name_that_exists_gets_a_number_and_what_has_it_is_untouched() {
    let dir = tempfile::tempdir().expect("a folder");
    let day = dir.path().join("2001-09-09");
    fs::create_dir(&day).expect("a folder");
    fs::write(day.join("01-46-40.mjpeg"), "precious").expect("space");
    symlink("/dev/null", day.join("01-46-40-2.mjpeg")).expect("a link");
    for _ in 0..2 {
        let mut sink = open(dir.path(), "segment=1h");
        record(&mut *sink, 0..10).expect("space");
        sink.finish().expect("space");
    }
    let found = recordings(dir.path());
    let named = found
        .iter()
        .map(|(name, bytes)| (&name[11..], bytes.len()))
        .collect::<Vec<_>>();
    assert_eq!(
        named,
        [
            ("01-46-40-2.mjpeg", 0),
            ("01-46-40-3.mjpeg", 400),
            ("01-46-40-4.mjpeg", 400),
            ("01-46-40.mjpeg", 8)
        ]
    );
}

#[test]
fn the_oldest_of_the_recording_are_removed_and_nothing_else() {
    let dir = tempfile::tempdir().expect("a folder");
    let foreign = dir.path().join("2001-09-08");
    fs::create_dir(&foreign).expect("a folder");
    fs::write(foreign.join("23-00-00.mjpeg"), vec![1; 900_000]).expect("space");
    let mut sink = open(dir.path(), "segment=1s&max=1MB");
    for number in 0..60 {
        let data = vec![u8::try_from(number).expect("small"); 25_000];
        sink.stamped(1_000_000_000_000_000_000 + number * 100_000_000, None);
        sink.write(&ReceivedFrame {
            data: data.into(),
            ..frame(number)
        })
        .expect("space");
    }
    sink.finish().expect("space");
    let kept = recordings(dir.path());
    let own = kept
        .iter()
        .filter(|(name, _)| name.starts_with("2001-09-09/"))
        .collect::<Vec<_>>();
    let bytes = own.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
    assert!(
        bytes <= 1_000_000 && own.len() == 4,
        "{bytes} bytes in {} files",
        own.len()
    );
    assert_eq!(own.last().expect("the newest").0, "2001-09-09/01-46-45.mjpeg");
    assert!(foreign.join("23-00-00.mjpeg").is_file());
    // After a restart the index says what is its own.
    drop(sink);
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(7200);
    for (name, _) in own {
        let file = fs::File::options()
            .append(true)
            .open(dir.path().join(name))
            .expect("the file");
        file.set_modified(long_ago).expect("its own");
    }
    let mut sink = open(dir.path(), "segment=1s&keep=1h");
    record(&mut *sink, 600..610).expect("space");
    sink.finish().expect("space");
    assert_eq!(
        names(dir.path()),
        ["2001-09-08/23-00-00.mjpeg", "2001-09-09/01-47-40.mjpeg"]
    );
}

#[test]
fn links_are_not_followed_to_what_is_removed() {
    let (dir, elsewhere) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    let precious = elsewhere.path().join("01-46-40.mjpeg");
    let mut sink = open(dir.path(), "segment=1s");
    record(&mut *sink, 0..10).expect("space");
    sink.finish().expect("space");
    drop(sink);
    fs::rename(dir.path().join("2001-09-09/01-46-40.mjpeg"), &precious).expect("moved");
    fs::remove_dir(dir.path().join("2001-09-09")).expect("empty");
    symlink(elsewhere.path(), dir.path().join("2001-09-09")).expect("a link");
    let template = Template::parse(&dir.path().join("%Y-%m-%d/%H-%M-%S.mjpeg")).expect("a template");
    let mut index = Index::open(&template).expect("it opens");
    let removed = index.remove_oldest().expect("it is named");
    assert!(removed.is_err(), "{removed:?}");
    assert!(precious.is_file());
    // Names that lead elsewhere, and lines that are cut off, are no files of the recording.
    drop(index);
    let outside = format!(
        "+ ../{}/01-46-40.mjpeg\n+ /etc/hosts\n+ 2001",
        elsewhere.path().display()
    );
    fs::write(index_file(dir.path()), outside).expect("space");
    assert!(Index::open(&template).expect("it opens").entries.is_empty());
}

#[test]
fn two_recordings_by_the_same_names_are_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let _first = open(dir.path(), "segment=1s");
    let second = sink::open(&format!(
        "file:{}/%Y-%m-%d/%H-%M-%S.mjpeg?segment=1s",
        dir.path().display()
    ));
    assert!(second.err().expect("refused").what.contains("another sealcast records"));
    sink::open(&format!("file:{}/back-%H-%M-%S.mjpeg?segment=1s", dir.path().display())).expect("other names");
}

#[test]
fn another_codec_or_session_begins_another_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let url = format!("file:{}/%H-%M-%S.mp4?segment=1h", dir.path().display());
    let mut sink = sink::open(&url).expect("it opens");
    sink.start(&info(Codec::Mjpeg)).expect("fine");
    record(&mut *sink, 0..20).expect("space");
    // The publisher was restarted.
    record(&mut *sink, 0..20).expect("space");
    sink.start(&StreamInfo {
        width: 32,
        ..info(Codec::Mjpeg)
    })
    .expect("fine");
    sink.finish().expect("space");
    let mut files = fs::read_dir(dir.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path());
    assert_eq!(
        files
            .by_ref()
            .filter(|path| path.extension().is_some_and(|ending| ending == "mp4"))
            .count(),
        2
    );
}

#[test]
fn a_full_disk_has_room_for_what_is_new_as_long_as_the_recording_has_old_files() {
    let Some(disk) = TinyDisk::mount() else {
        skipped("only root may mount a file system");
        return;
    };
    let mut sink = open(disk.path(), "segment=1s");
    let write = |sink: &mut dyn Sink, number: u64| {
        sink.stamped(1_000_000_000_000_000_000 + number * 100_000_000, None);
        let data = vec![u8::try_from(number % 251).expect("small"); 20_000];
        sink.write(&ReceivedFrame {
            data: data.into(),
            ..frame(number)
        })
    };
    (0..200)
        .try_for_each(|number| write(&mut *sink, number))
        .expect("room is made");
    let found = recordings(disk.path());
    assert!((3..=5).contains(&found.len()), "{}", found.len());
    let last = found
        .iter()
        .flat_map(|(_, bytes)| bytes.chunks(20_000))
        .map(|frame| frame[0])
        .collect::<Vec<_>>();
    let first = 200 - u8::try_from(last.len()).expect("few");
    assert_eq!(last, (first..200).collect::<Vec<_>>());
    // Somebody else fills the disk.
    let filler = fs::File::create(disk.path().join("filler")).expect("a file");
    let mut failure = None;
    for number in 200..400 {
        while io::Write::write(&mut &filler, &[0; 4096]).is_ok_and(|written| written > 0) {}
        failure = write(&mut *sink, number).err();
        if failure.is_some() {
            break;
        }
    }
    let failure = failure.expect("nothing is left to remove");
    assert!(failure.what.contains("is full, also after"), "{failure}");
}
