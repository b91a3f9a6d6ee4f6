"""Datagrams: what stands around messages, what comes before the handshake, and media where some of it is lost
(protocol.md section 7)."""

import hmac
import struct

import control
import keys
import records
import repair
from control import Malformed, Reader

BASE_DATAGRAM = 1_200
MAX_FRAGMENTS = 4
MAX_FRAME = 16 << 20
FRAGMENT, KNOCK, COOKIE = 0x06, 0x07, 0x08
REPEAT_INTERVAL, MAX_REPEATS = 100, 16
FRAGMENT_ROOM = BASE_DATAGRAM - 4 - 1 - 16 - 3
UNIT = struct.Struct(">IHHH")


def datagram(connection, message):
    return connection.to_bytes(4, "big") + message


# Before the handshake.


def knock(random, mac):
    return bytes([KNOCK]) + random + mac + bytes(27)


def knock_mac(peer_r, random, connection):
    return keys.mac(peer_r, bytes([KNOCK]) + random + connection.to_bytes(4, "big"))


def answers_knock(peer_r, data):
    """Whether the responder answers a datagram that is a knock."""
    connection, (name, fields) = int.from_bytes(data[:4], "big"), parse(data[4:])
    return name == "knock" and hmac.compare_digest(fields["mac"], knock_mac(peer_r, fields["random"], connection))


def quic_id(peer_r, random):
    """The destination connection id of a client's first packets (section 8)."""
    return random + keys.mac(peer_r, b"quic" + random)[:12]


def accepts_quic_id(peer_r, value):
    return len(value) == 20 and hmac.compare_digest(value, quic_id(peer_r, value[:8]))


def cookie(random, value):
    return bytes([COOKIE]) + random + value


def fragment(value, message, index, count, part):
    return bytes([FRAGMENT]) + value + bytes([message, index, count]) + part


def make_cookie(secret, generation, address, port, connection):
    """`address` is IPv6, or IPv4 mapped to it; secrets are numbered from 0."""
    mac = keys.hmac_sha256(secret, address + port.to_bytes(2, "big") + connection.to_bytes(4, "big"))[:16]
    return bytes([mac[0] & 0xFE | generation & 1]) + mac[1:]


def cut(length, room):
    """Into as few parts as fit, as equal as can be: their lengths."""
    count = max(1, -(-length // room))
    size = -(-length // count)
    return [min(size, length - start) for start in range(0, length, size)]


def fragments(value, number, message):
    lengths, out, start = cut(len(message), FRAGMENT_ROOM), [], 0
    for index, length in enumerate(lengths):
        out.append(fragment(value, number, index, len(lengths), message[start:start + length]))
        start += length
    return out


def parse(message):
    """(name, fields) of a message that has no key; ("record", {}) for what may be a record."""
    reader = Reader(message)
    kind = reader.uint(1)
    if kind in (records.MEDIA, records.CONTROL):
        return "record", {}
    if kind == KNOCK:
        name, fields = "knock", {"random": reader.take(16), "mac": reader.take(16)}
        if any(reader.take(27)):
            raise Malformed
    elif kind == COOKIE:
        name, fields = "cookie", {"random": reader.take(16), "cookie": reader.take(16)}
    elif kind == FRAGMENT:
        name, fields = "fragment", {"cookie": reader.take(16), "message": reader.uint(1), "index": reader.uint(1),
                                    "count": reader.uint(1)}
        fields["part"] = reader.rest()
        if not 1 <= fields["count"] <= MAX_FRAGMENTS or fields["index"] >= fields["count"] or not fields["part"]:
            raise Malformed
    else:
        raise Malformed
    reader.end()
    return name, fields


class Fragments:
    """Puts together the handshake messages of one sender."""

    def __init__(self, value):
        self.cookie, self.expected, self.count, self.parts = value, 0, 0, {}
        self.last_part, self.repeats = None, []

    def take(self, message, at=0):
        """("complete", the message), ("repeated", None) where the answer is to be sent again, or ("nothing", None).
        `at` is when the message came, in milliseconds."""
        if message == self.last_part:
            return "repeated" if self._may_repeat(at) else "nothing", None
        try:
            name, fields = parse(message)
        except Malformed:
            return "nothing", None
        if name != "fragment" or fields["cookie"] != self.cookie:
            return "nothing", None
        if fields["message"] != self.expected:
            return "nothing", None
        if fields["count"] != self.count:
            self.count, self.parts = fields["count"], {}
        self.parts[fields["index"]] = fields["part"]
        if len(self.parts) < self.count:
            return "nothing", None
        parts = [part for _, part in sorted(self.parts.items())]
        whole = b"".join(parts)
        if [len(part) for part in parts] != cut(len(whole), FRAGMENT_ROOM):
            self.count, self.parts = 0, {}
            return "nothing", None
        self.last_part = fragment(self.cookie, self.expected, self.count - 1, self.count, self.parts[self.count - 1])
        self.expected, self.count, self.parts = self.expected + 1, 0, {}
        return "complete", whole

    def _may_repeat(self, at):
        if len(self.repeats) == MAX_REPEATS or self.repeats and at - self.repeats[-1] < REPEAT_INTERVAL:
            return False
        self.repeats.append(at)
        return True


# Media.


def encode_unit(number, index, sources, repairs):
    return UNIT.pack(number % 2**32, index, sources, repairs)


def decode_unit(payload, is_repair):
    """(fields, the rest)"""
    if len(payload) < UNIT.size:
        raise Malformed
    number, index, sources, repairs = UNIT.unpack(payload[:UNIT.size])
    if not 1 <= sources <= repair.MAX_SOURCES or repairs > repair.max_repairs(sources):
        raise Malformed
    if index >= (repairs if is_repair else sources):
        raise Malformed
    return {"number": number, "index": index, "sources": sources, "repairs": repairs}, payload[UNIT.size:]


class Sender:
    """Seals the media of one stream under one key."""

    def __init__(self, suite, epoch_secret, epoch, direction, connection, stream):
        self.key = suite, epoch_secret, epoch, direction
        self.connection, self.stream = connection, stream
        self.seq, self.number = 0, 0

    def record(self, flags, timestamp, payload):
        suite, secret, epoch, direction = self.key
        header = records.Header(records.MEDIA, flags, epoch & 0xFFFF, self.stream, self.seq, timestamp)
        self.seq += 1
        return records.seal(suite, secret, epoch, direction, header, payload)

    def block(self, flags, parts, repairs, timestamp):
        """The sealed records of one block; `flags` and `parts` one for each source."""
        sealed = []
        for index, (flag, part) in enumerate(zip(flags, parts)):
            unit = encode_unit(self.number + index, index, len(parts), repairs)
            sealed.append(self.record(flag, timestamp, unit + part))
        symbols = repair.encode(sealed, repairs) if repairs else []
        for index, symbol in enumerate(symbols):
            unit = encode_unit(self.number + len(parts) + index, index, len(parts), repairs)
            sealed.append(self.record(records.REPAIR | records.ENCRYPTED, timestamp, unit + symbol))
        self.number += len(parts) + repairs
        return sealed

    def push(self, data, unit, blocks, timestamp, keyframe=False, config=False):
        """The datagrams of a frame with its preamble, or of a codec configuration; `blocks` are (sources, repairs)."""
        parts = [data[start:start + unit] for start in range(0, len(data), unit)]
        assert sum(sources for sources, _ in blocks) == len(parts)
        flags = [records.ENCRYPTED | (records.KEYFRAME if keyframe else 0)] * len(parts)
        flags[0] |= records.FIRST
        flags[-1] |= records.LAST
        if config:
            flags = [0x2D] * len(parts)
        sealed, start = [], 0
        for sources, repairs in blocks:
            end = start + sources
            sealed += self.block(flags[start:end], parts[start:end], repairs, timestamp)
            start = end
        return [datagram(self.connection, record) for record in sealed]


class Block:
    def __init__(self, sources, repairs):
        self.sources, self.repairs = sources, repairs
        self.parts, self.flags, self.sealed, self.symbols = {}, {}, {}, {}

    def take(self, fields, flags, rest, record):
        if (fields["sources"], fields["repairs"]) != (self.sources, self.repairs):
            raise Malformed
        index = fields["index"]
        if flags & records.REPAIR:
            self.symbols[index] = rest
        else:
            self.parts[index], self.flags[index], self.sealed[index] = rest, flags, record
        self._check()

    def _check(self):
        last = self.sources - 1
        if len({flag & records.CODEC_CONFIG for flag in self.flags.values()}) > 1:
            raise Malformed
        for index, flag in self.flags.items():
            if flag & records.CODEC_CONFIG:
                continue
            if flag & records.FIRST and index or flag & records.LAST and index != last:
                raise Malformed
        if len({flag & records.KEYFRAME for flag in self.flags.values()}) > 1:
            raise Malformed
        lengths = {len(part) for index, part in self.parts.items() if index != last}
        if len(lengths) > 1 or (lengths and len(self.parts.get(last, b"")) > max(lengths)):
            raise Malformed

    def recover(self):
        try:
            return repair.recover(self.sources, self.repairs, self.sealed, self.symbols)
        except repair.Inconsistent:
            raise Malformed from None


class Receiver:
    """Opens media and puts it together; what time does to it is not here. Numbers begin at 0 and do not wrap."""

    def __init__(self, opener, connection):
        self.opener, self.connection, self.blocks = opener, connection, {}
        self.recovered = 0

    def take(self, data):
        """Malformed: a protocol error. A datagram of another connection, or that does not open, changes nothing."""
        if data[:4] != self.connection.to_bytes(4, "big"):
            return
        block = self._take(data[4:])
        if block is None:
            return
        for record in block.recover().values():
            self.recovered += 1
            self._take(record)

    def _take(self, record):
        try:
            header, payload = self.opener.open(record)
        except records.Refused:
            return None
        fields, rest = decode_unit(payload, header.flags & records.REPAIR)
        before = fields["index"] + (fields["sources"] if header.flags & records.REPAIR else 0)
        first = fields["number"] - before
        if first < 0 or any(start < first < start + block.sources + block.repairs
                            for start, block in self.blocks.items()):
            raise Malformed
        length = fields["sources"] + fields["repairs"]
        if any(first < start < first + length for start in self.blocks):
            raise Malformed
        block = self.blocks.setdefault(first, Block(fields["sources"], fields["repairs"]))
        block.take(fields, header.flags, rest, record)
        return block

    def media(self):
        """What is whole, in order: ("config", bytes) and ("frame", keyframe, bytes with the preamble)."""
        out, frame, expected = [], None, 0
        for first, block in sorted(self.blocks.items()):
            if len(block.parts) < block.sources:
                frame = None
                continue
            if first != expected:
                frame = None
            expected = first + block.sources + block.repairs
            data = b"".join(block.parts[index] for index in range(block.sources))
            flags = block.flags[0] | block.flags[block.sources - 1]
            if flags & records.CODEC_CONFIG:
                control.decode_codec_configuration(data)
                out.append(("config", data))
                continue
            if flags & records.FIRST:
                frame = b""
            if frame is None:
                continue
            frame += data
            if flags & records.LAST:
                control.decode_preamble(frame)
                out.append(("frame", bool(flags & records.KEYFRAME), frame))
                frame = None
        return out
