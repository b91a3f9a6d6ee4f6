"""Refusals of messages whose keys are right: an active attacker took part in the handshake, or a broken peer did."""

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import handshake
import keys
from common import fixed, no_peer_ids
from ed25519 import decode, encode, keyless_signature, lengthened_s
from gen_tampering import base
from handshake import PUBLISHER, VIEWER
from sessions import (CAMERA, CAMERA_SEED, INVITE, INVITED, WATCHER, WATCHER_SEED, forged_finish, forged_reply,
                      initiator_config, refusal, responder_config, signed_reply, stopped, usual_wish)

MALLORY_SEED = fixed("mallory identity", 32)
MALLORY = handshake.public_of(MALLORY_SEED)


def flipped(signature):
    return signature[:-2] + bytes([signature[-2] ^ 1]) + signature[-1:]


def reply_cases():
    """(name, what the forger does, expect, why) for the initiator."""
    mitm = responder_config("mitm", identity_seed=MALLORY_SEED)

    def forge(**how):
        return lambda hello: forged_reply(hello, mitm, **how)

    return reply_signature_cases(forge) + reply_form_cases(forge)


def reply_signature_cases(forge):
    """Who signs the reply, and what."""
    def plain(*signing, **how):
        return forge(plain=signed_reply(*signing, **how))

    def over(th, other=None):
        return lambda s, i: b"sealcast2 responder publisher\0" + th(s) + (other or i) + handshake.NO_WISH

    return [
        ("another identity, properly signed", forge(), "wrong-peer", "The pinned peer is another one."),
        ("another identity, badly signed", plain(MALLORY_SEED, change=flipped), "wrong-peer",
         "The peer is checked before the signature."),
        ("pinned identity signed with another key", plain(MALLORY_SEED, identity=CAMERA), "signature",
         "The attacker does not have the pinned identity's key."),
        ("pinned identity, signature of zeros", plain(MALLORY_SEED, identity=CAMERA, change=lambda s: bytes(64)),
         "signature", "It does not verify."),
        ("signature with a flipped bit", plain(CAMERA_SEED, change=flipped), "signature", "It does not verify."),
        ("signature with S above the group order", plain(CAMERA_SEED, change=lengthened_s), "signature",
         "RFC 8032 holds S below the order: a signature has one form."),
        ("signed as the initiator", plain(CAMERA_SEED, side="initiator"), "signature",
         "The side is part of the label."),
        ("signed as a viewer", plain(CAMERA_SEED, role=VIEWER), "signature", "The role is part of the label."),
        ("signed as the initiator and a viewer", plain(CAMERA_SEED, side="initiator", role=VIEWER), "signature",
         "This is the initiator's own label."),
        ("signed without the zero byte",
         plain(CAMERA_SEED, content=lambda s, i: b"sealcast2 responder publisher" + s.th1 + i + handshake.NO_WISH),
         "signature", "A zero byte ends the label."),
        ("signed without the identity",
         plain(CAMERA_SEED, content=lambda s, i: b"sealcast2 responder publisher\0" + s.th1 + handshake.NO_WISH),
         "signature", "The identity is signed too."),
        ("signed over another identity",
         plain(CAMERA_SEED, content=over(lambda s: s.th1, MALLORY)),
         "signature", "The identity is signed too."),
        ("signed without the wish",
         plain(CAMERA_SEED, content=lambda s, i: b"sealcast2 responder publisher\0" + s.th1 + i),
         "signature", "The wish is signed too."),
        ("a publisher's wish", plain(CAMERA_SEED, wish=usual_wish(VIEWER)), "wish", "A publisher has none."),
        ("a publisher's wish, badly signed", plain(CAMERA_SEED, wish=usual_wish(VIEWER), change=flipped), "signature",
         "The signature is checked before the wish."),
        ("a byte in a publisher's wish", plain(CAMERA_SEED, wish=bytes(65) + b"\1"), "wish", "A publisher has none."),
        ("signed over a transcript without the reply",
         plain(CAMERA_SEED, content=over(lambda s: keys.sha256(s.transcript))),
         "signature", "th1 has the reply's head."),
        ("signed over zeros", plain(CAMERA_SEED, content=over(lambda s: bytes(32))), "signature",
         "th1 is what is signed."),
        ("initiator's own identity", plain(WATCHER_SEED), "wrong-peer", "The pinned peer is another one."),
    ]


def reply_form_cases(forge):
    """The fields of the head, and what is sealed."""
    return [
        ("version 0", forge(fields={"version": 0}), "version", "The version is 3."),
        ("version 1", forge(fields={"version": 1}), "version", "The version is 3."),
        ("version 2", forge(fields={"version": 2}), "version", "The version is 3."),
        ("initiator's own role", forge(fields={"role": VIEWER}), "role", "The role is opposite to the initiator's."),
        ("role 0", forge(fields={"role": 0}), "role", "The role is opposite to the initiator's."),
        ("role 3", forge(fields={"role": 3}), "role", "The role is opposite to the initiator's."),
        ("wrong version and wrong role", forge(fields={"version": 1, "role": VIEWER}), "version",
         "The version is checked first."),
        ("wrong role and suite not offered", forge(fields={"role": VIEWER, "suite": 2}), "role",
         "The role is checked first."),
        ("suite not offered", forge(fields={"suite": 2}), "not-offered", "1 and 3 were offered."),
        ("suite 0", forge(fields={"suite": 0}), "not-offered", "1 and 3 were offered."),
        ("unknown suite", forge(fields={"suite": 99}), "not-offered", "1 and 3 were offered."),
        ("mechanism not offered", forge(fields={"mechanism": 4}), "not-offered", "1, 2 and 3 were offered."),
        ("mechanism offered without a share", forge(fields={"mechanism": 3}), "not-offered",
         "reply.mechanism is the hello's share_mechanism."),
        ("unknown mechanism", forge(fields={"mechanism": 99}), "not-offered", "1, 2 and 3 were offered."),
        ("empty ciphertext", forge(fields={"ciphertext": b""}), "malformed", "1 to 2 048 bytes."),
        ("ciphertext of 2049 bytes", forge(fields={"ciphertext": bytes(2049)}), "malformed", "1 to 2 048 bytes."),
        ("ciphertext of 2048 bytes", forge(fields={"ciphertext": b"\1" * 2048}), "share",
         "The form allows it, the mechanism does not."),
        ("suite not offered and ciphertext short", forge(fields={"suite": 2, "ciphertext": b"\1" * 31}), "not-offered",
         "The offers are checked before the ciphertext."),
        ("sealed part of 177 bytes", forge(plain=lambda s: signed_reply(CAMERA_SEED)(s)[:-1]), "malformed",
         "Exactly 178."),
        ("sealed part of 179 bytes", forge(plain=lambda s: signed_reply(CAMERA_SEED)(s) + b"\0"), "malformed",
         "Exactly 178."),
        ("made without the pre-shared key", forge(psk=None), "sealed", "The key is in every handshake key."),
        ("made with another pre-shared key", forge(psk=keys.psk_of_invite(fixed("another invite", 16))), "sealed",
         "The key is in every handshake key."),
        ("made with the invite itself as the pre-shared key", forge(psk=INVITE + bytes(16)), "sealed",
         "The pre-shared key is derived from the invite."),
        ("sealed part of zeros",
         lambda hello: handshake.parse_reply(forge()(hello)).changed(sealed=bytes(handshake.SEALED)).encode(),
         "sealed", "It does not open."),
    ]


def refused_replies():
    for name, forge, expect, why in reply_cases():
        run = stopped(*base(), 1)
        message = forge(run.messages[0][1])
        yield run.configs["initiator"], refusal(run, "initiator", f"reply: {name}", message, expect, why)
    yield relayed_identity()
    yield own_identity_unpinned()
    yield unasked_psk()


def relayed_identity():
    """The signature of the pinned peer from another session, under the attacker's own keys."""
    mitm = responder_config("mitm", identity_seed=MALLORY_SEED)
    other = stopped(initiator_config("other session", psks=(INVITED,)), responder_config("other session"), 2)
    honest = other.ends["responder"]
    run = stopped(*base(), 1)
    signed = honest.identity + handshake.NO_WISH + honest.signature
    message = forged_reply(run.messages[0][1], mitm, plain=lambda s: signed)
    return run.configs["initiator"], refusal(
        run, "initiator", "reply: signature of the pinned peer from another session", message, "signature",
        "It signs another transcript.")


def own_identity_unpinned():
    """A reply with the initiator's own identity where that is what it pinned, signed by nobody who has the key."""
    i_config = initiator_config("self pinned badly", pinned_peer=WATCHER)
    run = stopped(i_config, responder_config("self pinned badly"), 0)
    message = forged_reply(run.messages[0][1], responder_config("mitm"),
                           plain=signed_reply(MALLORY_SEED, identity=WATCHER), psk=None)
    return i_config, refusal(run, "initiator", "reply: own identity, badly signed", message, "own-identity",
                             "One's own identity is refused before the signature.")


def unasked_psk():
    """A reply that uses a pre-shared key where the initiator has none."""
    i_config = initiator_config("forged reply without a psk")
    run = stopped(i_config, responder_config("forged reply without a psk"), 0)
    message = forged_reply(run.messages[0][1], responder_config("mitm"))
    return i_config, refusal(run, "initiator", "reply: made with a pre-shared key where there is none", message,
                             "sealed", "The binder was zeros.")


def finish_cases():
    """(name, how the finish is forged from the session's secrets, expect, why) for the responder."""
    def forge(*signing, **how):
        return lambda s: forged_finish(s, *signing, **how)

    def over(content):
        return lambda s, identity: b"sealcast2 initiator viewer\0" + content(s, identity) + usual_wish(VIEWER)

    def resealed(change):
        """A proper plaintext, changed and sealed again."""
        def build(s):
            plain = handshake.parse_finish(forged_finish(s, WATCHER_SEED))
            plain = AESGCM(s.finish_key).decrypt(s.finish_iv, plain, s.th2)
            return handshake.encode_finish(s.seal_finish(change(plain)))
        return build

    def sealed_with(key, iv, aad):
        def build(s):
            return handshake.encode_finish(AESGCM(key(s)).encrypt(iv(s), bytes(handshake.SEALED - 16), aad(s)))
        return build

    def without_psk(s):
        other = handshake.Secrets(s.transcript, handshake.parse_reply(s.reply).head(), s.ss)
        other.with_reply(s.reply)
        return forged_finish(other, WATCHER_SEED)

    packets = handshake.encode_wish(handshake.PACKETS)
    return [
        ("identity of another, signed with one's own key", forge(MALLORY_SEED, identity=WATCHER), "signature",
         "The attacker does not have the watcher's key."),
        ("signature of zeros", forge(WATCHER_SEED, change=lambda s: bytes(64)), "signature", "It does not verify."),
        ("signature with a flipped bit", forge(WATCHER_SEED, change=flipped), "signature", "It does not verify."),
        ("signature with S above the group order", forge(WATCHER_SEED, change=lengthened_s), "signature",
         "RFC 8032 holds S below the order: a signature has one form."),
        ("signed as the responder", forge(WATCHER_SEED, side="responder"), "signature",
         "The side is part of the label."),
        ("signed as a publisher", forge(WATCHER_SEED, role=PUBLISHER), "signature", "The role is part of the label."),
        ("signed as the responder and a publisher", forge(WATCHER_SEED, side="responder", role=PUBLISHER), "signature",
         "This is the responder's own label."),
        ("signed over th1", forge(WATCHER_SEED, content=over(lambda s, i: s.th1 + i)), "signature",
         "The initiator signs th2."),
        ("signed without the identity", forge(WATCHER_SEED, content=over(lambda s, i: s.th2)), "signature",
         "The identity is signed too."),
        ("signed over another identity", forge(WATCHER_SEED, content=over(lambda s, i: s.th2 + CAMERA)), "signature",
         "The identity is signed too."),
        ("signed without the zero byte",
         forge(WATCHER_SEED, content=lambda s, i: b"sealcast2 initiator viewer" + s.th2 + i + usual_wish(VIEWER)),
         "signature", "A zero byte ends the label."),
        ("signed without the wish",
         forge(WATCHER_SEED, content=lambda s, i: b"sealcast2 initiator viewer\0" + s.th2 + i), "signature",
         "The wish is signed too."),
        ("signed over another wish",
         forge(WATCHER_SEED, content=lambda s, i: b"sealcast2 initiator viewer\0" + s.th2 + i + packets),
         "signature", "The wish is signed too."),
        ("responder's own identity, its key unknown", forge(MALLORY_SEED, identity=CAMERA), "own-identity",
         "One's own identity is refused before the signature."),
        ("responder's own identity, properly signed", forge(CAMERA_SEED), "own-identity", "One end cannot be both."),
        ("sealed part of 177 bytes", resealed(lambda p: p[:-1]), "malformed", "Exactly 178."),
        ("sealed part of 179 bytes", resealed(lambda p: p + b"\0"), "malformed", "Exactly 178."),
        ("sealed part of 211 bytes", resealed(lambda p: p + bytes(33)), "malformed",
         "Exactly 178: nothing about an invite follows the signature."),
        ("sealed part of zeros", lambda s: handshake.encode_finish(bytes(handshake.SEALED)), "sealed",
         "It does not open."),
        ("made without the pre-shared key", without_psk, "sealed", "The key is in every handshake key."),
        ("sealed under the reply's key", sealed_with(lambda s: s.reply_key, lambda s: s.reply_iv, lambda s: s.th1),
         "sealed", "The finish has a key of its own."),
        ("sealed with th1 as associated data",
         sealed_with(lambda s: s.finish_key, lambda s: s.finish_iv, lambda s: s.th1),
         "sealed", "The associated data is th2."),
    ]


def refused_finishes():
    for name, forge, expect, why in finish_cases():
        run = stopped(*base(), 2)
        message = forge(run.ends["responder"].secrets)
        yield run.configs["responder"], refusal(run, "responder", f"finish: {name}", message, expect, why)


def no_wishes():
    """(name, 66 bytes, why): a viewer cannot wish this."""
    wish, zeros = handshake.encode_wish, handshake.NO_WISH
    return [
        ("none", zeros, "A viewer has one."),
        ("media 0 of a camera", wish(0, "front"), "1 to 4 are media."),
        ("media 5", wish(5), "1 to 4 are media."),
        ("media 255", wish(255), "1 to 4 are media."),
        ("name of 65 bytes", bytes([1, 65]) + b"a" * 64, "At most 64 bytes."),
        ("name of 255 bytes", bytes([1, 255]) + b"a" * 64, "At most 64 bytes."),
        ("a byte after the name", bytes([1, 5]) + b"frontb" + bytes(58), "Zeros follow it."),
        ("the last byte after no name", bytes([1]) + bytes(64) + b"\1", "Zeros follow it."),
        ("zero in the name", bytes([1, 5]) + b"fr\0nt" + bytes(59), "A control character."),
        ("line feed in the name", wish(1, "front\n"), "A control character."),
        ("escape in the name", wish(1, "\x1b[2J"), "A control character."),
        ("delete in the name", wish(1, "front\x7f"), "A control character."),
        ("next line of C1 in the name", wish(1, "front\x85"), "A control character."),
        ("override of the direction in the name", wish(1, "a\u202eb"), "It turns text around."),
        ("isolate in the name", wish(1, "\u2067front"), "It turns text around."),
        ("separator of lines in the name", wish(1, "a\u2028b"), "It breaks a line."),
        ("no UTF-8", bytes([1, 2]) + b"\xc3\x28" + bytes(62), "The name is UTF-8."),
        ("half a character", bytes([1, 1]) + b"\xc3\xa9" + bytes(62), "The name is UTF-8."),
        ("a surrogate", bytes([1, 3]) + b"\xed\xa0\x80" + bytes(61), "The name is UTF-8."),
    ]


def refused_wishes():
    for name, wish, why in no_wishes():
        run = stopped(*base(), 2)
        message = forged_finish(run.ends["responder"].secrets, WATCHER_SEED, wish=wish)
        yield run.configs["responder"], refusal(run, "responder", f"finish: wish, {name}", message, "wish", why)
    listens = responder_config("wishing viewer", role=VIEWER, identity_seed=WATCHER_SEED)
    connects = initiator_config("wished publisher", role=PUBLISHER, identity_seed=CAMERA_SEED, pinned_peer=WATCHER,
                                psks=(INVITED,))
    for name, wish, why in no_wishes()[:3]:
        run = stopped(connects, listens, 1)
        plain = signed_reply(WATCHER_SEED, role=VIEWER, wish=wish)
        message = forged_reply(run.messages[0][1], listens, plain=plain)
        yield connects, refusal(run, "initiator", f"reply: wish of a viewer, {name}", message, "wish", why)


def refused_identities():
    for name, identity, why in no_peer_ids():
        run = stopped(*base(), 2)
        s = run.ends["responder"].secrets
        content = handshake.signed_content("initiator", VIEWER, s.th2, identity, usual_wish(VIEWER))
        signature = keyless_signature(identity, content)
        message = forged_finish(s, MALLORY_SEED, identity=identity, change=lambda _: signature)
        yield run.configs["responder"], refusal(run, "responder", f"finish: identity with {name}", message, "identity",
                                                why)
    run = stopped(*base(), 2)
    no_point = next(encode(y, 0) for y in range(2, 100) if decode(encode(y, 0)) is None)
    yield run.configs["responder"], refusal(
        run, "responder", "finish: identity that is no point",
        forged_finish(run.ends["responder"].secrets, MALLORY_SEED, identity=no_point), "signature",
        "It has the form of a peer id, and nothing verifies under it.")


def cases():
    yield from refused_replies()
    yield from refused_finishes()
    yield from refused_identities()
    yield from refused_wishes()
