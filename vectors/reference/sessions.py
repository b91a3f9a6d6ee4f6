"""Configurations of handshake ends, running two of them against each other, and forging messages with the right
keys."""

from dataclasses import dataclass, replace

import handshake
import keys
import records
from common import fixed
from handshake import PUBLISHER, VIEWER, Refused, Reply, Secrets
from mechanisms import MECHANISMS
from parties import Initiator, Responder

INVITE = fixed("handshake invite", 16)
CAMERA_SEED, WATCHER_SEED = fixed("camera identity", 32), fixed("watcher identity", 32)
CAMERA, WATCHER = handshake.public_of(CAMERA_SEED), handshake.public_of(WATCHER_SEED)


@dataclass(frozen=True)
class Psk:
    """A pre-shared key and where it is from: an "invite" (its 16 bytes) or an "enrolment" (the key itself)."""
    kind: str
    secret: bytes

    @property
    def key(self):
        return keys.psk_of_invite(self.secret) if self.kind == "invite" else self.secret


INVITED = Psk("invite", INVITE)


def usual_wish(role):
    return handshake.encode_wish(handshake.FRAMES) if role == VIEWER else handshake.NO_WISH


@dataclass
class Config:
    """One end. The name is also where its entropy comes from."""
    name: str
    role: int
    identity_seed: bytes
    suites: list
    mechanisms: list
    share_mechanism: int = None  # the initiator's first guess
    pinned_peer: bytes = None  # the initiator's
    psks: tuple = ()  # what the responder knows; the initiator uses its only one
    cookie: bytes = b""  # what the responder asks for in a retry; empty: no cookie
    wish: bytes = None  # a viewer's

    def __post_init__(self):
        if self.wish is None:
            self.wish = usual_wish(self.role)
        self.random, self.pairs = fixed(f"{self.name} random", 32), []

    def changed(self, **fields):
        return replace(self, **fields)

    def _random(self, what, length):
        return fixed(f"{self.name} {what}", length)

    @property
    def psk(self):
        return self.psks[0].key if self.psks else None

    def key_pair(self, mechanism):
        """A new one for each hello: keys are used once."""
        number = len(self.pairs) + 1
        pair = MECHANISMS[mechanism].key_pair(lambda what, n: self._random(f"hello {number} {what}", n))
        self.pairs.append((number, mechanism, pair))
        return pair

    def encapsulate(self, mechanism, share):
        return MECHANISMS[mechanism].encapsulate(share, self._random)

    def initiator(self):
        self.pairs = []
        return Initiator(self)

    def to_json(self):
        out = {"role": self.role, "wish": self.wish.hex(), "identity_seed": self.identity_seed.hex(),
               "peer_id": handshake.public_of(self.identity_seed).hex(),
               "psks": [{psk.kind: psk.secret.hex()} for psk in self.psks], "suites": self.suites,
               "mechanisms": self.mechanisms, "random": self.random.hex()}
        if self.share_mechanism is None:
            return {**out, "cookie": self.cookie.hex()}
        return {**out, "pinned_peer": self.pinned_peer.hex(), "share_mechanism": self.share_mechanism}


def initiator_config(name, **fields):
    usual = {"role": VIEWER, "identity_seed": WATCHER_SEED, "pinned_peer": CAMERA, "suites": [1, 3],
             "mechanisms": [2, 1, 3], "share_mechanism": 2}
    return Config(name=f"{name} initiator", **{**usual, **fields})


def responder_config(name, **fields):
    usual = {"role": PUBLISHER, "identity_seed": CAMERA_SEED, "suites": [3, 1], "mechanisms": [2, 3],
             "psks": (INVITED,)}
    return Config(name=f"{name} responder", **{**usual, **fields})


def hex_values(mapping):
    return {name: value.hex() for name, value in mapping.items()}


def pairs_json(config):
    return [{"hello": number, "mechanism": mechanism, **hex_values(pair)} for number, mechanism, pair in config.pairs]


class Run:
    """Relays every message between two ends, through `tamper(index, message)`, and keeps what each end saw."""

    def __init__(self, i_config, r_config, tamper=lambda index, message: message):
        self.ends = {"initiator": i_config.initiator(), "responder": Responder(r_config)}
        self.configs = {"initiator": i_config, "responder": r_config}
        self.logs = {"initiator": [], "responder": []}
        self.messages, self.refused_by, self.reason, self.refused_message = [], None, None, None
        sender, message = "initiator", self.ends["initiator"].hello
        while message is not None:
            self.logs[sender].append(("out", message))
            self.messages.append((sender, message))
            receiver = "responder" if sender == "initiator" else "initiator"
            message = tamper(len(self.messages) - 1, message)
            try:
                answer = self.ends[receiver].receive(message)
            except Refused as refused:
                self.refused_by, self.reason, self.refused_message = receiver, str(refused), message
                return
            self.logs[receiver].append(("in", message))
            sender, message = receiver, answer


def log_json(log):
    return [{"direction": direction, "bytes": message.hex()} for direction, message in log]


def case_json(run, side, name, expect, why, message):
    """A case for the end on one `side` of a run: what it saw so far, then `message`."""
    end, config = run.ends[side], run.configs[side]
    case = {"name": name, "expect": expect, "why": why, "receiver": side, "config": config.name,
            "exchange": log_json(run.logs[side]), "message": message.hex()}
    if side == "initiator":
        case["key_pairs"] = pairs_json(config)
    elif end.secrets is not None:
        case["encapsulation"] = hex_values(end.encapsulation)
    return case


def refusal(run, side, name, message, expect, why):
    """The case that the end refuses `message` with reason `expect`; the end is spent afterwards."""
    assert len(message) <= records.MAX_HANDSHAKE_MESSAGE, name
    case = case_json(run, side, name, expect, why, message)
    try:
        run.ends[side].receive(message)
    except Refused as refused:
        assert str(refused) == expect, (name, str(refused), expect)
        return case
    raise AssertionError(f"accepted: {name}")


def stopped(i_config, r_config, before):
    """A run that is stopped just before message number `before` (from 0) is delivered."""
    class Stop(Exception):
        pass

    class Stopping(Run):
        def __init__(self):
            try:
                super().__init__(i_config, r_config, self.tamper)
            except Stop:
                pass

        def tamper(self, index, message):
            if index == before:
                self.pending = message
                raise Stop
            return message

    return Stopping()


def forged_reply(hello, config, fields=None, encapsulation=None, plain=None, psk=INVITED.key):
    """A reply to `hello` by whoever holds `config`'s entropy, with proper keys. `plain(secrets, role)` gives identity
    and signature; `fields` change the head before it is hashed; `encapsulation` replaces the ciphertext and secret;
    `psk` is what the forger takes for the pre-shared key."""
    parsed = handshake.parse_hello(hello)
    e = encapsulation or config.encapsulate(parsed.share_mechanism, parsed.share)
    reply = Reply(config.role, config.random, config.suites[0], parsed.share_mechanism, e["ciphertext"])
    reply = reply.changed(**(fields or {}))
    s = Secrets(handshake.transcript(hello), reply.head(), e["ss"], psk)
    if plain is None:
        plain = signed_reply(config.identity_seed)
    return reply.changed(sealed=s.seal_reply(plain(s))).encode()


def signed_reply(seed, identity=None, side="responder", role=PUBLISHER, content=None,
                 change=lambda signature: signature, wish=handshake.NO_WISH):
    """identity ‖ wish ‖ signature as forged_reply wants it; `wish` is what is sent and, unless `content` says
    otherwise, signed."""
    claimed = identity or handshake.public_of(seed)

    def plain(s):
        signed = content(s, claimed) if content else handshake.signed_content(side, role, s.th1, claimed, wish)
        return claimed + wish + change(handshake.sign(seed, signed))
    return plain


def forged_finish(s, seed, identity=None, side="initiator", role=VIEWER, content=None,
                  change=lambda signature: signature, wish=usual_wish(VIEWER)):
    claimed = identity or handshake.public_of(seed)
    signed = content(s, claimed) if content else handshake.signed_content(side, role, s.th2, claimed, wish)
    return handshake.encode_finish(s.seal_finish(claimed + wish + change(handshake.sign(seed, signed))))
