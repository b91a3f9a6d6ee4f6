"""Refusals of public keys (in the hello, by the responder) and of ciphertexts (in the reply, by the initiator)."""

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key

import handshake
from common import fixed, flip
from mechanisms import INPUTS, MECHANISMS
from sessions import CAMERA, initiator_config, refusal, responder_config, stopped

# Points of small order on Curve25519 and its twist (RFC 7748 section 6.1 asks for the all-zero check that catches
# them).
SMALL_ORDER = [
    ("0", bytes(32)),
    ("1", b"\1" + bytes(31)),
    ("of order 8", bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800")),
    ("of order 8, the other one", bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157")),
    ("p - 1", (2**255 - 20).to_bytes(32, "little")),
    ("p", (2**255 - 19).to_bytes(32, "little")),
    ("p + 1", (2**255 - 18).to_bytes(32, "little")),
]


def pair(number):
    """Two ends that have this mechanism only."""
    name = f"share {MECHANISMS[number].name}"
    return (initiator_config(name, mechanisms=[number], share_mechanism=number),
            responder_config(name, mechanisms=[number]))


def _replace_end(good, end):
    return good[:-len(end)] + end


def _lengths(number, good):
    what = MECHANISMS[number].name
    return [("one byte short", good[:-1], f"Its length for {what} is {len(good)}."),
            ("one byte long", good + b"\0", f"Its length for {what} is {len(good)}."),
            ("of one byte", good[:1], f"Its length for {what} is {len(good)}.")]


def _p256_points(good):
    x, y = good[1:33], good[33:]
    return [
        ("off the curve", b"\4" + x + flip(y, 31), "The point is not on the curve."),
        ("x = y = 0", b"\4" + bytes(64), "The point is not on the curve."),
        ("x above the field", b"\4" + b"\xff" * 32 + y, "A coordinate is below the field's prime."),
        ("compressed", bytes([2 + (y[31] & 1)]) + x, "The point is uncompressed."),
        ("compressed and padded", bytes([2 + (y[31] & 1)]) + x + bytes(32), "The point is uncompressed."),
        ("hybrid form", bytes([6 + (y[31] & 1)]) + x + y, "The point is uncompressed, with first byte 4."),
        ("at infinity", b"\0", "The point at infinity is no key."),
        ("at infinity, padded", bytes(65), "The point at infinity is no key."),
    ]


def _mlkem_keys(good):
    """FIPS 203 section 7.2: an encapsulation key with a coefficient of 3329 or more is refused."""
    first = b"\x01\x0d" if good[1] & 0xF0 == 0 else bytes([0x01, good[1] & 0xF0 | 0x0D])
    return [("first coefficient 3329", first + good[2:], "Coefficients are below 3329."),
            ("last coefficient 4095", good[:1150] + bytes([good[1150] | 0xF0, 0xFF]) + good[1152:],
             "Coefficients are below 3329."),
            ("all coefficients 4095", b"\xff" * 1152 + good[1152:], "Coefficients are below 3329.")]


def _rsa_keys(good):
    key = load_der_public_key(good)
    bare = key.public_bytes(Encoding.DER, PublicFormat.PKCS1)
    point = MECHANISMS[3].key_pair(lambda what, n: fixed(f"rsa {what}", n))["share"]
    ec = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200") + point
    return [
        ("1024 bits", bytes.fromhex(INPUTS["rsa1024_spki"]), "The modulus has 2048 bits."),
        ("3072 bits", bytes.fromhex(INPUTS["rsa3072_spki"]), "The modulus has 2048 bits."),
        ("exponent 3", bytes.fromhex(INPUTS["rsa2048_exponent_3_spki"]), "The exponent is 65537."),
        ("RSAPublicKey without the algorithm", bare, "It is a SubjectPublicKeyInfo."),
        ("P-256 key", ec, "It is an RSA key."),
        ("not DER", b"\x30" + bytes(200), "It is a SubjectPublicKeyInfo."),
    ]


def bad_shares(number, good):
    rows = _lengths(number, good)
    if number == 2:
        rows += [(f"small order: {name}", point, "The result is all zero.") for name, point in SMALL_ORDER]
    if number in (1, 5):
        rows += [("X25519 part zero", _replace_end(good, bytes(32)), "The X25519 result is all zero."),
                 ("X25519 part missing", good[:-32], "Both parts are there.")]
        rows.append(("parts in the other order", good[-32:] + good[:-32],
                     "The lattice key stands first.")
                    if number == 1 else
                    ("X25519 part alone", good[-32:], "Both parts are there."))
    if number == 3:
        rows += _p256_points(good)
    if number in (1, 4):
        rows += _mlkem_keys(good)
    if number == 16:
        rows += _rsa_keys(good)
    return rows


def bad_ciphertexts(number, good):
    rows = _lengths(number, good)
    if number == 2:
        rows += [(f"small order: {name}", point, "The result is all zero.") for name, point in SMALL_ORDER]
    if number in (1, 5):
        rows += [("X25519 part zero", _replace_end(good, bytes(32)), "The X25519 result is all zero."),
                 ("X25519 part missing", good[:-32], "Both parts are there.")]
    if number == 3:
        rows += _p256_points(good)
    if number == 16:
        rows += [("bit flipped", flip(good, 100), "The padding does not check."),
                 ("zeros", bytes(256), "The padding does not check."),
                 ("above the modulus", b"\xff" * 256, "It is below the modulus.")]
    return rows


def implicit_rejections(number, good):
    """Ciphertexts of the right length that decapsulate to another secret: only the sealed part tells."""
    rows = [("first bit flipped", flip(good, 0))]
    if number in (1, 4, 5):
        rows += [("lattice part zero",
                  bytes(MECHANISMS[number].ciphertext_len - (32 if number != 4 else 0)) + good[-32:]
                  if number != 4 else bytes(1088))]
    if number == 5:
        rows.append(("confirmation changed", flip(good, 1038)))
    return [] if number in (3, 16) else rows


def cases():
    for number, mechanism in MECHANISMS.items():
        share = handshake.parse_hello(pair(number)[0].initiator().hello).share
        for name, bad, why in bad_shares(number, share):
            run = stopped(*pair(number), 0)
            message = handshake.parse_hello(run.pending).changed(share=bad).encode()
            message = handshake.addressed(message, CAMERA)
            yield run.configs["responder"], refusal(run, "responder", f"{mechanism.name} share {name}", message,
                                                    "share", why)
        good = handshake.parse_reply(stopped(*pair(number), 1).pending).ciphertext
        rows = [(name, bad, "share", why) for name, bad, why in bad_ciphertexts(number, good)]
        rows += [(name, bad, "sealed", "Decapsulation gives another secret.")
                 for name, bad in implicit_rejections(number, good)]
        for name, bad, expect, why in rows:
            run = stopped(*pair(number), 1)
            message = handshake.parse_reply(run.pending).changed(ciphertext=bad).encode()
            yield run.configs["initiator"], refusal(run, "initiator", f"{mechanism.name} ciphertext {name}", message,
                                                    expect, why)
