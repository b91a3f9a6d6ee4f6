//! The network as a whole: bytes in, bytes out.

use sealcast::codec::MAX_PIXELS;
use sealcast::failure::{Failure, FailureKind, Result};

use super::layer::{Features, Layer, Shape, depth_to_space, rectified};

/// The weights that `restorer/train.py` has written: numbers of 32 bits, little-endian, in the order of [`SHAPES`].
static WEIGHTS: &[u8] = include_bytes!("../../restorer/restorer.bin");

/// Sides of a picture within the network are multiples of this: patches of 4 x 4, halved twice.
const GRID: usize = 16;
const PATCH: usize = 4;
/// Channels at a quarter, an eighth and a sixteenth of the picture's width and height.
const TOP: usize = 16;
const MIDDLE: usize = 32;
const BOTTOM: usize = 48;

/// A convolution whose inputs and outputs lie on the same grid.
const fn level(inputs: usize, outputs: usize, side: usize, dilation: usize) -> Shape {
    Shape {
        inputs,
        outputs,
        side,
        stride: 1,
        dilation,
    }
}

/// A convolution of patches that do not overlap.
const fn patches(inputs: usize, outputs: usize, side: usize) -> Shape {
    Shape {
        inputs,
        outputs,
        side,
        stride: side,
        dilation: 1,
    }
}

/// The layers by name, in the order of `LAYERS` in `restorer/model.py`.
#[derive(Clone, Copy)]
enum Name {
    Embed,
    Top1,
    Top2,
    Down1,
    Middle1,
    Middle2,
    Down2,
    Bottom1,
    Bottom2,
    Up2,
    Middle3,
    Up1,
    Top3,
    Correction,
}

const SHAPES: [Shape; 14] = [
    patches(2, TOP, PATCH),
    level(TOP, TOP, 3, 1),
    level(TOP, TOP, 3, 1),
    patches(TOP, MIDDLE, 2),
    level(MIDDLE, MIDDLE, 3, 1),
    level(MIDDLE, MIDDLE, 3, 1),
    patches(MIDDLE, BOTTOM, 2),
    level(BOTTOM, BOTTOM, 3, 2),
    level(BOTTOM, BOTTOM, 3, 4),
    level(BOTTOM, MIDDLE * 4, 1, 1),
    level(MIDDLE, MIDDLE, 3, 1),
    level(MIDDLE, TOP * 4, 1, 1),
    level(TOP, TOP, 3, 1),
    level(TOP, PATCH * PATCH, 3, 1),
];

/// A damaged picture's restorer: a U-Net that corrects luma. Its two inputs are luma and what is known to be lost.
pub struct Restorer {
    layers: Vec<Layer>,
}

impl Restorer {
    /// The restorer with the weights in the program.
    ///
    /// # Errors
    /// The weights do not fit the network: `restorer/train.py` was changed and this module was not.
    pub fn load() -> Result<Self> {
        let mut left = WEIGHTS.chunks_exact(4).map(|bytes| {
            let bytes = bytes.try_into().expect("chunks of four bytes");
            f32::from_le_bytes(bytes)
        });
        let layers: Option<Vec<Layer>> = SHAPES
            .into_iter()
            .map(|shape| Layer::new(shape, left.by_ref().take(shape.weights()).collect()))
            .collect();
        match layers {
            Some(layers) if left.next().is_none() => Ok(Self { layers }),
            _ => Err(Failure::new(
                FailureKind::Internal,
                format!("{} bytes of weights do not fit the restorer's network", WEIGHTS.len()),
                "give the layers of src/restorer the shapes that restorer/model.py has, or train again",
            )),
        }
    }

    /// The restored luma of a picture of any size.
    ///
    /// `luma` has `width * height` bytes, row by row. `mask` has as many: 255 where the picture is known to be lost, 0
    /// where it was decoded or nothing is known. An eavesdropper who knows of no loss passes zeros.
    ///
    /// # Errors
    /// The picture is empty or larger than [`MAX_PIXELS`], or `luma` or `mask` has another length.
    pub fn restore(&self, luma: &[u8], mask: &[u8], width: usize, height: usize) -> Result<Vec<u8>> {
        check(luma, mask, width, height)?;
        let restored = self.corrected(luma, mask, width, height);
        let rows = restored.outer_iter().take(height);
        let points = rows.flat_map(|row| row.into_iter().take(width).copied().collect::<Vec<_>>());
        // A cast saturates: values below 0 become 0, those above 255 become 255.
        Ok(points.map(|value| value.round() as u8).collect())
    }

    /// The network's output, in units of luma, neither rounded nor cut, on the padded grid.
    pub(super) fn corrected(&self, luma: &[u8], mask: &[u8], width: usize, height: usize) -> Features {
        let luma = padded(luma, width, height).mapv(|value| value - 0.5);
        let mask = padded(mask, width, height);
        let (rows, columns, _) = luma.dim();
        let input = Features::from_shape_fn((rows, columns, 2), |(row, column, channel)| {
            [&luma, &mask][channel][(row, column, 0)]
        });
        (luma + self.correction(&input)).mapv(|value| (value + 0.5) * 255.0)
    }

    /// Correction that must be added to luma: the U-Net, as `network` in `restorer/model.py`.
    fn correction(&self, input: &Features) -> Features {
        use Name::{Bottom1, Bottom2, Correction, Down1, Down2, Embed, Middle1, Middle2, Middle3};
        use Name::{Top1, Top2, Top3, Up1, Up2};
        let conv = |name: Name, features: &Features| self.layers[name as usize].apply(features);
        let top = conv(Embed, input);
        let change = conv(Top2, &rectified(&conv(Top1, &rectified(&top))));
        let top = top + change;
        let middle = conv(Down1, &rectified(&top));
        let change = conv(Middle2, &rectified(&conv(Middle1, &rectified(&middle))));
        let middle = middle + change;
        let bottom = conv(Down2, &rectified(&middle));
        let change = conv(Bottom1, &rectified(&bottom));
        let bottom = bottom + change;
        let change = conv(Bottom2, &rectified(&bottom));
        let bottom = bottom + change;
        let middle = middle + depth_to_space(&conv(Up2, &rectified(&bottom)), 2);
        let change = conv(Middle3, &rectified(&middle));
        let middle = middle + change;
        let top = top + depth_to_space(&conv(Up1, &rectified(&middle)), 2);
        let change = conv(Top3, &rectified(&top));
        let top = top + change;
        depth_to_space(&conv(Correction, &rectified(&top)), PATCH)
    }
}

/// Refuses pictures that the network has no answer for.
fn check(luma: &[u8], mask: &[u8], width: usize, height: usize) -> Result<()> {
    let pixels = width
        .checked_mul(height)
        .filter(|pixels| (1..=MAX_PIXELS).contains(pixels));
    if pixels == Some(luma.len()) && pixels == Some(mask.len()) {
        return Ok(());
    }
    let (luma, mask) = (luma.len(), mask.len());
    Err(Failure::new(
        FailureKind::Internal,
        format!("a picture of {width} x {height} pixels has {luma} bytes of luma and {mask} of mask"),
        format!("pass one byte a pixel in each, and 1 to {MAX_PIXELS} pixels"),
    ))
}

/// A plane as values from 0 to 1, one channel. Its last column and row are repeated up to the next multiple of
/// [`GRID`].
fn padded(plane: &[u8], width: usize, height: usize) -> Features {
    let size = (height.next_multiple_of(GRID), width.next_multiple_of(GRID), 1);
    Features::from_shape_fn(size, |(row, column, _)| {
        f32::from(plane[row.min(height - 1) * width + column.min(width - 1)]) / 255.0
    })
}
