"""RSA-OAEP with SHA-256, MGF1-SHA-256 and the empty label (RFC 8017), encryption with a given seed.

Libraries draw the seed themselves, and a vector needs it fixed; decryption is the library's, which checks the other
half.
"""

import hashlib

from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.hashes import SHA256

HASH_LEN = 32


def _mask(seed, length):
    blocks = -(-length // HASH_LEN)
    return b"".join(hashlib.sha256(seed + i.to_bytes(4, "big")).digest() for i in range(blocks))[:length]


def _xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b, strict=True))


def encrypt(public_numbers, message, seed):
    size = (public_numbers.n.bit_length() + 7) // 8
    data = hashlib.sha256(b"").digest().ljust(size - HASH_LEN - 2 - len(message), b"\0") + b"\x01" + message
    masked_data = _xor(data, _mask(seed, len(data)))
    masked_seed = _xor(seed, _mask(masked_data, HASH_LEN))
    encoded = b"\0" + masked_seed + masked_data
    return pow(int.from_bytes(encoded, "big"), public_numbers.e, public_numbers.n).to_bytes(size, "big")


def decrypt_with_library(private_key, ciphertext):
    return private_key.decrypt(ciphertext, padding.OAEP(padding.MGF1(SHA256()), SHA256(), None))
