"""Moving scenes made from licence-free pictures: what the restorer is trained on.

All pictures come with the package scikit-image and are in the public domain or CC0 (README.md names each). The portrait
of Eileen Collins, which the same package has, is left out: it is scored (../data/face.jpg).
"""

from pathlib import Path

import numpy as np
import skimage.data
from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT = 320, 240
FRAMES = 12
PICTURES = (
    "brick.png", "camera.png", "chelsea.png", "coffee.png", "coins.png", "grass.png", "gravel.png",
    "hubble_deep_field.jpg", "retina.jpg", "rocket.jpg", "text.png",
)
# Photographs of things with edges and shades, of which more is to be learned than of textures.
FREQUENT = ("camera.png", "chelsea.png", "coffee.png", "coins.png", "rocket.jpg")
WORDS = (
    "the of and to in is that for it as was with be by on not he his but at are this have from or had an they which "
    "one you were her all she there would their we him been has when who will more no if out so said what up its about "
    "into than them can only other new some could time these two may then do first any my now such like our over man"
).split()


def luma_of(path):
    """The picture's luma, one byte a pixel, full range."""
    return np.asarray(Image.open(path).convert("L"))


def load_pictures():
    """All training pictures, those of `FREQUENT` three times."""
    folder = Path(skimage.data.__file__).parent
    pictures = [luma_of(folder / name) for name in PICTURES]
    return pictures + 2 * [luma_of(folder / name) for name in FREQUENT]


def page_of_text(rng):
    """A page of common words in random order, dark on bright or the reverse."""
    ground, ink = (235, 20) if rng.random() < 0.7 else (30, 220)
    page = Image.new("L", (480, 360), ground)
    draw = ImageDraw.Draw(page)
    size = int(rng.integers(12, 34))
    font = ImageFont.load_default(size)
    for line in range(8, 360, int(size * 1.35)):
        words = " ".join(rng.choice(WORDS, 16))
        draw.text((10, line), words, fill=ink, font=font)
    return np.asarray(page)


def shapes(rng):
    """A room of flat surfaces with sharp borders: gradients, boxes and ellipses."""
    down, right = np.mgrid[0:360, 0:480].astype(np.float32)
    slope = rng.normal(0, 0.15, 2)
    ground = np.clip(rng.uniform(40, 210) + slope[0] * (down - 180) + slope[1] * (right - 240), 0, 255)
    picture = Image.fromarray(ground.astype(np.uint8))
    draw = ImageDraw.Draw(picture)
    for _ in range(int(rng.integers(4, 16))):
        x, y = int(rng.integers(-40, 440)), int(rng.integers(-40, 320))
        box = (x, y, x + int(rng.integers(12, 200)), y + int(rng.integers(12, 200)))
        shade = int(rng.integers(0, 256))
        if rng.random() < 0.6:
            draw.rectangle(box, fill=shade)
        else:
            draw.ellipse(box, fill=shade)
    return np.asarray(picture)


def resized(picture, width, height):
    """The picture scaled to a size in pixels."""
    return np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.BICUBIC))


class Scenes:
    """Random clips of `FRAMES` pictures of `WIDTH` x `HEIGHT`."""

    def __init__(self, rng):
        self.rng = rng
        self.pictures = load_pictures()

    def picture(self):
        """A random still picture, shaded and mirrored at random."""
        rng, kind = self.rng, self.rng.random()
        if kind < 0.15:
            still = page_of_text(rng)
        elif kind < 0.3:
            still = shapes(rng)
        else:
            still = self.pictures[int(rng.integers(len(self.pictures)))]
        if rng.random() < 0.5:
            still = still[:, ::-1]
        contrast, brightness = rng.uniform(0.6, 1.25), rng.uniform(-35, 35)
        return np.clip((still.astype(np.float32) - 128) * contrast + 128 + brightness, 0, 255).astype(np.uint8)

    def background(self):
        """A still picture that is larger than a frame, so that the camera can move on it."""
        still = self.picture()
        margin = 64
        least = max((WIDTH + margin) / still.shape[1], (HEIGHT + margin) / still.shape[0])
        scale = least * self.rng.uniform(1.0, 1.8)
        return resized(still, int(still.shape[1] * scale) + 1, int(still.shape[0] * scale) + 1)

    def sprite(self):
        """A part of another picture with a round or square outline, and where and how fast it moves."""
        rng = self.rng
        width, height = (int(side) for side in rng.integers(16, 110, 2))
        part = resized(self.picture(), width * 2, height * 2)
        y, x = int(rng.integers(height)), int(rng.integers(width))
        part = part[y : y + height, x : x + width]
        down, right = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
        outline = down**2 + right**2 < 1 if rng.random() < 0.6 else np.ones((height, width), bool)
        start = rng.uniform((-10, -10), (HEIGHT - 20, WIDTH - 20))
        return part, outline, start, rng.normal(0, 3.0, 2)

    def clip(self):
        """A list of frames: a still or moving camera, up to four moving things, the noise of a sensor."""
        rng = self.rng
        ground = self.background()
        room = np.array(ground.shape) - (HEIGHT, WIDTH)
        place = rng.uniform((0, 0), room)
        speed = np.zeros(2) if rng.random() < 0.5 else rng.normal(0, 2.0, 2)
        sprites = [self.sprite() for _ in range(int(rng.integers(0, 5)))]
        noise = rng.choice([0.0, 1.0, 2.5])
        frames = []
        for at in range(FRAMES):
            y, x = np.clip(place + at * speed, 0, room).astype(int)
            frame = ground[y : y + HEIGHT, x : x + WIDTH].astype(np.float32)
            for part, outline, start, velocity in sprites:
                paste(frame, part, outline, (start + at * velocity).astype(int))
            frame += noise * rng.standard_normal(frame.shape, dtype=np.float32)
            frames.append(np.clip(frame, 0, 255).astype(np.uint8))
        return frames


def paste(frame, part, outline, place):
    """Draws a part into a frame where its outline is set; what lies outside the frame is cut off."""
    top, left = (max(int(side), 0) for side in place)
    bottom = min(int(place[0]) + part.shape[0], frame.shape[0])
    right = min(int(place[1]) + part.shape[1], frame.shape[1])
    if top >= bottom or left >= right:
        return
    rows = slice(top - int(place[0]), bottom - int(place[0]))
    columns = slice(left - int(place[1]), right - int(place[1]))
    target = frame[top:bottom, left:right]
    target[outline[rows, columns]] = part[rows, columns][outline[rows, columns]]
