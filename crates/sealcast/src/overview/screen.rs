//! Tables that `peers list` and `status` show to people.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use sealcast_proto::words::plain;

use super::table::{Table, cut};
use super::words::{bit_rate, counted, length, on_the_wall, or_dash, percent, since};
use super::{AdmittedBy, CameraRow, InviteRow, PeerRow, PeersOverview, SessionRow, StatusOverview};

/// Letters of an id that are shown: so many name a peer, and `peers remove` takes them.
const ID_SHOWN: usize = 10;

/// Place where something is shown, and its time.
pub(crate) struct Page {
    /// The width of the terminal, if it is one.
    pub(crate) columns: Option<usize>,
    pub(crate) now: Timestamp,
    pub(crate) zone: TimeZone,
}

impl Page {
    /// A page of any width, with the clock on this machine's wall.
    pub(crate) fn endless(now: Timestamp) -> Self {
        Self {
            columns: None,
            now,
            zone: TimeZone::system(),
        }
    }

    /// Table of who is admitted, who is here, and of the invites; no line break at the end.
    pub(crate) fn peers(&self, overview: &PeersOverview) -> String {
        let mut parts = Vec::new();
        let peers = &overview.peers;
        // The list of peers names those whom a used-up invite has admitted.
        let invites: Vec<&InviteRow> = overview.invites.iter().filter(|invite| invite.uses_left > 0).collect();
        if peers.is_empty() {
            parts.push("nobody is listed yet: `sealcast invite` makes a ticket for somebody".to_owned());
        } else {
            let mut lines = self.of_peers(peers);
            if overview.more_by_hand > 0 {
                lines.push(format!("(the allow list has {} more)", overview.more_by_hand));
            }
            parts.push(lines.join("\n"));
        }
        let sessions: Vec<&SessionRow> = peers.iter().flat_map(|peer| &peer.sessions).collect();
        if !sessions.is_empty() {
            parts.push(self.of_sessions(&sessions).join("\n"));
        }
        if !invites.is_empty() {
            parts.push(self.of_invites(&invites).join("\n"));
        }
        parts.join("\n\n")
    }

    /// State of the program; no line break at the end. If there is a bound, it has at most so many lines, and none is
    /// longer than the terminal is wide.
    pub(crate) fn status(&self, overview: &StatusOverview, most_lines: Option<usize>) -> String {
        let mut head = overview.kind.clone();
        if let Some(name) = &overview.name {
            head = format!("{}: {head}", plain(name));
        }
        head.push_str(&format!(", process {}", overview.process));
        let each = overview
            .cameras
            .iter()
            .filter_map(|camera| Some((&camera.name, camera.encrypt.as_ref()?)));
        let each: Vec<String> = each.map(|(name, encrypt)| format!("{name} {encrypt}")).collect();
        let encrypt = overview.encrypt.clone().unwrap_or_else(|| each.join(", "));
        if !encrypt.is_empty() {
            head.push_str(&format!(", encrypt {}", plain(&encrypt)));
        }
        let mut lines = vec![head, String::new()];
        lines.extend(self.of_cameras(&overview.cameras));
        let mut last = vec![String::new()];
        if let Some(keys) = &overview.oldest_keys_since {
            let (age, epoch) = (since(keys, self.now), overview.epoch);
            last.push(format!(
                "keys: the oldest in use are {age} old; the last epoch is {epoch}"
            ));
        }
        if overview.records_in_clear > 0 {
            let (clear, all) = (overview.records_in_clear, overview.records_out);
            last.push(format!("in clear: {clear} of {all} records"));
        }
        lines.push(String::new());
        let sessions: Vec<&SessionRow> = overview.sessions.iter().collect();
        match sessions.is_empty() {
            true => lines.push("nobody watches".to_owned()),
            false => lines.extend(self.of_sessions(&sessions)),
        }
        if let Some(most) = most_lines {
            let room = most.saturating_sub(last.len() + 1).max(1);
            if lines.len() > room + 1 {
                let left_out = lines.len() - room;
                lines.truncate(room);
                lines.push(format!("and {}", counted(left_out, "line more", "lines more")));
            }
        }
        if last.len() > 1 {
            lines.extend(last);
        }
        if let (Some(columns), Some(_)) = (self.columns, most_lines) {
            lines.iter_mut().for_each(|line| *line = cut(line, columns));
        }
        lines.join("\n")
    }

    fn of_peers(&self, peers: &[PeerRow]) -> Vec<String> {
        let mut table = Table::new(&["peer", "id", "admitted", "cameras", "last seen"], &[0, 3]);
        for peer in peers {
            let invite = peer.invite.as_deref().unwrap_or_default();
            let admitted = match peer.admitted {
                AdmittedBy::Invite => format!("by {invite}"),
                AdmittedBy::Id => "by id".to_owned(),
                AdmittedBy::Hand => "by hand".to_owned(),
                AdmittedBy::ArchiveNode => "archive's node".to_owned(),
                AdmittedBy::Open => "as everybody".to_owned(),
            };
            let cameras = peer
                .cameras
                .as_ref()
                .map_or("all".to_owned(), |cameras| cameras.join(", "));
            let seen = match (&peer.last_seen, peer.sessions.is_empty()) {
                (_, false) => "now".to_owned(),
                (Some(time), true) => format!("{} ago", since(time, self.now)),
                (None, true) => "-".to_owned(),
            };
            table.row([called(&peer.label), short(&peer.id), admitted, cameras, seen]);
        }
        table.lines(self.columns)
    }

    fn of_sessions(&self, sessions: &[&SessionRow]) -> Vec<String> {
        let heads = ["here now", "camera", "for", "from", "by", "rate", "loss", "delay"];
        let mut table = Table::new(&heads, &[0, 3, 1]);
        for session in sessions {
            let from = match (&session.relay, &session.address) {
                (Some(relay), _) => format!("behind {relay}"),
                (None, address) => or_dash(address.as_ref()),
            };
            table.row([
                match session.label.as_str() {
                    "" => short(&session.peer),
                    label => label.to_owned(),
                },
                called(&session.camera),
                since(&session.since, self.now),
                from,
                session.carrier.clone(),
                or_dash(session.bit_rate.map(bit_rate)),
                or_dash(session.loss.map(percent)),
                or_dash(session.round_trip_ms.map(|trip| format!("{trip:.0} ms"))),
            ]);
        }
        table.lines(self.columns)
    }

    fn of_invites(&self, invites: &[&InviteRow]) -> Vec<String> {
        let mut table = Table::new(&["invite", "for", "uses left", "expires"], &[1]);
        for invite in invites {
            let meant = match invite.made_by.as_str() {
                "user" => called(&invite.label),
                start => format!("the ticket of each {start}"),
            };
            let expires = match invite.expired {
                true => "has expired".to_owned(),
                false => self.expiry(&invite.expires),
            };
            let left = format!("{} of {}", invite.uses_left, invite.uses);
            table.row([invite.name.clone(), meant, left, expires]);
        }
        table.lines(self.columns)
    }

    fn expiry(&self, time: &str) -> String {
        let left = time
            .parse::<Timestamp>()
            .map_or(0, |at| at.as_second() - self.now.as_second());
        format!("in {}, {}", length(left), on_the_wall(time, self.now, &self.zone))
    }

    fn of_cameras(&self, cameras: &[CameraRow]) -> Vec<String> {
        let mut table = Table::new(&["camera", "state", "picture", "frames", "viewers"], &[0]);
        let mut off = Vec::new();
        for camera in cameras {
            let at = camera.since.as_ref().map(|time| {
                let (wall, past) = (on_the_wall(time, self.now, &self.zone), since(time, self.now));
                format!(" since {wall} ({past})")
            });
            let state = format!("{}{}", or_dash(camera.state.as_ref()), at.unwrap_or_default());
            if let Some(why) = &camera.why {
                let name = match cameras.len() {
                    1 => String::new(),
                    _ => format!(" {}", camera.name),
                };
                off.push(plain(&format!("camera{name} {state}, because {why}")));
            }
            table.row([
                called(&camera.name),
                state,
                picture(camera),
                camera.frames.to_string(),
                camera.viewers.to_string(),
            ]);
        }
        let mut lines = table.lines(self.columns);
        lines.extend(off);
        lines
    }
}

/// Codec, size and rate, as far as they are known.
fn picture(camera: &CameraRow) -> String {
    let Some(codec) = &camera.codec else {
        return "-".to_owned();
    };
    let size = camera
        .width
        .zip(camera.height)
        .map(|(width, height)| format!(" {width}x{height}"));
    let rate = camera
        .frame_rate
        .map(|rate| format!(" {}/s", (rate * 100.0).round() / 100.0));
    format!("{codec}{}{}", size.unwrap_or_default(), rate.unwrap_or_default())
}

/// A label or name, or a dash for none.
fn called(label: &str) -> String {
    or_dash((!label.is_empty()).then_some(label))
}

fn short(id: &str) -> String {
    id.chars().take(ID_SHOWN).collect()
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
