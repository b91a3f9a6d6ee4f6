//! Records as metrics count them: by kind, by length, and by the reason why they were refused.

use sealcast_proto::seal::Refusal;
use sealcast_proto::wire::{Accept, CONNECTION_LEN, Header, Kind, LENGTH_PREFIX, TAG_LEN};

use crate::meter::labels::{OpenFailure, RecordKind};
use crate::meter::metrics::{Metrics, Overhead};

/// A run of records of the same kind that is not yet added to the metrics.
#[derive(Default)]
pub(crate) struct Opening {
    kind: Option<RecordKind>,
    records: u64,
    bytes: u64,
}

impl Opening {
    pub(crate) fn count(&mut self, kind: Option<RecordKind>, bytes: u64, metrics: &Metrics) {
        if kind != self.kind {
            self.flush(metrics);
            self.kind = kind;
        }
        self.records += 1;
        self.bytes += bytes;
    }

    pub(crate) fn flush(&mut self, metrics: &Metrics) {
        if let Some(kind) = self.kind.take() {
            metrics.records_opened(kind, self.records, self.bytes);
        }
        *self = Self::default();
    }
}

/// The bytes that one record adds to its payload.
pub(crate) fn overhead(preamble: u64) -> Overhead {
    Overhead {
        header: sealcast_proto::wire::HEADER_LEN as u64,
        tag: TAG_LEN as u64,
        preamble,
        framing: LENGTH_PREFIX as u64,
    }
}

/// The facts about a message that the metrics need, taken from its header.
pub(crate) struct Described {
    /// None for a message of the handshake.
    pub(crate) kind: Option<RecordKind>,
    pub(crate) in_clear: bool,
    /// True for the record with a frame's signature, of a group on a byte stream.
    pub(crate) proof: bool,
}

/// Describe a message by its header, before it is opened. Records in clear are counted here only on a byte stream;
/// otherwise the session counts them.
pub(crate) fn describe(message: &[u8], datagrams: bool, stream: bool) -> Described {
    let header = Header::parse(message, Accept::ClearMedia).ok().filter(|_| stream);
    if let Some(header) = header.filter(|header| header.kind == Kind::Media) {
        let config = header.flags.codec_config();
        return Described {
            kind: Some(if config { RecordKind::Config } else { RecordKind::Media }),
            in_clear: !header.flags.encrypted(),
            proof: false,
        };
    }
    let record = message.get(if datagrams { CONNECTION_LEN } else { 0 }..);
    Described {
        kind: record.and_then(Kind::of).map(|kind| match kind {
            Kind::Media => RecordKind::Media,
            Kind::Control => RecordKind::Control,
            Kind::Cell => RecordKind::Cell,
            Kind::Data => RecordKind::Data,
        }),
        in_clear: false,
        proof: stream
            && Header::parse(message, Accept::Signed { clear: true }).is_ok_and(|header| header.flags.proof()),
    }
}

/// Kind of a sealed message that is no media.
pub(crate) fn sealed_alone(message: &[u8], datagrams: bool) -> RecordKind {
    let record = message.get(if datagrams { CONNECTION_LEN } else { 0 }..);
    match record.and_then(Kind::of) {
        Some(Kind::Cell) => RecordKind::Cell,
        Some(Kind::Data) => RecordKind::Data,
        _ => RecordKind::Control,
    }
}

pub(crate) fn open_failure(reason: Refusal) -> OpenFailure {
    match reason {
        Refusal::Malformed => OpenFailure::Malformed,
        Refusal::Cleartext => OpenFailure::Cleartext,
        Refusal::OutsideCell => OpenFailure::OutsideCell,
        Refusal::UnknownEpoch => OpenFailure::UnknownEpoch,
        Refusal::Replay => OpenFailure::Replay,
        Refusal::Tag => OpenFailure::Tag,
    }
}
