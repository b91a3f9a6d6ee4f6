//! The window, and the thread that draws it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use x11rb::connection::Connection;
use x11rb::image::{BitsPerPixel, Image, ImageOrder, ScanlinePad};
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    AtomEnum, ConfigureWindowAux, ConnectionExt as _, CreateGCAux, CreateWindowAux, EventMask, PropMode, Screen,
    VisualClass, Visualtype, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

use super::age::corner;
use super::paint::{Shifts, paint, write};
use super::shared::{Shared, Shown};
use crate::archive::wall_now;
use crate::display::{Step, atom, connect, fill_screen, name};
use crate::failure::{Failure, FailureKind, Result};
use crate::sink::proven_age::ProvenAge;

/// Size of a window before its first picture.
const FIRST_SIZE: (u16, u16) = (640, 480);

/// Options of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WindowOptions {
    /// Write the age of the picture into its corner.
    pub(super) latency: bool,
    /// Fill the screen.
    pub(super) fullscreen: bool,
    /// Width and height in pixels; `None`: those of the first picture.
    pub(super) size: Option<(u16, u16)>,
}

/// An open window.
pub(super) struct Window {
    connection: RustConnection,
    window: u32,
    pen: u32,
    depth: u8,
    shifts: Shifts,
    options: WindowOptions,
    screen: (u16, u16),
    size: (u16, u16),
    /// The message of a window manager whose user closes the window.
    close: u32,
    shown: Option<Shown>,
    /// True if an alarm is in the window.
    alarmed: bool,
    /// Words of the window about a camera that is off.
    away: Option<String>,
    pixels: Vec<u8>,
}

/// Next step of the window's thread.
enum Next {
    Draw,
    Wait,
    Close,
}

impl Window {
    /// Opens a black window.
    ///
    /// # Errors
    /// There is no display, or its pixels are not of 8 bits for each colour: kind `Sink`.
    pub(super) fn open(options: WindowOptions) -> Result<Self> {
        let otherwise = "leave out --to window:, and the picture is on a page";
        let (connection, screen) = connect(otherwise)?;
        let visual = visual(&screen).and_then(shifts);
        let shifts = visual.ok_or_else(|| {
            let what = format!("the X display has pixels of {} bits, and not of 24", screen.root_depth);
            Failure::new(FailureKind::Sink, what, otherwise)
        })?;
        Self::on(connection, &screen, shifts, options).map_err(|error| lost(&error))
    }

    fn on(connection: RustConnection, screen: &Screen, shifts: Shifts, options: WindowOptions) -> Step<Self> {
        let all = (screen.width_in_pixels, screen.height_in_pixels);
        let size = match options.fullscreen {
            true => all,
            false => options.size.unwrap_or(FIRST_SIZE),
        };
        let (window, pen) = (connection.generate_id()?, connection.generate_id()?);
        let aux = CreateWindowAux::new()
            .event_mask(EventMask::EXPOSURE | EventMask::STRUCTURE_NOTIFY)
            .background_pixel(screen.black_pixel);
        let (depth, class) = (screen.root_depth, WindowClass::INPUT_OUTPUT);
        connection.create_window(depth, window, screen.root, 0, 0, size.0, size.1, 0, class, 0, &aux)?;
        name(&connection, window, "sealcast")?;
        let (protocols, close) = (
            atom(&connection, "WM_PROTOCOLS")?,
            atom(&connection, "WM_DELETE_WINDOW")?,
        );
        connection.change_property32(PropMode::REPLACE, window, protocols, AtomEnum::ATOM, &[close])?;
        if options.fullscreen {
            fill_screen(&connection, window)?;
        }
        connection.create_gc(pen, window, &CreateGCAux::new().graphics_exposures(0))?;
        connection.map_window(window)?;
        connection.sync()?;
        Ok(Self {
            connection,
            window,
            pen,
            depth,
            shifts,
            options,
            screen: all,
            size,
            close,
            shown: None,
            alarmed: false,
            away: None,
            pixels: Vec::new(),
        })
    }

    /// Shows pictures until the stream ends or the window is closed.
    ///
    /// # Errors
    /// The display is gone: kind `Sink`.
    pub(super) fn show(mut self, shared: &Arc<Shared>) -> Result<()> {
        loop {
            match self.step(shared).map_err(|error| lost(&error))? {
                Next::Draw => self.draw(shared.age()).map_err(|error| lost(&error))?,
                Next::Wait => self.wait(shared),
                Next::Close => return Ok(()),
            }
        }
    }

    /// Takes what the display says, and the newest picture.
    fn step(&mut self, shared: &Arc<Shared>) -> Step<Next> {
        let mut dirty = false;
        while let Some(event) = self.connection.poll_for_event()? {
            match event {
                Event::ConfigureNotify(now) => {
                    dirty |= (now.width, now.height) != self.size;
                    self.size = (now.width, now.height);
                }
                Event::Expose(_) => dirty = true,
                Event::ClientMessage(message) if message.data.as_data32()[0] == self.close => return Ok(Next::Close),
                Event::DestroyNotify(gone) if gone.window == self.window => return Ok(Next::Close),
                _ => {}
            }
        }
        if let Some(newest) = shared.take() {
            // A camera may say only after its first picture that all are turned.
            let turned = |shown: &Shown| {
                let (before, now) = (&shown.picture, &newest.picture);
                before.width != before.height && (before.width, before.height) == (now.height, now.width)
            };
            if self.shown.as_ref().is_none_or(turned) {
                self.take_size(&newest)?;
            }
            self.shown = Some(newest);
            dirty = true;
        }
        dirty |= shared.age().is_some_and(ProvenAge::is_alarm) != self.alarmed;
        let away = shared.away();
        if away != self.away {
            // There may be no picture to write it on.
            let title = away.as_ref().map(|words| format!("sealcast: {words}"));
            name(&self.connection, self.window, title.as_deref().unwrap_or("sealcast"))?;
            self.connection.flush()?;
            (self.away, dirty) = (away, true);
        }
        if shared.is_ended() {
            return Ok(Next::Close);
        }
        Ok(match dirty && self.shown.is_some() {
            true => Next::Draw,
            false => Next::Wait,
        })
    }

    /// Gives the window the size of a picture, as far as the screen is large enough.
    fn take_size(&mut self, newest: &Shown) -> Step<()> {
        if self.options.fullscreen || self.options.size.is_some() {
            return Ok(());
        }
        let side = |pixels: usize, most: u16| u32::try_from(pixels).unwrap_or(u32::MAX).clamp(1, most.into());
        let aux = ConfigureWindowAux::new()
            .width(side(newest.picture.width, self.screen.0))
            .height(side(newest.picture.height, self.screen.1));
        self.connection.configure_window(self.window, &aux)?;
        Ok(())
    }

    /// Draws the picture, and waits until the display's server has it: so no more than one is ever on its way.
    fn draw(&mut self, age: Option<ProvenAge>) -> Step<()> {
        self.alarmed = age.is_some_and(ProvenAge::is_alarm);
        let Some(Shown { picture, stamp }) = &self.shown else {
            return Ok(());
        };
        let size = (usize::from(self.size.0), usize::from(self.size.1));
        paint(picture, size, self.shifts, &mut self.pixels);
        let proven = age.and_then(|age| age.shown(Instant::now()));
        let unproven = age.is_some_and(ProvenAge::is_unproven);
        let off = self.away.as_ref().map(|_| "CAMERA OFF".to_owned());
        let age = stamp.filter(|_| off.is_none()).map(|stamp| stamp.age(wall_now()));
        let text: Vec<String> = off.into_iter().chain(corner(age, proven, unproven)).collect();
        if !text.is_empty() {
            let text = text.join(" ");
            let picture = (picture.width, picture.height);
            write(&text, picture, size, &mut self.pixels);
        }
        let setup = self.connection.setup();
        let image = Image::new(
            self.size.0,
            self.size.1,
            ScanlinePad::Pad32,
            self.depth,
            BitsPerPixel::B32,
            ImageOrder::LsbFirst,
            Cow::Borrowed(&self.pixels),
        );
        let Ok(image) = image else { return Ok(()) };
        let native = image.native(setup).map_or(Cow::Borrowed(&image), |native| native);
        native.put(&self.connection, self.window, self.pen, 0, 0)?;
        self.connection.sync()?;
        Ok(())
    }

    /// Waits for the display or for a picture.
    fn wait(&self, shared: &Shared) {
        let display = self.connection.stream();
        let bell = shared.bell();
        let mut fds = [
            PollFd::new(display, PollFlags::IN),
            PollFd::from_borrowed_fd(bell, PollFlags::IN),
        ];
        // An interrupted wait only looks once more.
        let _ = poll(&mut fds, None);
    }
}

fn visual(screen: &Screen) -> Option<&Visualtype> {
    let visuals = screen.allowed_depths.iter().flat_map(|depth| &depth.visuals);
    visuals
        .into_iter()
        .find(|visual| visual.visual_id == screen.root_visual)
}

/// Shifts of the colours of a pixel, if each has 8 bits.
fn shifts(visual: &Visualtype) -> Option<Shifts> {
    let shift = |mask: u32| {
        let shift = mask.trailing_zeros();
        (mask.checked_shr(shift)? == 0xff).then_some(shift)
    };
    (visual.class == VisualClass::TRUE_COLOR).then_some(())?;
    Some(Shifts {
        red: shift(visual.red_mask)?,
        green: shift(visual.green_mask)?,
        blue: shift(visual.blue_mask)?,
    })
}

fn lost(error: &x11rb::errors::ReplyOrIdError) -> Failure {
    let what = format!("the display of the window is gone ({error})");
    Failure::new(FailureKind::Sink, what, "start the viewer again when it is back")
}
