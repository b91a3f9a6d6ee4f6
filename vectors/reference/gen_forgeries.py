"""Refusals of messages whose keys are right: an active attacker took part in the handshake, or a broken peer did."""

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import handshake
import keys
from common import fixed, no_peer_ids
from ed25519 import decode, encode, keyless_signature, lengthened_s
from gen_tampering import base
from handshake import PUBLISHER, VIEWER
from sessions import (CAMERA, CAMERA_SEED, INVITE, INVITED, WATCHER, WATCHER_SEED, forged_finish, forged_reply,
                      initiator_config, refusal, responder_config, signed_reply, stopped)

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

    def over(th):
        return lambda s, identity: b"sealcast2 responder publisher\0" + th(s) + identity

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
         plain(CAMERA_SEED, content=lambda s, i: b"sealcast2 responder publisher" + s.th1 + i),
         "signature", "A zero byte ends the label."),
        ("signed without the identity",
         plain(CAMERA_SEED, content=lambda s, i: b"sealcast2 responder publisher\0" + s.th1),
         "signature", "The identity is signed too."),
        ("signed over another identity",
         plain(CAMERA_SEED, content=lambda s, i: b"sealcast2 responder publisher\0" + s.th1 + MALLORY),
         "signature", "The identity is signed too."),
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
        ("version 0", forge(fields={"version": 0}), "version", "The version is 2."),
        ("version 1", forge(fields={"version": 1}), "version", "The version is 2."),
        ("version 3", forge(fields={"version": 3}), "version", "The version is 2."),
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
        ("sealed part of 111 bytes", forge(plain=lambda s: signed_reply(CAMERA_SEED)(s)[:-1]), "malformed",
         "Exactly 112."),
        ("sealed part of 113 bytes", forge(plain=lambda s: signed_reply(CAMERA_SEED)(s) + b"\0"), "malformed",
         "Exactly 112."),
        ("made without the pre-shared key", forge(psk=None), "sealed", "The key is in every handshake key."),
        ("made with another pre-shared key", forge(psk=keys.psk_of_invite(fixed("another invite", 16))), "sealed",
         "The key is in every handshake key."),
        ("made with the invite itself as the pre-shared key", forge(psk=INVITE + bytes(16)), "sealed",
         "The pre-shared key is derived from the invite."),
        ("sealed part of zeros",
         lambda hello: handshake.parse_reply(forge()(hello)).changed(sealed=bytes(112)).encode(),
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
    message = forged_reply(run.messages[0][1], mitm, plain=lambda s: honest.identity + honest.signature)
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
        return lambda s, identity: b"sealcast2 initiator viewer\0" + content(s, identity)

    def resealed(change):
        """A proper plaintext, changed and sealed again."""
        def build(s):
            plain = handshake.parse_finish(forged_finish(s, WATCHER_SEED))
            plain = AESGCM(s.finish_key).decrypt(s.finish_iv, plain, s.th2)
            return handshake.encode_finish(s.seal_finish(change(plain)))
        return build

    def sealed_with(key, iv, aad):
        def build(s):
            return handshake.encode_finish(AESGCM(key(s)).encrypt(iv(s), bytes(96), aad(s)))
        return build

    def without_psk(s):
        other = handshake.Secrets(s.transcript, handshake.parse_reply(s.reply).head(), s.ss)
        other.with_reply(s.reply)
        return forged_finish(other, WATCHER_SEED)

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
         forge(WATCHER_SEED, content=lambda s, i: b"sealcast2 initiator viewer" + s.th2 + i),
         "signature", "A zero byte ends the label."),
        ("responder's own identity, its key unknown", forge(MALLORY_SEED, identity=CAMERA), "own-identity",
         "One's own identity is refused before the signature."),
        ("responder's own identity, properly signed", forge(CAMERA_SEED), "own-identity", "One end cannot be both."),
        ("sealed part of 111 bytes", resealed(lambda p: p[:-1]), "malformed", "Exactly 112."),
        ("sealed part of 113 bytes", resealed(lambda p: p + b"\0"), "malformed", "Exactly 112."),
        ("sealed part of 145 bytes", resealed(lambda p: p + bytes(33)), "malformed",
         "Exactly 112: nothing about an invite follows the signature."),
        ("sealed part of zeros", lambda s: handshake.encode_finish(bytes(112)), "sealed", "It does not open."),
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


def refused_identities():
    for name, identity, why in no_peer_ids():
        run = stopped(*base(), 2)
        s = run.ends["responder"].secrets
        content = handshake.signed_content("initiator", VIEWER, s.th2, identity)
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
