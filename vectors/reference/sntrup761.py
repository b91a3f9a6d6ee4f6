"""Streamlined NTRU Prime 761 as a KEM, written from the NTRU Prime submission (round 3), with its byte encodings.

Slow and not constant-time: it exists to make test vectors. Polynomials are lists of 761 integers, lowest power first;
elements of R/q are kept in -2295..2295 and elements of R/3 in -1..1.
"""

import hashlib

P, Q, W = 761, 4591, 286
HALF = (Q - 1) // 2
SMALL_BYTES = (P + 3) // 4
PUBLIC_LEN, CIPHERTEXT_LEN, SECRET_LEN = 1158, 1039, 1763
CONFIRM_LEN = 32


def _centre(value, modulus):
    return (value + modulus // 2) % modulus - modulus // 2


def _multiply(f, g, modulus):
    """f * g mod x^p - x - 1 and mod modulus; sparse in g."""
    product = [0] * (2 * P - 1)
    for j, b in enumerate(g):
        if b:
            for i, a in enumerate(f):
                product[i + j] += a * b
    for i in range(2 * P - 2, P - 1, -1):  # x^i = x^(i-p+1) + x^(i-p)
        product[i - P + 1] += product[i]
        product[i - P] += product[i]
    return [_centre(c, modulus) for c in product[:P]]


def _trim(f):
    while f and f[-1] == 0:
        f.pop()
    return f


def _reciprocal(f, modulus):
    """1/f mod x^p - x - 1 and a prime modulus by Euclid's algorithm, or None."""
    a, b = [-1 % modulus, -1 % modulus] + [0] * (P - 2) + [1], _trim([c % modulus for c in f])
    u, v = [], [1]  # a = u*f, b = v*f
    while b:
        inverse = pow(b[-1], -1, modulus)
        while len(a) >= len(b):
            factor, shift = a[-1] * inverse % modulus, len(a) - len(b)
            for i, c in enumerate(b):
                a[i + shift] = (a[i + shift] - factor * c) % modulus
            u += [0] * (len(v) + shift - len(u))
            for i, c in enumerate(v):
                u[i + shift] = (u[i + shift] - factor * c) % modulus
            _trim(a)
        a, b, u, v = b, a, v, u
    if len(a) != 1:
        return None
    scale = pow(a[0], -1, modulus)
    u = (u + [0] * P)[:P]
    return [_centre(c * scale, modulus) for c in u]


def _encode(values, moduli):
    if not moduli:
        return b""
    out = bytearray()
    if len(moduli) == 1:
        r, m = values[0], moduli[0]
        while m > 1:
            out.append(r % 256)
            r, m = r // 256, (m + 255) // 256
        return bytes(out)
    next_values, next_moduli = [], []
    for i in range(0, len(moduli) - 1, 2):
        m, r = moduli[i] * moduli[i + 1], values[i] + moduli[i] * values[i + 1]
        while m >= 16384:
            out.append(r % 256)
            r, m = r // 256, (m + 255) // 256
        next_values.append(r)
        next_moduli.append(m)
    if len(moduli) % 2:
        next_values.append(values[-1])
        next_moduli.append(moduli[-1])
    return bytes(out) + _encode(next_values, next_moduli)


def _decode(data, moduli):
    if not moduli:
        return []
    if len(moduli) == 1:
        return [int.from_bytes(data, "little") % moduli[0]]
    at, bottoms, next_moduli = 0, [], []
    for i in range(0, len(moduli) - 1, 2):
        m, r, scale = moduli[i] * moduli[i + 1], 0, 1
        while m >= 16384:
            r, at, scale, m = r + data[at] * scale, at + 1, scale * 256, (m + 255) // 256
        bottoms.append((r, scale))
        next_moduli.append(m)
    if len(moduli) % 2:
        next_moduli.append(moduli[-1])
    tops = _decode(data[at:], next_moduli)
    values = []
    for i, (r, scale) in enumerate(bottoms):
        whole = r + scale * tops[i]
        values += [whole % moduli[2 * i], whole // moduli[2 * i] % moduli[2 * i + 1]]
    if len(moduli) % 2:
        values.append(tops[-1])
    return values


def _rq_encode(h):
    return _encode([c + HALF for c in h], [Q] * P)


def _rq_decode(data):
    return [c - HALF for c in _decode(data, [Q] * P)]


def _rounded_encode(c):
    return _encode([(x + HALF) // 3 for x in c], [(Q + 2) // 3] * P)


def _rounded_decode(data):
    return [3 * x - HALF for x in _decode(data, [(Q + 2) // 3] * P)]


def _small_encode(f):
    padded = [c + 1 for c in f] + [0] * (4 * SMALL_BYTES - P)
    return bytes(sum(padded[i + k] << 2 * k for k in range(4)) for i in range(0, len(padded), 4))


def _small_decode(data):
    return [((data[i // 4] >> 2 * (i % 4)) & 3) - 1 for i in range(P)]


def _words(data):
    return [int.from_bytes(data[4 * i:4 * i + 4], "little") for i in range(P)]


def _short(words):
    """A weight-W polynomial from 761 random words: sorting them shuffles the signs."""
    tagged = [word & ~1 if i < W else word & ~3 | 1 for i, word in enumerate(words)]
    return [(word & 3) - 1 for word in sorted(tagged)]


def _small(words):
    return [((word & 0x3FFFFFFF) * 3 >> 30) - 1 for word in words]


def _hash(prefix, data):
    return hashlib.sha512(bytes([prefix]) + data).digest()[:32]


def _hide(r, public):
    """(encoding of r, ciphertext)"""
    encoded = _small_encode(r)
    product = _multiply(_rq_decode(public), r, Q)
    rounded = _rounded_encode([c - _centre(c, 3) for c in product])
    confirm = _hash(2, _hash(3, encoded) + _hash(4, public))
    return encoded, rounded + confirm


def key_pair(random):
    """(public, secret) from random(n), a function that gives n bytes."""
    while True:
        g = _small(_words(random(4 * P)))
        v = _reciprocal(g, 3)
        if v is not None:
            break
    f = _short(_words(random(4 * P)))
    h = _multiply(_reciprocal([3 * c for c in f], Q), g, Q)
    public = _rq_encode(h)
    secret = _small_encode(f) + _small_encode(v) + public + random(SMALL_BYTES) + _hash(4, public)
    return public, secret


def encapsulate(public, random):
    """(ciphertext, shared secret, encoding of r)"""
    encoded, ciphertext = _hide(_short(_words(random(4 * P))), public)
    return ciphertext, _hash(1, _hash(3, encoded) + ciphertext), encoded


def decapsulate(secret, ciphertext):
    f, v = _small_decode(secret), _small_decode(secret[SMALL_BYTES:])
    public = secret[2 * SMALL_BYTES:2 * SMALL_BYTES + PUBLIC_LEN]
    rho = secret[2 * SMALL_BYTES + PUBLIC_LEN:-32]
    c = _rounded_decode(ciphertext[:-CONFIRM_LEN])
    e = [_centre(3 * x, Q) for x in _multiply(c, f, Q)]
    r = _multiply([_centre(x, 3) for x in e], v, 3)
    if sum(x != 0 for x in r) != W:
        r = [1] * W + [0] * (P - W)
    encoded, again = _hide(r, public)
    if again == ciphertext:
        return _hash(1, _hash(3, encoded) + ciphertext)
    return _hash(0, _hash(3, rho) + ciphertext)
