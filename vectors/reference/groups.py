"""Group keys: the tree, key sheets, a leader and a member (groups.md)."""

import struct
from dataclasses import dataclass, replace

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import handshake
import keys
import records
from suites import SUITES
from words import is_unsafe

KIND, TERMS_KIND, VERSION = 0x20, 0x21, 1
# The flags of a record with a whole keyframe, and of a repair record.
WHOLE, REPAIR = 0x0F, 0xC1
FULL, UPDATE, PATH = 1, 2, 3
ARITY, DEPTH, MAX_MEMBERS = 4, 7, 16_384
MAX_RATCHET, FULL_UP_TO = 64, 256
HEAD = struct.Struct(">BBBBI32s16sQQH")
WRAP = struct.Struct(">I48s")
SHEET_LABEL, TERMS_LABEL = b"sealcast2 key sheet\0", b"sealcast2 group terms\0"
TERMS = struct.Struct(">BBBBI32s16sB")
MAX_NAME, MAX_SIGN, RESERVED = 64, 4, (2, 4)
SIGNATURE = 64
MAX_SHEET = HEAD.size + sum(ARITY**up for up in range(1, DEPTH + 1)) * WRAP.size + SIGNATURE


class Refused(Exception):
    """A refusal; its text is the reason word."""


def node(level, index):
    return level << 24 | index


ROOT = node(DEPTH, 0)


def parent(number):
    return node((number >> 24) + 1, (number & 0xFFFFFF) // ARITY)


def children(number):
    return [node((number >> 24) - 1, (number & 0xFFFFFF) * ARITY + place) for place in range(ARITY)]


def above(number):
    """The nodes above, from the parent to the root."""
    nodes = []
    while number != ROOT:
        number = parent(number)
        nodes.append(number)
    return nodes


@dataclass(frozen=True)
class Group:
    camera: bytes
    stream: int
    run: bytes

    def encode(self):
        return self.camera + self.stream.to_bytes(4, "big") + self.run


def place(epoch, number):
    return epoch.to_bytes(8, "big") + number.to_bytes(4, "big")


def member_key(shared, camera, stream):
    return keys.expand_label(shared, b"group member", camera + stream.to_bytes(4, "big"), 32)


def fresh(seed, group, epoch, number):
    return keys.expand_label(seed, b"group node", group.encode() + place(epoch, number), 32)


def ratchet(secret, group, epoch, number):
    """The secret of a node in `epoch`, from that of the epoch before."""
    return keys.expand_label(secret, b"group ratchet", group.encode() + place(epoch, number), 32)


def ratchet_to(secret, group, number, start, end):
    for epoch in range(start + 1, end + 1):
        secret = ratchet(secret, group, epoch, number)
    return secret


def wrap_key(secret, group):
    return keys.expand_label(secret, b"group wrap", group.encode(), 32)


def wrap(secret, group, epoch, number, of_parent):
    return AESGCM(wrap_key(secret, group)).encrypt(place(epoch, number), of_parent, b"")


def unwrap(secret, group, epoch, number, wrapped):
    """The parent's secret, or None."""
    try:
        return AESGCM(wrap_key(secret, group)).decrypt(place(epoch, number), wrapped, b"")
    except InvalidTag:
        return None


# The stream of the sound beside a group of stream 1.
SOUND = 2


def sound(group):
    """The name under which the keys of a group's sound are derived."""
    return replace(group, stream=SOUND)


def media(secret, group, epoch, suite, use="media"):
    """(key, base) of an epoch's media records, or of the repair records among them."""
    context = bytes([suite.number]) + group.encode() + epoch.to_bytes(8, "big")
    key = keys.expand_label(secret, f"group {use} key".encode(), context, suite.key_len)
    return key, keys.expand_label(secret, f"group {use} base".encode(), context, 8)


def use_of(flags):
    """What the key of a record with these flags is for."""
    return "repair" if flags & records.REPAIR else "media"


def seal(secret, group, epoch, suite, seq, payload, flags=WHOLE):
    """A media record, by default with a whole frame."""
    key, base = media(secret, group, epoch, suite, use_of(flags))
    header = records.Header(records.MEDIA, flags, epoch & 0xFFFF, group.stream, seq, 1_800_000_000_000_000_000).encode()
    return header + suite.seal(key, keys.nonce(suite, base, seq), header, payload)


@dataclass(frozen=True)
class Sheet:
    scope: int
    suite: int
    group: Group
    epoch: int
    effect: int
    wraps: tuple  # of (node, wrapped), in order
    version: int = VERSION
    kind: int = KIND

    def changed(self, **fields):
        return replace(self, **fields)

    def unsigned(self, count=None):
        group = self.group
        head = HEAD.pack(self.kind, self.version, self.scope, self.suite, group.stream, group.camera, group.run,
                         self.epoch, self.effect, len(self.wraps) if count is None else count)
        return head + b"".join(WRAP.pack(*entry) for entry in self.wraps)

    def signed_by(self, seed):
        return signed_by(seed, self.unsigned())


def signed_content(unsigned, label=SHEET_LABEL):
    return label + keys.sha256(unsigned)


def signed_by(seed, unsigned, label=SHEET_LABEL):
    return unsigned + handshake.sign(seed, signed_content(unsigned, label))


def verify(camera, data, label=SHEET_LABEL):
    try:
        handshake.verify(camera, data[-SIGNATURE:], signed_content(data[:-SIGNATURE], label))
    except handshake.Refused:
        raise Refused("signature") from None


def parse(data):
    """The sheet of well-formed bytes; its signature is not verified."""
    if not HEAD.size + SIGNATURE <= len(data) <= MAX_SHEET:
        raise Refused("malformed")
    kind, version, scope, suite, stream, camera, run, epoch, effect, count = HEAD.unpack(data[:HEAD.size])
    body = data[HEAD.size:-SIGNATURE]
    if (kind, version) != (KIND, VERSION) or scope not in (FULL, UPDATE, PATH) or not 1 <= stream <= 15:
        raise Refused("malformed")
    if len(body) != count * WRAP.size:
        raise Refused("malformed")
    wraps = tuple(WRAP.iter_unpack(body))
    numbers = [number for number, _ in wraps]
    if any(later <= earlier for earlier, later in zip(numbers, numbers[1:])):
        raise Refused("malformed")
    for number in numbers:
        level, index = number >> 24, number & 0xFFFFFF
        if level >= DEPTH or index >= ARITY**(DEPTH - level):
            raise Refused("malformed")
        if level < DEPTH - 1 and parent(number) not in numbers:
            raise Refused("malformed")
    return Sheet(scope, suite, Group(camera, stream, run), epoch, effect, wraps)


@dataclass(frozen=True)
class Terms:
    sign: int
    suite: int
    group: Group
    name: bytes = b""
    version: int = VERSION
    kind: int = TERMS_KIND

    def changed(self, **fields):
        return replace(self, **fields)

    def unsigned(self, length=None):
        group = self.group
        return TERMS.pack(self.kind, self.version, self.sign, self.suite, group.stream, group.camera, group.run,
                          len(self.name) if length is None else length) + self.name

    def signed_by(self, seed, label=TERMS_LABEL):
        return signed_by(seed, self.unsigned(), label)


def parse_terms(data):
    """The terms of well-formed bytes; their signature is not verified."""
    if len(data) < TERMS.size + SIGNATURE:
        raise Refused("malformed")
    kind, version, sign, suite, stream, camera, run, length = TERMS.unpack(data[:TERMS.size])
    name = data[TERMS.size:-SIGNATURE]
    if (kind, version) != (TERMS_KIND, VERSION) or sign > MAX_SIGN or not 1 <= stream <= 15:
        raise Refused("malformed")
    if len(name) != length or length > MAX_NAME:
        raise Refused("malformed")
    try:
        letters = name.decode()
    except UnicodeDecodeError:
        raise Refused("malformed") from None
    if any(map(is_unsafe, letters)):
        raise Refused("malformed")
    return Terms(sign, suite, Group(camera, stream, run), name)


class Leader:
    """The tree of a camera. Each change is in force before the next."""

    def __init__(self, seed, stream, suite, run, first, picture_group, entropy):
        self.seed, self.suite = seed, suite
        self.group = Group(handshake.public_of(seed), stream, run)
        self.epoch, self.effect, self.last_sheet = first, picture_group, first
        self.seats, self.keys = {}, {}  # leaf by member, member key by leaf
        self.inner = {ROOT: fresh(entropy, self.group, first, ROOT)}

    def change(self, entropy, next_group, remove=(), admit=(), rekey=False):
        """The next epoch; returns the sheet for everybody or None. `admit` has (member, key), by ascending member."""
        self.epoch, self.effect = self.epoch + 1, max(self.effect, next_group)
        self.inner = {number: ratchet(secret, self.group, self.epoch, number) for number, secret in self.inner.items()}
        touched = set()
        for member in remove:
            leaf = self.seats.pop(member)
            del self.keys[leaf]
            touched.update(above(leaf))
        self.inner = {number: secret for number, secret in self.inner.items()
                      if number == ROOT or any(number in above(leaf) for leaf in self.keys)} if touched else self.inner
        renewed = {number for number in touched if number in self.inner}
        if rekey or self.epoch - self.last_sheet >= MAX_RATCHET:
            renewed.add(ROOT)
        self.inner.update((number, fresh(entropy, self.group, self.epoch, number)) for number in renewed)
        for member, key in admit:
            leaf = next(index for index in range(MAX_MEMBERS) if index not in self.keys)
            self.seats[member], self.keys[leaf] = leaf, key
            for number in above(leaf):
                self.inner.setdefault(number, fresh(entropy, self.group, self.epoch, number))
        if not renewed:
            return None
        self.last_sheet = self.epoch
        return self.full() if len(self.keys) <= FULL_UP_TO else self.sheet(UPDATE, [
            child for number in renewed for child in children(number) if child in self.inner or child in self.keys])

    def sheet(self, scope, numbers):
        def secret(number):
            return self.keys[number] if number in self.keys else self.inner[number]

        wraps = tuple((number, wrap(secret(number), self.group, self.epoch, number, self.inner[parent(number)]))
                      for number in sorted(numbers) if number != ROOT)
        return Sheet(scope, self.suite.number, self.group, self.epoch, self.effect, wraps)

    def full(self):
        return self.sheet(FULL, [*self.keys, *self.inner])

    def path(self, member):
        leaf = self.seats[member]
        return self.sheet(PATH, [leaf, *above(leaf)])

    def signed(self, sheet):
        return sheet.signed_by(self.seed)

    def record(self, seq=0, payload=b"picture", flags=WHOLE):
        return seal(self.inner[ROOT], self.group, self.epoch, self.suite, seq, payload, flags)


class Member:
    """Takes terms and sheets; `opens` tells what it makes of a record, without a replay window."""

    def __init__(self, camera, stream, accepted, key, name=b""):
        self.camera, self.stream, self.accepted, self.key, self.name = camera, stream, accepted, key, name
        self.terms, self.next = None, None
        self.last, self.leaf, self.path = None, None, {}

    def check_group(self, group):
        if group.camera != self.camera:
            raise Refused("wrong-camera")
        if group.stream != self.stream:
            raise Refused("wrong-stream")

    def agree(self, data):
        terms = parse_terms(data)
        self.check_group(terms.group)
        if self.name and terms.name != self.name:
            raise Refused("wrong-name")
        verify(self.camera, data, TERMS_LABEL)
        if terms.sign in RESERVED:
            raise Refused("sign")
        if terms.suite not in self.accepted:
            raise Refused("suite")
        known = self.terms_of(terms.group.run)
        if known and known != terms:
            raise Refused("changed")
        self.next = self.next if known else terms

    def terms_of(self, run):
        return next((terms for terms in (self.terms, self.next) if terms and terms.group.run == run), None)

    def take(self, data):
        sheet = parse(data)
        group = sheet.group
        self.check_group(group)
        verify(self.camera, data)
        terms = self.terms_of(group.run)
        if terms is None:
            raise Refused("wrong-run")
        if sheet.suite != terms.suite:
            raise Refused("suite")
        if self.last and sheet.epoch <= self.last.epoch:
            raise Refused("stale")
        if self.last and group.run == self.last.group.run and sheet.effect < self.last.effect:
            raise Refused("backwards")
        leaf, path = self.update(sheet) if sheet.scope == UPDATE else self.from_leaf(sheet)
        self.last, self.leaf, self.path = sheet, leaf, path
        if terms is self.next:
            self.terms, self.next = terms, None

    def from_leaf(self, sheet):
        for number, wrapped in sheet.wraps:
            if number >> 24 == 0:
                secret = unwrap(self.key, sheet.group, sheet.epoch, number, wrapped)
                if secret:
                    return number, self.climb(sheet, {parent(number): secret}, parent(number))
        raise Refused("no-slot")

    def update(self, sheet):
        if not self.last or sheet.group.run != self.last.group.run or sheet.epoch - self.last.epoch > MAX_RATCHET:
            raise Refused("missed")
        wraps, below, path = dict(sheet.wraps), self.leaf, {}
        for number in above(self.leaf):
            if any(child in wraps for child in children(number)):
                break
            path[number] = ratchet_to(self.path[number], sheet.group, number, self.last.epoch, sheet.epoch)
            below = number
        else:
            raise Refused("no-slot")
        if below not in wraps:
            raise Refused("no-slot")
        secret = unwrap(path.get(below, self.key), sheet.group, sheet.epoch, below, wraps[below])
        if secret is None:
            raise Refused("unopened")
        path[parent(below)] = secret
        return self.leaf, self.climb(sheet, path, parent(below))

    @staticmethod
    def climb(sheet, path, number):
        wraps = dict(sheet.wraps)
        while number != ROOT:
            secret = unwrap(path[number], sheet.group, sheet.epoch, number, wraps[number])
            if secret is None:
                raise Refused("unopened")
            number = parent(number)
            path[number] = secret
        return path

    def opens(self, record):
        """(epoch, payload) of a record of the last sheet's epoch or a later one."""
        header = records.parse(record, group=True)
        if self.last is None or header.stream != self.stream:
            raise Refused("unknown-epoch")
        steps = (header.epoch - self.last.epoch) & 0xFFFF
        if steps > MAX_RATCHET:
            raise Refused("unknown-epoch")
        epoch, group, suite = self.last.epoch + steps, self.last.group, SUITES[self.last.suite]
        secret = ratchet_to(self.path[ROOT], group, ROOT, self.last.epoch, epoch)
        key, base = media(secret, group, epoch, suite, use_of(header.flags))
        head, sealed = record[:records.HEADER.size], record[records.HEADER.size:]
        payload = suite.open(key, keys.nonce(suite, base, header.seq), head, sealed)
        if payload is None:
            raise Refused("tag")
        return epoch, payload
