//! Rows through a pair of gateways, with a player that compares each packet with the camera's.

use std::net::{Ipv4Addr, TcpListener};

use sealcast_proto::rtsp::Method;
use sealcast_testkit::gateways::{Camera, Packet, Pair, Plain, Player, pair};
use sealcast_testkit::media::path;
use sealcast_testkit::program::{home, write_private};

use super::row::{Carried, Row, Wrong};

/// One pair of gateways for the cameras of a table.
pub(crate) struct Gateways {
    pair: Pair,
    _cameras: Vec<Camera>,
}

impl Gateways {
    pub(crate) fn start(rows: &[Row]) -> Self {
        let (dir, mut cameras, mut list) = (home(), Vec::new(), String::new());
        for (number, row) in rows.iter().enumerate() {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
            let again = row.again.map(|again| again());
            let camera = Camera::odd_again(listener, &(row.clip)(), again.as_ref(), row.does);
            list += &format!("row{number}={}\n", row.url(camera.port));
            cameras.push(camera);
        }
        let file = dir.path().join("cameras");
        write_private(&file, list);
        Self {
            pair: pair("", &["--camera-file", path(&file)], &[]),
            _cameras: cameras,
        }
    }

    /// The output of both gateways so far.
    pub(crate) fn said(&self) -> String {
        self.pair.said()
    }

    /// The port for players.
    pub(crate) fn port(&self) -> u16 {
        self.pair.port
    }
}

/// Plays the camera of a row of a table, by the viewer gateway at this port.
pub(crate) fn carried(port: u16, number: usize, row: &Row) -> Result<(), Wrong> {
    let mut player = Player::connect(port, &format!("row{number}"), Plain::Tcp);
    let described = player.ask(Method::Describe, "", &[]);
    let expected = match row.carried {
        Carried::Refused(status) => status,
        Carried::All | Carried::Picture | Carried::As(_) => 200,
    };
    if described.status != expected {
        return Err(Wrong::Came(format!(
            "DESCRIBE was answered with {} and not with {expected}",
            described.status
        )));
    }
    if expected != 200 {
        return Ok(());
    }
    let tracks = String::from_utf8_lossy(&described.body).matches("m=").count();
    for track in 0..tracks {
        let status = player.set_up(track as u8);
        if status != 200 {
            return Err(Wrong::Came(format!(
                "SETUP of track {track} was answered with {status}"
            )));
        }
    }
    match player.begin() {
        200 => {}
        status => return Err(Wrong::Came(format!("PLAY was answered with {status}"))),
    }
    compare(&expected_of(row), &player)
}

/// The packets of a row as the player should get them: its tracks are numbered in the order of the description.
fn expected_of(row: &Row) -> Vec<Packet> {
    let clip = match row.carried {
        Carried::As(clip) => clip(),
        _ => (row.clip)(),
    };
    let controls = clip
        .description
        .lines()
        .filter_map(|line| line.strip_prefix("a=control:"));
    let tracks: Vec<u8> = controls
        .filter_map(|control| control.rsplit_once('=')?.1.parse().ok())
        .collect();
    let alone = matches!(row.carried, Carried::Picture);
    let packets = clip.to_packets().into_iter().filter_map(|(_, (channel, bytes))| {
        let track = tracks.iter().position(|track| *track == channel / 2)?;
        (channel < 2 || !alone).then_some((track as u8 * 2 + channel % 2, bytes))
    });
    packets.collect()
}

/// Compares what comes with what was sent, channel by channel: datagrams of different sockets have no order.
fn compare(sent: &[Packet], player: &Player) -> Result<(), Wrong> {
    let mut rest: Vec<std::vec::IntoIter<&Packet>> = (0..32)
        .map(|channel| {
            let of = sent.iter().filter(|packet| packet.0 == channel);
            of.collect::<Vec<_>>().into_iter()
        })
        .collect();
    let mut came = 0;
    let mut skipped = [0; 32];
    while rest.iter().any(|rest| rest.len() > 0) {
        let Some(packet) = player.packets_that_come(1).pop() else {
            break;
        };
        came += 1;
        let (channel, bytes) = (usize::from(packet.0), &packet.1);
        match rest[channel].position(|sent| sent.1 == *bytes) {
            Some(passed) => skipped[channel] += passed,
            None => {
                let known = sent.contains(&packet);
                let what = if known {
                    "again or too late"
                } else {
                    "and was never sent"
                };
                return Err(Wrong::Came(format!(
                    "after {came} packets one of {} bytes came on channel {channel} {what}",
                    bytes.len()
                )));
            }
        }
    }
    let gaps = skipped.iter().sum::<usize>();
    let open = (0..).zip(&rest).filter(|(_, rest)| rest.len() > 0);
    let open: Vec<String> = open
        .map(|(channel, rest)| format!("the last {} of channel {channel}", rest.len()))
        .collect();
    if gaps == 0 && open.is_empty() {
        return Ok(());
    }
    let open = open.join(", ");
    Err(Wrong::Missing(format!(
        "{came} of {} packets came; missing: {gaps} before others, {open}",
        sent.len()
    )))
}
