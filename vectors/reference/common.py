"""What the generators share."""

import hashlib


def fixed(name, length):
    """Bytes that look random and are the same in every run."""
    return hashlib.shake_256(b"sealcast vectors / " + name.encode()).digest(length)


def flip(data, byte, bit=0):
    out = bytearray(data)
    out[byte] ^= 1 << bit
    return bytes(out)


def check_names(cases):
    names = [case["name"] for case in cases]
    assert len(names) == len(set(names)), [n for n in names if names.count(n) > 1]
    for case in cases:
        assert case.get("expect") == "ok" or case.get("why"), case["name"]
    return cases
