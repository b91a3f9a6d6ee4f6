//! Tests with a board simulated by a pair of pseudo terminals.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::board::Board;
use super::energy::Tally;
use super::sample::{Meter, Sample};

/// Timeout for every step, long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The board's end of the line, and the path of our end.
struct Line {
    board: File,
    path: PathBuf,
    /// Keeps the terminal alive and in raw mode from the start, while nothing else has it open.
    _held: File,
}

fn line() -> Line {
    let board = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&board).unwrap();
    unlockpt(&board).unwrap();
    let name = ptsname(&board, Vec::new()).unwrap().into_string().unwrap();
    let held = rustix::fs::open(&*name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let mut settings = rustix::termios::tcgetattr(&held).unwrap();
    settings.make_raw();
    rustix::termios::tcsetattr(&held, rustix::termios::OptionalActions::Now, &settings).unwrap();
    Line {
        board: board.into(),
        path: name.into(),
        _held: held.into(),
    }
}

/// Sends these texts repeatedly, one every 5 ms, until told to stop.
fn play(line: &Line, texts: impl Fn(u64) -> Option<String> + Send + 'static) -> (Sender<()>, JoinHandle<()>) {
    let mut board = line.board.try_clone().unwrap();
    let (stop, stopped) = channel();
    let player = thread::spawn(move || play_until(&mut board, texts, &stopped));
    (stop, player)
}

fn play_until(board: &mut File, texts: impl Fn(u64) -> Option<String>, stopped: &Receiver<()>) {
    for number in 0.. {
        if let Some(text) = texts(number) {
            board.write_all(text.as_bytes()).unwrap();
        }
        if stopped.recv_timeout(Duration::from_millis(5)) != Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            return;
        }
    }
}

/// The next lines that the board receives. The system delivers them one by one, and perhaps with a delay.
fn heard(line: &Line, lines: usize) -> String {
    let board = BufReader::new(line.board.try_clone().unwrap());
    let (sender, heard) = channel();
    thread::spawn(move || {
        let lines = board.split(b'\n').take(lines).map(Result::unwrap);
        let texts = lines.map(|line| String::from_utf8(line).unwrap() + "\n");
        sender.send(texts.collect())
    });
    heard.recv_timeout(PATIENCE).expect("that it hears so much")
}

/// Reads at least `enough` samples, however long the board takes: the clock passed in stands still.
fn samples(meter: &mut Board, enough: usize) -> Vec<Sample> {
    let (began, mut samples) = (Instant::now(), Vec::new());
    while samples.len() < enough {
        assert!(began.elapsed() < PATIENCE, "only {} samples", samples.len());
        meter.read(Duration::ZERO, &mut samples).unwrap();
        thread::sleep(Duration::from_millis(5));
    }
    samples
}

fn watts(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|sample| sample.value).collect()
}

/// The line that a board sends for a steady 2 W at 5 V.
fn steady(number: u64) -> Option<String> {
    Some(format!("{},2000.0,400.0\r\n", 1_000 + 5 * number))
}

#[test]
fn the_power_that_a_board_sends_is_what_was_drawn_and_it_hears_of_what() {
    let line = line();
    let (stop, player) = play(&line, |number| {
        Some(format!("{},{},480.5\r\n", 5 * number, 2400 + number % 2))
    });
    let mut meter = Board::open(&line.path, 115_200).unwrap();
    meter.begin("trivium/words\n1200 bytes").unwrap();
    let mut tally = Tally::new(&meter.about().channels);
    samples(&mut meter, 41).iter().for_each(|sample| tally.add(sample));
    meter.end().unwrap();
    let drawn = tally.mean_watts().unwrap();
    assert!((drawn - 2.4005).abs() < 1e-4, "{drawn} W");
    drop(stop);
    player.join().unwrap();
    assert_eq!(heard(&line, 2), "start trivium/words?1200 bytes\nstop\n");
}

#[test]
fn what_a_board_sent_before_a_measurement_is_no_part_of_it() {
    let line = line();
    let (tell, sent) = channel();
    let (stop, player) = play(&line, move |number| {
        tell.send(number).unwrap();
        let milliwatts = if number < 60 { 9000 } else { 1000 };
        Some(format!("{},{milliwatts},1\n", 5 * number))
    });
    let mut meter = Board::open(&line.path, 115_200).unwrap();
    assert!(sent.iter().any(|number| number > 100));
    meter.begin("idle").unwrap();
    let watts = watts(&samples(&mut meter, 10));
    assert!(watts.iter().all(|watts| *watts == 1.0), "{watts:?}");
    drop(stop);
    player.join().unwrap();
}

#[test]
fn garbage_and_cut_lines_cost_their_sample_and_nothing_else() {
    let line = line();
    let (stop, player) = play(&line, |number| match number % 8 {
        1 => Some("\u{fffd}\u{0}what,is,this\r\n# a remark\r\n".to_owned()),
        2 => Some(format!("{},20", 1_000 + 5 * number)),
        3 => Some("1,2,3,4\n,,\n99999999999999,1,1\n7,inf,1\n7,1e9,1\n".to_owned()),
        4 => Some(format!("{}\n", "9".repeat(4_000))),
        _ => steady(number),
    });
    let mut meter = Board::open(&line.path, 115_200).unwrap();
    let watts = watts(&samples(&mut meter, 30));
    assert!(watts.iter().all(|watts| *watts == 2.0), "{watts:?}");
    drop(stop);
    player.join().unwrap();
}

#[test]
fn a_line_at_another_speed_is_told_from_a_board() {
    let line = line();
    let (stop, player) = play(&line, |_| Some("x\u{7f}~~\n".to_owned()));
    let failure = Board::open(&line.path, 9_600).err().unwrap();
    assert!(failure.what.contains("no samples, such as \"x\\u{7f}~~\""), "{failure}");
    assert!(failure.hint.contains("baud="), "{failure}");
    drop(stop);
    player.join().unwrap();
}

/// Results of reading at these times of a simulated clock.
fn read_at(meter: &mut Board, seconds: &[f64]) -> Vec<Result<Vec<Sample>, String>> {
    let read = |&seconds: &f64| {
        let mut samples = Vec::new();
        let done = meter.read(Duration::from_secs_f64(seconds), &mut samples);
        done.map(|()| samples).map_err(|failure| failure.what)
    };
    seconds.iter().map(read).collect()
}

/// Reads until the sample of this power has come: the board sent nothing after it, so the line is empty then. The
/// system delivers what was sent with a delay.
fn read_up_to(meter: &mut Board, now: Duration, watts: f64) {
    let (began, mut samples) = (Instant::now(), Vec::new());
    while samples.last().is_none_or(|sample: &Sample| sample.value != watts) {
        assert!(began.elapsed() < PATIENCE, "no sample of {watts} W");
        meter.read(now, &mut samples).unwrap();
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_board_that_goes_silent_is_an_error_after_two_seconds() {
    let line = line();
    let (stop, player) = play(&line, steady);
    let mut meter = Board::open(&line.path, 115_200).unwrap();
    drop(stop);
    player.join().unwrap();
    (&line.board).write_all(b"1000000000,7000,400\n").unwrap();
    read_up_to(&mut meter, Duration::from_secs(1), 7.0);
    let read = read_at(&mut meter, &[2.0, 2.9, 3.5]);
    assert!(read[..2].iter().all(Result::is_ok), "{read:?}");
    let why = read[2].as_ref().unwrap_err();
    assert!(why.contains("no sample for 2.5 s"), "{why}");
}

#[test]
fn a_board_that_is_unplugged_or_begins_anew_is_an_error() {
    let line = line();
    let (stop, player) = play(&line, steady);
    let mut meter = Board::open(&line.path, 115_200).unwrap();
    drop(stop);
    player.join().unwrap();
    (&line.board).write_all(b"3,2000,400\n").unwrap();
    // The system delivers the line with a delay.
    let mut reads = std::iter::repeat_with(|| read_at(&mut meter, &[1.0]).remove(0));
    let why = reads.find_map(Result::err).unwrap();
    assert!(why.contains("begun anew"), "{why}");
    drop(line);
    let why = read_at(&mut meter, &[1.1]).remove(0).unwrap_err();
    assert!(why.contains("is gone"), "{why}");
}

#[test]
fn the_boards_clock_may_wrap_around() {
    let line = line();
    let (stop, player) = play(&line, |number| {
        let millis = (u64::from(u32::MAX) - 300 + 5 * number) & u64::from(u32::MAX);
        Some(format!("{millis},1000,200\n"))
    });
    let mut meter = Board::open(&line.path, 115_200).unwrap();
    let mut tally = Tally::new(&meter.about().channels);
    // The clock wraps around within the first sixty samples.
    let read = samples(&mut meter, 100);
    read.iter().for_each(|sample| tally.add(sample));
    let joules = tally.counted_joules().unwrap();
    let span = (read[read.len() - 1].at - read[0].at).as_secs_f64();
    assert!(span > 0.4 && (joules - span).abs() < 1e-9, "{joules} J in {span} s");
    drop(stop);
    player.join().unwrap();
}

#[test]
fn a_line_that_is_not_there_is_named() {
    let failure = Board::open("/dev/nonexistent".as_ref(), 115_200).err().unwrap();
    assert!(
        failure.what.contains("serial:/dev/nonexistent cannot be opened"),
        "{failure}"
    );
}
