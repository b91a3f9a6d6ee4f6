//! RTP as others packetize it: ffmpeg, behind an RTSP server of the testkit or behind MediaMTX.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{Server, describe};
use crate::gateways::clip::Codec;
use crate::gateways::{Camera, Clip, Deviation, Rtp};
use crate::media::{path, tool};
use crate::program::{PATIENCE, free_port};
use crate::skips::skipped;

/// Length of an RTP header of ffmpeg's, which has neither contributing sources nor an extension.
const HEADER: usize = 12;
/// Pause without a packet after which ffmpeg has sent all.
const SILENCE: Duration = Duration::from_secs(2);

/// The packets that ffmpeg makes of a file's picture, as those of a camera: each group of packets with one stamp is a
/// picture.
pub fn ffmpeg_clip(file: &Path, dir: &Path) -> Clip {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    socket.set_read_timeout(Some(SILENCE)).expect("not zero");
    let port = socket.local_addr().expect("bound").port();
    let (sdp, to) = (dir.join("ffmpeg.sdp"), format!("rtp://127.0.0.1:{port}?pkt_size=1400"));
    let mut ffmpeg = tool("ffmpeg")
        .args(["-nostdin", "-loglevel", "error", "-y", "-re"])
        .args([
            "-i",
            path(file),
            "-an",
            "-c",
            "copy",
            "-f",
            "rtp",
            "-sdp_file",
            path(&sdp),
            &to,
        ])
        .stdout(Stdio::null())
        .spawn()
        .expect("ffmpeg runs");
    let (mut packets, mut buffer, mut picture) = (Vec::<Rtp>::new(), [0; 2048], 0);
    loop {
        let Ok(length) = socket.recv(&mut buffer) else {
            match ffmpeg.try_wait().expect("our child") {
                Some(status) if status.success() => break,
                None => continue,
                Some(status) => panic!("ffmpeg fails: {status}"),
            }
        };
        let packet = &buffer[..length];
        let number = |at: usize| u32::from_be_bytes(packet[at..at + 4].try_into().expect("four bytes"));
        let stamp = number(4);
        picture += usize::from(packets.last().is_some_and(|last| last.stamp != stamp));
        packets.push(Rtp {
            picture,
            payload_type: packet[1] & 0x7f,
            marker: packet[1] > 0x7f,
            number: u16::from_be_bytes([packet[2], packet[3]]),
            stamp,
            source: number(8),
            payload: packet[HEADER..].to_vec(),
            ..Rtp::default()
        });
    }
    let description = fs::read_to_string(&sdp).expect("a description");
    let description = description.trim_start_matches("SDP:").trim_start();
    Clip {
        codec: Codec::H264,
        description: format!("{}\r\na=control:streamid=0\r\n", description.trim_end()),
        packets,
        pictures: Vec::new(),
    }
}

/// A camera that sends what ffmpeg makes of a file.
pub fn ffmpeg_camera(clip: &Clip, deviations: &'static [Deviation]) -> Camera {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    Camera::odd(listener, clip, deviations)
}

/// MediaMTX, to which ffmpeg sends a file again and again.
pub struct MediaMtx {
    /// The server.
    pub server: Server,
    _sender: Server,
}

/// Starts MediaMTX with a file. If it is not installed, says that the calling test is skipped.
pub fn mediamtx(file: &Path, dir: &Path) -> Option<MediaMtx> {
    let there = Command::new("mediamtx").arg("--version").output();
    if let Err(error) = there {
        skipped(format_args!("no MediaMTX: {error}"));
        return None;
    }
    let (port, first) = (free_port(), free_port() / 2 * 2);
    let settings = dir.join("mediamtx.yml");
    let text = format!(
        "rtspAddress: 127.0.0.1:{port}\nrtpAddress: 127.0.0.1:{first}\nrtcpAddress: 127.0.0.1:{}\n\
         rtmp: no\nhls: no\nwebrtc: no\nsrt: no\npaths:\n  cam:\n",
        first + 1
    );
    fs::write(&settings, text).expect("space");
    let process = |mut command: Command| Server {
        child: command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it runs"),
        port,
        udp: [0; 2],
        lines: None,
    };
    let mut command = Command::new("mediamtx");
    command.arg(&settings);
    let server = process(command);
    let deadline = Instant::now() + PATIENCE;
    let waits_until = |ready: &dyn Fn(&str) -> bool| {
        while !describe(port).is_some_and(|answer| ready(&answer)) {
            assert!(
                Instant::now() < deadline,
                "MediaMTX does not answer: {:?}",
                describe(port)
            );
            thread::sleep(Duration::from_millis(50));
        }
    };
    waits_until(&|answer| answer.starts_with("RTSP/"));
    let mut command = tool("ffmpeg");
    command
        .args([
            "-nostdin",
            "-loglevel",
            "error",
            "-re",
            "-stream_loop",
            "-1",
            "-i",
            path(file),
        ])
        .args(["-an", "-c", "copy", "-f", "rtsp", "-rtsp_transport", "tcp"])
        .arg(format!("rtsp://127.0.0.1:{port}/cam"));
    let sender = process(command);
    waits_until(&|answer| answer.contains(" 200 "));
    Some(MediaMtx {
        server,
        _sender: sender,
    })
}
