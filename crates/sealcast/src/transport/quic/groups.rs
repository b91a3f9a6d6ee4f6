//! Media on QUIC streams, one stream for each group of pictures, so that an old group can be dropped for a new one.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use quinn::{Connection, OpenUni, SendStream, VarInt, WriteError};
use sealcast_proto::unit::SOUND_STREAM;
use sealcast_proto::wire::{Accept, Header, LENGTH_PREFIX};

use crate::meter::labels::MediaStream;
use crate::meter::metrics::Metrics;

/// A group is outdated once this many newer groups have begun,
const NEWER_GROUPS: usize = 2;
/// and once this time plus two round trips have passed since its end: groups of a single picture follow each other
/// faster than they can be acknowledged.
const OUT_OF_DATE: Duration = Duration::from_millis(120);
/// Error code for resetting the stream of an outdated group.
const OUTDATED: VarInt = VarInt::from_u32(1);
/// Minimum send window in bytes, whatever quinn estimates of the path.
const LEAST_WINDOW: u64 = 16 << 10;

/// A group that has been passed to quinn completely.
struct Older {
    stream: SendStream,
    ended: Instant,
}

/// A record with its length prefix, of which quinn has taken only the first bytes.
struct Waiting {
    begins: bool,
    bytes: Vec<u8>,
    taken: usize,
}

/// The streams of the groups, newest last.
pub(super) struct Groups {
    current: Option<SendStream>,
    /// True if a group has begun, or waits for its stream.
    begun: bool,
    /// True if the last record of the group was a stream description, so the keyframe after it belongs to the same
    /// group.
    described: bool,
    older: VecDeque<Older>,
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// Priority of the newest group. Older groups have a higher one, so that a keyframe does not delay their last
    /// packets.
    priority: i32,
    metrics: Metrics,
}

impl Groups {
    pub(super) fn new(metrics: Metrics) -> Self {
        Self {
            current: None,
            begun: false,
            described: false,
            older: VecDeque::new(),
            waiting: VecDeque::new(),
            bytes: 0,
            priority: 0,
            metrics,
        }
    }

    /// Takes a run of records; returns `false` if earlier ones are still queued.
    pub(super) fn send(&mut self, connection: &Connection, packets: &[u8], size: usize) -> io::Result<bool> {
        // wait() registers the real waker for data that could not be sent.
        let mut context = Context::from_waker(Waker::noop());
        let mut open = std::pin::pin!(connection.open_uni());
        self.poll_write(&mut context, connection, open.as_mut());
        if !self.waiting.is_empty() {
            return Ok(false);
        }
        for record in packets.chunks(size) {
            let mut begins = self.begins(record);
            if begins && self.waiting.is_empty() {
                begins = !self.poll_begin(&mut context, connection, open.as_mut());
            }
            let length = u32::try_from(record.len()).map_err(io::Error::other)?.to_be_bytes();
            let mut taken = 0;
            if !begins && self.waiting.is_empty() {
                taken = self.write(&mut context, &length);
                if taken == LENGTH_PREFIX {
                    taken += self.write(&mut context, record);
                }
            }
            if taken < LENGTH_PREFIX + record.len() {
                let bytes = [&length, record].concat();
                self.bytes += bytes.len() - taken;
                self.waiting.push_back(Waiting { begins, bytes, taken });
            }
        }
        Ok(true)
    }

    /// True if this record begins a new group: a stream description, or a keyframe without a description before it.
    fn begins(&mut self, record: &[u8]) -> bool {
        let header = Header::parse(record, Accept::ClearMedia);
        let begun = std::mem::replace(&mut self.begun, true);
        if header.is_ok_and(|header| header.stream == SOUND_STREAM) {
            // Sound belongs to the group in which it was made.
            return !begun;
        }
        let flags = header.map(|header| header.flags);
        let described = std::mem::take(&mut self.described);
        let begins = flags.is_ok_and(|flags| {
            self.described = flags.codec_config();
            flags.codec_config() || (flags.keyframe() && flags.first() && !described)
        });
        begins || !begun
    }

    /// Writes queued data as far as quinn takes it; returns true if anything was written.
    pub(super) fn poll_write<'a>(
        &mut self,
        context: &mut Context<'_>,
        connection: &'a Connection,
        mut open: Pin<&mut OpenUni<'a>>,
    ) -> bool {
        if self.waiting.is_empty() {
            return false;
        }
        set_window(connection);
        let mut any = false;
        while let Some(mut next) = self.waiting.pop_front() {
            if next.begins {
                next.begins = !self.poll_begin(context, connection, open.as_mut());
            }
            if !next.begins {
                let taken = self.write(context, &next.bytes[next.taken..]);
                next.taken += taken;
                self.bytes -= taken;
                any |= taken > 0;
            }
            if next.taken < next.bytes.len() {
                self.waiting.push_front(next);
                break;
            }
        }
        any
    }

    /// Opens the stream of a new group; returns true if there is one.
    fn poll_begin<'a>(
        &mut self,
        context: &mut Context<'_>,
        connection: &'a Connection,
        mut open: Pin<&mut OpenUni<'a>>,
    ) -> bool {
        let Poll::Ready(opened) = open.as_mut().poll(context) else {
            return false;
        };
        open.set(connection.open_uni());
        let now = Instant::now();
        if let Some(mut stream) = self.current.take() {
            // It fails if the peer has stopped the stream.
            let _ = stream.finish();
            self.older.push_back(Older { stream, ended: now });
        }
        set_window(connection);
        self.give_up_old(now, OUT_OF_DATE + connection.rtt() * 2);
        // If the connection is gone, records are discarded; the control stream reports the error.
        if let Ok(stream) = opened {
            self.priority = self.priority.saturating_sub(1);
            // It fails for a closed stream.
            let _ = stream.set_priority(self.priority);
            self.metrics.media_stream(MediaStream::Begun);
            self.current = Some(stream);
        }
        true
    }

    fn give_up_old(&mut self, now: Instant, patience: Duration) {
        while self.older.len() >= NEWER_GROUPS {
            let oldest = self.older.front();
            if oldest.is_none_or(|oldest| now < oldest.ended + patience) {
                break;
            }
            if let Some(oldest) = self.older.pop_front() {
                self.give_up(oldest.stream);
            }
        }
    }

    fn give_up(&self, mut stream: SendStream) {
        // It fails if all data of the stream has arrived.
        if stream.reset(OUTDATED).is_ok() {
            self.metrics.media_stream(MediaStream::Reset);
        }
    }

    /// Drops all groups: nobody wants to see them later.
    pub(super) fn forget(&mut self) {
        let older = std::mem::take(&mut self.older);
        let streams = older.into_iter().map(|older| older.stream);
        for stream in streams.chain(self.current.take()) {
            self.give_up(stream);
        }
        self.waiting.clear();
        self.bytes = 0;
        self.begun = false;
    }

    /// Writes to the group's stream; returns the number of bytes taken.
    fn write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while let Some(stream) = self.current.as_mut() {
            if taken == bytes.len() {
                return taken;
            }
            match Pin::new(stream).poll_write(context, &bytes[taken..]) {
                Poll::Ready(Ok(count)) => taken += count,
                Poll::Pending => return taken,
                Poll::Ready(Err(error)) => {
                    if matches!(error, WriteError::Stopped(_)) {
                        self.metrics.media_stream(MediaStream::Lost);
                    }
                    self.current = None;
                }
            }
        }
        // Without a stream the rest of the group is lost.
        bytes.len()
    }

    /// Bytes that quinn has not taken yet.
    pub(super) fn backlog(&self) -> usize {
        self.bytes
    }
}

/// Limit quinn's send window to little more than the path can have in flight: data queued there can no longer be
/// dropped.
fn set_window(connection: &Connection) {
    let window = connection.stats().path.cwnd;
    connection.set_send_window((window + window / 4).max(LEAST_WINDOW));
}
