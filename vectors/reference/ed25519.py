"""The group of Ed25519 (RFC 8032 section 5.1), as far as peer ids and forged signatures need it (keys.md section 1).

Slow and not constant-time: it exists to make test vectors. Points are pairs of integers.
"""

import hashlib
from itertools import count

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)
NEUTRAL = (0, 1)
BASE_Y = 4 * pow(5, -1, P) % P


def encode(y, sign):
    """The 32 bytes for a y of up to 255 bits, canonical or not, and a sign bit."""
    return (y | sign << 255).to_bytes(32, "little")


def encode_point(point):
    return encode(point[1], point[0] & 1)


def decode(data):
    """The point, or None. Takes y modulo p, as a lax decoder does."""
    value = int.from_bytes(data, "little")
    y, sign = value % 2**255 % P, value >> 255
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * ROOT_OF_MINUS_ONE % P
    if x * x % P != square or x == 0 and sign:
        return None
    return (P - x if x & 1 != sign else x), y


def add(a, b):
    cross = D * a[0] * b[0] * a[1] * b[1] % P
    x = (a[0] * b[1] + a[1] * b[0]) * pow(1 + cross, -1, P) % P
    return x, (a[1] * b[1] + a[0] * b[0]) * pow(1 - cross, -1, P) % P


def multiply(scalar, point):
    product = NEUTRAL
    for bit in bin(scalar)[2:]:
        product = add(product, product)
        if bit == "1":
            product = add(product, point)
    return product


BASE = decode(encode(BASE_Y, 0))


def small_order_ys():
    """The five y coordinates of the eight points whose order divides 8."""
    ys = set()
    for y in range(2, 40):
        point = decode(encode(y, 0))
        if point is not None:  # a point times the large order leaves its part of small order
            torsion = multiply(ORDER, point)
            ys |= {multiply(n, torsion)[1] for n in range(8)}
    return sorted(ys)


SMALL_ORDER_YS = small_order_ys()


def is_peer_id(data):
    """Canonical and not of small order. Whether there is such a point at all shows when a signature is verified."""
    y = int.from_bytes(data, "little") % 2**255
    return y < P and y not in SMALL_ORDER_YS


def challenge(commitment, public, content):
    return int.from_bytes(hashlib.sha512(commitment + public + content).digest(), "little")


def keyless_signature(public, content):
    """A signature that a lax verifier accepts under a public key of small order: [S]B = R + [k]A holds for every R =
    [S]B as soon as [k]A is the neutral point. Where `public` is no point, R is neutral and S zero."""
    point = decode(public)
    if point is None or multiply(8, point) != NEUTRAL:
        return encode_point(NEUTRAL) + bytes(32)
    for s in count():
        signature = encode_point(multiply(s, BASE)) + s.to_bytes(32, "little")
        if lax_verify(public, signature, content):
            return signature


def lengthened_s(signature):
    """The same signature with S + L: verifies only where S is not held below the group order (RFC 8032
    section 5.1.7)."""
    s = int.from_bytes(signature[32:], "little") + ORDER
    return signature[:32] + s.to_bytes(32, "little")


def lax_verify(public, signature, content):
    """[S]B = R + [k]A, with no word about which points those are."""
    commitment, s = signature[:32], int.from_bytes(signature[32:], "little")
    a, r = decode(public), decode(commitment)
    if a is None or r is None:
        return False
    return multiply(s, BASE) == add(r, multiply(challenge(commitment, public, content), a))
