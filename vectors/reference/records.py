"""Records: the header, sealing, opening, the replay window (protocol.md sections 1 and 2)."""

import struct
from dataclasses import dataclass, replace

import keys

MAX_RECORD = 8_388_608
MAX_HANDSHAKE_MESSAGE = 4_096
MAX_CONSECUTIVE_REFUSALS = 16
WINDOW = 4_096
MAX_SEQ = 2**32 - 1
HEADER = struct.Struct(">BBHIQQ")
SHORTEST = HEADER.size + 16

MEDIA, CONTROL, CELL, DATA = 0x10, 0x11, 0x12, 0x13
ENCRYPTED, KEYFRAME, FIRST, LAST, SIGNED, CODEC_CONFIG, REPAIR, UNIT = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80
PURPOSE_OF_KIND = {MEDIA: "media", CONTROL: "control", CELL: "cell", DATA: "data"}


@dataclass
class Header:
    kind: int
    flags: int
    epoch: int  # the 16 bits on the wire
    stream: int
    seq: int
    timestamp: int

    def encode(self):
        return HEADER.pack(self.kind, self.flags, self.epoch, self.stream, self.seq, self.timestamp)

    def changed(self, **fields):
        return replace(self, **fields)


class Refused(Exception):
    """A refusal; its text is the reason word."""


def parse(record, clear=False, group=False):
    """The header of a well-formed record. A record that is short or not a record is malformed before its flags are
    read. `clear`: a selection in force lets media come in clear. `group`: it is a group's, whose records may have the
    flag `unit`."""
    if len(record) < SHORTEST or record[0] not in PURPOSE_OF_KIND:
        raise Refused("malformed")
    header = Header(*HEADER.unpack(record[:HEADER.size]))
    if not header.flags & ENCRYPTED and not (clear and header.kind == MEDIA):
        raise Refused("cleartext")
    flags = header.flags & ~UNIT if group and header.kind == MEDIA else header.flags
    if flags & (SIGNED | UNIT) or header.seq > MAX_SEQ:
        raise Refused("malformed")
    if header.kind in (CONTROL, CELL, DATA):
        if header.flags != ENCRYPTED or header.stream != 0:
            raise Refused("malformed")
    else:
        if not 1 <= header.stream <= 15:
            raise Refused("malformed")
        if flags & CODEC_CONFIG and flags not in (0x2D, 0x2C):
            raise Refused("malformed")
        if flags & REPAIR and flags != REPAIR | ENCRYPTED:
            raise Refused("malformed")
    return header


def seal(suite, epoch_secret, epoch, direction, header, payload, purpose=None):
    """`purpose` overrides the header's own, to forge a record under the wrong key."""
    key, base = keys.traffic(suite, epoch_secret, epoch, purpose or PURPOSE_OF_KIND[header.kind], direction)
    aad = header.encode()
    counter = header.seq & MAX_SEQ  # only a forger gets above it, and an opener that wrapped would find this tag good
    nonce = keys.nonce(suite, base, counter)
    if not header.flags & ENCRYPTED:
        return aad + payload + suite.seal(key, nonce, aad + payload, b"")
    return aad + suite.seal(key, nonce, aad, payload)


class Window:
    def __init__(self):
        self.top, self.seen = -1, set()

    def may_accept(self, seq):
        return seq > self.top or (self.top - seq < WINDOW and seq not in self.seen)

    def mark(self, seq):
        self.seen.add(seq)
        self.top = max(self.top, seq)


class Opener:
    """Opens the records of one direction. `epochs` is {number: secret}; `clear`: media may come in clear."""

    def __init__(self, suite, direction, epochs, clear=False):
        self.suite, self.clear, self.keys = suite, clear, {}
        for number, secret in epochs.items():
            for kind, purpose in PURPOSE_OF_KIND.items():
                key, base = keys.traffic(suite, secret, number, purpose, direction)
                self.keys[kind, number & 0xFFFF] = key, base, Window()

    def open(self, record):
        header = parse(record, self.clear)
        if (header.kind, header.epoch) not in self.keys:
            raise Refused("unknown-epoch")
        key, base, window = self.keys[header.kind, header.epoch]
        if not window.may_accept(header.seq):
            raise Refused("replay")
        nonce = keys.nonce(self.suite, base, header.seq)
        associated = HEADER.size if header.flags & ENCRYPTED else len(record) - 16
        payload = self.suite.open(key, nonce, record[:associated], record[associated:])
        if payload is None:
            raise Refused("tag")
        payload = record[HEADER.size:associated] + payload
        window.mark(header.seq)
        return header, payload

    def outcome(self, record):
        """"ok" or the reason word."""
        try:
            self.open(record)
        except Refused as refused:
            return str(refused)
        return "ok"


def split_stream(data, limit):
    """The messages of a byte stream; Refused("framing") at a bad length."""
    messages = []
    while data:
        length = int.from_bytes(data[:4], "big")
        if length == 0 or length > limit:
            raise Refused("framing")
        messages.append(data[4:4 + length])
        data = data[4 + length:]
    return messages


def framed(message):
    return len(message).to_bytes(4, "big") + message
