"""Trains the restorer, writes `restorer.bin` and test vectors. README.md says what, why and how long.

    python train.py --work /tmp/restorer            # all; a run that was stopped goes on
"""

import argparse
import os
import time
from pathlib import Path

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import optax

import damage
import model
import scenes
import streams

SEED = 17
CROP = 128
# Of this share of the samples the mask is hidden: an eavesdropper rarely knows where a loss is.
HIDDEN_MASKS = 0.5
VECTOR_SIZE = (48, 64)
HERE = Path(__file__).parent


def damages(clip, rng):
    """One clip, damaged in every way, with settings at random: (frames, masks) of each."""
    options = streams.x264_options(rng, int(rng.integers(20, 32)))
    h264 = streams.encode(clip, "h264", options)
    quality = str(int(rng.integers(2, 9)))
    jpeg = streams.encode(clip, "mjpeg", {"qmin": quality, "qmax": quality})
    size, rate = int(rng.integers(150, 1200)), rng.uniform(0.05, 0.6)
    start = int(rng.integers(7, 11))
    made = [
        damage.h264_records(h264, rng, rate, size, bool(rng.random() < 0.5)),
        damage.h264_slice_starts(h264, start, start + int(rng.choice([16, 59]))),
        damage.h264_keyframes(h264, options, grey=True),
        damage.h264_keyframes(h264, options, grey=False),
        damage.missing_slices(h264, rng, rate / 2),
        damage.jpeg_records(jpeg, rng, rate / 2, size, bool(rng.random() < 0.5)),
        damage.jpeg_coefficients(clip, int(rng.integers(50, 95)), int(rng.choice([1, 1, 3, 6]))),
        damage.jpeg_guessed_tables(clip, int(rng.integers(30, 95)), int(rng.integers(30, 95))),
        damage.missing_blocks(clip, rng, rng.uniform(0.05, 0.8)),
    ]
    if rng.random() < 0.5:
        made.append(damage.noise(clip, rng))
    if rng.random() < 0.5:
        made.append((streams.decode(h264), damage.empty_masks(h264)))
    return made


def make_samples(clips, seed, work):
    """Crops of damaged frames, their masks, and the scene, as one array of bytes; kept in a file."""
    path = work / f"samples-{clips}-{seed}.npy"
    if path.exists():
        return np.load(path)
    rng = np.random.default_rng(seed)
    maker, samples = scenes.Scenes(rng), []
    for _ in range(clips):
        clip = maker.clip()
        for frames, masks in damages(clip, rng):
            for at in rng.choice(scenes.FRAMES, 2, replace=False):
                # On the grid of macroblocks, as the whole picture is.
                y = int(rng.integers((scenes.HEIGHT - CROP) // 16 + 1)) * 16
                x = int(rng.integers((scenes.WIDTH - CROP) // 16 + 1)) * 16
                parts = (frames[at], masks[at], clip[at])
                samples.append(np.stack([part[y : y + CROP, x : x + CROP] for part in parts]))
    samples = np.stack(samples)
    np.save(path, samples)
    return samples


def without_most_blanks(samples):
    """Seven of eight samples with a flat damaged picture are left out: of those only what to leave alone is learned."""
    flat = samples[:, 0].reshape(len(samples), -1).std(1) < 3
    return samples[~flat | (np.arange(len(samples)) % 8 == 0)]


def loss_of(weights, luma, mask, scene):
    """Mean square error of luma, and of its differences between neighbours, which are what edges are.

    Absolute errors were tried first: at the beginning their slopes are as steep where a picture is nearly right as
    where it is missing, and nothing was learned.
    """
    error = model.network(model.JaxOps(weights), luma, mask) - scene
    along = jnp.square(error[:, :, 1:] - error[:, :, :-1]).mean()
    down = jnp.square(error[:, 1:] - error[:, :-1]).mean()
    return jnp.square(error).mean() + 0.5 * (along + down)


def batches(samples, arguments, done):
    """The batches after the first `done`, as floats; batch number n is the same in each run."""
    for number in range(done, arguments.steps):
        rng = np.random.default_rng((SEED, number))
        chosen = samples[rng.integers(len(samples), size=arguments.batch)].astype(np.float32)[..., None]
        hidden = rng.random(arguments.batch) < HIDDEN_MASKS
        mask = chosen[:, 1] / 255
        mask[hidden] = 0
        yield number, chosen[:, 0] / 255 - 0.5, mask, chosen[:, 2] / 255 - 0.5


def rate_of(number, steps):
    """The learning rate of a step: rising for 100 steps, level, and falling over the last 40 %.

    Until it falls, the number of steps makes no difference: a run may be shortened while it goes.
    """
    return 1.5e-3 * min((number + 1) / 100, 1, (steps - number) / (0.4 * steps))


def train(samples, arguments):
    """The weights after all steps; goes on from the last checkpoint."""
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1.0, weight_decay=1e-4))
    weights = model.initial_weights(np.random.default_rng(SEED))
    state = optimiser.init(weights)
    checkpoint, unfinished = (arguments.work / f"{name}.npz" for name in ("checkpoint", "unfinished"))
    done = 0
    if checkpoint.exists():
        stored = np.load(checkpoint)
        done = int(stored["done"])
        leaves, form = jax.tree.flatten((weights, state))
        weights, state = jax.tree.unflatten(form, [jnp.asarray(stored[f"leaf_{at}"]) for at in range(len(leaves))])

    def step(weights, state, rate, luma, mask, scene):
        loss, slopes = jax.value_and_grad(loss_of)(weights, luma, mask, scene)
        changes, state = optimiser.update(slopes, state, weights)
        return jax.tree.map(lambda weight, change: weight + rate * change, weights, changes), state, loss

    example = jnp.zeros((arguments.batch, CROP, CROP, 1))
    step = jax.jit(step).lower(weights, state, jnp.float32(0), example, example, example).compile()
    # The long part gives way to everything else that the machine does.
    os.nice(19)
    recent, started, cpu = [], time.monotonic(), time.process_time()
    for number, luma, mask, scene in batches(samples, arguments, done):
        rate = jnp.float32(rate_of(number, arguments.steps))
        weights, state, loss = step(weights, state, rate, luma, mask, scene)
        recent.append(float(loss))
        if (number + 1) % 50 == 0:
            leaves = jax.tree.leaves((weights, state))
            np.savez(unfinished, done=number + 1, **{f"leaf_{at}": leaf for at, leaf in enumerate(leaves)})
            unfinished.replace(checkpoint)
            spent = f"{time.monotonic() - started:.0f} s, {time.process_time() - cpu:.0f} s of a processor"
            print(f"step {number + 1} of {arguments.steps}: loss {np.mean(recent):.4f}, {spent}", flush=True)
            recent = []
    return weights


def write_vectors(session, samples, path):
    """Small inputs with the outputs of onnxruntime: luma, mask and restored luma of each, as bytes, in one file.

    The file: number of vectors, rows and columns (little-endian, 32 bits each), then three planes for each vector.
    """
    rows, columns = VECTOR_SIZE
    rng = np.random.default_rng(SEED + 1)
    holes = samples[np.flatnonzero((samples[:, 1].std((1, 2)) > 90))[0]]
    planes = [holes[:2, :rows, :columns]]
    planes.append(rng.integers(0, 256, (2, rows, columns), dtype=np.uint8))
    content = np.array([len(planes), rows, columns], "<u4").tobytes()
    for luma, mask in planes:
        content += luma.tobytes() + mask.tobytes() + run(session, luma, mask).astype("<f4").tobytes()
    path.write_bytes(content)


def run(session, luma, mask):
    """The model's own output for bytes: luma from 0 to 255, neither rounded nor cut."""
    luma, mask = (plane[None, None].astype(np.float32) / 255 for plane in (luma, mask))
    inputs = {"luma": luma - 0.5, "mask": mask}
    return (session.run(None, inputs)[0][0, 0] + 0.5) * 255


def session_of(weights):
    """The network in onnxruntime, on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    content = model.to_onnx(weights).SerializeToString()
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def export(weights, samples):
    """Writes the weights and the vectors, and checks that JAX and onnxruntime agree."""
    path = HERE / "restorer.bin"
    path.write_bytes(model.to_bytes(weights))
    session = session_of(model.from_bytes(path.read_bytes()))
    luma, mask = samples[0, 0], samples[0, 1]
    ours = np.asarray(model.restore(weights, luma[None], mask[None]))[0].astype(int)
    theirs = np.clip(run(session, luma, mask), 0, 255).round()
    assert np.abs(ours - theirs).max() <= 1, "JAX and onnxruntime differ"
    write_vectors(session, samples, HERE / "vectors.bin")
    print(f"{path.stat().st_size} bytes, {model.count(weights)} parameters")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="folder for samples and checkpoints")
    parser.add_argument("--clips", type=int, default=250, help="number of training clips")
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--batch", type=int, default=4)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(arguments.work / "compiled"))
    started = time.process_time()
    samples = without_most_blanks(make_samples(arguments.clips, SEED, arguments.work))
    print(f"{len(samples)} samples, {time.process_time() - started:.0f} s of a processor", flush=True)
    export(train(samples, arguments), samples)


if __name__ == "__main__":
    main()
