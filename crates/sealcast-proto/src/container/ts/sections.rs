//! Sections of the tables of a transport stream, out of packets.

use super::stream_type;
use super::tables::{EXTENSION, OPUS, OPUS_EXTENSION, PAT, PMT, REGISTRATION, checksum};
use crate::container::{Pictures, Tracks};
use crate::unit::Codec;

/// Longest section in bytes.
const MAX_SECTION: usize = 1024;
/// Bytes of a section up to its length.
const LENGTH_AT: usize = 3;

/// Puts sections of one kind of packets together.
#[derive(Clone, Debug, Default)]
pub(super) struct Sections {
    bytes: Vec<u8>,
    /// A section was begun.
    open: bool,
    /// The last section, which comes again and again.
    last: Vec<u8>,
}

impl Sections {
    /// Takes the content of a packet, which begins a section or not. Returns a section that is whole, is right, and is
    /// not the one before.
    pub(super) fn push(&mut self, begins: bool, content: &[u8]) -> Option<&[u8]> {
        let content = match (begins, content) {
            (true, [skip, rest @ ..]) => {
                self.bytes.clear();
                self.open = true;
                rest.get(usize::from(*skip)..)?
            }
            (false, content) if self.open => content,
            _ => return None,
        };
        self.bytes.extend_from_slice(content);
        let length = self.bytes.get(1..LENGTH_AT)?;
        let length = LENGTH_AT + (usize::from(length[0] & 0xf) << 8 | usize::from(length[1]));
        if self.bytes.len() < length && length <= MAX_SECTION {
            return None;
        }
        self.open = false;
        self.bytes.truncate(length);
        let new = length <= MAX_SECTION && checksum(&self.bytes) == 0 && self.bytes != self.last;
        if new {
            self.last.clone_from(&self.bytes);
        }
        new.then_some(&self.last)
    }
}

/// The content of a section of this table, without head and checksum.
fn body(table: u8, section: &[u8]) -> Option<&[u8]> {
    let body = section.get(8..section.len().checked_sub(4)?)?;
    // One that is for later does not count.
    (section[0] == table && section[5] & 1 == 1).then_some(body)
}

fn pid(bytes: &[u8]) -> u16 {
    u16::from_be_bytes([bytes[0], bytes[1]]) & 0x1fff
}

/// Packets of the table of the first program.
pub(super) fn first_program(section: &[u8]) -> Option<u16> {
    let programs = body(PAT, section)?.as_chunks::<4>().0;
    // Number 0 is the network.
    let first = programs.iter().find(|program| program[..2] != [0, 0])?;
    Some(pid(&first[2..]))
}

/// Form of sound that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SoundForm {
    /// AAC behind headers.
    Adts,
    /// Opus of so many channels.
    Opus(u8),
}

/// Contents of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) picture: Option<(u16, Codec)>,
    pub(super) sound: Option<(u16, SoundForm)>,
    pub(super) tracks: Tracks,
}

/// Contents of a program by its section.
pub(super) fn program(section: &[u8]) -> Option<Program> {
    let body = body(PMT, section)?;
    let length = |bytes: &[u8]| usize::from(bytes[0] & 0xf) << 8 | usize::from(bytes[1]);
    let mut rest = body.get(4 + length(body.get(2..4)?)..)?;
    let mut program = Program::default();
    while let Some((head, more)) = rest.split_first_chunk::<5>() {
        let (kind, pid) = (head[0], pid(&head[1..3]));
        let (descriptors, more) = more.split_at_checked(length(&head[3..5]))?;
        rest = more;
        match form(kind, descriptors) {
            Form::Picture(codec) if program.picture.is_none() => program.picture = Some((pid, codec)),
            Form::Sound(form) if program.sound.is_none() => program.sound = Some((pid, form)),
            Form::Picture(_) => program.tracks.leave_out("another picture".into()),
            Form::Sound(_) => program.tracks.leave_out("other sound".into()),
            Form::Other(name) => program.tracks.leave_out(name),
        }
    }
    program.tracks.sound = program.sound.is_some();
    program.tracks.picture = program.picture.map(|(_, codec)| Pictures { codec, private: None });
    Some(program)
}

enum Form {
    Picture(Codec),
    Sound(SoundForm),
    Other(String),
}

fn form(kind: u8, descriptors: &[u8]) -> Form {
    let private = registered(descriptors);
    let name = match (kind, private) {
        (stream_type::H264, _) => return Form::Picture(Codec::H264),
        (stream_type::H265, _) => return Form::Picture(Codec::H265),
        (stream_type::ADTS, _) => return Form::Sound(SoundForm::Adts),
        (stream_type::PRIVATE, Some(OPUS)) => match opus_channels(descriptors) {
            Some(channels) => return Form::Sound(SoundForm::Opus(channels)),
            None => "Opus of unknown channels",
        },
        (0x01 | 0x02, _) => "MPEG-2 video",
        (0x03 | 0x04, _) => "MPEG sound",
        (0x10, _) => "MPEG-4 part 2 video",
        (0x11, _) => "AAC in LATM",
        (0x33, _) => "H.266",
        (0x81, _) | (_, Some(b"AC-3")) => "AC-3 sound",
        (_, Some(b"AV01")) => "AV1",
        (_, Some(private)) => return Form::Other(String::from_utf8_lossy(private).escape_default().to_string()),
        _ => return Form::Other(format!("a stream of type {kind:#04x}")),
    };
    Form::Other(name.into())
}

/// The descriptors of an entry: tag and content.
fn each(mut descriptors: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (head, rest) = descriptors.split_first_chunk::<2>()?;
        let (content, rest) = rest.split_at_checked(head[1].into())?;
        descriptors = rest;
        Some((head[0], content))
    })
}

fn registered(descriptors: &[u8]) -> Option<&[u8; 4]> {
    let mut own = each(descriptors).filter(|(tag, _)| *tag == REGISTRATION);
    own.find_map(|(_, content)| content.first_chunk())
}

/// Channels of Opus that has one of the usual layouts.
fn opus_channels(descriptors: &[u8]) -> Option<u8> {
    let mut extensions = each(descriptors).filter(|(tag, _)| *tag == EXTENSION);
    let channels = extensions.find_map(|(_, content)| match content {
        [OPUS_EXTENSION, channels, ..] => Some(*channels),
        _ => None,
    });
    channels.filter(|channels| (1..=8).contains(channels))
}

#[cfg(test)]
mod tests {
    use super::super::tables;
    use super::*;

    #[test]
    fn a_section_is_taken_once_from_packets_of_any_length() {
        let sound = tables::Sounds::Opus(2);
        let section = tables::program(1, stream_type::H265, Some(sound));
        for cut in 1..section.len() {
            let mut sections = Sections::default();
            for round in 0..2 {
                let begin = [&[0][..], &section[..cut]].concat();
                assert!(sections.push(true, &begin).is_none(), "{cut}");
                let whole = sections.push(false, &section[cut..]).map(<[u8]>::to_vec);
                assert_eq!(whole.is_some(), round == 0);
                let Some(whole) = whole else { continue };
                let program = program(&whole).expect("it is one");
                assert_eq!(program.picture, Some((tables::PICTURE_PID, Codec::H265)));
                assert_eq!(program.sound, Some((tables::SOUND_PID, SoundForm::Opus(2))));
            }
        }
        assert_eq!(first_program(&tables::programs()), Some(tables::PMT_PID));
    }

    #[test]
    fn a_section_that_is_altered_is_none() {
        let section = [&[0][..], &tables::programs()].concat();
        for at in 1..section.len() {
            let mut altered = section.clone();
            altered[at] ^= 4;
            assert!(Sections::default().push(true, &altered).is_none(), "{at}");
        }
    }
}
