"""The key schedule (keys.md sections 2, 4 and 5)."""

import hashlib
import hmac

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

PURPOSES = ("control", "media", "cell", "data")
DIRECTIONS = ("i", "r")
PREFIX = b"sealcast2 "
MAC_LEN = 16
NO_PSK = bytes(32)


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
    full = PREFIX + label
    return length.to_bytes(2, "big") + bytes([len(full)]) + full + bytes([len(context)]) + context


def expand_label(secret, label, context, length):
    return expand(secret, expand_info(label, context, length), length)


def entry(message):
    return len(message).to_bytes(4, "big") + message


def psk_of_invite(invite):
    return expand_label(extract(PREFIX + b"invite", invite), b"psk", b"", 32)


def early_secret(psk):
    return extract(PREFIX + b"early", psk)


def psk_name(early):
    return expand_label(early, b"name", b"", 8)


def handshake_secret(early, shared_secret):
    """(salt, hs)"""
    salt = expand_label(early, b"handshake", b"", 32)
    return salt, extract(salt, shared_secret)


def mac_key(peer_r):
    return expand_label(extract(PREFIX + b"mac", peer_r), b"mac", b"", 32)


def mac(peer_r, content):
    """What shows that the sender knows the responder's peer id."""
    return hmac_sha256(mac_key(peer_r), content)[:MAC_LEN]


def binder_key(early, peer_r):
    return expand_label(early, b"binder", peer_r, 32)


def binder(early, peer_r, hello_head):
    """What shows that the sender knows a pre-shared key."""
    return hmac_sha256(binder_key(early, peer_r), sha256(hello_head))[:MAC_LEN]


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


def rekey_signed(message, binding, epoch, exchange):
    """What the sender of a rekey message ("offer" or "answer") for `epoch` signs; `exchange` are the messages up to
    and with its own, this one without its signature."""
    return (PREFIX + b"rekey " + message.encode() + b"\0" + binding + epoch.to_bytes(8, "big")
            + sha256(b"".join(entry(part) for part in exchange)))
