//! The window of a viewer, on a display without a screen.

use std::path::PathBuf;
use std::process::Command;

use sealcast_testkit::media::{ffmpeg, path};
use sealcast_testkit::program::{PATIENCE, Program, Publisher, file_url, home, publish, sealcast, until, watch};
use tempfile::TempDir;
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    AtomEnum, ClientMessageEvent, ConfigureWindowAux, ConnectionExt as _, EventMask, ImageFormat,
};
use x11rb::rust_connection::RustConnection;

use super::files::turn;
use super::groups::is_live;

/// Red, green, blue and white, from the left upper corner by lines.
const QUARTERS: [[u8; 3]; 4] = [[81, 90, 240], [145, 54, 34], [41, 240, 110], [235, 128, 128]];
const COLOURS: [[u8; 3]; 4] = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]];
const BLACK: [u8; 3] = [0; 3];

struct Display {
    _server: Program,
    name: String,
    connection: RustConnection,
    root: u32,
}

impl Display {
    fn start() -> Self {
        let mut command = Command::new("Xvfb");
        command.args(["-displayfd", "1", "-screen", "0", "800x600x24", "-nolisten", "tcp"]);
        let server = Program::run("the display", command);
        let name = format!(":{}", server.line());
        let (connection, screen) = x11rb::connect(Some(&name)).expect("a display");
        let root = connection.setup().roots[screen].root;
        Self {
            _server: server,
            name,
            connection,
            root,
        }
    }

    /// The viewer's window, once it is there.
    fn window(&self) -> u32 {
        let mut window = None;
        until("there is a window", || {
            let tree = self
                .connection
                .query_tree(self.root)
                .expect("asked")
                .reply()
                .expect("a tree");
            window = tree
                .children
                .into_iter()
                .find(|child| self.title(*child) == b"sealcast");
            window.is_some()
        });
        window.expect("found")
    }

    fn title(&self, window: u32) -> Vec<u8> {
        let (name, text) = (AtomEnum::WM_NAME, AtomEnum::STRING);
        let asked = self
            .connection
            .get_property(false, window, name, text, 0, 99)
            .expect("asked");
        asked.reply().map(|reply| reply.value).unwrap_or_default()
    }

    fn size(&self, window: u32) -> (u16, u16) {
        let geometry = self
            .connection
            .get_geometry(window)
            .expect("asked")
            .reply()
            .expect("a size");
        (geometry.width, geometry.height)
    }

    /// Red, green and blue of a pixel; `None` while the window is not there yet.
    fn pixel(&self, window: u32, (x, y): (i16, i16)) -> Option<[u8; 3]> {
        let format = ImageFormat::Z_PIXMAP;
        let asked = self.connection.get_image(format, window, x, y, 1, 1, u32::MAX);
        let data = asked.expect("asked").reply().ok()?.data;
        Some([data[2], data[1], data[0]])
    }

    /// Waits until the pixels at these places have these colours.
    fn shows(&self, window: u32, pixels: &[((i16, i16), [u8; 3])]) {
        until(&format!("the window shows {pixels:?}"), || {
            pixels.iter().all(|&(at, colour)| {
                let near = |found: [u8; 3]| {
                    found
                        .iter()
                        .zip(colour)
                        .all(|(part, wanted)| part.abs_diff(wanted) <= 24)
                };
                self.pixel(window, at).is_some_and(near)
            })
        });
    }

    fn watch(&self, home: &TempDir, ticket: &str, sink: &str) -> Program {
        let mut command = sealcast(home.path());
        command
            .args(["watch", ticket, "--to", sink, "--metrics", "127.0.0.1:0"])
            .env("DISPLAY", &self.name);
        Program::run("the viewer", command)
    }

    /// Closes a window as a window manager does.
    fn close(&self, window: u32) {
        let atom = |name: &str| {
            let asked = self.connection.intern_atom(false, name.as_bytes()).expect("asked");
            asked.reply().expect("an atom").atom
        };
        let (protocols, close) = (atom("WM_PROTOCOLS"), atom("WM_DELETE_WINDOW"));
        let message = ClientMessageEvent::new(32, window, protocols, [close, 0, 0, 0, 0]);
        let sent = self.connection.send_event(false, window, EventMask::NO_EVENT, message);
        sent.expect("sent").check().expect("taken");
    }
}

/// Publishes four colours of 320x240 pixels.
fn four_colours(home: &TempDir, more: &[&str]) -> Publisher {
    let file = colours(home);
    publish(home.path(), &format!("{}?loop&bitrate=2M", file_url(&file)), more)
}

/// A second of four colours.
fn colours(home: &TempDir) -> PathBuf {
    let file = home.path().join("colours.y4m");
    let mut bytes = b"YUV4MPEG2 W320 H240 F25:1\n".to_vec();
    for _ in 0..25 {
        bytes.extend_from_slice(b"FRAME\n");
        for (plane, shift) in [(0, 0), (1, 1), (2, 1)] {
            let (width, height) = (320 >> shift, 240 >> shift);
            for at in 0..width * height {
                let (right, lower) = (at % width >= width / 2, at / width >= height / 2);
                bytes.push(QUARTERS[usize::from(lower) * 2 + usize::from(right)][plane]);
            }
        }
    }
    std::fs::write(&file, bytes).expect("space");
    file
}

#[test]
fn a_window_shows_the_picture_turned_as_the_camera_is() {
    let (display, camera, eyes) = (Display::start(), home(), home());
    let clip = camera.path().join("turned.mp4");
    let encoder = [
        "-c:v",
        "libx264",
        "-pix_fmt",
        "yuv420p",
        "-g",
        "5",
        "-bf",
        "0",
        path(&clip),
    ];
    ffmpeg(&[&["-i", path(&colours(&camera))], &encoder[..]].concat());
    turn(&clip);
    let publisher = publish(camera.path(), &format!("{}?loop", file_url(&clip)), &[]);
    let mut viewer = display.watch(&eyes, &publisher.ticket, "window:");
    let window = display.window();
    until("the window has the size of the turned picture", || {
        display.size(window) == (240, 320)
    });
    // A quarter turn clockwise: what was at the left is at the top.
    let [a, b, c, d] = COLOURS;
    display.shows(
        window,
        &[((60, 80), c), ((180, 80), a), ((60, 240), d), ((180, 240), b)],
    );
    viewer.stop();
    // What shows no picture takes one that is turned as any other.
    let other = home();
    let mut counting = watch(
        other.path(),
        &publisher.ticket,
        &["--to", "null:", "--metrics", "127.0.0.1:0"],
    );
    counting.says("INFO watching", PATIENCE);
    counting.has_counted("sealcast_frames_total{dir=\"in\"}", 10.0);
    counting.stop();
}

#[test]
fn a_window_shows_the_picture_in_its_shape_until_it_is_closed() {
    let (display, camera, eyes) = (Display::start(), home(), home());
    let publisher = four_colours(&camera, &[]);
    let mut viewer = display.watch(&eyes, &publisher.ticket, "window:");
    let window = display.window();
    let middles = [(80, 60), (240, 60), (80, 180), (240, 180)];
    until("the window has the size of the picture", || {
        display.size(window) == (320, 240)
    });
    let at = |middles: [(i16, i16); 4]| middles.into_iter().zip(COLOURS).collect::<Vec<_>>();
    display.shows(window, &at(middles));
    // Twice as high and wide, with black bars at both sides.
    let aux = ConfigureWindowAux::new().width(740).height(480);
    let resized = display.connection.configure_window(window, &aux);
    resized.expect("asked").check().expect("resized");
    let mut pixels = at(middles.map(|(x, y)| (50 + 2 * x, 2 * y)));
    pixels.extend([((40, 240), BLACK), ((700, 240), BLACK)]);
    display.shows(window, &pixels);
    display.close(window);
    viewer.succeeds(PATIENCE);
    assert!(viewer.said().contains("the window is closed"), "{}", viewer.said());
}

#[test]
fn a_window_fills_the_screen_and_says_how_old_the_picture_is() {
    let (display, camera, eyes) = (Display::start(), home(), home());
    let publisher = four_colours(&camera, &[]);
    let mut viewer = display.watch(&eyes, &publisher.ticket, "window:?fullscreen&latency");
    let window = display.window();
    assert_eq!(display.size(window), (800, 600));
    // 320x240 fills 800x600. The corner of the text is black, and below it is the picture.
    display.shows(
        window,
        &[((0, 0), BLACK), ((200, 150), COLOURS[0]), ((600, 450), COLOURS[3])],
    );
    let grab = [
        "-f",
        "x11grab",
        "-video_size",
        "800x600",
        "-i",
        &display.name,
        "-frames:v",
        "1",
    ];
    let text = ffmpeg(
        &[
            &grab[..],
            &["-vf", "crop=300:18:0:0", "-f", "rawvideo", "-pix_fmt", "gray", "-"],
        ]
        .concat(),
    );
    let white = text.iter().filter(|grey| **grey > 200).count();
    assert!(white > 100, "{white} white pixels of text");
    viewer.stop();
}

#[test]
fn a_window_says_it_when_a_groups_picture_may_be_old() {
    let (display, camera, eyes) = (Display::start(), home(), home());
    let publisher = four_colours(&camera, &["--group", "--sign", "frame"]);
    let mut viewer = display.watch(&eyes, &publisher.ticket, "window:");
    let window = display.window();
    // The left upper corner of the first letter of MAY BE OLD, and a place beside it.
    let (letter, beside) = ((1, 1), (2, 1));
    let white = [255; 3];
    viewer.says("http://", PATIENCE);
    is_live(&viewer);
    display.shows(window, &[(letter, COLOURS[0]), (beside, COLOURS[0])]);
    publisher.program.signal("STOP");
    display.shows(window, &[(letter, white), (beside, BLACK), ((80, 60), COLOURS[0])]);
    publisher.program.signal("CONT");
    display.shows(window, &[(letter, COLOURS[0]), (beside, COLOURS[0])]);
    viewer.stop();
}

#[test]
fn a_window_without_a_display_is_an_error_before_anything_connects() {
    let (camera, eyes) = (home(), home());
    let ticket = publish(camera.path(), "test:", &[]).ticket;
    let mut command = sealcast(eyes.path());
    command
        .args(["watch", &ticket, "--to", "window:"])
        .env_remove("DISPLAY");
    let mut viewer = Program::run("the viewer", command);
    assert_eq!(viewer.ends(PATIENCE), 4);
    assert!(viewer.said().contains("no X display"), "{}", viewer.said());
}

#[test]
fn a_display_that_goes_ends_the_viewer_in_words() {
    let (display, camera, eyes) = (Display::start(), home(), home());
    let publisher = four_colours(&camera, &[]);
    let mut viewer = display.watch(&eyes, &publisher.ticket, "window:?size=200x200");
    let window = display.window();
    assert_eq!(display.size(window), (200, 200));
    display.shows(window, &[((50, 70), COLOURS[0]), ((100, 10), BLACK)]);
    drop(display);
    assert_eq!(viewer.ends(PATIENCE), 4);
    assert!(
        viewer.said().contains("the display of the window is gone"),
        "{}",
        viewer.said()
    );
}
