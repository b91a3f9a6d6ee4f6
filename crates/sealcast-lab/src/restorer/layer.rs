//! One convolution of the network, and the two rearrangements between them.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, Array3, Axis};

/// Features of a picture: rows, columns, channels.
pub(super) type Features = Array3<f32>;

/// The form of a convolution, as in `LAYERS` of `restorer/model.py`.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    /// Width and height of the kernel, in points.
    pub(super) side: usize,
    pub(super) stride: usize,
    /// Distance of the kernel's points.
    pub(super) dilation: usize,
}

impl Shape {
    /// Values of a patch that one output is made of.
    fn patch(self) -> usize {
        self.side * self.side * self.inputs
    }

    /// The number of weights: the kernel and one bias for each output.
    pub(super) fn weights(self) -> usize {
        self.patch() * self.outputs + self.outputs
    }

    /// Rows or columns of zeros before the picture: outputs are as large as inputs, divided by the stride.
    fn padding(self) -> usize {
        if self.side == 3 { self.dilation } else { 0 }
    }
}

/// A convolution with its weights.
pub(super) struct Layer {
    shape: Shape,
    /// A row for each value of a patch (row, column, channel), a column for each output.
    kernel: Array2<f32>,
    bias: Array1<f32>,
}

impl Layer {
    /// The layer with its [`Shape::weights`]: the kernel (row, column, input, output), then the biases. `None` if there
    /// are more or fewer.
    pub(super) fn new(shape: Shape, mut weights: Vec<f32>) -> Option<Self> {
        let bias = weights.split_off(weights.len().checked_sub(shape.outputs)?);
        Some(Self {
            shape,
            kernel: Array2::from_shape_vec((shape.patch(), shape.outputs), weights).ok()?,
            bias: Array1::from_vec(bias),
        })
    }

    /// The convolution of `features`: all patches of one output row are one matrix, which is multiplied by the kernel.
    pub(super) fn apply(&self, features: &Features) -> Features {
        let (rows, columns, _) = features.dim();
        let (rows, columns) = (rows / self.shape.stride, columns / self.shape.stride);
        let mut result = Features::zeros((rows, columns, self.shape.outputs));
        let mut patches = Array2::zeros((columns, self.shape.patch()));
        for (row, mut line) in result.axis_iter_mut(Axis(0)).enumerate() {
            self.gather(features, row, &mut patches);
            general_mat_mul(1.0, &patches, &self.kernel, 0.0, &mut line);
            line += &self.bias;
        }
        result
    }

    /// Fills `patches` with the patches of one output row; what lies outside the picture is 0.
    fn gather(&self, features: &Features, row: usize, patches: &mut Array2<f32>) {
        let Shape {
            inputs,
            side,
            stride,
            dilation,
            ..
        } = self.shape;
        let (rows, columns, _) = features.dim();
        let values = features.as_slice().expect("features are made in row-major order");
        let inside = |at: usize, offset: usize, end: usize| {
            let place = (at * stride + offset * dilation).checked_sub(self.shape.padding())?;
            (place < end).then_some(place)
        };
        for (column, mut patch) in patches.axis_iter_mut(Axis(0)).enumerate() {
            let patch = patch.as_slice_mut().expect("a row of a row-major matrix");
            for (point, to) in patch.chunks_exact_mut(inputs).enumerate() {
                let from = inside(row, point / side, rows).zip(inside(column, point % side, columns));
                match from {
                    Some((y, x)) => to.copy_from_slice(&values[(y * columns + x) * inputs..][..inputs]),
                    None => to.fill(0.0),
                }
            }
        }
    }
}

/// Slope of rectified negative values, `LEAK` in `restorer/model.py`.
const LEAK: f32 = 0.1;

/// The features with a tenth of their negative values.
pub(super) fn rectified(features: &Features) -> Features {
    features.mapv(|value| value.max(LEAK * value))
}

/// Each point becomes `side` x `side` points: the channels are in the order row, column, channel (ONNX's
/// `DepthToSpace` in mode `DCR`).
pub(super) fn depth_to_space(features: &Features, side: usize) -> Features {
    let (rows, columns, channels) = features.dim();
    let left = channels / (side * side);
    Features::from_shape_fn((rows * side, columns * side, left), |(row, column, channel)| {
        let part = row % side * side + column % side;
        features[(row / side, column / side, part * left + channel)]
    })
}
