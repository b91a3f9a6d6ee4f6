"""Refusals that need no key: bits flipped, bytes cut, messages reflected, replayed or injected by someone in
between."""

import handshake
from common import fixed, flip
from handshake import PUBLISHER
from sessions import (CAMERA, CAMERA_SEED, INVITED, Run, case_json, initiator_config, refusal, responder_config,
                      stopped)


def base():
    return initiator_config("base", psks=(INVITED,)), responder_config("base")


def without_psk():
    return initiator_config("base without a psk"), responder_config("base without a psk")


def retrying():
    return (initiator_config("retry base", mechanisms=[2, 3]),
            responder_config("retry base", mechanisms=[3, 2], cookie=fixed("retry cookie", 16)))


def addressed(message):
    """By someone who knows the responder's peer id, which is no secret among those who have a ticket."""
    return handshake.addressed(message, CAMERA)


def bound(message):
    """By someone who knows the invite as well."""
    return handshake.bound(message, CAMERA, INVITED.key)


def layout(message):
    """[(field, first byte, length)] of a handshake message."""
    sizes = {
        handshake.HELLO: [("kind", 1), ("version", 1), ("role", 1), ("random", 32), ("suites", -1),
                          ("mechanisms", -1), ("share_mechanism", 1), ("share", -2), ("cookie", -1),
                          ("binder", 16), ("mac", 16)],
        handshake.RETRY: [("kind", 1), ("version", 1), ("mechanism", 1), ("cookie", -1)],
        handshake.REPLY: [("kind", 1), ("version", 1), ("role", 1), ("random", 32), ("suite", 1), ("mechanism", 1),
                          ("ciphertext", -2), ("sealed", -2)],
        handshake.FINISH: [("kind", 1), ("sealed", -2)],
    }[message[0]]
    fields, at = [], 0
    for name, size in sizes:
        if size < 0:
            count = int.from_bytes(message[at:at - size], "big")
            fields.append((f"{name} count", at, -size))
            at, size = at - size, count
        fields.append((name, at, size))
        at += size
    assert at == len(message)
    return [field for field in fields if field[2]]


def flips(message, bits=range(8)):
    """(field, byte, bit): these bits of the short fields, some bits of the long ones."""
    for name, at, length in layout(message):
        if length <= 4:
            places = [(at + i, bit) for i in range(length) for bit in bits]
        else:
            places = [(at, 0), (at + length // 2, 3), (at + length - 1, 6)]
            if name == "sealed":  # identity, wish, signature, tag
                places += [(at + i, 1) for i in (31, 32, 33, 34, 97, 98, 161, 162)]
        yield from ((name, byte, bit) for byte, bit in places)


def in_flight(pair, index, what, tamper, why, seen):
    """Some end must refuse: the case is for that end, with everything it saw."""
    i_config, r_config = pair()
    run = Run(i_config, r_config, lambda number, message: tamper(message) if number == index else message)
    assert run.refused_by is not None, what
    case = case_json(run, run.refused_by, what, run.reason, why, run.refused_message)
    key = (case["receiver"], case["message"], str(case["exchange"]))
    if key in seen:
        return None
    seen.add(key)
    return run.configs[run.refused_by], case


def all_flips(pair, prefix, indices, mend=lambda message: message, mended=(), bits=range(8)):
    """Flips in the messages of these indices, after which `mend` makes the fields of `mended` anew."""
    messages = [m for _, m in Run(*pair()).messages]
    seen = set()
    for index in indices:
        kind = f"{prefix}{['', 'hello', 'retry', 'reply', 'finish'][messages[index][0]]}"
        if len(messages) == 5 and messages[index][0] == handshake.HELLO:
            kind = f"{prefix}{'first' if index == 0 else 'second'} hello"
        for field, byte, bit in flips(messages[index], bits):
            if field in mended:
                continue
            what = f"{kind}, {field}, byte {byte} bit {bit} flipped"
            found = in_flight(pair, index, what, lambda m: mend(flip(m, byte, bit)),
                              f"The {field} is checked, or hashed into what both ends derive and sign.", seen)
            if found:
                yield found


def cuts(pair, prefix, indices):
    for index in indices:
        run = stopped(*pair(), index)
        sender, message = run.messages[index]
        side = "responder" if sender == "initiator" else "initiator"
        kind = f"{prefix}message {index}"
        lengths = {1, len(message) - 1}
        for _, at, length in layout(message):
            lengths |= {at, at + length - 1}
        for length in sorted(n for n in lengths if 0 < n < len(message)):
            run = stopped(*pair(), index)
            yield run.configs[side], refusal(run, side, f"{kind} cut to {length} bytes", message[:length], "malformed",
                                             "The last field is not whole.")
        for extra in (b"\0", bytes(16)):
            run = stopped(*pair(), index)
            yield run.configs[side], refusal(run, side, f"{kind} with {len(extra)} more", message + extra, "malformed",
                                             "Bytes are left over.")


def at(pair, index, side, name, message, expect, why):
    """`side` refuses `message`, sent instead of message number `index`. `message` may be made from the run."""
    run = stopped(*pair(), index)
    message = message(run) if callable(message) else message
    return run.configs[side], refusal(run, side, name, message, expect, why)


def hello_of(run):
    return handshake.parse_hello(run.messages[0][1])


def hello_flips():
    """By a stranger, who cannot make the MAC; by someone with the ticket; and by someone with the invite."""
    yield from all_flips(base, "", [0], bits=[0])
    yield from all_flips(base, "addressed: ", [0], addressed, ["mac"])
    yield from all_flips(without_psk, "without a psk, addressed: ", [0], addressed, ["mac"])
    yield from all_flips(base, "bound: ", [0], bound, ["binder", "mac"])
    yield from all_flips(retrying, "with retry: ", [0, 2], bits=[0])
    yield from all_flips(retrying, "with retry, addressed: ", [0, 2], addressed, ["mac"])


def hello_cuts():
    """Hellos that are too short or too long, under a MAC that fits."""
    for pair, prefix, index in ((base, "", 0), (retrying, "with retry: ", 2)):
        run = stopped(*pair(), index)
        head = handshake.parse_hello(run.pending).head()
        rest = bytes(2 * handshake.MAC_LEN)
        rows = [(f"its head cut to {length} bytes", bound(head[:length] + rest))
                for length in sorted({at for _, at, _ in layout(run.pending) if at < len(head)} | {1, len(head) - 1})
                if length]
        rows += [("no more than its MAC", addressed(bytes(16))), ("a byte and its MAC", addressed(b"\1" + bytes(16))),
                 ("a binder of 15 bytes", addressed(run.pending[:-17] + bytes(16))),
                 ("no binder", addressed(head + bytes(16))),
                 ("a byte before its binder", bound(head + b"\0" + rest)),
                 ("a byte between binder and MAC", addressed(run.pending[:-16] + bytes(17)))]
        for name, message in rows:
            yield at(pair, index, "responder", f"{prefix}hello, addressed: {name}", message, "malformed",
                     "The fields are not whole, or bytes are left over.")


def bad_hellos():
    def changed(**fields):
        return lambda run: bound(hello_of(run).changed(**fields).encode())

    s9 = bytes(range(1, 10))
    table = [
        ("version 0", changed(version=0), "version", "The version is 3."),
        ("version 1", changed(version=1), "version", "The version is 3."),
        ("version 2", changed(version=2), "version", "The version is 3."),
        ("version 255", changed(version=255), "version", "The version is 3."),
        ("the responder's own role", changed(role=PUBLISHER), "role", "The two roles must differ."),
        ("role 0", changed(role=0), "role", "The role is not the opposite one."),
        ("role 3", changed(role=3), "role", "The role is not the opposite one."),
        ("wrong version and wrong role", changed(version=1, role=PUBLISHER), "version",
         "The version is checked first."),
        ("wrong version and bad form", changed(version=1, suites=b""), "malformed", "The form is checked first."),
        ("no suites", changed(suites=b""), "malformed", "1 to 8 identifiers."),
        ("nine suites", changed(suites=s9), "malformed", "1 to 8 identifiers."),
        ("a suite twice", changed(suites=b"\1\3\1"), "malformed", "No identifier twice."),
        ("an unknown suite twice", changed(suites=b"\1\x63\x63"), "malformed", "No identifier twice, known or not."),
        ("no mechanisms", changed(mechanisms=b""), "malformed", "1 to 8 identifiers."),
        ("nine mechanisms", changed(mechanisms=s9), "malformed", "1 to 8 identifiers."),
        ("a mechanism twice", changed(mechanisms=b"\2\2"), "malformed", "No identifier twice."),
        ("share_mechanism not offered", changed(mechanisms=b"\1\3"), "malformed", "It is one of the mechanisms."),
        ("share_mechanism 0", changed(share_mechanism=0), "malformed", "It is one of the mechanisms."),
        ("empty share", changed(share=b""), "malformed", "1 to 2 048 bytes."),
        ("share of 2049 bytes", changed(share=bytes(2049)), "malformed", "1 to 2 048 bytes."),
        ("share of 2048 bytes", changed(share=b"\1" * 2048), "share", "The form allows it, the mechanism does not."),
        ("cookie in a first hello", changed(cookie=b"cookie"), "malformed", "It is empty in a first hello."),
        ("cookie of 65 bytes", changed(cookie=bytes(65)), "malformed", "At most 64 bytes."),
        ("no common suite", changed(suites=b"\2\4"), "no-common-suite", "The responder has 3 and 1."),
        ("only unknown suites", changed(suites=b"\x63\xc8"), "no-common-suite", "Unknown identifiers are skipped."),
        ("no common mechanism", changed(mechanisms=b"\1\4", share_mechanism=4), "no-common-mechanism",
         "The responder has 2 and 3."),
        ("only unknown mechanisms", changed(mechanisms=b"\x63", share_mechanism=0x63), "no-common-mechanism",
         "Unknown identifiers are skipped."),
    ]
    for name, message, expect, why in table:
        yield at(base, 0, "responder", f"hello: {name}", message, expect, why)


def wrong_kinds():
    record = bytes([0x10, 0x0D]) + bytes(38)
    own = "A message that the state does not expect is malformed."
    for kind in (0x00, 0x06, 0x09, 0x0F, 0x12, 0xFF):
        for index, side in ((0, "responder"), (1, "initiator"), (2, "responder")):
            yield at(base, index, side, f"kind 0x{kind:02x} instead of message {index}",
                     lambda run, k=kind, mend=bound if index == 0 else bytes: mend(bytes([k]) + run.pending[1:]),
                     "malformed", "Any other kind is malformed.")
    finish = handshake.encode_finish(bytes(handshake.SEALED))
    table = [
        (0, "responder", "media record with a MAC instead of a hello", addressed(record + bytes(16)), own),
        (1, "initiator", "media record instead of a reply", record, own),
        (2, "responder", "media record instead of a finish", record, "No media before the session."),
        (0, "responder", "finish with a MAC instead of a hello", addressed(finish + bytes(16)), own),
        (0, "responder", "retry with a MAC instead of a hello", addressed(handshake.encode_retry(2) + bytes(16)), own),
        (0, "responder", "alert with a MAC instead of a hello", addressed(b"\5\1" + bytes(16)), own),
        (1, "initiator", "finish instead of a reply", finish, own),
        (1, "initiator", "own hello back", lambda run: run.messages[0][1], own),
        (2, "responder", "own reply back", lambda run: run.messages[1][1], own),
        (2, "responder", "the hello again instead of a finish", lambda run: run.messages[0][1], own),
        (2, "responder", "retry instead of a finish", handshake.encode_retry(2), own),
    ]
    for index, side, name, message, why in table:
        yield at(base, index, side, name, message, "malformed", why)


def alerts():
    table = [
        ("an alert", b"\5\1", "alert", "The other end gave up."),
        ("an alert with code 2", b"\5\2", "psk", "The other end does not know the pre-shared key."),
        ("an alert with code 0", b"\5\0", "malformed", "The code is 1 or 2."),
        ("an alert with code 3", b"\5\3", "malformed", "The code is 1 or 2."),
        ("an alert without code", b"\5", "malformed", "The code is missing."),
        ("an alert with a byte left over", b"\5\1\0", "malformed", "A byte is left over."),
    ]
    for index, side, awaited in ((1, "initiator", "a reply"), (2, "responder", "a finish")):
        for name, message, expect, why in table:
            yield at(base, index, side, f"{name} instead of {awaited}", message, expect, why)
    yield at(retrying, 2, "responder", "an alert instead of a second hello", b"\5\1", "alert",
             "The initiator gave up when it saw the retry.")
    yield at(retrying, 3, "initiator", "an alert instead of the reply to a second hello", b"\5\2", "psk",
             "The other end does not know the pre-shared key any more.")


def reflections_and_replays():
    def as_publisher():
        return (initiator_config("publisher both", role=PUBLISHER, identity_seed=CAMERA_SEED),
                responder_config("publisher both"))

    def other_session(index):
        run = Run(initiator_config("other session", psks=(INVITED,)), responder_config("other session"))
        return run.messages[index][1]

    def another_peer():
        return (initiator_config("self pinned", identity_seed=CAMERA_SEED, pinned_peer=CAMERA),
                responder_config("self pinned"))

    yield at(as_publisher, 0, "responder", "same role at both ends", lambda run: run.pending, "role",
             "The roles must differ.")
    yield at(base, 1, "initiator", "reply of another session", other_session(1), "sealed",
             "It answers another hello: secret and transcript differ.")
    yield at(base, 2, "responder", "finish of another session", other_session(2), "sealed",
             "It belongs to another transcript and secret.")
    yield at(another_peer, 1, "initiator", "the peer is oneself", lambda run: run.pending, "own-identity",
             "Both ends hold the same identity, which is also the pinned one.")


def stripped_offers():
    """Someone in between removes what is stronger from the hello; both ends would still agree on the rest."""
    def hybrid_first():
        return (initiator_config("strip", mechanisms=[1, 2], share_mechanism=2, suites=[2, 1]),
                responder_config("strip", mechanisms=[1, 2], suites=[2, 1]))

    def strip(mend=addressed, **fields):
        return lambda m: mend(handshake.parse_hello(m).changed(**fields).encode())

    def first_guess_hybrid():
        return (initiator_config("strip guess", mechanisms=[1, 2], share_mechanism=1),
                responder_config("strip guess", mechanisms=[1, 2]))

    share = handshake.parse_hello(initiator_config("attacker").initiator().hello).share
    seen = set()
    table = [
        (hybrid_first, "mechanism 1 stripped from the hello", strip(mechanisms=b"\2"),
         "The initiator's transcript has the whole list."),
        (hybrid_first, "suite 2 and mechanism 1 stripped", strip(suites=b"\1", mechanisms=b"\2"),
         "The initiator's transcript has the whole lists."),
        (base, "suite 3 stripped from the hello, the binder as it was", strip(suites=b"\1"),
         "The binder covers the list."),
        (base, "share replaced, the binder as it was", strip(share=share), "The binder covers the share."),
        (base, "suite 3 stripped from the hello", strip(bound, suites=b"\1"),
         "The initiator's transcript has the whole list."),
        (base, "suites reordered", strip(bound, suites=b"\3\1"), "The order is in the transcript."),
        (base, "mechanisms reordered", strip(bound, mechanisms=b"\1\2\3"), "The order is in the transcript."),
        (base, "suite added", strip(bound, suites=b"\1\3\2"), "The initiator's transcript has the shorter list."),
        (base, "share replaced", strip(bound, share=share),
         "The attacker does not know the responder's secret for the initiator."),
        (first_guess_hybrid, "mechanism stripped and share replaced",
         strip(mechanisms=b"\2", share_mechanism=2, share=share),
         "The reply names a mechanism whose share was not sent."),
    ]
    for pair, name, tamper, why in table:
        yield in_flight(pair, 0, name, tamper, why, seen)
    yield forged_downgrade(hybrid_first)


def forged_downgrade(pair):
    """An injected retry makes the initiator use a weaker mechanism that it offers; its second hello goes on as a first
    one."""
    def x25519_only():
        i_config, r_config = pair()
        return i_config.changed(name="downgrade initiator", share_mechanism=1), r_config.changed(
            name="downgrade responder", mechanisms=[2])
    run = stopped(*x25519_only(), 0)
    retry = handshake.encode_retry(2)
    second = run.ends["initiator"].receive(retry)
    run.logs["initiator"] += [("in", retry), ("out", second)]
    reply = run.ends["responder"].receive(second)
    return run.configs["initiator"], refusal(
        run, "initiator", "injected retry", reply, "sealed",
        "The retry is in the initiator's transcript and not in the responder's.")


def retries():
    def second(**fields):
        return lambda run: addressed(handshake.parse_hello(run.pending).changed(**fields).encode())

    table = [
        (base, 1, "initiator", "retry naming an unoffered mechanism", handshake.encode_retry(4), "not-offered",
         "4 was not offered."),
        (base, 1, "initiator", "retry naming an unknown mechanism", handshake.encode_retry(0x63), "not-offered",
         "99 was not offered."),
        (base, 1, "initiator", "retry with version 1", handshake.encode_retry(3, version=1), "version",
         "The version is 3."),
        (base, 1, "initiator", "retry with a cookie of 65 bytes", handshake.encode_retry(3, bytes(65)), "malformed",
         "At most 64 bytes."),
        (base, 1, "initiator", "retry with a byte left over", handshake.encode_retry(3) + b"\0", "malformed",
         "Bytes are left over."),
        (base, 1, "initiator", "retry for what was shared, without a cookie", handshake.encode_retry(2), "retry",
         "It asks for what it has."),
        (retrying, 3, "initiator", "the same retry again", lambda run: run.messages[1][1], "retry", "One retry."),
        (retrying, 3, "initiator", "another retry", handshake.encode_retry(2), "retry", "One retry."),
        (retrying, 2, "responder", "first hello again", lambda run: run.messages[0][1], "retry",
         "share_mechanism and cookie are not the retry's."),
        (retrying, 2, "responder", "second hello: random changed", second(random=bytes(32)), "retry",
         "It equals the first's."),
        (retrying, 2, "responder", "second hello: suites shortened", second(suites=b"\1"), "retry",
         "They equal the first's."),
        (retrying, 2, "responder", "second hello: suites reordered", second(suites=b"\3\1"), "retry",
         "They equal the first's."),
        (retrying, 2, "responder", "second hello: suite added", second(suites=b"\1\3\2"), "retry",
         "They equal the first's."),
        (retrying, 2, "responder", "second hello: mechanisms shortened", second(mechanisms=b"\3"), "retry",
         "They equal the first's."),
        (retrying, 2, "responder", "second hello: mechanisms reordered", second(mechanisms=b"\3\2"), "retry",
         "They equal the first's."),
        (retrying, 2, "responder", "second hello: role changed", second(role=PUBLISHER), "role",
         "The role is checked before the comparison with the first hello."),
        (retrying, 2, "responder", "second hello: version changed", second(version=1), "version", "The version is 3."),
        (retrying, 2, "responder", "second hello: no cookie", second(cookie=b""), "retry",
         "The cookie is the retry's."),
        (retrying, 2, "responder", "second hello: another cookie", second(cookie=bytes(16)), "retry",
         "The cookie is the retry's."),
        (retrying, 2, "responder", "second hello: cookie shortened", second(cookie=fixed("retry cookie", 16)[:15]),
         "retry", "The cookie is the retry's."),
        (retrying, 2, "responder", "second hello: cookie lengthened", second(cookie=fixed("retry cookie", 16) + b"\0"),
         "retry", "The cookie is the retry's."),
        (retrying, 2, "responder", "second hello: another mechanism's share",
         second(share_mechanism=2, share=b"\x09" + bytes(31)), "retry", "share_mechanism is the retry's mechanism."),
        (retrying, 2, "responder", "second hello: share of the wrong length", second(share=b"\4" + bytes(63)), "share",
         "A p256 share is 65 bytes."),
    ]
    for pair, index, side, name, message, expect, why in table:
        yield at(pair, index, side, name, message, expect, why)


def cases():
    for part in (hello_flips(), all_flips(base, "", [1, 2]), all_flips(retrying, "with retry: ", [1, 3, 4]),
                 hello_cuts(), cuts(base, "", [1, 2]), cuts(retrying, "with retry: ", [1]), bad_hellos(), wrong_kinds(),
                 alerts(), reflections_and_replays(), stripped_offers(), retries()):
        yield from part
