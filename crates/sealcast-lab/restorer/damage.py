"""What an eavesdropper's decoder gets when a part of a stream is encrypted: damage by real codecs.

Each function takes a `Stream` or frames and returns the damaged frames and, for each, the mask of blocks that the
eavesdropper knows to be lost (255) - 0 is a block that was decoded, or of which nothing is known.
The functions follow the selection modes of docs/selection.md.
"""

import io

import numpy as np
from PIL import Image
from scipy.fft import dctn, idctn

import streams

BLOCK = 16


def empty_masks(stream):
    """Nothing is known to be lost."""
    return [np.zeros((stream.height, stream.width), np.uint8) for _ in stream.packets]


def lost_records(data, size, rate, zeros, rng, spared):
    """Cuts data into records of `size` bytes, loses each with probability `rate`; zeros or nothing take its place.

    The first `spared` bytes stay: what the eavesdropper guesses. Also returns the share of data before the first loss.
    """
    kept, first = bytearray(data[:spared]), None
    for at in range(spared, len(data), size):
        record = data[at : at + size]
        if rng.random() >= rate:
            kept += record
            continue
        first = at if first is None else first
        kept += bytes(len(record)) if zeros else b""
    return bytes(kept), 1.0 if first is None else first / len(data)


def mark_macroblocks(mask, first, end):
    """Marks macroblocks from `first` to before `end`, in raster order, as lost."""
    columns = mask.shape[1] // BLOCK
    blocks = np.zeros((mask.shape[0] // BLOCK) * columns, np.uint8)
    blocks[first:end] = 255
    marked = np.kron(blocks.reshape(-1, columns), np.ones((BLOCK, BLOCK), np.uint8))
    covered = mask[: marked.shape[0], : marked.shape[1]]
    np.maximum(covered, marked, out=covered)


def h264_records(stream, rng, rate, size, zeros):
    """`rate:`: records of slices are lost at random. Parameter sets are known. A hit slice is marked as a whole."""
    masks, packets = empty_masks(stream), []
    for mask, packet in zip(masks, stream.packets):
        units = streams.units_of(packet)
        slices = [unit for unit in units if streams.is_slice(unit)]
        firsts = [streams.first_macroblock(unit) for unit in slices] + [1 << 20]
        kept, at = b"", 0
        for unit in units:
            if not streams.is_slice(unit):
                kept += unit
                continue
            left, whole = lost_records(unit, size, rate, zeros, rng, 0)
            if whole < 1.0:
                mark_macroblocks(mask, firsts[at], firsts[at + 1])
            kept += left
            at += 1
        packets.append(kept)
    return streams.decode(stream.with_packets(packets)), masks


def h264_slice_starts(stream, first, last):
    """`headers`: bytes `first` to `last` of each slice are zeros. The header before them is guessed right."""
    packets = []
    for packet in stream.packets:
        kept = b""
        for unit in streams.units_of(packet):
            if streams.is_slice(unit):
                start, end = min(len(unit), first), min(len(unit), last)
                unit = unit[:start] + bytes(end - start) + unit[end:]
            kept += unit
        packets.append(kept)
    return streams.decode(stream.with_packets(packets)), empty_masks(stream)


def grey_keyframe(stream, options):
    """A flat grey keyframe with its parameter sets, encoded with the same settings."""
    grey = np.full((stream.height, stream.width), 128, np.uint8)
    return streams.encode([grey], "h264", options).packets[0]


def h264_keyframes(stream, options, grey):
    """`keyframes`: IDR pictures are lost. A grey one with the same settings replaces each (`grey`), or nothing does.

    Without a replacement the decoder goes on with the pictures before: differences add up over keyframes.
    """
    packets = []
    for at, packet in enumerate(stream.packets):
        units = streams.units_of(packet)
        if any(streams.type_of(unit) == streams.IDR for unit in units):
            kept = [unit for unit in units if not streams.is_slice(unit)]
            packet = grey_keyframe(stream, options) if grey or at == 0 else b"".join(kept)
        packets.append(packet)
    return streams.decode(stream.with_packets(packets)), empty_masks(stream)


def missing_slices(stream, rng, rate):
    """Whole slices are lost, and it is known which macroblocks they have."""
    return h264_records(stream, rng, rate, 1 << 20, False)


def scan_at(image):
    """Where entropy-coded data begins in a JPEG image: after the header of its first scan (Rec. ITU-T T.81, B.2.3)."""
    at = 2
    while at + 4 <= len(image):
        length = int.from_bytes(image[at + 2 : at + 4], "big")
        if image[at + 1] == 0xDA:
            return at + 2 + length
        at += 2 + length
    return len(image)


def jpeg_records(stream, rng, rate, size, zeros):
    """`rate:` on JPEG: records of entropy-coded data are lost. Headers are guessed, rows after a loss marked."""
    masks, packets = empty_masks(stream), []
    for mask, packet in zip(masks, stream.packets):
        left, whole = lost_records(packet, size, rate, zeros, rng, scan_at(packet))
        mask[int(whole * stream.height) // BLOCK * BLOCK :] = 255
        packets.append(left)
    return streams.decode(stream.with_packets(packets)), masks


def jpeg_coefficients(frames, quality, lost):
    """DC (`lost` = 1), or DC and low AC encrypted: the first `lost` coefficients of the zigzag order are 0."""
    damaged = []
    along = np.add.outer(np.arange(8), np.arange(8))
    # Coefficients of one anti-diagonal together are near enough to the zigzag order: 1, 3, 6, 10 of them.
    kept = along >= {1: 1, 3: 2, 6: 3, 10: 4}[lost]
    for luma in frames:
        file = io.BytesIO()
        Image.fromarray(luma).save(file, "JPEG", quality=quality)
        shown = np.asarray(Image.open(file)).astype(np.float32)
        height, width = (side // 8 * 8 for side in shown.shape)
        blocks = shown[:height, :width].reshape(height // 8, 8, width // 8, 8).swapaxes(1, 2) - 128
        clear = idctn(dctn(blocks, axes=(2, 3), norm="ortho") * kept, axes=(2, 3), norm="ortho") + 128
        result = luma.copy()
        result[:height, :width] = np.clip(clear.swapaxes(1, 2).reshape(height, width), 0, 255).round()
        damaged.append(result)
    return damaged, [np.zeros_like(luma) for luma in frames]


def jpeg_guessed_tables(frames, quality, guess):
    """`headers` on JPEG: quantisation tables are guessed as those of another quality, Huffman tables as the usual."""
    damaged = []
    for luma in frames:
        true, usual = io.BytesIO(), io.BytesIO()
        Image.fromarray(luma).save(true, "JPEG", quality=quality)
        Image.fromarray(luma).save(usual, "JPEG", quality=guess)
        header, image = usual.getvalue(), true.getvalue()
        guessed = header[: scan_at(header)] + image[scan_at(image) :]
        damaged.append(np.asarray(Image.open(io.BytesIO(guessed)).convert("L")))
    return damaged, [np.zeros_like(luma) for luma in frames]


def missing_blocks(frames, rng, rate):
    """Macroblocks missing here and there, flat grey, and known to be: what temporal fusion leaves open."""
    damaged, masks = [], []
    for luma in frames:
        height, width = luma.shape
        lost = rng.random((-(-height // BLOCK), -(-width // BLOCK))) < rate
        lost = np.kron(lost, np.ones((BLOCK, BLOCK), bool))[:height, :width]
        damaged.append(np.where(lost, np.uint8(128), luma))
        masks.append(np.where(lost, np.uint8(255), np.uint8(0)))
    return damaged, masks


def noise(frames, rng):
    """All encrypted: there is nothing to see. Noise, or a flat picture, that has nothing to do with the scene."""
    damaged = []
    for luma in frames:
        kind = rng.random()
        if kind < 0.4:
            picture = rng.integers(0, 256, luma.shape)
        elif kind < 0.8:
            coarse = rng.integers(0, 256, (-(-luma.shape[0] // 8), -(-luma.shape[1] // 8)))
            picture = np.kron(coarse, np.ones((8, 8)))[: luma.shape[0], : luma.shape[1]]
        else:
            picture = np.full(luma.shape, rng.integers(0, 256))
        damaged.append(picture.astype(np.uint8))
    return damaged, [np.zeros_like(luma) for luma in frames]
