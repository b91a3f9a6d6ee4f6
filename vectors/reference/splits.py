"""Frames in layout 1: JPEG images whose first coefficients travel apart from the others (protocol.md section 5)."""

import struct

from control import Malformed

PREFIX = struct.Struct(">BIII")
NO_SEGMENT = {0x01, *range(0xD0, 0xDA)}


class Bits:
    """A string of "0" and "1", read from the front."""

    def __init__(self, text):
        self.text, self.at = text, 0

    def take(self, count):
        if self.at + count > len(self.text):
            raise Malformed
        self.at += count
        return self.text[self.at - count:self.at]

    def rest(self):
        return self.text[self.at:]


def bits_of(data):
    return "".join(f"{byte:08b}" for byte in data)


def bytes_of(bits, padding):
    bits += padding * (-len(bits) % 8)
    return bytes(int(bits[at:at + 8], 2) for at in range(0, len(bits), 8))


class Head:
    """What the segments up to the end of the first SOS say. ITU-T T.81, annex B."""

    def __init__(self, image):
        self.codes, self.interval, self.sampling = {}, 0, None
        if image[:2] != b"\xff\xd8":
            raise Malformed
        at = 2
        while True:
            if image[at] != 0xFF or image[at + 1] in NO_SEGMENT:
                raise Malformed
            marker, length = image[at + 1], int.from_bytes(image[at + 2:at + 4], "big")
            content, at = image[at + 4:at + 2 + length], at + 2 + length
            if marker == 0xDA:
                break
            self.segment(marker, content)
        self.length = at
        self.scan(content)

    def segment(self, marker, content):
        if marker in (0xC0, 0xC1):
            self.height, self.width, count = struct.unpack(">HHB", content[1:6])
            rows = [content[6 + 3 * i:9 + 3 * i] for i in range(count)]
            self.sampling = [(row[0], row[1] >> 4, row[1] & 15) for row in rows]
        elif marker == 0xC4:
            self.tables(content)
        elif marker == 0xDD:
            self.interval = int.from_bytes(content, "big")
        elif 0xC0 <= marker <= 0xCF and marker != 0xC8:
            raise Malformed

    def tables(self, content):
        while content:
            place, counts, content = content[0], content[1:17], content[17:]
            code, table = 0, {}
            for length, count in enumerate(counts, 1):
                for value in content[:count]:
                    table[f"{code:0{length}b}"] = value
                    code += 1
                content, code = content[count:], code << 1
            self.codes[place] = table

    def scan(self, content):
        if self.sampling is None or content[0] != len(self.sampling):
            raise Malformed
        self.blocks = []
        single = content[0] == 1
        for index, (_, horizontal, vertical) in enumerate(self.sampling):
            tables = content[2 + 2 * index]
            pair = self.codes[tables >> 4], self.codes[0x10 | tables & 15]
            self.blocks += [pair] * (1 if single else horizontal * vertical)
        across = 8 * (1 if single else max(h for _, h, _ in self.sampling))
        down = 8 * (1 if single else max(v for _, _, v in self.sampling))
        self.units = -(-self.width // across) * -(-self.height // down)


def code(table, source):
    """(the code with its bits, its value)"""
    taken = ""
    while taken not in table:
        taken += source.take(1)
        if len(taken) > 16:
            raise Malformed
    return taken + source.take(table[taken] & 15), table[taken]


def block(tables, last, first, others):
    """Yields (belongs to the first part, bits)."""
    yield True, code(tables[0], first)[0]
    index = 1
    while index < 64:
        belongs = index <= last
        bits, value = code(tables[1], first if belongs else others)
        yield belongs, bits
        if value == 0:
            return
        index += (value >> 4) + 1


def split(image, last):
    head = Head(image)
    coded, tail = image[head.length:], b""
    # The entropy-coded data ends at the first marker that is no restart marker.
    at, intervals = 0, [b""]
    while at < len(coded):
        if coded[at] != 0xFF:
            intervals[-1] += coded[at:at + 1]
            at += 1
        elif coded[at + 1] == 0:
            intervals[-1] += b"\xff"
            at += 2
        elif 0xD0 <= coded[at + 1] <= 0xD7:
            intervals.append(b"")
            at += 2
        else:
            tail = coded[at:]
            break
    parts, unit = {True: "", False: ""}, 0
    for data in intervals:
        source = Bits(bits_of(data))
        for _ in range(min(head.interval or head.units, head.units - unit)):
            unit += 1
            for tables in head.blocks:
                for belongs, bits in block(tables, last, source, source):
                    parts[belongs] += bits
        if len(source.rest()) > 7 or "0" in source.rest():
            raise Malformed
    if unit != head.units:
        raise Malformed
    first, others = bytes_of(parts[True], "0"), bytes_of(parts[False], "0")
    front = PREFIX.pack(last, head.length, len(tail), len(first)) + image[:head.length] + tail + first
    return front, others


def join(data):
    last, head_length, tail_length, first_length = PREFIX.unpack(data[:PREFIX.size])
    rest = data[PREFIX.size:]
    image, rest = rest[:head_length], rest[head_length:]
    tail, rest = rest[:tail_length], rest[tail_length:]
    first, others = Bits(bits_of(rest[:first_length])), Bits(bits_of(rest[first_length:]))
    head, coded = Head(image), ""
    for unit in range(head.units):
        if head.interval and unit and unit % head.interval == 0:
            image += bytes_of(coded, "1").replace(b"\xff", b"\xff\0")
            image += bytes([0xFF, 0xD0 + (unit // head.interval - 1) % 8])
            coded = ""
        for tables in head.blocks:
            coded += "".join(bits for _, bits in block(tables, last, first, others))
    return image + bytes_of(coded, "1").replace(b"\xff", b"\xff\0") + tail
