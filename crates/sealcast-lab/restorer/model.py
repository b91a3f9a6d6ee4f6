"""The restorer's network, in JAX for training and as ONNX for use: a U-Net on patches of 4 x 4 pixels.

Both are built from the same list of layers, so that they cannot differ in structure; `train.py` compares their outputs.
Sizes are multiples of 16: the patches are halved twice.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from onnx import TensorProto, checker, helper, numpy_helper

TOP, MIDDLE, BOTTOM = 16, 32, 48
PATCH = 4
# Slope of rectified negative values. With none, training ends at once: leaving pictures as they are is a good
# beginning, and layers that only disturb it are pushed below zero, where they have no gradient.
LEAK = 0.1
# Name: inputs, outputs, side of the kernel in pixels, stride, dilation.
LAYERS = {
    "embed": (2, TOP, PATCH, PATCH, 1),
    "top_1": (TOP, TOP, 3, 1, 1),
    "top_2": (TOP, TOP, 3, 1, 1),
    "down_1": (TOP, MIDDLE, 2, 2, 1),
    "middle_1": (MIDDLE, MIDDLE, 3, 1, 1),
    "middle_2": (MIDDLE, MIDDLE, 3, 1, 1),
    "down_2": (MIDDLE, BOTTOM, 2, 2, 1),
    "bottom_1": (BOTTOM, BOTTOM, 3, 1, 2),
    "bottom_2": (BOTTOM, BOTTOM, 3, 1, 4),
    "up_2": (BOTTOM, MIDDLE * 4, 1, 1, 1),
    "middle_3": (MIDDLE, MIDDLE, 3, 1, 1),
    "up_1": (MIDDLE, TOP * 4, 1, 1, 1),
    "top_3": (TOP, TOP, 3, 1, 1),
    "correction": (TOP, PATCH * PATCH, 3, 1, 1),
}


def network(ops, luma, mask):
    """The restored luma. Luma is -0.5 to 0.5, the mask 0 (nothing known) to 1 (known to be lost)."""
    relu, conv, add, widen = ops.relu, ops.conv, ops.add, ops.depth_to_space
    top = conv("embed", ops.concat(luma, mask))
    top = add(top, conv("top_2", relu(conv("top_1", relu(top)))))
    middle = conv("down_1", relu(top))
    middle = add(middle, conv("middle_2", relu(conv("middle_1", relu(middle)))))
    bottom = conv("down_2", relu(middle))
    bottom = add(bottom, conv("bottom_1", relu(bottom)))
    bottom = add(bottom, conv("bottom_2", relu(bottom)))
    middle = add(middle, widen(conv("up_2", relu(bottom)), 2))
    middle = add(middle, conv("middle_3", relu(middle)))
    top = add(top, widen(conv("up_1", relu(middle)), 2))
    top = add(top, conv("top_3", relu(top)))
    return add(luma, widen(conv("correction", relu(top)), PATCH))


def padding(side, dilation):
    """Zeros around a picture, in pixels: outputs are as large as inputs divided by the stride."""
    return dilation if side == 3 else 0


class JaxOps:
    """The operations on arrays of samples, rows, columns, channels."""

    def __init__(self, weights):
        self.weights = weights

    def conv(self, name, x):
        _, _, side, stride, dilation = LAYERS[name]
        pad = padding(side, dilation)
        kernel, bias = self.weights[name]
        y = lax.conv_general_dilated(
            x, kernel, (stride, stride), ((pad, pad), (pad, pad)), rhs_dilation=(dilation, dilation),
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
        return y + bias

    @staticmethod
    def depth_to_space(x, side):
        samples, rows, columns, channels = x.shape
        x = x.reshape(samples, rows, columns, side, side, channels // side**2).transpose(0, 1, 3, 2, 4, 5)
        return x.reshape(samples, rows * side, columns * side, -1)

    add = staticmethod(jnp.add)

    @staticmethod
    def relu(x):
        return jnp.maximum(x, LEAK * x)

    @staticmethod
    def concat(x, y):
        return jnp.concatenate((x, y), axis=-1)


class OnnxOps:
    """The same operations as nodes of an ONNX graph: samples, channels, rows, columns."""

    def __init__(self):
        self.nodes = []

    def node(self, kind, inputs, **attributes):
        output = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def conv(self, name, x):
        _, _, side, stride, dilation = LAYERS[name]
        pad = padding(side, dilation)
        return self.node("Conv", [x, f"{name}.kernel", f"{name}.bias"], kernel_shape=[side] * 2,
                         strides=[stride] * 2, dilations=[dilation] * 2, pads=[pad] * 4)

    def depth_to_space(self, x, side):
        return self.node("DepthToSpace", [x], blocksize=side, mode="DCR")

    def relu(self, x):
        return self.node("LeakyRelu", [x], alpha=LEAK)

    def add(self, x, y):
        return self.node("Add", [x, y])

    def concat(self, x, y):
        return self.node("Concat", [x, y], axis=1)


def initial_weights(rng):
    """He initialisation, a third of it where a layer's output is added to something.

    The last layer begins at zero, so that training begins with the damaged picture itself.
    """
    added = ("top_2", "middle_2", "bottom_1", "bottom_2", "up_2", "middle_3", "up_1", "top_3")
    weights = {}
    for name, (inputs, outputs, side, _, _) in LAYERS.items():
        scale = {"correction": 0.0}.get(name, 1 / 3 if name in added else 1.0)
        spread = scale * (2 / (inputs * side * side)) ** 0.5
        kernel = spread * rng.standard_normal((side, side, inputs, outputs))
        weights[name] = (jnp.asarray(kernel, jnp.float32), jnp.zeros(outputs, jnp.float32))
    return weights


def count(weights):
    """The number of parameters."""
    return sum(part.size for pair in weights.values() for part in pair)


@jax.jit
def restore(weights, luma, mask):
    """The restored luma of a batch, samples x rows x columns; bytes in, bytes out."""
    x = luma[..., None].astype(jnp.float32) / 255 - 0.5
    known = mask[..., None].astype(jnp.float32) / 255
    y = network(JaxOps(weights), x, known)[..., 0]
    return jnp.clip((y + 0.5) * 255, 0, 255).round().astype(jnp.uint8)


def to_bytes(weights):
    """All weights as little-endian 32-bit numbers: of each layer the kernel (row, column, in, out), then biases."""
    parts = [np.asarray(part, "<f4").ravel() for name in LAYERS for part in weights[name]]
    return np.concatenate(parts).tobytes()


def from_bytes(content):
    """The weights that `to_bytes` has written."""
    left, weights = np.frombuffer(content, "<f4"), {}
    for name, (inputs, outputs, side, _, _) in LAYERS.items():
        size = side * side * inputs * outputs
        weights[name] = left[:size].reshape(side, side, inputs, outputs), left[size : size + outputs]
        left = left[size + outputs :]
    assert len(left) == 0, "weights of another network"
    return weights


def to_onnx(weights):
    """The network with its weights as an ONNX model with inputs `luma` and `mask` and the output `restored`."""
    ops = OnnxOps()
    output = network(ops, "luma", "mask")
    ops.nodes[-1].output[0] = "restored"
    assert output != "restored"
    shape = [1, 1, "rows", "columns"]
    initializers = []
    for name, (kernel, bias) in weights.items():
        kernel = np.ascontiguousarray(np.asarray(kernel).transpose(3, 2, 0, 1))
        initializers.append(numpy_helper.from_array(kernel, f"{name}.kernel"))
        initializers.append(numpy_helper.from_array(np.asarray(bias), f"{name}.bias"))
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("luma", "mask")]
    outputs = [helper.make_tensor_value_info("restored", TensorProto.FLOAT, shape)]
    graph = helper.make_graph(ops.nodes, "restorer", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    checker.check_model(model)
    return model
