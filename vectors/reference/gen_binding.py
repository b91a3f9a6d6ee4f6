"""Refusals of hellos by their MAC, which shows that the sender knows whom it addresses, and by their binder, which
shows that it knows a pre-shared key."""

import handshake
import keys
from common import fixed, flip
from gen_tampering import addressed, at, base, bound, hello_of, retrying, without_psk
from handshake import MAC_LEN, PUBLISHER
from sessions import (CAMERA, INVITE, INVITED, WATCHER, Psk, Run, case_json, initiator_config, responder_config)

OTHER = Psk("invite", fixed("another invite", 16))
ENROLLED = Psk("enrolment", fixed("enrolment", 32))
SILENCE = "Who does not know the responder's peer id gets no answer."


def retrying_with_psk():
    """Both of the initiator's possible keys are known."""
    return (initiator_config("retry with psk", psks=(INVITED,)),
            responder_config("retry with psk", psks=(INVITED, OTHER), cookie=fixed("retry cookie", 16)))


def with_mac(mac):
    return lambda run: run.pending[:-MAC_LEN] + mac(run.pending[:-MAC_LEN])


def old_hello(run):
    """A hello as version 1 had it: with a magic, and nothing after the cookie."""
    head = hello_of(run).changed(version=1).head()
    return head[:1] + b"sealcast" + head[1:]


def wrong_macs():
    """(name, message, why) where a first hello is awaited."""
    def key(context=b"", label=b"mac", salt=b"sealcast2 mac"):
        return keys.expand_label(keys.extract(salt, CAMERA), label, context, 32)

    def changed(**fields):
        return lambda run: hello_of(run).changed(**fields).encode()

    covered = "The MAC covers all that stands before it."
    flipped = [(f"{name} flipped", lambda run, at=at: flip(run.pending, at), covered)
               for name, at in (("first byte", 0), ("version", 1), ("role", 2), ("first byte of random", 3),
                                ("first byte of the binder", -2 * MAC_LEN), ("last byte of the binder", -MAC_LEN - 1))]
    flipped += [(f"{name} byte of the MAC flipped", lambda run, at=at: flip(run.pending, at), "All of it counts.")
                for name, at in (("first", -MAC_LEN), ("middle", -8), ("last", -1))]
    cut = [(f"{name}", lambda run, n=n: run.pending[:n], "What is left does not end with its MAC.")
           for name, n in (("last byte missing", -1), ("half of the MAC missing", -8), ("MAC missing", -MAC_LEN),
                           ("MAC and binder missing", -2 * MAC_LEN), ("cut to 33 bytes", 33), ("cut to 17 bytes", 17),
                           ("cut to 16 bytes", 16), ("cut to 15 bytes", 15), ("cut to 1 byte", 1))]
    macs = [
        ("MAC of zeros", with_mac(lambda m: bytes(16)), SILENCE),
        ("MAC for another responder", with_mac(lambda m: keys.mac(WATCHER, m)), SILENCE),
        ("binder and MAC for another responder", lambda run: handshake.bound(run.pending, WATCHER, INVITED.key),
         SILENCE),
        ("MAC keyed by the peer id itself", with_mac(lambda m: keys.hmac_sha256(CAMERA, m)[:16]),
         "Its key is derived from the peer id."),
        ("MAC keyed without expansion",
         with_mac(lambda m: keys.hmac_sha256(keys.extract(b"sealcast2 mac", CAMERA), m)[:16]), "Its key is expanded."),
        ("MAC under the label of the binder", with_mac(lambda m: keys.hmac_sha256(key(label=b"binder"), m)[:16]),
         "The label is mac."),
        ("MAC under the salt of an invite",
         with_mac(lambda m: keys.hmac_sha256(key(salt=b"sealcast2 invite"), m)[:16]), "The salt is its own."),
        ("MAC of the other half of the hash", with_mac(lambda m: keys.hmac_sha256(key(), m)[16:]),
         "The first 16 bytes."),
        ("MAC over the hello without the binder", with_mac(lambda m: keys.mac(CAMERA, m[:-MAC_LEN])),
         "It covers the binder."),
        ("MAC over the hash of the hello", with_mac(lambda m: keys.mac(CAMERA, keys.sha256(m))),
         "It covers the bytes themselves."),
        ("MAC over all, and zeros in its place", with_mac(lambda m: keys.mac(CAMERA, m + bytes(16))),
         "It covers what stands before it."),
        ("a byte after the MAC", lambda run: run.pending + b"\0", "The MAC stands at the end."),
        ("hello of version 1", old_hello, SILENCE),
        ("hello of version 1 with a binder and a MAC of zeros", lambda run: old_hello(run) + bytes(32), SILENCE),
    ]
    first = "The MAC is checked before anything else."
    before = [
        ("wrong MAC and bad form", changed(suites=b""), first),
        ("wrong MAC and wrong version", changed(version=1), first),
        ("wrong MAC and wrong role", changed(role=PUBLISHER), first),
        ("wrong MAC and a cookie", changed(cookie=b"cookie"), first),
        ("wrong MAC and wrong binder", changed(binder=bytes(range(16))), first),
        ("wrong MAC and no common suite", changed(suites=b"\2\4"), first),
        ("wrong MAC and a short share", changed(share=b"\1" * 31), first),
    ]
    return flipped + cut + macs + before


def strangers():
    """Other messages than a hello, from someone who does not know the responder."""
    return [
        ("media record instead of a hello", bytes([0x10, 0x0D]) + bytes(38)),
        ("finish instead of a hello", handshake.encode_finish(bytes(handshake.SEALED))),
        ("retry instead of a hello", handshake.encode_retry(2)),
        ("an alert instead of a hello", b"\5\1"),
        ("an alert with code 2 instead of a hello", b"\5\2"),
        ("an alert with code 0 instead of a hello", b"\5\0"),
        ("an alert without code instead of a hello", b"\5"),
        ("a byte instead of a hello", b"\1"),
        ("16 zeros instead of a hello", bytes(16)),
        ("32 zeros instead of a hello", bytes(32)),
        ("a line of HTTP instead of a hello", b"GET / HTTP/1.1\r\n\r\n"),
    ]


def mac_cases():
    for name, message, why in wrong_macs():
        yield at(base, 0, "responder", f"mac: {name}", message, "mac", why)
    for name, message in strangers():
        yield at(base, 0, "responder", f"mac: {name}", message, "mac", SILENCE)
    second = "A second hello is checked like a first one."
    for pair, name in ((retrying, "without a psk"), (retrying_with_psk, "with a psk")):
        table = [("last byte flipped", lambda run: flip(run.pending, -1), second),
                 ("random changed", lambda run: flip(run.pending, 10), second),
                 ("binder changed", lambda run: flip(run.pending, -20), second),
                 ("MAC of the first hello", lambda run: run.pending[:-16] + run.messages[0][1][-16:], second),
                 ("finish instead of it", handshake.encode_finish(bytes(handshake.SEALED)),
                  "Only an alert needs no MAC."),
                 ("an alert with code 0 instead of it", b"\5\0", "This is no alert.")]
        for what, message, why in table:
            yield at(pair, 2, "responder", f"mac: second hello {name}, {what}", message, "mac", why)


def wrong_binders():
    """(name, the binder made from the head, why); the MAC fits."""
    early = keys.early_secret(INVITED.key)

    def of(psk, peer=CAMERA):
        return lambda head: keys.binder(keys.early_secret(psk), peer, head)

    def keyed(key, content=keys.sha256):
        return lambda head: keys.hmac_sha256(key, content(head))[:16]

    key = keys.binder_key(early, CAMERA)
    return [
        ("of another invite", of(OTHER.key), "The invite is not one of the responder's."),
        ("of an enrolment that is unknown", of(ENROLLED.key), "The responder does not know it."),
        ("for another responder", of(INVITED.key, WATCHER), "The responder's peer id is in its key."),
        ("of a pre-shared key of zeros", of(keys.NO_PSK), "No pre-shared key is a binder of zeros, not one of this."),
        ("of the invite itself", of(INVITE.ljust(32, b"\0")), "The pre-shared key is derived from the invite."),
        ("of ones", lambda head: b"\xff" * 16, "It fits no key."),
        ("of one bit", lambda head: bytes(15) + b"\1", "Only 16 zeros mean that there is none."),
        ("with its first byte flipped", lambda head: flip(of(INVITED.key)(head), 0), "All of it counts."),
        ("with its last byte flipped", lambda head: flip(of(INVITED.key)(head), -1), "All of it counts."),
        ("of the other half of the hash", lambda head: keys.hmac_sha256(key, keys.sha256(head))[16:],
         "The first 16 bytes."),
        ("over the hello without hashing it", keyed(key, bytes), "It covers the hash."),
        ("over the entry of the hello", keyed(key, lambda head: keys.sha256(keys.entry(head))),
         "It covers the hash of the head alone."),
        ("of another hello", lambda head: keys.binder(early, CAMERA, head[:3] + bytes(32) + head[35:]),
         "It covers the random bytes."),
        ("keyed by the early secret", keyed(early), "Its key is derived."),
        ("keyed by the MAC's key", keyed(keys.mac_key(CAMERA)), "Its key comes from the pre-shared key."),
        ("keyed without the peer id", keyed(keys.expand_label(early, b"binder", b"", 32)),
         "The responder's peer id is in its key."),
        ("keyed from the pre-shared key directly", keyed(keys.expand_label(INVITED.key, b"binder", CAMERA, 32)),
         "Its key comes from the early secret."),
    ]


def rebound(make):
    """The pending hello with the binder that `make` gives for its head, under a MAC that fits."""
    def message(run):
        head = handshake.parse_hello(run.pending).head()
        return addressed(head + make(head) + bytes(MAC_LEN))
    return message


def binder_cases():
    for name, make, why in wrong_binders():
        yield at(base, 0, "responder", f"binder {name}", rebound(make), "psk", why)

    def changed(**fields):
        return lambda run: addressed(hello_of(run).changed(binder=bytes(range(16)), **fields).encode())

    table = [
        ("and bad form", changed(suites=b""), "malformed", "The form is checked before the binder."),
        ("and a cookie", changed(cookie=b"cookie"), "malformed", "The form is checked before the binder."),
        ("and wrong version", changed(version=1), "version", "The version is checked before the binder."),
        ("and wrong role", changed(role=PUBLISHER), "role", "The role is checked before the binder."),
        ("and no common mechanism", changed(mechanisms=b"\1\4", share_mechanism=4), "psk",
         "The binder is checked before the offers."),
        ("and no common suite", changed(suites=b"\2\4"), "psk", "The binder is checked before the offers."),
        ("and a short share", changed(share=b"\1" * 31), "psk", "The binder is checked before the share."),
    ]
    for name, message, expect, why in table:
        yield at(base, 0, "responder", f"wrong binder {name}", message, expect, why)
    yield at(without_psk, 0, "responder", "binder where the initiator has no psk",
             rebound(lambda head: keys.binder(keys.early_secret(OTHER.key), CAMERA, head)), "psk",
             "It fits none of the responder's keys.")


def unknown_psks():
    """Ends that are as they should be, but for the pre-shared keys that they know."""
    table = [
        ("invite at a responder that knows none", (INVITED,), ()),
        ("enrolment at a responder that knows none", (ENROLLED,), ()),
        ("invite at a responder that knows another", (INVITED,), (OTHER,)),
        ("enrolment at a responder that knows an invite", (ENROLLED,), (INVITED,)),
        ("invite kept as an enrolment", (Psk("enrolment", INVITE.ljust(32, b"\0")),), (INVITED,)),
        ("invite at a responder that knows 81 others", (INVITED,),
         tuple(Psk("invite", fixed(f"invite {number}", 16)) for number in range(81))),
        ("invite at a responder that would want a cookie", (INVITED,), (OTHER,), fixed("cookie", 32)),
    ]
    for name, ours, theirs, *cookie in table:
        def pair():
            return (initiator_config(name, psks=ours),
                    responder_config(name, psks=theirs, cookie=b"".join(cookie)))

        yield at(pair, 0, "responder", f"unknown psk: {name}", lambda run: run.pending, "psk",
                 "The binder fits none of the responder's keys.")


def zeroed_binder():
    """Someone in between hides that the initiator has a pre-shared key; the responder takes the hello."""
    def zeroed(index, message):
        return addressed(hello_without_binder(message)) if index == 0 else message

    run = Run(*base(), zeroed)
    assert run.refused_by == "initiator"
    yield run.configs["initiator"], case_json(
        run, "initiator", "binder zeroed in flight", run.reason,
        "The initiator's secrets have its pre-shared key; the reply's do not.", run.refused_message)


def hello_without_binder(message):
    return message[:-2 * MAC_LEN] + bytes(2 * MAC_LEN)


def second_hellos():
    """A second hello uses the key of the first."""
    def with_psk(psk):
        return lambda run: handshake.bound(run.pending, CAMERA, psk)

    table = [
        (retrying_with_psk, "another psk that is known", with_psk(OTHER.key), "retry",
         "Both hellos use one pre-shared key."),
        (retrying_with_psk, "no psk any more", with_psk(None), "retry", "Both hellos use one pre-shared key."),
        (retrying_with_psk, "another psk that is unknown", with_psk(ENROLLED.key), "psk",
         "The binder is checked before the comparison with the first hello."),
        (retrying_with_psk, "binder of the first hello",
         lambda run: addressed(run.pending[:-32] + run.messages[0][1][-32:-16] + bytes(16)), "psk",
         "The binder covers the share and the cookie."),
        (retrying_with_psk, "unknown psk and no cookie",
         lambda run: handshake.bound(handshake.parse_hello(run.pending).changed(cookie=b"").encode(), CAMERA,
                                     ENROLLED.key), "psk",
         "The binder is checked before the comparison with the first hello."),
        (retrying, "a psk where the first had none", lambda run: bound(run.pending), "retry",
         "Both hellos use one pre-shared key."),
        (retrying, "an unknown psk where the first had none", with_psk(OTHER.key), "psk",
         "The binder is checked before the comparison with the first hello."),
    ]
    for pair, name, message, expect, why in table:
        yield at(pair, 2, "responder", f"second hello: {name}", message, expect, why)


def cases():
    for part in (mac_cases(), binder_cases(), unknown_psks(), zeroed_binder(), second_hellos()):
        yield from part
