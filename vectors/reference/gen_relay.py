"""vectors/relay.json: objects on the two tracks of a session through a relay (docs/relay.md, section 3)."""

from common import check_names, fixed

MAX_PIECE = 64 << 10
TAKEN, PIECE, END = range(3)


def encode(name, value):
    if name == "taken":
        return bytes([TAKEN]) + value.to_bytes(8, "big")
    return bytes([PIECE]) + value if name == "piece" else bytes([END])


def parse(data):
    """(name, value), or None if it is no object of a session."""
    kind, fields = data[:1], data[1:]
    if kind == bytes([TAKEN]) and len(fields) == 8:
        return "taken", int.from_bytes(fields, "big")
    if kind == bytes([PIECE]) and 1 <= len(fields) <= MAX_PIECE:
        return "piece", fields
    return ("end", None) if data == bytes([END]) else None


def session_objects():
    cases = []
    for label, name, value in (
            ("nothing was taken", "taken", 0), ("258 pieces", "taken", 258), ("2^53 + 1 pieces", "taken", 2**53 + 1),
            ("as many as there are numbers", "taken", 2**64 - 1), ("one byte", "piece", b"\0"),
            ("some bytes", "piece", fixed("relay piece", 61)), ("the end", "end", None)):
        data = encode(name, value)
        assert parse(data) == (name, value), label
        fields = {"pieces": value} if name == "taken" else {"bytes": value.hex()} if name == "piece" else {}
        cases.append({"name": label, "expect": "ok", "bytes": data.hex(), "object": name, "fields": fields})
    for label, data, why in (
            ("nothing", "", "An object has a kind."), ("a short number", "00000000000000", "A number has 8 bytes."),
            ("a long number", "00" * 10, "A number has 8 bytes."), ("a kind alone", "00", "A number has 8 bytes."),
            ("an empty piece", "01", "A piece has a byte at least."), ("a long end", "0278", "An end has no fields."),
            ("kind 3", "03", "There is no such kind."), ("kind 255", "ff00", "There is no such kind.")):
        assert parse(bytes.fromhex(data)) is None, label
        cases.append({"name": label, "expect": "malformed", "why": why, "bytes": data})
    return check_names(cases)


def generate():
    return {"session_objects": session_objects()}
