"""H.264 and MJPEG by FFmpeg (PyAV): encoded, cut into units, and decoded with error concealment."""

from dataclasses import dataclass
from fractions import Fraction

import av
import numpy as np

av.logging.set_level(av.logging.PANIC)

START = b"\0\0\1"
IDR, SEI, SPS, PPS = 5, 6, 7, 8


@dataclass
class Stream:
    """Frames of a clip as the wire carries them, and their size in pixels."""

    codec: str
    width: int
    height: int
    packets: list

    def with_packets(self, packets):
        """The same clip with other bytes; an empty packet is a frame of which nothing is left."""
        return Stream(self.codec, self.width, self.height, packets)


def picture_of(luma):
    """A decoder's picture from luma, with colourless chroma."""
    height, width = luma.shape
    planes = np.full((height * 3 // 2, width), 128, np.uint8)
    planes[:height] = luma
    return av.VideoFrame.from_ndarray(planes, format="yuv420p")


def encode(frames, codec, options):
    """Encodes luma frames; one packet a frame, in order, H.264 with start codes."""
    height, width = frames[0].shape
    context = av.CodecContext.create("libx264" if codec == "h264" else "mjpeg", "w")
    context.width, context.height, context.thread_count = width, height, 1
    context.pix_fmt = "yuv420p" if codec == "h264" else "yuvj420p"
    context.time_base, context.options = Fraction(1, 25), options
    packets = []
    for at, luma in enumerate(frames):
        frame = picture_of(luma)
        frame.pts = at
        packets += context.encode(frame)
    packets += context.encode(None)
    return Stream(codec, width, height, [bytes(packet) for packet in packets])


def x264_options(rng, rate_factor):
    """Settings as cameras have them: baseline, no B frames, one or several slices."""
    parameters = f"keyint={rng.choice([4, 6, 12])}:min-keyint=4:scenecut=0:bframes=0:threads=1:repeat-headers=1"
    slices = rng.random()
    if slices < 0.25:
        parameters += ":slices=4"
    elif slices < 0.5:
        parameters += ":slice-max-size=600"
    return {"profile": "baseline", "preset": "superfast", "crf": str(rate_factor), "x264-params": parameters}


def units_of(packet):
    """The NAL units of a packet, each with its start code (Rec. ITU-T H.264, annex B)."""
    starts = []
    at = packet.find(START)
    while at >= 0:
        starts.append(at - 1 if at > 0 and packet[at - 1] == 0 else at)
        at = packet.find(START, at + 3)
    return [packet[start:end] for start, end in zip(starts, starts[1:] + [len(packet)])]


def header_at(unit):
    """The index of a unit's header byte."""
    return unit.find(START) + 3


def type_of(unit):
    """`nal_unit_type` of a unit."""
    return unit[header_at(unit)] & 31


def is_slice(unit):
    """Whether a unit is a slice of a picture."""
    return type_of(unit) in (1, IDR)


def first_macroblock(unit):
    """`first_mb_in_slice`, the first Exp-Golomb number of a slice header (clause 7.3.3)."""
    start = header_at(unit) + 1
    bits = int.from_bytes(unit[start : start + 8].ljust(8, b"\0"), "big")
    zeros = 64 - bits.bit_length()
    return (bits >> (63 - 2 * zeros)) - 1 if 2 * zeros < 64 else 0


def decode(stream):
    """The luma of each frame; where the decoder gives none, the frame before, at first flat grey.

    What is missing is concealed (`ec=guess_mvs+deblock`, FFmpeg's default), and broken frames are shown.
    """
    context = av.CodecContext.create(stream.codec, "r")
    context.thread_count = 1
    context.options = {"flags": "+output_corrupt", "flags2": "+showall", "ec": "guess_mvs+deblock"}
    shown = {}

    def feed(packet):
        try:
            pictures = context.decode(packet)
        except av.FFmpegError:
            return
        for picture in pictures:
            if picture.pts is not None and (picture.width, picture.height) == (stream.width, stream.height):
                lines = np.frombuffer(picture.planes[0], np.uint8).reshape(-1, picture.planes[0].line_size)
                shown[picture.pts] = lines[: stream.height, : stream.width].copy()

    for at, data in enumerate(stream.packets):
        if data:
            packet = av.Packet(data)
            packet.pts = packet.dts = at
            feed(packet)
    feed(None)
    last = np.full((stream.height, stream.width), 128, np.uint8)
    frames = []
    for at in range(len(stream.packets)):
        last = shown.get(at, last)
        frames.append(last)
    return frames
