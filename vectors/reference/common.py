"""What the generators share."""

import hashlib

from ed25519 import P, SMALL_ORDER_YS, encode


def fixed(name, length):
    """Bytes that look random and are the same in every run."""
    return hashlib.shake_256(b"sealcast vectors / " + name.encode()).digest(length)


def flip(data, byte, bit=0):
    out = bytearray(data)
    out[byte] ^= 1 << bit
    return bytes(out)


def no_peer_ids():
    """(name, 32 bytes, why) of what is no peer id. For the first ten anybody can sign."""
    rows = [(name, y, "Anybody can sign for a point of small order.") for name, y in zip(
        ("0", "1", "of order 8", "of order 8, the other one", "p - 1"), SMALL_ORDER_YS)]
    rows += [(name, y, "A peer id has y below p.") for name, y in (
        ("p", P), ("p + 1", P + 1), ("p + 2", P + 2), ("2^255 - 1", 2**255 - 1))]
    return [(f"y {name}, sign {sign}", encode(y, sign), why) for name, y, why in rows for sign in (0, 1)]


def check_names(cases):
    names = [case["name"] for case in cases]
    assert len(names) == len(set(names)), [n for n in names if names.count(n) > 1]
    for case in cases:
        assert case.get("expect") == "ok" or case.get("why"), case["name"]
    return cases
