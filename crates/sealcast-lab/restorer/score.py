"""Scores the restorer on held-out scenes: pictures before and after it, in each mode of damage.

    python score.py --clips /path/with/clips --pictures /tmp/pictures

Held out are the portrait and the page of ../data, and clips in the folder (README.md). All are scaled to 320 pixels of
width, as in training. A figure is a mean over scenes of the mean over their frames; the 95 % interval is by bootstrap
over scenes, because frames of one scene resemble each other.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import av
import numpy as np
from PIL import Image
from skimage.filters import sobel_h, sobel_v
from skimage.metrics import structural_similarity

import damage
import model
import scenes
import streams
from train import run, session_of

HERE = Path(__file__).parent
FRAMES = 30
# Of the first 25 frames, which begin with a keyframe, and after the next keyframe.
SCORED = (4, 11, 18, 28)
X264 = {"profile": "baseline", "preset": "superfast", "crf": "24",
        "x264-params": "keyint=25:min-keyint=25:scenecut=0:bframes=0:threads=1:repeat-headers=1"}
SLICED = X264 | {"x264-params": X264["x264-params"] + ":slice-max-size=400"}


def drift(path):
    """A still picture seen by a camera that moves a little."""
    luma = scenes.luma_of(path)
    luma = scenes.resized(luma, scenes.WIDTH + 16, luma.shape[0] * (scenes.WIDTH + 16) // luma.shape[1])
    height = (luma.shape[0] - 16) // 16 * 16
    places = [(int(8 + 8 * np.sin(at / 9)), int(8 + 8 * np.cos(at / 9))) for at in range(FRAMES)]
    return [luma[y : y + height, x : x + scenes.WIDTH].copy() for y, x in places]


def clip_frames(path):
    """The first frames of a clip."""
    frames = []
    with av.open(str(path)) as container:
        for picture in container.decode(video=0):
            luma = picture.to_ndarray(format="gray")
            luma = scenes.resized(luma, scenes.WIDTH, luma.shape[0] * scenes.WIDTH // luma.shape[1])
            frames.append(luma[: luma.shape[0] // 16 * 16].copy())
            if len(frames) == FRAMES:
                break
    return frames


def psnr(picture, scene):
    """Peak signal to noise ratio of luma in dB, at most 60."""
    error = np.mean((picture.astype(np.float64) - scene) ** 2)
    return 10 * np.log10(65025 / max(error, 0.065))


def edges(luma):
    """Sobel gradients of a picture: strength, and direction as one of 8."""
    across, down = sobel_v(luma.astype(np.float64)), sobel_h(luma.astype(np.float64))
    return np.hypot(across, down), np.floor((np.arctan2(down, across) + np.pi) / (2 * np.pi) * 8).astype(int) % 8


def edge_similarity(picture, scene):
    """The share of 8 x 8 blocks with an edge in either whose strongest edge has the same direction in both.

    After the edge similarity score of Mao and Wu (IEEE Trans. Image Processing 15(7), 2006, section III).
    """
    found = []
    for luma in (picture, scene):
        strength, direction = edges(luma)
        height, width = (side // 8 * 8 for side in luma.shape)
        blocks = [part[:height, :width].reshape(height // 8, 8, width // 8, 8).swapaxes(1, 2).reshape(-1, 64)
                  for part in (strength, direction)]
        strongest = blocks[0].argmax(1)
        rows = np.arange(len(strongest))
        found.append(np.where(blocks[0][rows, strongest] > 20, blocks[1][rows, strongest], -1))
    either = (found[0] >= 0) | (found[1] >= 0)
    return float(np.mean(found[0][either] == found[1][either])) if either.any() else 1.0


def modes(frames, rng):
    """Name and function of each mode of damage; a function returns frames and masks."""
    h264, sliced = streams.encode(frames, "h264", X264), streams.encode(frames, "h264", SLICED)
    jpeg = streams.encode(frames, "mjpeg", {"qmin": "4", "qmax": "4"})
    return {
        "nothing encrypted (H.264)": lambda: (streams.decode(h264), damage.empty_masks(h264)),
        "rate:25, one slice": lambda: damage.h264_records(h264, rng, 0.25, 400, True),
        "rate:25, slices of 400 bytes": lambda: damage.h264_records(sliced, rng, 0.25, 400, True),
        "rate:50, slices of 400 bytes": lambda: damage.h264_records(sliced, rng, 0.5, 400, True),
        "rate:75, slices of 400 bytes": lambda: damage.h264_records(sliced, rng, 0.75, 400, True),
        "keyframes, a grey one instead": lambda: damage.h264_keyframes(h264, X264, grey=True),
        "keyframes, accumulated": lambda: damage.h264_keyframes(h264, X264, grey=False),
        "65 bytes of each slice, header guessed": lambda: damage.h264_slice_starts(sliced, 9, 69),
        "rate:25 on JPEG": lambda: damage.jpeg_records(jpeg, rng, 0.25, 400, True),
        "JPEG without DC": lambda: damage.jpeg_coefficients(frames, 80, 1),
        "JPEG without DC and low AC": lambda: damage.jpeg_coefficients(frames, 80, 6),
        "JPEG tables guessed": lambda: damage.jpeg_guessed_tables(frames, 50, 85),
        "30 % of macroblocks missing": lambda: damage.missing_blocks(frames, rng, 0.3),
        "all encrypted (noise)": lambda: damage.noise(frames, rng),
    }


def interval(values, rng):
    """The mean over scenes and its 95 % interval, by 2000 bootstrap samples."""
    values = np.asarray(values)
    means = values[rng.integers(len(values), size=(2000, len(values)))].mean(1)
    return f"{values.mean():.2f} [{np.quantile(means, 0.025):.2f}, {np.quantile(means, 0.975):.2f}]"


def score(scene, frames, masks, session):
    """Means over frames: PSNR, SSIM, edge similarity damaged and restored, and PSNR of the best flat picture."""
    rows, shown = [], []
    for at in SCORED:
        restored = np.clip(run(session, frames[at], masks[at]), 0, 255).round().astype(np.uint8)
        row = []
        for picture in (frames[at], restored):
            row += [psnr(picture, scene[at]), structural_similarity(picture, scene[at]),
                    edge_similarity(picture, scene[at])]
        rows.append(row + [psnr(np.full_like(restored, round(float(scene[at].mean()))), scene[at])])
        shown = [scene[at], frames[at], masks[at], restored]
    return np.array(rows).mean(0), np.hstack(shown)


def held_out(clips):
    """Frames of each scene: the pictures of ../data, and video clips of a folder."""
    found = {path.stem: drift(path) for path in sorted((HERE.parent / "data").glob("*.jpg"))}
    for path in sorted(clips.iterdir()) if clips else []:
        if path.suffix in (".mp4", ".avi"):
            found[path.stem] = clip_frames(path)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=Path, help="folder with further held-out clips")
    parser.add_argument("--pictures", type=Path, help="folder for scene, damaged picture, mask and restored picture")
    arguments = parser.parse_args()
    session = session_of(model.from_bytes((HERE / "restorer.bin").read_bytes()))
    rng, scored = np.random.default_rng(17), {}
    for scene, frames in held_out(arguments.clips).items():
        for mode, make in modes(frames, rng).items():
            figures, picture = score(frames, *make(), session)
            scored.setdefault(mode, []).append(figures)
            print(f"{scene}, {mode}: {figures[0]:.2f} dB, restored {figures[3]:.2f} dB", file=sys.stderr)
            if arguments.pictures:
                arguments.pictures.mkdir(parents=True, exist_ok=True)
                name = "".join(letter if letter.isalnum() else "-" for letter in f"{scene} {mode}")
                Image.fromarray(picture).save(arguments.pictures / f"{name}.png")
    print("| damage | PSNR in dB | restored | gain | flat | SSIM | gain | edge similarity | gain |")
    print("|" + "---|" * 9)
    for mode, rows in scored.items():
        rows = np.array(rows)
        gains = [interval(rows[:, at + 3] - rows[:, at], rng) for at in range(3)]
        psnrs, others = [rows[:, at].mean() for at in (0, 3, 6)], [rows[:, at].mean() for at in (1, 2)]
        cells = [mode, f"{psnrs[0]:.2f}", f"{psnrs[1]:.2f}", gains[0], f"{psnrs[2]:.2f}", f"{others[0]:.2f}", gains[1],
                 f"{others[1]:.2f}", gains[2]]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
