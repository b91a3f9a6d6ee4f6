//! Packets of a session with a viewer gateway on their way out: gathered, sealed and sent.

use std::time::{Duration, Instant};

use sealcast_proto::rtsp::put_packet;
use sealcast_proto::session::{OutgoingPackets, Session};
use sealcast_proto::unit::{Preamble, StampKind};

use super::super::packet::Packet;
use super::asked::number;
use super::session::{PacketRole, Task};
use crate::meter::labels::DropCause;
use crate::meter::stage::Stage;
use crate::run::clock::nanos;
use crate::run::session::connection::Ended;
use crate::transport::Transport;

/// Maximum bytes of packets sealed in one frame on a byte stream, if they arrived together.
const MAX_TOGETHER: usize = 64 * 1024;
/// A packet that waited longer than this for the path is dropped.
const MOST_WAIT: Duration = Duration::from_millis(400);

impl PacketRole {
    pub(super) fn send_packets<T: Transport>(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        let mut more = true;
        while more && task.established && task.connection.ready_for_frame() {
            let Some(first) = self.gather(task, Instant::now()) else {
                break;
            };
            let room = task.connection.room();
            let mut sealed = self.seal_frame(task, first)?;
            // Seal packets that arrived together up to the limit, then send them together.
            while task.connection.backlog() < room {
                let Some(frame) = self.gather(task, sealed) else {
                    more = false;
                    break;
                };
                sealed = self.seal_frame(task, frame)?;
            }
            task.connection.send(&mut task.listener)?;
            self.arrivals.left(Stage::Forward, &self.observation.metrics);
            self.sender.note_sent(&task.connection, &self.observation);
            task.take_events(self)?;
        }
        self.sender.note_sent(&task.connection, &self.observation);
        task.connection.session.media_waits(self.subscriber.queue.bytes());
        Ok(())
    }

    /// Put packets of one camera that arrived together into a frame. Returns their slot and the arrival time of the
    /// first. On carriers that may lose media each packet gets a frame of its own, so that a loss affects only one.
    /// `now` may be slightly in the past.
    fn gather<T: Transport>(&mut self, task: &mut Task<T>, now: Instant) -> Option<(u8, Instant)> {
        let alone = task.connection.session.holds_media();
        let first = loop {
            let packet = self.ahead.take().or_else(|| self.subscriber.queue.pop())?;
            if self.camera(packet.slot).is_none() {
                continue;
            }
            if !alone || now.saturating_duration_since(packet.arrived) < MOST_WAIT {
                break packet;
            }
            self.observation.metrics.record_dropped(DropCause::Queue, 1);
        };
        self.frame.clear();
        self.put(&first);
        while !alone && self.frame.len() < MAX_TOGETHER {
            let Some(next) = self.subscriber.queue.pop() else { break };
            if next.slot != first.slot {
                self.ahead = Some(next);
                break;
            }
            self.put(&next);
        }
        Some((first.slot, first.arrived))
    }

    fn put(&mut self, packet: &Packet) {
        // Cannot fail: a packet from RTSP or UDP has at most 65 535 bytes.
        let _ = put_packet(&mut self.frame, packet.channel, &packet.bytes);
        self.arrivals.push(packet.arrived);
    }

    /// Seal the gathered frame. Returns the time at which that was done.
    fn seal_frame<T: Transport>(
        &mut self,
        task: &mut Task<T>,
        (slot, arrived): (u8, Instant),
    ) -> Result<Instant, Ended> {
        let (Some(known), Some(camera)) = (self.cameras.get_mut(usize::from(slot)), number(slot)) else {
            return Ok(Instant::now());
        };
        let clock = self.observation.clock;
        let (first, came) = (*known.began.get_or_insert(arrived), clock.wall(arrived));
        let (previous_seal, previous_send) = self.sender.previous();
        let packets = OutgoingPackets {
            stream: camera.stream(),
            preamble: Preamble {
                frame: known.frame,
                media_time: nanos(arrived.saturating_duration_since(first)),
                captured: came,
                encoded: came,
                previous_seal,
                previous_send,
                capture: 0,
                stamp: StampKind::Arrival,
                ..Preamble::default()
            },
            data: &self.frame,
        };
        known.frame += 1;
        known.camera.iter().for_each(|camera| camera.packets.count_frame());
        let of_camera = known.camera.as_ref().map(|asking| &asking.camera.observation);
        let observation = of_camera.unwrap_or(&self.observation);
        let seal = |session: &mut Session, now, out: &mut Vec<u8>| session.seal_packets(clock.at(now), &packets, out);
        let [_, sealed] = self.sender.seal(&mut task.connection, observation, seal)?;
        Ok(sealed)
    }
}
