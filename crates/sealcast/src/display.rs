//! Windows of an X display, which Wayland desktops have as well. The protocol is spoken over the display's socket, so
//! the program needs no library of it and runs without a display.

use x11rb::connection::Connection;
use x11rb::errors::ReplyOrIdError;
use x11rb::protocol::xproto::{AtomEnum, ConnectionExt as _, PropMode, Screen};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

use crate::failure::{Failure, FailureKind, Result};

pub(crate) type Step<T> = std::result::Result<T, ReplyOrIdError>;

/// Connects to the display of the environment variable `DISPLAY`; `otherwise` says what works without one.
///
/// # Errors
/// There is no display: kind `Sink`.
pub(crate) fn connect(otherwise: &str) -> Result<(RustConnection, Screen)> {
    let (connection, screen) = x11rb::connect(None).map_err(|error| {
        Failure::new(
            FailureKind::Sink,
            format!("there is no X display to show a window on ({error})"),
            format!("set DISPLAY on a machine with a screen, or {otherwise}"),
        )
    })?;
    let screen = connection.setup().roots[screen].clone();
    Ok((connection, screen))
}

/// The number of a name.
pub(crate) fn atom(connection: &RustConnection, name: &str) -> Step<u32> {
    Ok(connection.intern_atom(false, name.as_bytes())?.reply()?.atom)
}

/// Gives a window its title.
pub(crate) fn name(connection: &RustConnection, window: u32, title: &str) -> Step<()> {
    let (property, text) = (AtomEnum::WM_NAME, AtomEnum::STRING);
    connection.change_property8(PropMode::REPLACE, window, property, text, title.as_bytes())?;
    Ok(())
}

/// Lets a window that is not shown yet fill the screen.
pub(crate) fn fill_screen(connection: &RustConnection, window: u32) -> Step<()> {
    let (state, full) = (
        atom(connection, "_NET_WM_STATE")?,
        atom(connection, "_NET_WM_STATE_FULLSCREEN")?,
    );
    connection.change_property32(PropMode::REPLACE, window, state, AtomEnum::ATOM, &[full])?;
    Ok(())
}
