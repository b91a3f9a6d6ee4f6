"""Source signatures and liveness, from docs/spec/signatures.md."""

from dataclasses import dataclass, replace

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA65PrivateKey, MLDSA65PublicKey
from dilithium_py.ml_dsa import ML_DSA_65

import handshake
import keys
from control import Malformed, Reader

VERSION = b"\x01"
MAX_FRAME_RECORDS = 1 << 20
MAX_PART_FRAMES = 256
MAX_CHALLENGERS = 16_384
NO_ROOT = bytes(32)
GOP_KEY, GOP_SIGNATURE = 1952, 3309
FRAME, GOP = b"sealcast2 frame\0", b"sealcast2 gop\0"
KEY, KEY_ID = b"sealcast2 gop key\0", b"sealcast2 gop key id\0"
CHALLENGE = b"sealcast2 challenge\0"


class Refused(Exception):
    """A refusal; its text is the reason word."""


def _need(condition, word=None):
    if not condition:
        raise Malformed if word is None else Refused(word)


def uint(value, length):
    return value.to_bytes(length, "big")


# Section 1.

def record_hash(record):
    return keys.sha256(b"\0" + record)


def digest(records):
    return keys.sha256(b"sealcast2 records\0" + b"".join(map(record_hash, records)) + uint(len(records), 4))


# Trees: RFC 9162, sections 2.1.1, 2.1.3.1 and 2.1.3.2.

def leaf(content):
    return keys.sha256(b"\0" + content)


def _split(count):
    """The largest power of two below count."""
    return 1 << (count - 1).bit_length() - 1


def tree_root(leaves):
    if len(leaves) == 1:
        return leaves[0]
    half = _split(len(leaves))
    return keys.sha256(b"\1" + tree_root(leaves[:half]) + tree_root(leaves[half:]))


def tree_path(index, leaves):
    if len(leaves) == 1:
        return []
    half = _split(len(leaves))
    if index < half:
        return tree_path(index, leaves[:half]) + [tree_root(leaves[half:])]
    return tree_path(index - half, leaves[half:]) + [tree_root(leaves[:half])]


def path_root(leaf_hash, index, count, path):
    """The root that a path leads to; None where a path has another length."""
    if count == 1:
        return leaf_hash if not path else None
    if not path:
        return None
    half = _split(count)
    if index < half:
        left, right = path_root(leaf_hash, index, half, path[:-1]), path[-1]
    else:
        left, right = path[-1], path_root(leaf_hash, index - half, count - half, path[:-1])
    return None if left is None or right is None else keys.sha256(b"\1" + left + right)


def path_length(index, count):
    if count == 1:
        return 0
    half = _split(count)
    return 1 + (path_length(index, half) if index < half else path_length(index - half, count - half))


# Sections 2 and 3.

@dataclass
class Statement:
    stream: int
    index: int
    epoch: int
    group: int
    frame: int
    records: int
    digest: bytes
    liveness: bytes = NO_ROOT

    def encode(self):
        return (VERSION + bytes([self.index == 0]) + uint(self.stream, 2) + uint(self.index, 4) + uint(self.epoch, 8)
                + uint(self.group, 8) + uint(self.frame, 8) + uint(self.records, 4) + self.digest + self.liveness)

    def signed(self):
        return FRAME + self.encode()

    def leaf(self):
        return leaf(self.signed())

    def changed(self, **fields):
        return replace(self, **fields)


def proof(statement, seed=None, check=None):
    """The frame's proof, signed where there is a seed."""
    live = b"" if statement.liveness == NO_ROOT else statement.liveness
    signature = b"" if seed is None else handshake.sign(seed, statement.signed())
    form = bool(signature) | bool(live) << 1
    return (VERSION + bytes([form]) + uint(statement.index, 4) + uint(statement.records, 4) + uint(statement.epoch, 8)
            + uint(statement.group, 8) + uint(statement.frame, 8) + (check or statement.digest[:4]) + live + signature)


def _parsed(data, read):
    reader = Reader(data)
    _need(reader.take(1) == VERSION)
    fields = read(reader)
    reader.end()
    return fields


def parse_proof(data):
    def read(reader):
        form = reader.uint(1)
        _need(form < 4)
        fields = {name: reader.uint(length) for name, length in
                  (("index", 4), ("records", 4), ("epoch", 8), ("group", 8), ("frame", 8))}
        fields["check"] = reader.take(4)
        fields["liveness"] = reader.take(32) if form & 2 else None
        fields["signature"] = reader.take(64) if form & 1 else None
        _need(1 <= fields["records"] <= MAX_FRAME_RECORDS and fields["liveness"] != NO_ROOT)
        return fields
    return _parsed(data, read)


# Section 4.

# Packets of this stream need nothing before them.
SOUND = 2


class Verifier:
    def __init__(self, camera, stream):
        self.camera, self.stream, self.last = camera, stream, None

    def verify(self, records, stream, epoch, data):
        _need(data is not None, "unsigned")
        try:
            fields = parse_proof(data)
        except Malformed:
            raise Refused("malformed") from None
        _need(fields["signature"] is not None, "unsigned")
        last, statement = self.last, Statement(
            stream, *(fields[name] for name in ("index", "epoch", "group", "frame")), len(records), digest(records),
            fields["liveness"] or NO_ROOT)
        _need(stream == self.stream, "stream")
        _need(statement.epoch == epoch and (last is None or epoch >= last.epoch), "epoch")
        _need(fields["records"] == len(records), "records")
        _need(fields["check"] == statement.digest[:4], "digest")
        _need(last is None or epoch > last.epoch or statement.frame > last.frame, "order")
        if stream == SOUND:
            _need(last is None or (statement.group, statement.index) > (last.group, last.index), "group")
        elif statement.index == 0:
            _need(last is None or statement.group > last.group, "group")
        else:
            _need(last is not None and statement.group == last.group and statement.index > last.index, "group")
        handshake.verify(self.camera, fields["signature"], statement.signed())
        self.last = statement


# Section 5.

def gop_seed(identity_seed):
    return keys.expand_label(keys.extract(b"sealcast2 gop key", identity_seed), b"ml-dsa-65", b"", 32)


def gop_key(seed):
    return MLDSA65PrivateKey.from_seed_bytes(seed).public_key().public_bytes_raw()


def gop_sign(seed, content):
    """Deterministic (FIPS 204, section 3.4), so that vectors can be written again."""
    _, secret = ML_DSA_65.key_derive(seed)
    return ML_DSA_65.sign(secret, content, deterministic=True)


def gop_verify(key, signature, content):
    try:
        MLDSA65PublicKey.from_public_bytes(key).verify(signature, content)
    except InvalidSignature:
        raise Refused("signature") from None


def key_id(key):
    return keys.sha256(KEY_ID + key)


def certificate(identity_seed, key):
    return VERSION + key + handshake.sign(identity_seed, KEY + key)


def verify_certificate(data, camera, pinned=None):
    def read(reader):
        return reader.take(GOP_KEY), reader.take(64)
    try:
        key, signature = _parsed(data, read)
    except Malformed:
        raise Refused("malformed") from None
    _need(pinned is None or key_id(key) == pinned, "pinned")
    handshake.verify(camera, signature, KEY + key)
    return key


def gop_head(stream, count, first, group, previous):
    return VERSION + uint(stream, 2) + uint(count, 2) + uint(first, 4) + uint(group, 8) + previous


def gop_content(camera, head, leaves):
    return GOP + camera + head + tree_root(leaves)


def parse_gop(data):
    def read(reader):
        stream, count, first, group = reader.uint(2), reader.uint(2), reader.uint(4), reader.uint(8)
        previous, signature = reader.take(32), reader.take(GOP_SIGNATURE)
        _need(1 <= stream <= 15 and 1 <= count <= MAX_PART_FRAMES and first % MAX_PART_FRAMES == 0)
        return stream, count, first, group, previous, signature, [reader.take(32) for _ in range(count)]
    return _parsed(data, read)


def judge_gop(data, camera, key, stream, taken):
    """(outcome, indexes) for a message and the frames that were taken, {index: leaf}."""
    try:
        its_stream, count, first, group, previous, signature, leaves = parse_gop(data)
    except Malformed:
        raise Refused("malformed") from None
    _need(its_stream == stream, "stream")
    gop_verify(key, signature, gop_content(camera, gop_head(its_stream, count, first, group, previous), leaves))
    forged = [index for index, its_leaf in sorted(taken.items())
              if index - first >= count or leaves[index - first] != its_leaf]
    if forged:
        return "forged", forged
    missing = [first + at for at in range(count) if first + at not in taken]
    return ("incomplete", missing) if missing else ("proven", [])


# Section 6.

def challenge_leaf(challenge):
    return leaf(CHALLENGE + challenge)


def answers(challenges):
    """(root, the answer to each)."""
    leaves = [challenge_leaf(challenge) for challenge in challenges]
    return tree_root(leaves), [
        VERSION + challenge[:4] + uint(len(leaves), 2) + uint(index, 2) + b"".join(tree_path(index, leaves))
        for index, challenge in enumerate(challenges)]


def parse_answer(data):
    def read(reader):
        name, count, index = reader.take(4), reader.uint(2), reader.uint(2)
        _need(index < count <= MAX_CHALLENGERS)
        return name, count, index, [reader.take(32) for _ in range(path_length(index, count))]
    return _parsed(data, read)


def answer_root(data, challenge):
    _, count, index, path = parse_answer(data)
    return path_root(challenge_leaf(challenge), index, count, path)
