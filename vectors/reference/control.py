"""Control messages, codec configurations, frame preambles (protocol.md sections 4 and 5)."""

import re
import struct

from words import is_unsafe

MAX_CLOSE_TEXT = 256
MAX_CAMERA = 64
MAX_CAMERAS = 32
MAX_LATENCY = 10_000
MAX_SHARE = 2048
MAX_PARTS = 4
MAX_GATEWAY_MESSAGE = 4096
MAX_NACK_ENTRIES = 64
MAX_RECEIVED = 128
MAX_DATA_CHANNELS = 8
MAX_ADDRESSES = 4
PREAMBLE = struct.Struct(">QQQQIIIIBBBB")


CELLS = struct.Struct(">IHH")  # tick in nanoseconds, cells at each, length of each


def cells_fit(tick, cells, size):
    return 10**6 <= tick <= 10**9 and 1 <= cells <= 256 and 432 <= size <= 1196


class Malformed(Exception):
    pass


class Ignored(Exception):
    """A control message of an unknown type."""


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, length):
        if len(self.data) - self.at < length:
            raise Malformed
        self.at += length
        return self.data[self.at - length:self.at]

    def uint(self, width):
        return int.from_bytes(self.take(width), "big")

    def counted(self, width):
        return self.take(self.uint(width))

    def rest(self):
        return self.take(len(self.data) - self.at)

    def end(self):
        if self.at != len(self.data):
            raise Malformed


def counted(data, width=2):
    return len(data).to_bytes(width, "big") + data


# type: (name, [(field, width of a number, or how its bytes are written; (n,) for exactly n of them)])
MESSAGES = {
    1: ("welcome", []),
    2: ("close", [("reason", 1), ("text", "text")]),
    3: ("rekey-offer", [("epoch", 2), ("mechanism", 1), ("share", "bytes"), ("signature", (64,))]),
    4: ("rekey-answer", [("epoch", 2), ("ciphertext", "bytes"), ("signature", (64,))]),
    5: ("keyframe-request", [("stream", 4)]),
    6: ("ping", [("t1", 8)]),
    7: ("pong", [("t1", 8), ("t2", 8), ("t3", 8)]),
    8: ("rekey-request", []),
    9: ("selection", [("number", 2), ("mode", 1), ("argument", 2)]),
    10: ("selection-ack", [("number", 2)]),
    11: ("part", [("message", 2), ("index", 1), ("count", 1), ("bytes", "rest")]),
    12: ("nack", [("entries", "entries")]),
    13: ("feedback", [("highest", 4), ("arrived", 8), ("budget", 2), ("received", "short bytes")]),
    14: ("probe", [("token", 4), ("padding", "zeros")]),
    15: ("probe-ack", [("token", 4)]),
    16: ("gateway", [("message", "rest")]),
    17: ("path-challenge", [("token", (8,))]),
    18: ("path-response", [("token", (8,))]),
    19: ("shape", [("publisher", "cells"), ("viewer", "cells")]),
    # groups.md, section 10
    20: ("group-terms", [("terms", "rest")]),
    21: ("join", [("stream", 2), ("media", 1)]),
    22: ("key-sheet", [("sheet", "rest")]),
    23: ("challenge", [("challenge", (16,))]),
    24: ("answer", [("answer", "rest")]),
    25: ("gop-key", [("certificate", "rest")]),
    26: ("gop-signature", [("signature", "rest")]),
    27: ("begin", [("number", 4)]),
    28: ("numbered", [("number", 2), ("more", 1), ("bytes", "rest")]),
    29: ("taken", [("next", 2)]),
    # 30 is reserved.
    31: ("multicast", [("tag", 4), ("port", 2), ("address", "rest")]),
    32: ("hears", [("hearing", 1)]),
    33: ("archive-recipients", [("recipients", "rest")]),
    34: ("archive-key", [("epoch", 8), ("file", "rest")]),
    35: ("budget", [("milliseconds", 2)]),
    39: ("orientation", [("turns", 1), ("mirrored", 1)]),
    36: ("camera", [("state", 1), ("since", 8), ("why", "text")]),
    40: ("data", [("channels", "channels")]),
    42: ("cameras", [("names", "names")]),
    37: ("addresses", [("addresses", "short list")]),
}
NUMBERS = {name: number for number, (name, _) in MESSAGES.items()}
SOUND_CONFIGURATION = [("codec", 1), ("channels", 2), ("reserved", 2), ("samples_per_second", 4),
                       ("samples_per_frame", 4), ("parameters", "bytes")]
CODEC_CONFIGURATION = [("codec", 1), ("width", 2), ("height", 2), ("rate_numerator", 4), ("rate_denominator", 4),
                       ("parameters", "bytes")]


def _encode_fields(layout, fields):
    out = b""
    for name, width in layout:
        value = fields[name]
        if width == "text":
            out += counted(value.encode())
        elif width == "bytes":
            out += counted(value)
        elif width == "short bytes":
            out += counted(value, 1)
        elif width == "short list":
            out += bytes([len(value)]) + b"".join(counted(one, 1) for one in value)
        elif width == "rest" or isinstance(width, tuple):
            out += value
        elif width == "zeros":
            out += bytes(value)
        elif width == "cells":
            out += CELLS.pack(*value)
        elif width == "names":
            out += bytes([len(value)]) + b"".join(counted(name.encode(), 1) for name in value)
        elif width == "channels":
            out += bytes([len(value)])
            out += b"".join(counted(name.encode(), 1) + bytes([order, standing]) for name, order, standing in value)
        elif width == "entries":
            out += bytes([len(value)]) + b"".join(first.to_bytes(4, "big") + bytes([more]) for first, more in value)
        else:
            out += value.to_bytes(width, "big")
    return out


def _camera_name(raw):
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed from None
    if not 1 <= len(raw) <= MAX_CAMERA or any(map(is_unsafe, name)):
        raise Malformed
    return name


def _channel(reader):
    name, order, standing = reader.counted(1), reader.uint(1), reader.uint(1)
    if not re.fullmatch(rb"[A-Za-z0-9._-]{1,32}", name) or order not in (1, 2) or standing not in (1, 2, 3):
        raise Malformed
    return [name.decode(), order, standing]


def _decode_fields(layout, reader):
    fields = {}
    for name, width in layout:
        if width == "text":
            raw = reader.counted(2)
            try:
                fields[name] = raw.decode("utf-8")
            except UnicodeDecodeError:
                raise Malformed from None
            if len(raw) > MAX_CLOSE_TEXT:
                raise Malformed
        elif width == "bytes":
            fields[name] = reader.counted(2)
        elif width == "short bytes":
            fields[name] = reader.counted(1)
        elif width == "short list":
            fields[name] = [reader.counted(1) for _ in range(reader.uint(1))]
        elif width == "rest":
            fields[name] = reader.rest()
        elif isinstance(width, tuple):
            fields[name] = reader.take(*width)
        elif width == "zeros":
            zeros = reader.rest()
            if any(zeros):
                raise Malformed
            fields[name] = len(zeros)
        elif width == "cells":
            fields[name] = list(CELLS.unpack(reader.take(CELLS.size)))
        elif width == "names":
            fields[name] = [_camera_name(reader.counted(1)) for _ in range(reader.uint(1))]
        elif width == "channels":
            fields[name] = [_channel(reader) for _ in range(reader.uint(1))]
        elif width == "entries":
            fields[name] = [[reader.uint(4), reader.uint(1)] for _ in range(reader.uint(1))]
        else:
            fields[name] = reader.uint(width)
    reader.end()
    return fields


def encode(name, **fields):
    number = NUMBERS[name]
    return bytes([number]) + _encode_fields(MESSAGES[number][1], fields)


def is_selection(number, mode, argument):
    """True if a mode exists and its argument is one that it takes."""
    allowed = {0: [0], 1: [0], 2: range(1_001), 3: [0], 4: [0], 5: [0], 6: range(1, 5)}
    return argument in allowed.get(mode, [])


def is_multicast_group(tag, port, address):
    v4 = len(address) == 4 and 224 <= address[0] < 240
    return (v4 or len(address) == 16 and address[0] == 0xff) and port > 0


def decode(data):
    reader = Reader(data)
    number = reader.uint(1)
    if number not in MESSAGES:
        raise Ignored
    name, layout = MESSAGES[number]
    fields = _decode_fields(layout, reader)
    if name == "join" and not 1 <= fields["stream"] <= 15:
        raise Malformed
    if name == "join" and fields["media"] > 3:
        raise Malformed
    if name == "numbered" and fields["more"] > 1:
        raise Malformed
    if name == "multicast" and not is_multicast_group(**fields):
        raise Malformed
    if name == "hears" and fields["hearing"] > 2:
        raise Malformed
    if name == "budget" and fields["milliseconds"] > MAX_LATENCY:
        raise Malformed
    if name == "orientation" and (fields["turns"] > 3 or fields["mirrored"] > 1):
        raise Malformed
    if name == "camera" and fields["state"] not in (1, 2):
        raise Malformed
    if name == "cameras" and not 1 <= len(fields["names"]) <= MAX_CAMERAS:
        raise Malformed
    if name == "data" and len(fields["channels"]) > MAX_DATA_CHANNELS:
        raise Malformed
    if name == "data" and len({channel[0] for channel in fields["channels"]}) < len(fields["channels"]):
        raise Malformed
    if name == "addresses" and not (len(fields["addresses"]) <= MAX_ADDRESSES and all(fields["addresses"])):
        raise Malformed
    if name == "keyframe-request" and not 1 <= fields["stream"] <= 15:
        raise Malformed
    if name == "gateway" and not 1 <= len(fields["message"]) <= MAX_GATEWAY_MESSAGE:
        raise Malformed
    if name == "selection" and not is_selection(**fields):
        raise Malformed
    if name in ("selection", "selection-ack") and fields["number"] == 0:
        raise Malformed
    if name == "part" and (not 2 <= fields["count"] <= MAX_PARTS or fields["index"] >= fields["count"]
                           or not fields["bytes"]):
        raise Malformed
    if name == "nack" and not 1 <= len(fields["entries"]) <= MAX_NACK_ENTRIES:
        raise Malformed
    if name == "feedback" and len(fields["received"]) > MAX_RECEIVED:
        raise Malformed
    if name == "shape" and not all(cells_fit(*fields[end]) for end in ("publisher", "viewer")):
        raise Malformed
    for field in ("share", "ciphertext"):
        if field in fields and not 1 <= len(fields[field]) <= MAX_SHARE:
            raise Malformed
    return name, fields


def encode_codec_configuration(**fields):
    return _encode_fields(CODEC_CONFIGURATION, fields)


def decode_codec_configuration(data):
    fields = _decode_fields(CODEC_CONFIGURATION, Reader(data))
    if fields["codec"] not in (1, 2, 3, 4) or fields["rate_denominator"] == 0:
        raise Malformed
    if fields["width"] == 0 or fields["height"] == 0:
        raise Malformed
    parameters = fields["parameters"]
    if fields["codec"] == 2 and parameters:
        raise Malformed
    if fields["codec"] == 4 and (not 3 <= len(parameters) <= 1024 or parameters[0] != 0x0A):
        raise Malformed
    return fields


AAC, OPUS, ULAW, ALAW = 16, 17, 18, 19


def encode_sound_configuration(**fields):
    return _encode_fields(SOUND_CONFIGURATION, {**fields, "reserved": 0})


def decode_sound_configuration(data):
    fields = _decode_fields(SOUND_CONFIGURATION, Reader(data))
    if fields.pop("reserved") or fields["codec"] not in (AAC, OPUS, ULAW, ALAW):
        raise Malformed
    if not 1 <= fields["channels"] <= 8 or not 8000 <= fields["samples_per_second"] <= 192000:
        raise Malformed
    parameters = fields["parameters"]
    if fields["codec"] == AAC and not 2 <= len(parameters) <= 256:
        raise Malformed
    if fields["codec"] in (ULAW, ALAW) and parameters:
        raise Malformed
    if fields["codec"] == OPUS:
        if fields["samples_per_second"] != 48000 or len(parameters) < 11:
            raise Malformed
        version, channels, family = parameters[0], parameters[1], parameters[10]
        if version != 1 or channels != fields["channels"] or family not in (0, 1):
            raise Malformed
        if family == 0 and channels > 2:
            raise Malformed
        if len(parameters) != 11 + (2 + channels if family else 0):
            raise Malformed
    return fields


PREAMBLE_FIELDS = ("frame", "media_time", "captured", "encoded", "previous_seal", "previous_send", "capture",
                   "padding", "stamp", "layout", "kept")
STAMPS = {1: "exposure_start", 2: "frame_end", 3: "arrival"}
LAYOUTS = {0: "source", 1: "split scan"}


def encode_preamble(**fields):
    return PREAMBLE.pack(*(fields[name] for name in PREAMBLE_FIELDS), 0)


def decode_preamble(payload):
    """(fields, the bytes of the frame)"""
    if len(payload) < PREAMBLE.size:
        raise Malformed
    *values, reserved = PREAMBLE.unpack(payload[:PREAMBLE.size])
    fields = dict(zip(PREAMBLE_FIELDS, values))
    if fields["stamp"] not in STAMPS or fields["layout"] not in LAYOUTS or fields["kept"] > 1 or reserved:
        raise Malformed
    return fields, payload[PREAMBLE.size:]
