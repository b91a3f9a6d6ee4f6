"""The two ends as state machines, with their entropy given. They check in the order that keys.md section 4 writes
down."""

import hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import ed25519
import handshake
import keys
from handshake import Hello, Refused, Reply, Secrets
from mechanisms import MECHANISMS, Bad
from suites import SUITES


def _open(key, iv, aad, sealed):
    try:
        return AESGCM(key).decrypt(iv, sealed, aad)
    except InvalidTag:
        raise Refused("sealed") from None


def _refuse_alert(message):
    if message in handshake.ALERTS:
        raise Refused(handshake.ALERTS[message])


class Initiator:
    """config: role, wish, identity_seed, pinned_peer, psk (or None), suites, mechanisms, share_mechanism, random,
    random_for (a function of a mechanism's choices, see mechanisms.py)."""

    def __init__(self, config):
        self.c = config
        self.identity = handshake.public_of(config.identity_seed)
        self.retry = self.second_hello = self.secrets = None
        self.hello = self._make_hello(config.share_mechanism, b"")

    def _make_hello(self, mechanism, cookie):
        self.share_mechanism, self.pair = mechanism, self.c.key_pair(mechanism)
        hello = Hello(self.c.role, self.c.random, bytes(self.c.suites), bytes(self.c.mechanisms), mechanism,
                      self.pair["share"], cookie)
        return handshake.bound(hello.encode(), self.c.pinned_peer, self.c.psk)

    def receive(self, message):
        """The next message to send; Refused with the reason word."""
        _refuse_alert(message)
        if message[:1] == bytes([handshake.RETRY]):
            return self._on_retry(message)
        return self._on_reply(message)

    def _on_retry(self, message):
        version, mechanism, cookie = handshake.parse_retry(message)
        if version != handshake.VERSION:
            raise Refused("version")
        if self.retry is not None:
            raise Refused("retry")
        if mechanism not in self.c.mechanisms:
            raise Refused("not-offered")
        if mechanism == self.share_mechanism and not cookie:
            raise Refused("retry")
        self.retry = message
        self.second_hello = self._make_hello(mechanism, cookie)
        return self.second_hello

    def _on_reply(self, message):
        reply = handshake.parse_reply(message)
        if reply.version != handshake.VERSION:
            raise Refused("version")
        if reply.role != 3 - self.c.role:
            raise Refused("role")
        if reply.suite not in self.c.suites or reply.mechanism != self.share_mechanism:
            raise Refused("not-offered")
        try:
            ss = MECHANISMS[reply.mechanism].decapsulate(self.pair, reply.ciphertext)
        except Bad:
            raise Refused("share") from None
        s = Secrets(handshake.transcript(self.hello, self.retry, self.second_hello), reply.head(), ss, self.c.psk)
        plain = _open(s.reply_key, s.reply_iv, s.th1, reply.sealed)
        identity, wish, signature = handshake.split_sealed(plain)
        if identity != self.c.pinned_peer:
            raise Refused("wrong-peer")
        if identity == self.identity:
            raise Refused("own-identity")
        content = handshake.signed_content("responder", reply.role, s.th1, identity, wish)
        handshake.verify(identity, signature, content)
        handshake.check_wish(reply.role, wish)
        self.peer_wish = wish
        self.secrets, self.suite = s, reply.suite
        s.with_reply(message)
        return self._make_finish()

    def _make_finish(self):
        s = self.secrets
        self.signed = handshake.signed_content("initiator", self.c.role, s.th2, self.identity, self.c.wish)
        self.signature = handshake.sign(self.c.identity_seed, self.signed)
        finish = handshake.encode_finish(s.seal_finish(self.identity + self.c.wish + self.signature))
        s.with_finish(finish)
        return finish


class Responder:
    """config: role, wish, identity_seed, psks (what it knows), suites, mechanisms, random, cookie (empty: none wanted),
    random_for."""

    def __init__(self, config):
        self.c = config
        self.identity = handshake.public_of(config.identity_seed)
        self.hello = self.first = self.retry = self.retry_mechanism = self.secrets = None

    def receive(self, message):
        """The next message to send, or None after the finish; Refused with the reason word."""
        if self.hello is not None:
            _refuse_alert(message)
        if self.secrets is not None:
            return self._on_finish(message)
        return self._on_hello(message)

    def _on_hello(self, message):
        expected = keys.mac(self.identity, message[:-handshake.MAC_LEN])
        if not hmac.compare_digest(message[-handshake.MAC_LEN:], expected):
            raise Refused("mac")
        hello = handshake.parse_hello(message)
        if self.retry is None and hello.cookie:
            raise Refused("malformed")  # empty in a first hello
        if hello.version != handshake.VERSION:
            raise Refused("version")
        if hello.role != 3 - self.c.role:
            raise Refused("role")
        psk = self._find_psk(message, hello.binder)
        if self.retry is not None:
            return self._on_second_hello(message, hello, psk)
        mechanism = next((m for m in self.c.mechanisms if m in hello.mechanisms), None)
        if mechanism is None:
            raise Refused("no-common-mechanism")
        if not any(s in hello.suites for s in self.c.suites):
            raise Refused("no-common-suite")
        self.hello, self.first, self.psk = message, hello, psk
        if mechanism != hello.share_mechanism or self.c.cookie:
            self.retry_mechanism = mechanism
            self.retry = handshake.encode_retry(mechanism, self.c.cookie)
            return self.retry
        return self._make_reply(hello, handshake.transcript(message))

    def _find_psk(self, message, binder):
        if binder == handshake.NO_BINDER:
            return None
        for psk in self.c.psks:
            expected = keys.binder(keys.early_secret(psk.key), self.identity, message[:-2 * handshake.MAC_LEN])
            if hmac.compare_digest(binder, expected):
                return psk.key
        raise Refused("psk")

    def _on_second_hello(self, message, hello, psk):
        same = all(getattr(hello, name) == getattr(self.first, name)
                   for name in ("role", "random", "suites", "mechanisms"))
        same = same and psk == self.psk
        if not same or hello.share_mechanism != self.retry_mechanism or hello.cookie != self.c.cookie:
            raise Refused("retry")
        return self._make_reply(hello, handshake.transcript(self.hello, self.retry, message))

    def _make_reply(self, hello, transcript):
        suite = next(s for s in self.c.suites if s in hello.suites)
        try:
            self.encapsulation = self.c.encapsulate(hello.share_mechanism, hello.share)
        except Bad:
            raise Refused("share") from None
        reply = Reply(self.c.role, self.c.random, suite, hello.share_mechanism, self.encapsulation["ciphertext"])
        s = Secrets(transcript, reply.head(), self.encapsulation["ss"], self.psk)
        self.signed = handshake.signed_content("responder", self.c.role, s.th1, self.identity, self.c.wish)
        self.signature = handshake.sign(self.c.identity_seed, self.signed)
        reply.sealed = s.seal_reply(self.identity + self.c.wish + self.signature)
        self.secrets, self.suite = s, SUITES[suite]
        s.with_reply(reply.encode())
        return reply.encode()

    def _on_finish(self, message):
        s = self.secrets
        sealed = handshake.parse_finish(message)
        plain = _open(s.finish_key, s.finish_iv, s.th2, sealed)
        identity, wish, signature = handshake.split_sealed(plain)
        if not ed25519.is_peer_id(identity):
            raise Refused("identity")
        if identity == self.identity:
            raise Refused("own-identity")
        content = handshake.signed_content("initiator", 3 - self.c.role, s.th2, identity, wish)
        handshake.verify(identity, signature, content)
        handshake.check_wish(3 - self.c.role, wish)
        self.peer_wish = wish
        s.with_finish(message)
        return None
