//! Shows events in a window.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use x11rb::connection::Connection;
use x11rb::errors::ReplyOrIdError;
use x11rb::protocol::Event;
use x11rb::protocol::randr::ConnectionExt as _;
use x11rb::protocol::xproto::{
    ChangeGCAux, ConnectionExt as _, CreateGCAux, CreateWindowAux, EventMask, Rectangle, Screen, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

use super::board::{DisplayReport, EventBoard};
use crate::display::{Step, connect, fill_screen, name};
use crate::failure::{Failure, FailureKind, Result};
use crate::source::test_card::{CardClock, EventFace};

/// Time between pictures if the display does not say how often it refreshes: no usual one takes longer.
const SLOWEST: Duration = Duration::from_nanos(1_000_000_000 / 24);
/// Refreshes a second that are believed.
const RATES: Range<u16> = 20..500;

/// A window on the display of the environment variable `DISPLAY`.
pub(super) struct Window {
    connection: RustConnection,
    window: u32,
    /// The picture is made here and copied, so that nobody sees half of it.
    canvas: u32,
    pen: u32,
    size: (u16, u16),
    depth: u8,
    refresh: Duration,
    /// Pixels of the colours of [`EventFace`].
    pixels: Vec<u32>,
}

impl Window {
    /// Open a window that fills the screen.
    ///
    /// # Errors
    /// There is no display: kind `Sink`.
    pub(super) fn open() -> Result<Self> {
        let (connection, screen) = connect("leave out --window and open the page")?;
        Self::on(connection, &screen).map_err(|error| lost(&error))
    }

    fn on(connection: RustConnection, screen: &Screen) -> Step<Self> {
        let size = (screen.width_in_pixels, screen.height_in_pixels);
        let [window, canvas, pen] = [
            connection.generate_id()?,
            connection.generate_id()?,
            connection.generate_id()?,
        ];
        let events = EventMask::EXPOSURE | EventMask::STRUCTURE_NOTIFY;
        let aux = CreateWindowAux::new()
            .event_mask(events)
            .background_pixel(screen.black_pixel);
        let depth = screen.root_depth;
        let class = WindowClass::INPUT_OUTPUT;
        connection.create_window(depth, window, screen.root, 0, 0, size.0, size.1, 0, class, 0, &aux)?;
        name(&connection, window, "sealcast clock")?;
        fill_screen(&connection, window)?;
        connection.create_pixmap(depth, canvas, window, size.0, size.1)?;
        let plain = CreateGCAux::new().graphics_exposures(0);
        connection.create_gc(pen, window, &plain)?;
        connection.map_window(window)?;
        let mut pixels = Vec::new();
        for rgb in EventFace::COLOURS {
            let [red, green, blue] = rgb.map(|part| u16::from(part) << 8 | u16::from(part));
            let colour = connection.alloc_color(screen.default_colormap, red, green, blue)?;
            pixels.push(colour.reply()?.pixel);
        }
        let refresh = refresh(&connection, screen.root);
        Ok(Self {
            connection,
            window,
            canvas,
            pen,
            size,
            depth,
            refresh,
            pixels,
        })
    }

    /// Show events until `stop` is set or the window is closed.
    ///
    /// # Errors
    /// The display is gone: kind `Sink`.
    pub(super) fn show(mut self, board: &Arc<EventBoard>, display: u32, stop: &AtomicBool) -> Result<()> {
        let mut shown = 0;
        let mut next = std::time::Instant::now();
        while !stop.load(Ordering::Relaxed) {
            self.take_events().map_err(|error| lost(&error))?;
            let now = board.wall_us();
            let due = board
                .upcoming(now)
                .into_iter()
                .filter(|&(event, due)| event > shown && due <= now);
            let new = due.map(|(event, _)| event).next_back();
            shown = new.unwrap_or(shown);
            let drawn = self.draw(board, shown).map_err(|error| lost(&error))?;
            if let Some(event) = new {
                // The display's server has drawn it by now; the display itself shows it at its next refresh.
                let waited = Duration::from_micros(board.wall_us() - drawn) + self.refresh;
                board.report(DisplayReport {
                    display,
                    event,
                    shown: drawn,
                    uncertainty: u32::try_from(waited.as_micros()).unwrap_or(u32::MAX),
                });
            }
            next += self.refresh;
            std::thread::sleep(next.saturating_duration_since(std::time::Instant::now()));
            next = next.max(std::time::Instant::now() - self.refresh);
        }
        Ok(())
    }

    /// Draw the picture, and wait until the server has done so. Returns the time in its strip.
    fn draw(&self, board: &EventBoard, event: u32) -> Step<u64> {
        let (width, height) = (usize::from(self.size.0), usize::from(self.size.1));
        let wall_us = board.wall_us();
        let face = EventFace::new(width, height, CardClock { event, wall_us });
        for (colour, areas) in face.areas() {
            self.connection
                .change_gc(self.pen, &ChangeGCAux::new().foreground(self.pixels[colour]))?;
            let areas: Vec<Rectangle> = areas.into_iter().map(rectangle).collect();
            self.connection.poly_fill_rectangle(self.canvas, self.pen, &areas)?;
        }
        let (canvas, window) = (self.canvas, self.window);
        self.connection
            .copy_area(canvas, window, self.pen, 0, 0, 0, 0, self.size.0, self.size.1)?;
        self.connection.sync()?;
        Ok(wall_us)
    }

    fn take_events(&mut self) -> Step<()> {
        while let Some(event) = self.connection.poll_for_event()? {
            match event {
                Event::ConfigureNotify(now) if (now.width, now.height) != self.size => {
                    self.size = (now.width, now.height);
                    self.connection.free_pixmap(self.canvas)?;
                    self.canvas = self.connection.generate_id()?;
                    let (width, height) = self.size;
                    self.connection
                        .create_pixmap(self.depth, self.canvas, self.window, width, height)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The interval of the display's refreshes, if it says so.
fn refresh(connection: &RustConnection, root: u32) -> Duration {
    let asked = connection.randr_get_screen_info(root).ok();
    let rate = asked.and_then(|asked| asked.reply().ok()).map_or(0, |info| info.rate);
    match RATES.contains(&rate) {
        true => Duration::from_secs(1) / u32::from(rate),
        false => SLOWEST,
    }
}

fn rectangle((x, y, width, height): (usize, usize, usize, usize)) -> Rectangle {
    let short = |side: usize| i16::try_from(side).unwrap_or(i16::MAX);
    Rectangle {
        x: short(x),
        y: short(y),
        width: short(width).unsigned_abs(),
        height: short(height).unsigned_abs(),
    }
}

fn lost(error: &ReplyOrIdError) -> Failure {
    let what = format!("the window was closed, or its display is gone ({error})");
    Failure::new(FailureKind::Sink, what, "start the clock again")
}
