//! The two halves of a shape without a session: whatever goes into cells comes out of them.

use std::time::Duration;

use super::reader::CellReader;
use super::writer::CellWriter;
use crate::sim::Random;
use crate::wire::{CellPlan, HEADER_LEN, MAX_CELL, MIN_CELL, Malformed, MessageLength, TAG_LEN, write_framed};

const TICK: Duration = Duration::from_millis(5);

fn plan(size: usize) -> CellPlan {
    CellPlan {
        tick: TICK,
        cells: 1,
        size: size as u16,
    }
}

fn payload(size: usize) -> Vec<u8> {
    vec![0; size - HEADER_LEN - TAG_LEN]
}

fn read(reader: &mut CellReader, cell: &mut [u8]) -> Result<Vec<Vec<u8>>, Malformed> {
    let mut records = Vec::new();
    reader.read::<Malformed>(cell, |record| {
        records.push(record.to_vec());
        Ok(true)
    })?;
    Ok(records)
}

fn record(random: &mut Random, longest: usize) -> Vec<u8> {
    let length = 1 + random.uniform(0..longest as u64) as usize;
    (0..length).map(|_| random.uniform(0..256) as u8).collect()
}

#[test]
fn records_of_any_length_come_out_of_a_byte_streams_cells_as_they_went_in() {
    for (seed, size) in [(1, MIN_CELL), (2, 777), (3, MAX_CELL)] {
        let mut random = Random::new(seed);
        let mut writer = CellWriter::new(plan(size), true, Duration::ZERO);
        let mut reader = CellReader::new(Some(MessageLength::Record));
        let (mut media, mut control, mut out) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..500 {
            if random.uniform(0..4) == 0 {
                let longest = if random.uniform(0..10) == 0 { 20_000 } else { 600 };
                let one = record(&mut random, longest);
                let mut waiting = writer.take_media();
                write_framed(&mut waiting, &one);
                writer.put_media(waiting);
                media.push(one);
            }
            if random.uniform(0..8) == 0 {
                let one = record(&mut random, 300);
                writer.push_control(one.clone());
                control.push(one);
            }
            let mut cell = payload(size);
            writer.fill(&mut cell, |_| None);
            out.extend(read(&mut reader, &mut cell).expect("well formed"));
        }
        while !writer.is_empty() {
            let mut cell = payload(size);
            writer.fill(&mut cell, |_| None);
            out.extend(read(&mut reader, &mut cell).expect("well formed"));
        }
        let came = |sent: &[Vec<u8>]| sent.iter().filter(|one| out.contains(one)).count();
        assert_eq!((came(&media), came(&control)), (media.len(), control.len()));
        assert_eq!((out.len(), reader.broken), (media.len() + control.len(), 0));
    }
}

#[test]
fn after_a_missing_cell_whole_records_follow_again() {
    let mut random = Random::new(7);
    let size = MIN_CELL;
    let mut writer = CellWriter::new(plan(size), true, Duration::ZERO);
    let mut reader = CellReader::new(Some(MessageLength::Record));
    let mut sent = Vec::new();
    let mut came = Vec::new();
    for number in 0..400 {
        let one = record(&mut random, 900);
        let mut waiting = writer.take_media();
        write_framed(&mut waiting, &one);
        writer.put_media(waiting);
        sent.push(one);
        for part in 0..2 {
            let mut cell = payload(size);
            writer.fill(&mut cell, |_| None);
            if number % 20 != 9 || part == 1 {
                came.extend(read(&mut reader, &mut cell).expect("well formed"));
            }
        }
    }
    assert!(came.iter().all(|one| sent.contains(one)), "nothing is made up");
    assert!(
        reader.broken > 0 && came.len() > 330,
        "{} of {}",
        came.len(),
        sent.len()
    );
}

#[test]
fn datagrams_share_cells_where_they_fit() {
    let mut writer = CellWriter::new(plan(1_000), false, Duration::ZERO);
    let mut reader = CellReader::new(None);
    let mut packets = [vec![1; 300], vec![2; 300], vec![3; 900]].into_iter().peekable();
    writer.push_control(vec![9; 100]);
    let mut came = Vec::new();
    for _ in 0..3 {
        let mut cell = payload(1_000);
        writer.fill(&mut cell, |room| {
            let packet = packets.next_if(|packet| packet.len() <= room.len())?;
            room[..packet.len()].copy_from_slice(&packet);
            Some(packet.len())
        });
        came.push(read(&mut reader, &mut cell).expect("well formed"));
    }
    let lengths: Vec<Vec<usize>> = came.iter().map(|cell| cell.iter().map(Vec::len).collect()).collect();
    assert_eq!(lengths, [vec![100, 300, 300], vec![900], vec![]]);
}

#[test]
fn what_no_honest_end_writes_is_malformed() {
    let cells: [(&str, bool, &[u8]); 7] = [
        ("too short", true, &[0, 0, 0]),
        ("longer than the cell", true, &[0, 9, 0, 0, 1, 2]),
        ("a record begins after the end", true, &[0, 2, 0, 2, 1, 2]),
        ("filled with something", true, &[0, 0, 0xFF, 0xFF, 0, 1]),
        ("a datagram that goes on", false, &[0, 3, 0xFF, 0xFF, 0, 1, 7]),
        ("a datagram longer than its cell", false, &[0, 3, 0, 0, 0, 2, 7]),
        ("a record of no bytes", true, &[0, 4, 0, 0, 0, 0, 0, 0]),
    ];
    for (name, stream, cell) in cells {
        let mut reader = CellReader::new(stream.then_some(MessageLength::Record));
        assert_eq!(read(&mut reader, &mut cell.to_vec()), Err(Malformed), "{name}");
    }
}

#[test]
fn late_ticks_are_caught_up_with_a_few_at_a_time_and_the_schedule_stays() {
    let mut writer = CellWriter::new(plan(MIN_CELL), true, Duration::ZERO);
    assert_eq!(writer.due(Duration::ZERO, 0, false), 1);
    assert_eq!(writer.due(TICK / 2, 0, false), 0);
    assert_eq!(writer.due(TICK * 3 + TICK / 2, 0, false), 3, "two of them are late");
    assert_eq!((writer.deadline(), writer.counts.late_ticks), (TICK * 4, 2));
    assert_eq!(writer.due(TICK * 103, 0, false), 8);
    assert_eq!((writer.deadline(), writer.counts.skipped_ticks), (TICK * 104, 92));
    let held = MIN_CELL * 8 + 1;
    assert_eq!(writer.due(TICK * 104, held, false), 0, "the carrier takes no more");
    assert_eq!(writer.counts.skipped_ticks, 93);
}

#[test]
fn control_messages_that_nobody_could_carry_are_dropped_and_counted() {
    let mut writer = CellWriter::new(plan(MIN_CELL), true, Duration::ZERO);
    for _ in 0..2_000 {
        writer.push_control(vec![0; 69]);
    }
    assert!(writer.counts.dropped_control > 1_000);
}
