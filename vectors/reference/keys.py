"""The key schedule (keys.md sections 2 and 5)."""

import hashlib
import hmac

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

PURPOSES = ("control", "media")
DIRECTIONS = ("i", "r")


def sha256(data):
    return hashlib.sha256(data).digest()


def hmac_sha256(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()


def extract(salt, ikm):
    """HKDF-Extract of RFC 5869 is HMAC keyed by the salt."""
    return hmac_sha256(salt, ikm)


def expand(secret, info, length):
    return HKDFExpand(SHA256(), length, info).derive(secret)


def expand_info(label, context, length):
    full = b"sealcast1 " + label
    return length.to_bytes(2, "big") + bytes([len(full)]) + full + bytes([len(context)]) + context


def expand_label(secret, label, context, length):
    return expand(secret, expand_info(label, context, length), length)


def entry(message):
    return len(message).to_bytes(4, "big") + message


def handshake_secret(shared_secret):
    return extract(b"sealcast1 handshake", shared_secret)


def traffic(suite, epoch_secret, epoch, purpose, direction):
    """(key, base) of one purpose and direction."""
    context = bytes([suite.number]) + epoch.to_bytes(8, "big")
    label = f"{purpose} key {direction}".encode()
    base_label = f"{purpose} base {direction}".encode()
    key = expand_label(epoch_secret, label, context, suite.key_len)
    return key, expand_label(epoch_secret, base_label, context, 8)


def nonce(suite, base, seq):
    return (base + seq.to_bytes(4, "big")).ljust(suite.nonce_len, b"\0")


def next_epoch(epoch_secret, offer, answer, shared_secret):
    """(salt, E_n+1) from the plaintext offer and answer."""
    salt = expand_label(epoch_secret, b"rekey", sha256(entry(offer) + entry(answer)), 32)
    return salt, extract(salt, shared_secret)


def invite_proof(invite, th2, identity):
    return hmac_sha256(extract(b"sealcast1 invite", invite), th2 + identity)
