"""vectors/splits.json: JPEG images in layout 1. images.json has them as libjpeg-turbo's cjpeg made them."""

import json
from pathlib import Path

import splits
from common import check_names

IMAGES = json.loads((Path(__file__).parent / "images.json").read_text())
REFUSED = {
    "progressive": "Only baseline and extended sequential images are split.",
    "arithmetic": "Only Huffman codes are split.",
    "a scan for each component": "All components are in one scan.",
}


def generate():
    cases = []
    for name, image in IMAGES.items():
        image = bytes.fromhex(image)
        if name in REFUSED:
            cases.append({"name": name, "expect": "refused", "why": REFUSED[name], "last": 0, "image": image.hex()})
            continue
        for last in (0, 5, 62):
            front, others = splits.split(image, last)
            assert splits.join(front + others) == image, name
            cases.append({"name": f"{name}, up to {last}", "expect": "ok", "last": last, "image": image.hex(),
                          "first": front.hex(), "others": others.hex()})
    return check_names(cases)
