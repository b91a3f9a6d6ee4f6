//! Declarations of all options that a configuration can hold.
//!
//! An entry declares a key's help text, its name and type, and the other ways to set it. The sections of [`Config`],
//! the flags of the commands, the environment variables, `config check` and `docs/sealcast.example.toml` are
//! generated from it (`declare.rs`). Options that exist only on the command line are in `cli/args.rs`.
#![allow(rustdoc::broken_intra_doc_links, reason = "help texts are not links")]

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::Deserialize;

use super::camera::{self, Camera};
use super::declare::options;
use super::option::{Opt, Setting, accepts, default_of, flag, key, off_flag, on_flag, positional};
use crate::length::{Hours, Millis, Seconds};
use crate::meter::url::MetricsUrl;

const PUBLISH: &[&str] = &["publish"];
const PUBLISHERS: &[&str] = &["publish", "camera"];
const WATCH: &[&str] = &["watch"];
const CAMERA: &[&str] = &["camera"];
const VIEWER: &[&str] = &["viewer"];
const DEMO: &[&str] = &["demo"];
const CLOCK: &[&str] = &["clock"];
const PROBE: &[&str] = &["probe"];
const RECORD: &[&str] = &["record"];
const PEERS: &[&str] = &["publish", "watch", "camera", "viewer", "probe", "record", "cameras"];
const TICKET: &[&str] = &["watch", "cameras"];
const ONE_CAMERA: &[&str] = &["watch", "probe", "record"];
const ALL: &[&str] = &[
    "publish", "watch", "camera", "viewer", "demo", "probe", "record", "cameras",
];

/// Headings of options in the long help.
const WHO: &str = "Who may watch";
const NETWORK: &str = "Network";
const GROUPS: &str = "Groups, relays and archives";
const DATA: &str = "Data beside the picture";
const KEYS: &str = "Keys and sealing";
const OBSERVE: &str = "Observation";

options! {
    /// Settings of `publish`. All but the source also hold for `gateway camera`.
    publish: Publish {
        /// Where frames come from: test:[WxH@fps], file:CLIP[?loop], v4l2:/dev/video0, rtsp://…, rtsps://…,
        /// rtp://127.0.0.1:5600, udp://…, file:STREAM.sdp, gst:PIPELINE, or -. docs/cameras.md has the options
        source: Option<String> {
            positional("SOURCE", PUBLISH).excludes("camera").secret("a password").example("test:640x480@25")
                .brief("Camera or file: rtsp://HOST/PATH, v4l2:/dev/video0, file:CLIP.mp4, test:")
        }

        /// File whose first line is the source, for a source with a password
        source_file: Option<PathBuf> { key().excludes("source").example("/etc/sealcast/camera-url") }

        /// Wait for a source that is off, at the start and later, and keep the viewers meanwhile, instead of ending. A
        /// camera that refuses the login is asked again after 1, 5, 15 and then each 30 minutes, and at SIGHUP
        retry: bool { on_flag("retry", PUBLISH).brief("Wait for a camera that is off, and come back to it") }

        /// Send the sound that the source has beside the picture: AAC, Opus, G.711.
        sound: bool {
            off_flag("no-sound", "Leave out the sound that the source has beside the picture", PUBLISH)
                .brief("Leave out the sound")
        }

        /// Where to listen for viewers: tcp://, udp:// or quic://. docs/networks.md has the options, which follow a ?,
        /// as in udp://[::]:9553?latency=200&fec=auto&nack=on&rate=on&pace=on&mtu=1200
        listen: String {
            flag("listen", "URL", PUBLISHERS).default("tcp://[::]:9553").heading(NETWORK)
                .brief("Where viewers connect, such as udp://0.0.0.0:9553")
        }

        /// Also listen here, for viewers over other carriers: tcp://, udp:// or quic://. The options of --listen hold
        /// here, too. The ticket for it is printed after that of --listen
        also_listen: Vec<String> { flag("also-listen", "URL", PUBLISH).default("").heading(NETWORK) }

        /// Also serve a page that watches in a browser: https://ADDRESS:PORT, or http://127.0.0.1:9443 for this
        /// machine. The link to it is printed beside the ticket. ?cert=FILE&key=FILE names an authority's certificate
        web: Option<String> {
            flag("web", "URL", PUBLISH).excludes("to").example("https://0.0.0.0:9443")
                .heading(NETWORK)
                .brief("Also serve a page for browsers, such as https://0.0.0.0:9443")
        }

        /// Connect to a listening viewer instead of listening: its ticket, @FILE, or - for standard input
        to: Option<String> {
            flag("to", "TICKET", PUBLISH)
                .excludes("listen")
                .example("@/etc/sealcast/viewer-ticket")
                .heading(NETWORK)
                .brief("Connect to a viewer that waits, instead of listening")
        }

        /// Addresses for the ticket, by which viewers reach this machine, the best first: HOST[:PORT], up to four. They
        /// replace those of this machine
        advertise: Vec<String> {
            flag("advertise", "HOST[:PORT]", PUBLISHERS)
                .default("")
                .heading(NETWORK)
                .brief("Addresses for the ticket, in place of this machine's")
        }

        /// Name of this publisher: 1 to 64 letters, digits and .-_, no dot first. Each name has an identity, lists of
        /// peers and invites, and a socket for `sealcast control` of its own, in ~/.config/sealcast/publishers/NAME
        name: Option<String> {
            flag("name", "NAME", PUBLISHERS)
                .unset("camera, or gateway for gateway camera")
                .example("front-door")
                .heading(WHO)
                .brief("Name of this publisher, if the account has several")
        }

        /// File with the peer ids to admit, one per line. It is read again on SIGHUP
        allow: Option<PathBuf> {
            flag("allow", "FILE", PUBLISHERS)
                .unset("allow in ~/.config/sealcast, or in the folder of a name that you gave")
                .example("/etc/sealcast/allowed")
                .heading(WHO)
        }

        /// Admit every peer, whatever its identity: anybody who reaches this end can watch
        open: bool { on_flag("open", PUBLISHERS).heading(WHO) }

        /// Put an invite into the ticket, that of the last start if most of its time is left. The first who proves it
        /// is enrolled, and admitted from then on; `sealcast invite` makes invites for others
        invite: bool {
            off_flag("no-invite", "Print a ticket without an invite: only listed viewers are admitted", PUBLISHERS)
                .heading(WHO)
        }

        /// Number of viewers that the invite enrols, 1 to 12288
        invite_uses: NonZeroU32 {
            flag("invite-uses", "N", PUBLISHERS)
                .default("1")
                .heading(WHO)
                .brief("How many viewers one ticket lets in")
        }

        /// How long the invite lives, by this machine's clock: 1h to 365d, in hours without a unit
        invite_hours: Hours {
            flag("invite-hours", "TIME", PUBLISHERS)
                .default("24h")
                .heading(WHO)
                .brief("How long the ticket lets new viewers in")
        }

        /// Write the ticket to a new file that only you can read, or to standard output if FILE is -. A file that holds
        /// nothing but older tickets of this publisher is replaced. By default a ticket with an invite is printed only
        /// on a terminal: whoever reads it can watch
        ticket_file: Option<PathBuf> {
            flag("ticket-file", "FILE", PUBLISHERS)
                .example("/run/sealcast/ticket")
                .heading(WHO)
                .brief("Write the ticket to a file of its own; - is standard output")
        }

        /// Maximum number of viewers at once, at least 1
        max_viewers: NonZeroU32 {
            flag("max-viewers", "N", PUBLISHERS)
                .default("16")
                .heading(WHO)
                .brief("How many may watch at once")
        }

        /// Maximum number of frames queued for a slow viewer, at least 1; when full, groups of pictures are dropped
        queue_frames: NonZeroU32 { flag("queue-frames", "N", PUBLISH).default("60").heading(NETWORK) }

        /// Begin a new epoch of keys after so long, 1s to 10m; in seconds without a unit
        rekey_seconds: Seconds { flag("rekey-seconds", "TIME", PUBLISHERS).default("10m").heading(KEYS) }

        /// Begin a new epoch of keys after this many records, 16 to 1048576
        rekey_records: u64 { flag("rekey-records", "N", PUBLISHERS).default("1048576").heading(KEYS) }

        /// What to encrypt: all, none or rate:PERCENT; `publish` also takes keyframes, headers, headers+keyframes,
        /// and the levels of SECMPEG level:1 (headers), level:2 (and the begin of intra pictures), level:3 (and all
        /// intra macroblocks) and level:4 (everything).
        /// The rest is authenticated, but anybody on the network can see it: for measurements only
        encrypt: String {
            flag("encrypt", "SELECTION", PUBLISHERS)
                .default("all")
                .words(&["all", "none", "headers", "keyframes", "headers+keyframes"])
                .study()
        }

        /// What the sizes and times of records tell (docs/shaping.md): off; pad:BYTES (16 to 1048576) or pad:padme,
        /// which hide exact sizes and not activity; or constant:RATE (64kbit to 200mbit, over TCP and UDP), which shows
        /// only that there is a stream
        shape: String {
            flag("shape", "SHAPE", PUBLISH)
                .default("off")
                .example("constant:2mbit")
                .heading(KEYS)
                .words(&["off", "pad:padme"])
        }

        /// Seal each frame once for all viewers who are content with what is signed, and not for each alone
        /// (docs/spec/groups.md). Who leaves or is removed can open nothing new within a second
        group: bool {
            on_flag("group", PUBLISH)
                .heading(GROUPS)
                .brief("Encrypt each picture once for all viewers, for many of them")
        }

        /// Relays that are given what is sealed for the group (docs/relay.md): https://HOST:PORT/NAME, perhaps with
        /// ?jwt=TOKEN, and #sha256=HASH for a certificate of no public authority. Enrolled viewers can watch through
        /// them. It seals for a group, as --group does
        relay: Vec<String> { flag("relay", "URL", PUBLISH).default("").secret("a token").heading(GROUPS) }

        /// Peer ids of archive's nodes (docs/archive.md): `archive record` gets everything sealed for the group, and no
        /// key. Needs --group and --archive-to
        archive_node: Vec<String> { flag("archive-node", "PEER", PUBLISH).default("").heading(GROUPS) }

        /// Who can open what archive's nodes record: age1pq1…, or @FILE with one a line
        archive_to: Vec<String> { flag("archive-to", "RECIPIENT", PUBLISH).default("").heading(GROUPS) }

        /// What the camera signs, with --group: frame (each frame, proved before it is shown), both (also each group of
        /// pictures, with ML-DSA-65, proved afterwards), or off, where every viewer of the group can forge the camera
        sign: String { flag("sign", "MODE", PUBLISH).default("frame").heading(GROUPS).words(&["frame", "both", "off"]) }

        /// Seed that makes the random choice of rate:PERCENT repeatable: a whole number from 0 to 9223372036854775807
        encrypt_seed: Option<u64> {
            flag("encrypt-seed", "N", PUBLISHERS).unset("every run chooses anew").example("1").study()
        }

        /// The part of a frame that one record holds: frame, packet, or chunk:BYTES with 16 to 65535 bytes
        unit: Option<String> {
            flag("unit", "UNIT", PUBLISHERS)
                .unset("frame, or packet in datagrams")
                .example("frame")
                .words(&["frame", "packet"])
                .study()
        }

        /// Where to create the socket for `sealcast control`, `invite` and `peers`, which takes commands of you and
        /// root alone. Only if you give it, `control encrypt` can leave something in clear
        control: Option<PathBuf> {
            flag("control", "PATH", PUBLISHERS)
                .unset("control in the publisher's folder, or where systemd keeps files of a running service")
                .example("/run/sealcast/control")
        }

        /// Data channels beside the picture, for MAVLink, joysticks and telemetry (docs/data.md):
        /// NAME=udp:127.0.0.1:14550, where a program of this machine sends and is answered. Options: ?newest, shared,
        /// to, from=ADDRESS
        data: Vec<String> { flag("data", "NAME=udp:ADDRESS", PUBLISH).default("").heading(DATA) }

        /// Viewers that may send on data channels to this end, one at a time: peer ids, or @FILE with one a line. It is
        /// read again on SIGHUP. Without any, viewers only hear
        may_control: Vec<String> { flag("may-control", "PEER", PUBLISH).default("").heading(DATA) }

        /// Bit rate of sources that are encoded here, in bits per second, at least 1
        bitrate: Option<NonZeroU32> { key().example("2000000") }

        /// Lowest bit rate of the encoder, in bits per second, for paths that carry no more. A viewer whose path
        /// carries less loses frames
        bitrate_min: Option<NonZeroU32> { key().unset("150000, or bitrate if that is lower").example("150000") }

        /// Highest bit rate of the encoder, in bits per second, if the paths to all viewers carry it
        bitrate_max: Option<NonZeroU32> { key().unset("not above bitrate").example("6000000") }
    }

    /// Settings of `watch`.
    watch: Watch {
        /// The publisher's ticket, @FILE, or - for standard input. Other users of this machine can read arguments:
        /// prefer @FILE or SEALCAST_WATCH_TICKET for a ticket with an invite
        ticket: Option<String> {
            positional("TICKET", TICKET)
                .secret("an invite")
                .example("sealcast://camera.example:9553/mfrggzdfmztwq2lkmfrggzdfmztwq2lkmfrggzdfmztwq2lkmfrq")
                .brief("Ticket or link of the publisher; @FILE keeps it secret, - reads it")
        }

        /// File whose first line is the ticket, for a ticket with an invite
        ticket_file: Option<PathBuf> { key().excludes("ticket").example("/etc/sealcast/ticket") }

        /// The camera to watch, of a publisher with several: `sealcast cameras` lists their names. It holds for `probe`
        /// and `archive record`, too
        camera: Option<String> {
            flag("camera", "NAME", ONE_CAMERA)
                .unset("the publisher's first")
                .example("front")
                .brief("Which camera, if the publisher has several")
        }

        /// Where frames go: null:, file:OUT.mp4|.h264|.mjpeg, archive:DIR?to=RECIPIENT, gst:PIPELINE,
        /// window:[?latency], rtsp://127.0.0.1:8554/NAME for RTSP players, rtp://127.0.0.1:5600 for ground stations,
        /// -[?format=mkv|ts][&whole] for standard output, or a page at http://127.0.0.1:9880[?token=@FILE], whose
        /// address is printed on a terminal with the token that opens it
        to: String {
            flag("to", "WHERE", WATCH)
                .default("http://127.0.0.1:9880")
                .example("file:out.mp4")
                .brief("window:, file:OUT.mp4, rtsp://127.0.0.1:8554/NAME for players, or http://127.0.0.1:9880")
        }

        /// Join a publisher's group only where at least this is signed: frame or off; else the publisher seals for this
        /// viewer alone. With both nothing is shown or recorded before the camera's certificate (ML-DSA-65) has come,
        /// and a publisher that does not sign so is refused
        require_sign: String {
            flag("require-sign", "MODE", WATCH)
                .default("frame")
                .heading(GROUPS)
                .words(&["frame", "both", "off"])
        }

        /// Relays that have the camera's stream, as for `publish`: they are heard instead of the camera, which is asked
        /// only to enrol this viewer. When one falls silent, the next one is heard
        relay: Vec<String> { flag("relay", "URL", WATCH).default("").secret("a token").heading(GROUPS) }

        /// Take the sound beside the picture, where the sink can hold it: file:OUT.mp4, archive:
        sound: bool {
            off_flag("no-sound", "Leave out the sound beside the picture", WATCH)
                .brief("Leave out the sound")
        }

        /// Data channels of the publisher (docs/data.md): NAME=udp:127.0.0.1:14550, where a program of this machine
        /// waits. What it answers goes to the publisher, if that lets this viewer (--may-control). Options: ?newest,
        /// hear, listen, from=ADDRESS
        data: Vec<String> { flag("data", "NAME=udp:ADDRESS", WATCH).default("").heading(DATA) }

        /// Connect again when the connection breaks
        reconnect: bool {
            off_flag("no-reconnect", "Do not connect again when the connection breaks", WATCH)
                .brief("End when the connection breaks")
        }

        /// Show and record what comes through a relay although the camera itself was never heard. It may be years old
        without_session: bool { on_flag("without-session", WATCH).heading(GROUPS) }
    }

    /// Settings of `demo`.
    demo: Demo {
        /// Where frames come from: test:[WxH@fps], file:CLIP, v4l2:/dev/video0 or rtsp[s]://HOST/PATH
        source: String {
            positional("SOURCE", DEMO)
                .secret("a password")
                .default("test:640x480@25")
                .brief("Camera or file: test:640x480@25, rtsp://HOST/PATH, v4l2:/dev/video0, file:CLIP")
        }

        /// Stop after so long; in seconds without a unit. --seconds overrides it
        seconds: Option<Seconds> { key().unset("it runs until interrupted").example("30s") }

        /// What the sizes and times of records tell, as for `publish`
        shape: String { flag("shape", "SHAPE", DEMO).default("off").example("constant:2mbit").heading(KEYS) }

        /// Serve no page; print the figures at the end
        headless: bool { on_flag("headless", DEMO).brief("Serve no page; print the figures at the end") }
    }

    /// Settings of the gateways. Those in `[publish]` also hold for `gateway camera`.
    gateway: Gateway {
        /// File that only you can read, with one camera per line: PATH=URL, or a URL alone for all other paths
        camera_file: Option<PathBuf> {
            flag("camera-file", "FILE", CAMERA)
                .excludes("camera")
                .example("/etc/sealcast/cameras")
                .brief("File with one camera a line: PATH=URL, or a URL alone")
        }

        /// The camera gateway's ticket, @FILE, or - for standard input
        peer: Option<String> {
            flag("peer", "TICKET", VIEWER)
                .secret("an invite")
                .example("sealcast://camera.example:9553/mfrggzdfmztwq2lkmfrggzdfmztwq2lkmfrggzdfmztwq2lkmfrq")
                .brief("Ticket of the camera gateway; @FILE keeps it secret")
        }

        /// File that only you can read, whose first line is that ticket, for a ticket with an invite
        peer_file: Option<PathBuf> { key().excludes("peer").example("/etc/sealcast/gateway.ticket") }

        /// Where to listen for RTSP players
        rtsp: SocketAddr {
            flag("rtsp", "ADDRESS:PORT", VIEWER)
                .default("127.0.0.1:9554")
                .brief("Where players connect")
        }

        /// Require this user name from players, and the password in the password file. Without both, players need a
        /// password that is made at each start and printed in a URL
        rtsp_user: Option<String> {
            flag("rtsp-user", "NAME", VIEWER)
                .example("player")
                .brief("User name that players need, instead of one made here")
        }

        /// File that only you can read, whose first line is the players' password
        rtsp_password_file: Option<PathBuf> {
            flag("rtsp-password-file", "FILE", VIEWER)
                .example("/etc/sealcast/player.password")
                .brief("File with the players' password in its first line")
        }

        /// Serve players without a password: whoever reaches the address sees the cameras, on loopback every user of
        /// this machine
        rtsp_open: bool { on_flag("rtsp-open", VIEWER).brief("Serve players without a password") }
    }

    /// Settings of `clock`.
    clock: ClockSection {
        /// Where to serve the page that shows events. Its address is printed on a terminal with the token that opens
        /// it; for another device http://ADDRESS:9882?public[&token=@FILE]
        page: String {
            flag("page", "URL", CLOCK)
                .default("http://127.0.0.1:9882")
                .brief("Where to serve the page that shows events")
        }

        /// Show events in a window on this machine's X display, and serve no page
        window: bool { on_flag("window", CLOCK).brief("Show events in a window, and serve no page") }

        /// Where to tell probes by UDP which event was shown when
        events: SocketAddr {
            flag("events", "ADDRESS:PORT", CLOCK)
                .default("127.0.0.1:9556")
                .brief("Where to tell probes by UDP what was shown when")
        }

        /// Address for the ticket, by which probes reach this machine: HOST[:PORT]
        advertise: Option<String> {
            flag("advertise", "HOST[:PORT]", CLOCK)
                .unset("the address of events or this machine's own")
                .example("clock.example")
                .brief("Address for the ticket, in place of this machine's")
        }

        /// Write the ticket for probes to a new file that only you can read, or to standard output if FILE is -. By
        /// default it is printed only on a terminal
        ticket_file: Option<PathBuf> {
            flag("ticket-file", "FILE", CLOCK)
                .example("/run/sealcast/events")
                .brief("Write the ticket to a new file; - is standard output")
        }

        /// Mean time between events, 100ms to 1m; in milliseconds without a unit. Each comes up to a quarter of it
        /// early or late
        period: Millis {
            flag("period", "TIME", CLOCK)
                .default("1s")
                .brief("Mean time between events, 100ms to 1m")
        }
    }

    /// Settings of `probe`.
    probe: ProbeSection {
        /// What to measure: a publisher's ticket, @FILE with one, rtsp://…, or - for video on standard input
        from: Option<String> {
            positional("FROM", PROBE)
                .secret("an invite")
                .example("rtsp://camera.example/front")
                .brief("What to measure: a ticket, @FILE with one, rtsp://HOST/PATH, or -")
        }

        /// File whose first line is a ticket, for a ticket with an invite
        ticket_file: Option<PathBuf> { key().excludes("from").example("/etc/sealcast/ticket") }

        /// File that only you can read with the ticket of `sealcast clock`, as @FILE. Without it, only the clocks and
        /// stamps in the video are read
        events: Option<String> {
            flag("events", "@FILE", PROBE)
                .secret("a key")
                .example("@/run/sealcast/events")
                .brief("File with the ticket of `sealcast clock`, as @FILE")
        }

        /// Another way to the same camera, in any of the forms of what to measure: tell by how much its pictures are
        /// later, picture by picture. One of the two may be -
        beside: Option<String> {
            flag("beside", "FROM", PROBE)
                .excludes("events")
                .secret("an invite")
                .example("rtsp://gateway.example:9554/front")
                .brief("Another way to the same camera: tell by how much it is later")
        }

        /// With --beside, how it is known which pictures are the same: clock, by the strip of `sealcast clock` or a
        /// test card; event, by its events; content, by what they look like; or auto, by the first of these that works
        pair_by: String {
            flag("pair-by", "HOW", PROBE)
                .default("auto")
                .words(&["auto", "clock", "event", "content"])
                .brief("With --beside: auto, clock, event or content")
        }

        /// With --beside, tell when the other way is later by more than this in the median of ten seconds, or one of
        /// the two has no picture for longer than this, and than two seconds, while the other goes on; and end with
        /// exit code 10; in milliseconds without a unit
        alarm: Option<Millis> {
            flag("alarm", "TIME", PROBE)
                .example("20ms")
                .brief("With --beside: tell when it is later than this, or stands still; exit code 10")
        }
    }

    /// Settings of `archive record`.
    record: RecordSection {
        /// The camera's ticket for TCP, @FILE, or - for standard input. The node is admitted by its peer id, without an
        /// invite
        ticket: Option<String> {
            positional("TICKET", RECORD)
                .secret("an invite")
                .example("sealcast://camera.example:9553/mfrggzdfmztwq2lkmfrggzdfmztwq2lkmfrggzdfmztwq2lkmfrq")
                .brief("Ticket of the camera; @FILE keeps it secret, - reads it")
        }

        /// File whose first line is the ticket
        ticket_file: Option<PathBuf> { key().excludes("ticket").example("/etc/sealcast/ticket") }

        /// Where to record, and how much is kept: DIR[?segment=10s&keep=7d&max=20GB]
        archive: Option<String> {
            positional("ARCHIVE", RECORD)
                .example("recordings?keep=7d&max=20GB")
                .brief("Folder, and how much is kept: DIR[?segment=10s&keep=7d&max=20GB]")
        }
    }

    /// Settings of all commands with a session: `publish`, `watch`, `gateway`, `demo` and `probe`.
    session: Session {
        /// Suites in order of preference
        suites: Vec<String> {
            flag("suite", "NAME", ALL)
                .default("aes-256-gcm, aes-128-gcm, aegis-128x4, chacha20-poly1305")
                .heading(KEYS)
                .words(&["aes-256-gcm", "aes-128-gcm", "aegis-128x4", "chacha20-poly1305"])
        }

        /// Key mechanisms in order of preference
        mechanisms: Vec<String> { flag("mech", "NAME", ALL).default("x25519-mlkem768").heading(KEYS) }
    }

    /// The identity of this end.
    identity: Identity {
        /// Identity file, which only you can read. Each end has a default file of its own, which is created if it is
        /// missing. Ends with the same identity refuse each other
        file: Option<PathBuf> {
            flag("identity", "FILE", PEERS)
                .unset("identity in the folder of its name, or ~/.config/sealcast/identity-viewer, -gateway-viewer or \
                     -archive",)
                .example("/etc/sealcast/identity")
                .heading(WHO)
        }
    }

    /// What to measure, and where to write it.
    observe: Observe {
        /// Write a JSON summary at exit
        report: Option<PathBuf> { flag("report", "FILE", ALL).example("report.json").heading(OBSERVE) }

        /// Write CSV logs into this folder: handshake.csv, steady_stream.csv, frames_latency.csv and, at a viewer
        /// gateway, network_latency.csv and picture_latency.csv, from a probe probe_events.csv and probe_frames.csv, or
        /// with --beside probe_beside.csv alone
        log_dir: Option<PathBuf> { flag("log-dir", "DIR", ALL).example("logs").heading(OBSERVE) }

        /// Serve Prometheus metrics: 127.0.0.1:9464; for other machines https://0.0.0.0:9464?token=@FILE, with the
        /// page's certificate or that of &cert=FILE&key=FILE. Whoever reads them there shows the token (Authorization:
        /// Bearer); without https:// it goes over the network in clear
        metrics: Option<MetricsUrl> {
            flag("metrics", "ADDRESS:PORT", ALL)
                .example("127.0.0.1:9464")
                .heading(OBSERVE)
                .brief("Serve Prometheus metrics, such as 127.0.0.1:9464")
        }

        /// Energy meter: auto, none, rapl[:FOLDER], hwmon[:NAME], ina219:/dev/i2c-1@0x40[,shunt=0.1,amps=2] in ohms and
        /// amperes, or serial:/dev/ttyUSB0[,baud=115200]. docs/meters.md explains them
        meter: String { flag("meter", "METER", ALL).default("auto").study() }
    }
}
