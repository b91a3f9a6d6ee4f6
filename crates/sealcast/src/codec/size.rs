//! Sizes of pictures.

use crate::failure::{Failure, FailureKind, Result};

/// Maximum width or height of a decoded picture, in pixels.
pub const MAX_SIDE: usize = 8192;

/// Maximum number of pixels of a decoded picture: 8K cinema. It limits the memory that one hostile JPEG can make us
/// allocate.
pub const MAX_PIXELS: usize = 8192 * 4320;

/// Refuse unsupported picture sizes: odd sides, no pixels, or more than [`MAX_PIXELS`].
pub(super) fn check_size(width: usize, height: usize) -> Result<()> {
    let even = width.is_multiple_of(2) && height.is_multiple_of(2);
    let held = width > 0 && height > 0 && width <= MAX_SIDE && height <= MAX_SIDE && width * height <= MAX_PIXELS;
    if even && held {
        return Ok(());
    }
    Err(Failure::new(
        FailureKind::Source,
        format!("a picture of {width}x{height} pixels cannot be handled"),
        format!("choose even sides of at most {MAX_SIDE} pixels, and at most {MAX_PIXELS} pixels in all"),
    ))
}
