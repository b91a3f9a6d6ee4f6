//! A row through `publish rtsp://`, with a viewer whose pictures are compared with the camera's, slice by slice.

use std::net::{Ipv4Addr, TcpListener};

use sealcast_testkit::gateways::{Camera, Clip, Heard};
use sealcast_testkit::program::{PATIENCE, Program, free_port, home, publish, sealcast};

use super::row::{Published, Row, Wrong};
use super::stream::Slices;

/// Last pictures of a clip that are not waited for: a picture may end with the one behind it, and a stream's last slice
/// with the one behind that.
const OPEN: usize = 2;
/// Packets of sound that a viewer gets at least. Those before the first picture have no time.
const SOUNDS: f64 = 10.0;

/// Publishes a camera that is off until the viewer has come, so that its first picture is the viewer's first.
pub(crate) fn published(row: &Row) -> Result<(), Wrong> {
    let (near, far, port) = (home(), home(), free_port());
    let publisher = publish(near.path(), &row.url(port), &[&["--retry"], row.arguments].concat());
    let mut command = sealcast(far.path());
    command.args(["watch", &publisher.ticket, "--to", "-", "--metrics", "127.0.0.1:0"]);
    let (viewer, output) = Program::piped("the viewer", &mut command);
    viewer.says("the camera is off since 20", PATIENCE);
    let clip = (row.clip)();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("a port that was free");
    let again = row.again.map(|again| again());
    let camera = Camera::odd_again(listener, &clip, again.as_ref(), row.does);
    // It is looked for at once.
    publisher.program.signal("HUP");
    match row.published {
        Published::Fails(words) => drop(publisher.program.says(words, PATIENCE)),
        Published::All | Published::Picture | Published::Alone | Published::But(..) | Published::Later => {
            let mut slices = Slices::of(clip.codec, output);
            let left_out = |picture| matches!(row.published, Published::But(_, but) if but(picture));
            let open = if again.is_some() { 0 } else { OPEN };
            let shown = (0..clip.pictures.len() - open).filter(|picture| !left_out(*picture));
            let later = matches!(row.published, Published::Later);
            let compared = compare(&clip, shown, later, &mut slices);
            let compared = compared.and_then(|()| match &again {
                Some(again) => compare(again, 0..again.pictures.len() - OPEN, false, &mut slices),
                None => Ok(()),
            });
            if let Err(why) = compared {
                let said = publisher.program.said();
                let last = said.lines().last().unwrap_or_default().to_owned();
                return Err(match why {
                    Wrong::Missing(why) => Wrong::Missing(format!("{why}; the publisher's last words: {last}")),
                    came @ Wrong::Came(_) => came,
                });
            }
            if matches!(row.published, Published::Alone) {
                is_set_up_alone(&camera)?;
            } else if !matches!(row.published, Published::Picture) {
                viewer.has_counted("sealcast_sound_packets_total{dir=\"in\"}", SOUNDS);
            }
        }
    }
    match publisher.program.said().contains("panicked") {
        true => Err(Wrong::Came("the publisher panicked".to_owned())),
        false => Ok(()),
    }
}

/// Checks that the camera was asked for one track in each of its sessions.
fn is_set_up_alone(camera: &Camera) -> Result<(), Wrong> {
    let heard = camera.heard_so_far();
    let count = |method: &str| {
        heard
            .iter()
            .filter(|heard| **heard == Heard::Asked(method.to_owned()))
            .count()
    };
    let (tracks, sessions) = (count("SETUP"), count("PLAY"));
    match tracks == sessions {
        true => Ok(()),
        false => Err(Wrong::Came(format!(
            "{tracks} tracks were set up in {sessions} sessions"
        ))),
    }
}

/// Compares slices with those of these pictures, or with those from a later keyframe on.
fn compare(clip: &Clip, shown: impl Iterator<Item = usize>, mut later: bool, slices: &mut Slices) -> Result<(), Wrong> {
    slices.codec = clip.codec;
    let mut shown = shown.peekable();
    let mut ahead = None;
    while let Some(picture) = shown.next() {
        for slice in &clip.pictures[picture] {
            let Some(came) = ahead.take().or_else(|| slices.next(PATIENCE)) else {
                return Err(Wrong::Missing(format!("picture {picture} did not come")));
            };
            if came == *slice {
                later = false;
            } else if later && shown.peek().is_some() {
                ahead = Some(came);
                break;
            } else {
                let of = clip.pictures.iter().position(|slices| slices.contains(&came));
                return Err(match of {
                    Some(other) => Wrong::Missing(format!("picture {other} came in place of picture {picture}")),
                    None => Wrong::Came(format!(
                        "{} bytes came in place of picture {picture} that are no slice of the camera's",
                        came.len()
                    )),
                });
            }
        }
    }
    Ok(())
}
