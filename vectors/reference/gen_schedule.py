"""vectors/schedule.json"""

import gen_rekeys
import handshake
import keys
import text
from common import check_names, fixed
from ed25519 import P, decode, encode
from suites import SUITES

EPOCHS = (0, 1, 65_535, 65_536)


def expansions():
    secret = fixed("expansion secret", 32)
    table = [
        ("empty label and context", b"", b"", 32),
        ("one byte out", b"epoch", b"", 1),
        ("short context", b"media key i", bytes(9), 16),
        ("hash as context", b"reply key", keys.sha256(b"context"), 32),
        ("iv", b"finish iv", keys.sha256(b"context"), 12),
        ("more than one block", b"rekey", keys.sha256(b""), 65),
        ("longest context", b"media base r", fixed("context", 255), 8),
        ("longest label", bytes(range(0x20, 0x7F)) * 2 + b"x" * 55, b"\x01", 48),
    ]
    return check_names([
        {"name": name, "expect": "ok", "secret": secret.hex(), "label": label.hex(), "context": context.hex(),
         "length": length, "info": keys.expand_info(label, context, length).hex(),
         "out": keys.expand_label(secret, label, context, length).hex()}
        for name, label, context, length in table
    ])


def handshake_keys():
    cases = []
    for name, length, psk in (("shared secret of 32 bytes", 32, keys.NO_PSK),
                              ("shared secret of 64 bytes", 64, keys.NO_PSK),
                              ("shared secret of 32 bytes, with a pre-shared key", 32, fixed("schedule psk", 32)),
                              ("shared secret of 64 bytes, with that of an invite", 64,
                               keys.psk_of_invite(fixed("invite", 16)))):
        ss = fixed(f"shared secret of {length} bytes", length)
        th1, th2, th3 = (keys.sha256(b"th%d" % i) for i in (1, 2, 3))
        early = keys.early_secret(psk)
        salt, hs = keys.handshake_secret(early, ss)
        case = {"name": name, "expect": "ok", "psk": psk.hex(), "early": early.hex(), "ss": ss.hex(),
                "th1": th1.hex(), "th2": th2.hex(), "th3": th3.hex(), "salt": salt.hex(), "hs": hs.hex()}
        for field, label, th, n in (("reply_key", b"reply key", th1, 32), ("reply_iv", b"reply iv", th1, 12),
                                    ("finish_key", b"finish key", th2, 32), ("finish_iv", b"finish iv", th2, 12),
                                    ("epoch_0", b"epoch", th3, 32), ("session_id", b"session id", th3, 8),
                                    ("binding", b"binding", th3, 32), ("enrolment", b"enrolment", th3, 32)):
            case[field] = keys.expand_label(hs, label, th, n).hex()
        cases.append(case)
    return check_names(cases)


def psks():
    """Pre-shared keys: of invites, and kept as they are. Zeros stand for none."""
    cases = []
    for name, invite in (("invite", fixed("invite", 16)), ("invite of zeros", bytes(16)),
                         ("invite of ones", b"\xff" * 16), ("enrolment", None), ("none", None)):
        if invite is not None:
            psk = keys.psk_of_invite(invite)
        else:
            psk = fixed("schedule psk", 32) if name == "enrolment" else keys.NO_PSK
        early = keys.early_secret(psk)
        cases.append({"name": name, "expect": "ok", "invite": None if invite is None else invite.hex(),
                      "psk": psk.hex(), "early": early.hex(),
                      "psk_name": None if psk == keys.NO_PSK else keys.psk_name(early).hex()})
    return check_names(cases)


def hello_macs():
    """Binder and MAC of a hello, whose head is any bytes here."""
    cases = []
    invited = keys.psk_of_invite(fixed("invite", 16))
    table = [("no pre-shared key", "responder", None, 84), ("invite", "responder", invited, 84),
             ("invite, another responder", "other responder", invited, 84),
             ("enrolment", "responder", fixed("schedule psk", 32), 84),
             ("head of a hybrid's hello", "responder", invited, 1_262)]
    for name, peer, psk, length in table:
        peer_r, head = handshake.public_of(fixed(peer, 32)), fixed(f"hello head of {length}", length)
        early = psk and keys.early_secret(psk)
        binder_key = early and keys.binder_key(early, peer_r)
        binder = keys.binder(early, peer_r, head) if early else handshake.NO_BINDER
        cases.append({"name": name, "expect": "ok", "peer_r": peer_r.hex(), "psk": psk and psk.hex(),
                      "hello_head": head.hex(), "binder_key": binder_key and binder_key.hex(), "binder": binder.hex(),
                      "mac_key": keys.mac_key(peer_r).hex(), "mac": keys.mac(peer_r, head + binder).hex()})
    return check_names(cases)


def traffic_keys():
    cases = []
    for suite in SUITES.values():
        for epoch in EPOCHS:
            secret = fixed(f"epoch secret {epoch}", 32)
            for purpose in keys.PURPOSES:
                for direction in keys.DIRECTIONS:
                    key, base = keys.traffic(suite, secret, epoch, purpose, direction)
                    cases.append({
                        "name": f"{suite.name} epoch {epoch} {purpose} {direction}", "expect": "ok",
                        "suite": suite.number, "epoch": epoch, "epoch_secret": secret.hex(), "purpose": purpose,
                        "direction": direction, "key": key.hex(), "base": base.hex(),
                        "nonces": [{"seq": seq, "nonce": keys.nonce(suite, base, seq).hex()}
                                   for seq in (0, 1, 2**32 - 1)]})
    return check_names(cases)


def base32_cases():
    cases = []
    for length, what in ((32, "peer id"), (16, "invite")):
        fix = fixed(what, length) if what == "invite" else handshake.public_of(fixed(what, length))
        rows = [("fixed", fix)]
        rows += [("zeros", bytes(length)), ("ones", b"\xff" * length)] if what == "invite" else [
            ("with the lowest y", _point(range(2, 100), 0)), ("with the highest y", _point(range(P - 2, 0, -1), 1))]
        for label, data in rows:
            cases.append({"name": f"{what} {label}", "expect": "ok", "kind": what.replace(" ", "-"),
                          "bytes": data.hex(), "text": text.base32(data)})
    good, invite = text.base32(handshake.public_of(fixed("peer id", 32))), text.base32(fixed("invite", 16))
    negative = [
        ("upper case", "peer-id", good.upper(), "The alphabet is the lower-case one."),
        ("one upper-case letter", "peer-id", _one_upper(good), "The alphabet is the lower-case one."),
        ("padded", "peer-id", good + "====", "There is no padding."),
        ("unused bits set", "peer-id", _dirty(good), "The unused trailing bits must be zero."),
        ("short", "peer-id", good[:-1], "32 bytes are 52 characters."),
        ("long", "peer-id", good + "a", "32 bytes are 52 characters."),
        ("digit 1", "peer-id", "1" + good[1:], "1 is not in the alphabet."),
        ("digit 0", "peer-id", "0" + good[1:], "0 is not in the alphabet."),
        ("digit 8", "peer-id", "8" + good[1:], "8 is not in the alphabet."),
        ("space inside", "peer-id", good[:20] + " " + good[21:], "A space is not in the alphabet."),
        ("empty", "peer-id", "", "32 bytes are 52 characters."),
        ("invite unused bits set", "invite", _dirty(invite), "The unused trailing bits must be zero."),
        ("invite short", "invite", invite[:-1], "16 bytes are 26 characters."),
        ("invite long", "invite", invite + "a", "16 bytes are 26 characters."),
        ("invite padded", "invite", invite + "======", "There is no padding."),
    ]
    negative += [(f"peer id {label}", "peer-id", text.base32(data), why) for label, data, why in (
        ("zeros", bytes(32), "It is a point of small order."),
        ("ones", b"\xff" * 32, "It is not canonical."))]
    for name, kind, value, why in negative:
        _refused(text.parse_peer_id if kind == "peer-id" else lambda v: text.unbase32(v, 16), value)
        cases.append({"name": name, "expect": "refused", "why": why, "kind": kind, "text": value})
    return check_names(cases)


def _point(ys, sign):
    """The first of these that is a point."""
    return next(encode(y, sign) for y in ys if decode(encode(y, sign)) is not None)


def _dirty(value):
    """The same bytes with the lowest unused bit of the last character set."""
    return value[:-1] + text.ALPHABET[text.ALPHABET.index(value[-1]) | 1]


def _one_upper(value):
    at = next(i for i, c in enumerate(value) if c.isalpha())
    return value[:at] + value[at].upper() + value[at + 1:]


def _refused(parse, value):
    try:
        parse(value)
    except text.Refused:
        return
    raise AssertionError(f"accepted: {value!r}")


def identities():
    cases = []
    for name in ("zeros", "one", "two"):
        seed = bytes(32) if name == "zeros" else fixed(f"identity {name}", 32)
        public = handshake.public_of(seed)
        content = text.identity_file(seed)
        assert text.parse_identity_file(content) == seed
        cases.append({"name": f"seed {name}", "expect": "ok", "file": content, "seed": seed.hex(),
                      "public_key": public.hex(), "peer_id": text.base32(public)})
    head = text.IDENTITY_LINE + "\n"
    good = text.base32(fixed("identity one", 32))
    negative = [
        ("empty file", "", "There are two lines."),
        ("first line only", head, "There are two lines."),
        ("seed only", good + "\n", "The first line names the format."),
        ("wrong first line", f"sealcast-identity-2\n{good}\n", "The first line names the format and its version."),
        ("first line in upper case", f"{text.IDENTITY_LINE.upper()}\n{good}\n", "The first line is exact."),
        ("space before the first line", f" {head}{good}\n", "The first line is exact."),
        ("space after the first line", f"{text.IDENTITY_LINE} \n{good}\n", "The first line is exact."),
        ("empty line between", f"{head}\n{good}\n", "The seed is on the second line."),
        ("upper case seed", f"{head}{good.upper()}\n", "The seed is lower case."),
        ("padded seed", f"{head}{good}====\n", "There is no padding."),
        ("unused bits set", f"{head}{_dirty(good)}\n", "The unused trailing bits must be zero."),
        ("short seed", f"{head}{good[:-1]}\n", "The seed is 52 characters."),
        ("long seed", f"{head}{good}a\n", "The seed is 52 characters."),
        ("bad character", f"{head}{good[:-2]}1{good[-1]}\n", "1 is not in the alphabet."),
        ("space after the seed", f"{head}{good} \n", "A space is not in the alphabet."),
        ("third line", f"{head}{good}\n{good}\n", "There are two lines."),
        ("trailing garbage without a line end", f"{head}{good}\nx", "There are two lines."),
        ("empty third line", f"{head}{good}\n\n", "There are two lines."),
    ]
    for name, content, why in negative:
        _refused(text.parse_identity_file, content)
        cases.append({"name": name, "expect": "refused", "why": why, "file": content})
    return check_names(cases)


def words():
    """What two people compare aloud."""
    peers = [("zeros", bytes(32))] + [(name, fixed(f"identity {name}", 32)) for name in ("one", "two")]
    publics = [(name, handshake.public_of(seed)) for name, seed in peers]
    return check_names([
        {"name": f"peer id of seed {name}", "expect": "ok", "peer_id": public.hex(),
         "indices": text.word_indices(public), "words": text.words(public)} for name, public in publics])


def generate():
    return {"expansions": expansions(), "psks": psks(), "hello_macs": hello_macs(),
            "handshake_keys": handshake_keys(), "traffic_keys": traffic_keys(),
            **gen_rekeys.generate(), "base32": base32_cases(), "identities": identities(), "words": words()}
