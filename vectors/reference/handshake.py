"""Handshake messages, the transcript and what is sealed (protocol.md section 3, keys.md sections 3 and 4)."""

from dataclasses import dataclass, replace

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import keys
from control import Malformed, Reader, counted
from words import is_unsafe

VERSION = 3
HELLO, RETRY, REPLY, FINISH, ALERT = 1, 2, 3, 4, 5
PUBLISHER, VIEWER = 1, 2
ALERTS = {bytes([ALERT, 1]): "alert", bytes([ALERT, 2]): "psk"}
ROLE_NAMES = {PUBLISHER: b"publisher", VIEWER: b"viewer"}
WISH_LEN, MAX_CAMERA = 66, 64
SEALED = 32 + WISH_LEN + 64 + 16
FRAMES, PACKETS, NOTHING, CAMERAS = 1, 2, 3, 4
NO_WISH = bytes(WISH_LEN)
MAC_LEN = keys.MAC_LEN
NO_BINDER = bytes(MAC_LEN)


class Refused(Exception):
    """A refusal; its text is the reason word."""


@dataclass
class Hello:
    role: int
    random: bytes
    suites: bytes
    mechanisms: bytes
    share_mechanism: int
    share: bytes
    cookie: bytes = b""
    binder: bytes = NO_BINDER
    mac: bytes = bytes(MAC_LEN)
    version: int = VERSION

    def head(self):
        return (bytes([HELLO, self.version, self.role]) + self.random + counted(self.suites, 1)
                + counted(self.mechanisms, 1) + bytes([self.share_mechanism]) + counted(self.share)
                + counted(self.cookie, 1))

    def encode(self):
        return self.head() + self.binder + self.mac

    def changed(self, **fields):
        return replace(self, **fields)


@dataclass
class Reply:
    role: int
    random: bytes
    suite: int
    mechanism: int
    ciphertext: bytes
    sealed: bytes = b""
    version: int = VERSION

    def head(self):
        return (bytes([REPLY, self.version, self.role]) + self.random + bytes([self.suite, self.mechanism])
                + counted(self.ciphertext))

    def encode(self):
        return self.head() + counted(self.sealed)

    def changed(self, **fields):
        return replace(self, **fields)


def addressed(message, peer_r):
    """The message with its last bytes replaced by the MAC that this responder asks for."""
    return message[:-MAC_LEN] + keys.mac(peer_r, message[:-MAC_LEN])


def bound(message, peer_r, psk=None):
    """The hello with a proper binder, of zeros without a pre-shared key, and a proper MAC."""
    head = message[:-2 * MAC_LEN]
    binder = NO_BINDER if psk is None else keys.binder(keys.early_secret(psk), peer_r, head)
    return addressed(head + binder + bytes(MAC_LEN), peer_r)


def encode_retry(mechanism, cookie=b"", version=VERSION):
    return bytes([RETRY, version, mechanism]) + counted(cookie, 1)


def encode_finish(sealed):
    return bytes([FINISH]) + counted(sealed)


def _parsed(kind, read, message):
    """What `read` makes of the message after its kind, all of it; anything else is malformed."""
    reader = Reader(message)
    try:
        if reader.uint(1) != kind:
            raise Malformed
        fields = read(reader)
        reader.end()
    except Malformed:
        raise Refused("malformed") from None
    return fields


def _need(condition):
    if not condition:
        raise Malformed


def parse_hello(message):
    def read(reader):
        version, role, random = reader.uint(1), reader.uint(1), reader.take(32)
        suites, mechanisms = reader.counted(1), reader.counted(1)
        share_mechanism, share, cookie = reader.uint(1), reader.counted(2), reader.counted(1)
        binder, mac = reader.take(MAC_LEN), reader.take(MAC_LEN)
        for identifiers in (suites, mechanisms):
            _need(1 <= len(identifiers) <= 8 and len(set(identifiers)) == len(identifiers))
        _need(share_mechanism in mechanisms and 1 <= len(share) <= 2048 and len(cookie) <= 64)
        return Hello(role, random, suites, mechanisms, share_mechanism, share, cookie, binder, mac, version)
    return _parsed(HELLO, read, message)


def parse_retry(message):
    def read(reader):
        version, mechanism, cookie = reader.uint(1), reader.uint(1), reader.counted(1)
        _need(len(cookie) <= 64)
        return version, mechanism, cookie
    return _parsed(RETRY, read, message)


def parse_reply(message):
    def read(reader):
        version, role, random = reader.uint(1), reader.uint(1), reader.take(32)
        suite, mechanism = reader.uint(1), reader.uint(1)
        ciphertext, sealed = reader.counted(2), reader.counted(2)
        _need(1 <= len(ciphertext) <= 2048 and len(sealed) == SEALED)
        return Reply(role, random, suite, mechanism, ciphertext, sealed, version)
    return _parsed(REPLY, read, message)


def parse_finish(message):
    def read(reader):
        sealed = reader.counted(2)
        _need(len(sealed) == SEALED)
        return sealed
    return _parsed(FINISH, read, message)


def encode_wish(media, camera=""):
    name = camera.encode()
    return (bytes([media, len(name)]) + name).ljust(WISH_LEN, b"\0")


def check_wish(role, wish):
    """Refuses what an end of this role cannot wish."""
    if role == PUBLISHER:
        fits = wish == NO_WISH
    else:
        media, length, rest = wish[0], wish[1], wish[2:]
        fits = media in (FRAMES, PACKETS, NOTHING, CAMERAS) and length <= MAX_CAMERA and not any(rest[length:])
        try:
            fits = fits and not any(map(is_unsafe, rest[:length].decode()))
        except UnicodeDecodeError:
            fits = False
    if not fits:
        raise Refused("wish")


def split_sealed(plain):
    """identity, wish, signature."""
    return plain[:32], plain[32:32 + WISH_LEN], plain[32 + WISH_LEN:]


def transcript(hello, retry=None, second_hello=None):
    if retry is None:
        return keys.entry(hello)
    return keys.entry(b"\xfe" + keys.sha256(hello)) + keys.entry(retry) + keys.entry(second_hello)


class Secrets:
    """Everything keys.md section 4 derives, filled in as the messages come."""

    def __init__(self, transcript_so_far, reply_head, ss, psk=None):
        self.transcript, self.ss, self.psk = transcript_so_far, ss, keys.NO_PSK if psk is None else psk
        self.early = keys.early_secret(self.psk)
        _, self.hs = keys.handshake_secret(self.early, ss)
        self.th1 = keys.sha256(self.transcript + keys.entry(reply_head))
        self.reply_key, self.reply_iv = self._key_and_iv(b"reply", self.th1)

    def _key_and_iv(self, name, th):
        return keys.expand_label(self.hs, name + b" key", th, 32), keys.expand_label(self.hs, name + b" iv", th, 12)

    def with_reply(self, reply):
        self.reply = reply
        self.th2 = keys.sha256(self.transcript + keys.entry(reply))
        self.finish_key, self.finish_iv = self._key_and_iv(b"finish", self.th2)

    def with_finish(self, finish):
        self.th3 = keys.sha256(self.transcript + keys.entry(self.reply) + keys.entry(finish))
        self.epoch_0 = keys.expand_label(self.hs, b"epoch", self.th3, 32)
        self.session_id = keys.expand_label(self.hs, b"session id", self.th3, 8)
        self.binding = keys.expand_label(self.hs, b"binding", self.th3, 32)
        self.enrolment = keys.expand_label(self.hs, b"enrolment", self.th3, 32)

    def seal_reply(self, plaintext):
        return AESGCM(self.reply_key).encrypt(self.reply_iv, plaintext, self.th1)

    def seal_finish(self, plaintext):
        return AESGCM(self.finish_key).encrypt(self.finish_iv, plaintext, self.th2)


def signed_content(side, role, th, identity, wish):
    """What the `side` ("responder" or "initiator") of a role signs."""
    return keys.PREFIX + side.encode() + b" " + ROLE_NAMES[role] + b"\0" + th + identity + wish


def public_of(seed):
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def sign(seed, content):
    return Ed25519PrivateKey.from_private_bytes(seed).sign(content)


def verify(public, signature, content):
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, content)
    except (InvalidSignature, ValueError):
        raise Refused("signature") from None
