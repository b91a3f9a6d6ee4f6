"""vectors/signatures.json"""

import handshake
import signatures as sig
from common import check_names, fixed, flip
from control import Malformed
from signatures import SOUND, Refused, Statement, Verifier, uint

SEED, OTHER = fixed("camera", 32), fixed("other camera", 32)
CAMERA = handshake.public_of(SEED)
EPOCH, GROUP, STREAM = 70_000, 1_790_000_000_000_000_000, 3


def _records(name, count):
    """Bytes of the form of sealed records: a signature does not ask what is in them."""
    return [fixed(f"{name}, record {at}", 40 + 7 * at) for at in range(count)]


def _hex(value):
    if isinstance(value, bytes):
        return value.hex()
    return [_hex(item) for item in value] if isinstance(value, list) else value


def _json(**fields):
    return {name: _hex(value) for name, value in fields.items()}


class Camera:
    """Statements one after the other, as the page numbers them."""

    def __init__(self, seed=SEED, first_group=GROUP, stream=STREAM):
        self.stream, self.seed, self.group, self.index = stream, seed, first_group - 1, -1
        self.frames = []

    def frame(self, number, keyframe=False, epoch=EPOCH, records=None, liveness=sig.NO_ROOT):
        self.group, self.index = (self.group + 1, 0) if keyframe else (self.group, self.index + 1)
        records = records or _records(f"frame {number} of group {self.group}", 1 + number % 3)
        statement = Statement(self.stream, self.index, epoch, self.group, number, len(records), sig.digest(records),
                              liveness)
        self.frames.append((records, statement, sig.proof(statement, self.seed)))
        return self.frames[-1]

    def run(self, first, count, epoch=EPOCH):
        return [self.frame(first + at, at == 0, epoch) for at in range(count)]


def _signer(name, camera):
    frames = [_json(epoch=statement.epoch, frame=statement.frame, keyframe=statement.index == 0,
                    liveness=None if statement.liveness == sig.NO_ROOT else statement.liveness, records=records,
                    digest=statement.digest, statement=statement.encode(), leaf=statement.leaf(), proof=proof)
              for records, statement, proof in camera.frames]
    statements = [statement for _, statement, _ in camera.frames]
    parts, part, previous = [], [], bytes(32)
    for at, statement in enumerate(statements):
        part.append(statement)
        following = statements[at + 1].index if at + 1 < len(statements) else 0
        if following == 0 or len(part) == sig.MAX_PART_FRAMES:
            leaves = [one.leaf() for one in part]
            head = sig.gop_head(STREAM, len(part), part[0].index, part[0].group, previous)
            parts.append(_json(content=sig.gop_content(handshake.public_of(camera.seed), head, leaves)))
            part, previous = [], sig.tree_root(leaves)
    return {"name": name, "expect": "ok", **_json(seed=camera.seed, camera=handshake.public_of(camera.seed),
            stream=STREAM, first_group=statements[0].group), "frames": frames, "parts": parts}


def signers():
    camera = Camera()
    camera.run(0, 4)
    camera.frame(9, liveness=fixed("root", 32))
    camera.frame(10, epoch=EPOCH + 1)
    camera.frame(11, keyframe=True, epoch=EPOCH + 1, liveness=fixed("another root", 32))
    again = Camera(first_group=GROUP + 10)
    again.run(0, 2, epoch=EPOCH + 2)
    return check_names([_signer("frames and groups are signed", camera),
                        _signer("frames of a camera that started again", again)])


def proofs():
    statement = Camera().frame(0, keyframe=True)[1]
    live = statement.changed(liveness=fixed("root", 32))
    ok = [("signed", sig.proof(statement, SEED)), ("signed, with a root", sig.proof(live, SEED)),
          ("not signed", sig.proof(statement)), ("not signed, with a root", sig.proof(live)),
          ("largest numbers", sig.proof(Statement(STREAM, 2**32 - 1, *[2**64 - 1] * 3, 1 << 20, b"\xff" * 32), SEED))]
    good = ok[0][1]
    bad = [("empty", b"", "No fields."), ("cut by a byte", good[:-1], "A field is short."),
           ("a byte more", good + b"\0", "Nothing may be left."),
           ("version 2", b"\2" + good[1:], "There is version 1."),
           ("unknown form", good[:1] + b"\11" + good[2:], "Two bits are known."),
           ("a form that is reserved", ok[2][1][:1] + b"\4" + ok[2][1][2:] + fixed("tag", 52), "Two bits are known."),
           ("form without the signature that follows", good[:1] + b"\0" + good[2:], "Nothing may be left."),
           ("a root of zeros", ok[3][1][:38] + bytes(32), "A root of zeros is not written."),
           ("no records", good[:6] + bytes(4) + good[10:], "A frame has records."),
           ("too many records", good[:6] + uint((1 << 20) + 1, 4) + good[10:], "At most 2^20.")]
    cases = [{"name": name, "expect": "ok", **_json(bytes=data, **sig.parse_proof(data))} for name, data in ok]
    return check_names(cases + _malformed(bad, sig.parse_proof))


def _malformed(rows, parse):
    cases = []
    for name, data, why in rows:
        try:
            parse(data)
        except Malformed:
            cases.append({"name": name, "expect": "malformed", "why": why, "bytes": data.hex()})
        else:
            raise AssertionError(f"accepted: {name}")
    return cases


def _step(verifier, records, proof, stream=STREAM, epoch=EPOCH):
    try:
        verifier.verify(records, stream, epoch, proof)
        expect = "ok"
    except Refused as refused:
        expect = str(refused)
    except handshake.Refused:
        expect = "signature"
    return {"expect": expect, **_json(stream=stream, epoch=epoch, records=records, proof=proof)}


def _reasons():
    """Each reason once, then the frame itself: (steps, expected)."""
    camera, verifier = Camera(), Verifier(CAMERA, STREAM)
    first, second = camera.run(0, 3), camera.run(3, 2)
    records, statement, proof = first[1]
    unsigned = sig.proof(statement)
    fit = sig.proof(statement, SEED, check=sig.digest(first[2][0][:2])[:4])
    rows = [
        (first[1][0], proof, {}), (first[0][0], first[0][2], {}), (records, None, {}), (records, unsigned, {}),
        (records, proof[:-1], {}), (records, proof, {"stream": 4}), (records, proof, {"epoch": EPOCH + 65_536}),
        (records[:1], proof, {}), (records + _records("added", 1), proof, {}), (records[::-1], proof, {}),
        ([flip(records[0], 30)] + records[1:], proof, {}), (first[0][0], first[0][2], {}), (first[2][0][:2], fit, {}),
        (records, flip(proof, 50), {}), (records, sig.proof(statement, OTHER), {}),
        (second[1][0], second[1][2], {}), (records, proof, {}), (second[0][0], second[0][2], {}),
        (first[2][0], first[2][2], {}), (second[1][0], second[1][2], {}),
    ]
    expected = ["group", "ok", "unsigned", "unsigned", "malformed", "stream", "epoch", "records", "records", "digest",
                "digest", "order", "signature", "signature", "signature", "group", "ok", "ok", "order", "ok"]
    return [_step(verifier, records, proof, **more) for records, proof, more in rows], expected


def _swapped_fields():
    """A statement that the camera never made, with its signature of another."""
    verifier = Verifier(CAMERA, STREAM)
    camera = Camera()
    keyframe, (records, statement, proof) = camera.run(0, 2)
    signature = proof[-64:]
    steps = [_step(verifier, *keyframe[::2])]
    for changed in ({"frame": 7}, {"index": 2}, {"liveness": fixed("root", 32)}):
        steps.append(_step(verifier, records, sig.proof(statement.changed(**changed), SEED)[:-64] + signature))
    return steps, ["ok", "signature", "signature", "signature"]


def _epochs():
    verifier, camera = Verifier(CAMERA, STREAM), Camera()
    before, after = camera.run(90, 2), camera.run(0, 2, EPOCH + 1)
    steps = [_step(verifier, *before[0][::2]), _step(verifier, *after[0][::2], epoch=EPOCH + 1),
             _step(verifier, *before[1][::2]), _step(verifier, *after[1][::2], epoch=EPOCH),
             _step(verifier, *after[1][::2], epoch=EPOCH + 1)]
    return steps, ["ok", "ok", "epoch", "epoch", "ok"]


def _sound():
    """Packets of sound: the first that comes may be any, and a gap costs nothing."""
    camera, verifier = Camera(stream=SOUND), Verifier(CAMERA, SOUND)
    first, second = camera.run(0, 5), camera.run(5, 3)
    order = [first[1], first[2], first[4], first[3], first[4], second[1], second[0], first[0], second[2]]
    steps = [_step(verifier, *packet[::2], stream=SOUND) for packet in order]
    return steps, ["ok", "ok", "ok", "order", "order", "ok", "order", "order", "ok"]


def _sound_regrouped():
    """What goes back within or between groups of pictures, in a later epoch."""
    camera, verifier = Camera(stream=SOUND), Verifier(CAMERA, SOUND)
    first, second = camera.run(0, 3), camera.run(3, 3)
    again = Camera(stream=SOUND)
    back = again.run(10, 4, EPOCH + 1)
    steps = [_step(verifier, *first[0][::2], stream=SOUND), _step(verifier, *second[1][::2], stream=SOUND),
             _step(verifier, *back[3][::2], stream=SOUND, epoch=EPOCH + 1),
             _step(verifier, *second[2][::2], stream=SOUND)]
    return steps, ["ok", "ok", "group", "ok"]


def sequences():
    cases = []
    for name, (steps, expected), why, stream in (
            ("every reason", _reasons(), "Refused frames change nothing.", STREAM),
            ("numbers that were not signed", _swapped_fields(), "The signature covers every number.", STREAM),
            ("a camera starts again in its next epoch", _epochs(), "An epoch that is over does not come again.",
             STREAM),
            ("sound with gaps, and out of order", _sound(), "Sound needs nothing before it.", SOUND),
            ("sound of an earlier group of pictures", _sound_regrouped(), "Groups do not go back.", SOUND)):
        assert [step["expect"] for step in steps] == expected, name
        cases.append({"name": name, "expect": "mixed", "why": why, **_json(camera=CAMERA, stream=stream),
                      "steps": steps})
    return check_names(cases)


def keys_and_certificates():
    key, other = (sig.gop_key(sig.gop_seed(seed)) for seed in (SEED, OTHER))
    good = sig.certificate(SEED, key)
    rows = [("without a pin", good, CAMERA, None, "ok", None), ("pinned", good, CAMERA, sig.key_id(key), "ok", None),
            ("another pin", good, CAMERA, sig.key_id(other), "pinned", "Another key is known of this camera."),
            ("another camera's", good, handshake.public_of(OTHER), None, "signature", "It did not sign this."),
            ("the other's key", good[:1] + other + good[-64:], CAMERA, None, "signature", "The key is covered."),
            ("altered signature", flip(good, 2000), CAMERA, None, "signature", "It does not verify."),
            ("cut by a byte", good[:-1], CAMERA, None, "malformed", "A field is short."),
            ("a byte more", good + b"\0", CAMERA, None, "malformed", "Nothing may be left."),
            ("version 0", flip(good, 0), CAMERA, None, "malformed", "There is version 1.")]
    cases = []
    for name, data, camera, pinned, expect, why in rows:
        try:
            sig.verify_certificate(data, camera, pinned)
            outcome = "ok"
        except (Refused, handshake.Refused) as refused:
            outcome = str(refused)
        assert outcome == expect, name
        case = {"name": name, "expect": expect, **_json(bytes=data, camera=camera, pinned=pinned)}
        cases.append(case if why is None else case | {"why": why})
    pair = {"name": "derived", "expect": "ok", **_json(identity_seed=SEED, seed=sig.gop_seed(SEED), key=key,
            key_id=sig.key_id(key), certificate=good)}
    return [pair], check_names(cases)


def _gop_rows(statements, message, tail):
    """(name, taken, message, expected outcome, indexes, why)"""
    all_taken = dict(enumerate(statements))
    forged = statements[2].changed(liveness=fixed("root", 32))
    some = {0: statements[0], 3: statements[3]}
    return [
        ("all frames taken", all_taken, message, "proven", [], None),
        ("frames lost", some, message, "incomplete", [1, 2, 4], None),
        ("no frame taken", {}, message, "incomplete", [0, 1, 2, 3, 4], None),
        ("a forged frame", all_taken | {2: forged}, message, "forged", [2], None),
        ("a frame beyond the end", all_taken | {5: statements[4].changed(index=5)}, message, "forged", [5], None),
        ("the second part of a long group", {256: tail[1][256]}, tail[0], "incomplete", [257], None),
        ("a leaf replaced", all_taken, message[:-32] + forged.leaf(), "signature", [], "The root is another."),
        ("leaves swapped", all_taken, message[:-64] + message[-32:] + message[-64:-32], "signature", [], "In order."),
        ("altered signature", all_taken, flip(message, 1000), "signature", [], "ML-DSA does not verify."),
        ("another group", all_taken, flip(message, 16), "signature", [], "The number is covered."),
        ("another previous root", all_taken, flip(message, 20), "signature", [], "It is covered."),
        ("stream 2", all_taken, flip(message, 2), "stream", [], "It is for stream 3."),
        ("stream 0", all_taken, message[:2] + b"\0" + message[3:], "malformed", [], "1 to 15."),
        ("count too high", all_taken, flip(message, 4), "malformed", [], "There are other leaves."),
        ("257 frames", all_taken, message[:3] + uint(257, 2) + message[5:], "malformed", [], "At most 256."),
        ("no frames", all_taken, message[:3] + bytes(2) + message[5:-160], "malformed", [], "At least 1."),
        ("first within a part", all_taken, flip(message, 8), "malformed", [], "A multiple of 256."),
        ("cut by a byte", all_taken, message[:-1], "malformed", [], "A field is short."),
        ("a byte more", all_taken, message + b"\0", "malformed", [], "Nothing may be left."),
        ("version 0", all_taken, flip(message, 0), "malformed", [], "There is version 1."),
    ]


def _gop_message(statements, first, previous):
    leaves = [statement.leaf() for statement in statements]
    head = sig.gop_head(STREAM, len(leaves), first, statements[0].group, previous)
    signature = sig.gop_sign(sig.gop_seed(SEED), sig.gop_content(CAMERA, head, leaves))
    return head + signature + b"".join(leaves)


def gops():
    key = sig.gop_key(sig.gop_seed(SEED))
    camera = Camera()
    records = {statement.leaf(): records for records, statement, _ in camera.run(0, 5)}
    statements = [statement for _, statement, _ in camera.frames]
    late = {256 + at: statements[at].changed(index=256 + at, frame=300 + at) for at in range(2)}
    tail = _gop_message(list(late.values()), 256, fixed("previous root", 32)), late
    cases = []
    for name, taken, message, expect, indexes, why in _gop_rows(
            statements, _gop_message(statements, 0, bytes(32)), tail):
        leaves = {index: statement.leaf() for index, statement in taken.items()}
        try:
            outcome = sig.judge_gop(message, CAMERA, key, STREAM, leaves)
        except Refused as refused:
            outcome = str(refused), []
        assert outcome == (expect, indexes), name
        rows = [_json(index=one.index, epoch=one.epoch, group=one.group, frame=one.frame,
                      liveness=None if one.liveness == sig.NO_ROOT else one.liveness,
                      records=records[statements[index % 256 if index != 5 else 4].leaf()])
                for index, one in taken.items()]
        verdict = expect if why is None else None
        case = {"name": name, "expect": "ok" if verdict else expect, **_json(outcome=verdict, camera=CAMERA,
                certificate=sig.certificate(SEED, key), stream=STREAM, message=message, indexes=indexes), "taken": rows}
        cases.append(case if why is None else case | {"why": why})
    return check_names(cases)


def challenges():
    cases = []
    for count in (1, 2, 3, 5, 8, 11):
        asked = [fixed(f"challenge {at}", 16) for at in range(count)]
        root, made = sig.answers(asked)
        assert all(sig.answer_root(answer, one) == root for answer, one in zip(made, asked))
        cases.append({"name": f"{count} at once", "expect": "ok", **_json(challenges=asked, root=root, answers=made)})
    good = sig.answers([fixed(f"challenge {at}", 16) for at in range(5)])[1][4]
    bad = [("empty", b"", "No fields."), ("version 0", flip(good, 0), "There is version 1."),
           ("index is the count", good[:8] + b"\5" + good[9:], "Below it."),
           ("no challenges", good[:5] + bytes(4) + good[9:], "At least 1."),
           ("too many challenges", good[:5] + uint(16_385, 2) + good[7:], "At most 16384."),
           ("a place with a longer path", good[:8] + b"\3" + good[9:], "The path is short."),
           ("cut by a byte", good[:-1], "The path is short."),
           ("a hash more", good + bytes(32), "Nothing may be left.")]
    return check_names(cases), check_names(_malformed(bad, sig.parse_answer))


def generate():
    pairs, certificates = keys_and_certificates()
    batches, bad_answers = challenges()
    return {"signers": signers(), "proofs": proofs(), "sequences": sequences(), "keys": pairs,
            "certificates": certificates, "gops": gops(), "challenges": batches, "refused_answers": bad_answers}
