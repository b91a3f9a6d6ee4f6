"""The rekey messages of vectors/schedule.json (keys.md section 5)."""

import handshake
import keys
from common import check_names, fixed, flip
from ed25519 import lengthened_s
from handshake import Refused, public_of, sign

PUBLISHER, VIEWER, BINDING = fixed("rekey publisher", 32), fixed("rekey viewer", 32), fixed("rekey binding", 32)
OTHER = fixed("rekey other", 32)


def offer_head(epoch, mechanism, share):
    return b"\x03" + (epoch & 0xFFFF).to_bytes(2, "big") + bytes([mechanism]) + len(share).to_bytes(2, "big") + share


def answer_head(epoch, ciphertext):
    return b"\x04" + (epoch & 0xFFFF).to_bytes(2, "big") + len(ciphertext).to_bytes(2, "big") + ciphertext


def check_offer(epoch, offer, publisher=public_of(PUBLISHER)):
    """Refused("signature") unless the publisher offers this epoch."""
    handshake.verify(publisher, offer[-64:], keys.rekey_signed("offer", BINDING, epoch, [offer[:-64]]))


def check_answer(epoch, offer, answer, viewer=public_of(VIEWER)):
    handshake.verify(viewer, answer[-64:], keys.rekey_signed("answer", BINDING, epoch, [offer, answer[:-64]]))


def ends_json():
    return {"binding": BINDING.hex(), "publisher_seed": PUBLISHER.hex(), "publisher": public_of(PUBLISHER).hex(),
            "viewer_seed": VIEWER.hex(), "viewer": public_of(VIEWER).hex()}


def rekeys():
    cases = []
    secret = fixed("rekey E_0", 32)
    for epoch, mechanism, share_len, ct_len, ss_len in ((0, 2, 32, 32, 32), (1, 1, 1216, 1120, 64),
                                                        (65_535, 2, 32, 32, 32)):
        share, ciphertext = fixed(f"rekey share {epoch}", share_len), fixed(f"rekey ciphertext {epoch}", ct_len)
        ss = fixed(f"rekey ss {epoch}", ss_len)
        offered, answered = offer_head(epoch + 1, mechanism, share), answer_head(epoch + 1, ciphertext)
        signed_offer = keys.rekey_signed("offer", BINDING, epoch + 1, [offered])
        offer = offered + sign(PUBLISHER, signed_offer)
        signed_answer = keys.rekey_signed("answer", BINDING, epoch + 1, [offer, answered])
        answer = answered + sign(VIEWER, signed_answer)
        check_offer(epoch + 1, offer)
        check_answer(epoch + 1, offer, answer)
        salt, following = keys.next_epoch(secret, offer, answer, ss)
        cases.append({"name": f"from epoch {epoch} to {epoch + 1}", "expect": "ok", "epoch": epoch,
                      "epoch_secret": secret.hex(), **ends_json(), "signed_offer": signed_offer.hex(),
                      "offer": offer.hex(), "signed_answer": signed_answer.hex(), "answer": answer.hex(),
                      "ss": ss.hex(), "salt": salt.hex(), "next_epoch_secret": following.hex()})
        secret = following
    return check_names(cases)


EPOCH = 7
OFFERED = offer_head(EPOCH, 2, fixed("rekey share", 32))
ANSWERED = answer_head(EPOCH, fixed("rekey ciphertext", 32))
OFFER = OFFERED + sign(PUBLISHER, keys.rekey_signed("offer", BINDING, EPOCH, [OFFERED]))
ANSWER = ANSWERED + sign(VIEWER, keys.rekey_signed("answer", BINDING, EPOCH, [OFFER, ANSWERED]))
OWN_LABEL = "The message is part of the label."


def forged_offers():
    def signed(seed=PUBLISHER, message="offer", binding=BINDING, epoch=EPOCH, exchange=(OFFERED,)):
        return OFFERED + sign(seed, keys.rekey_signed(message, binding, epoch, exchange))

    usual = keys.rekey_signed("offer", BINDING, EPOCH, [OFFERED])
    return [
        ("signed by the viewer", signed(VIEWER), "The publisher signs offers."),
        ("signed by a third", signed(OTHER), "The publisher signs offers."),
        ("signed as an answer", signed(message="answer"), OWN_LABEL),
        ("signed for another session", signed(binding=fixed("another binding", 32)), "The binding names the session."),
        ("signed for the epoch before", signed(epoch=EPOCH - 1), "The epoch is signed."),
        ("signed for an epoch with the same low bits", signed(epoch=EPOCH + 65_536), "The whole number is signed."),
        ("another mechanism", flip(OFFER, 3), "The offer is signed."),
        ("another share", flip(OFFER, 10), "The offer is signed."),
        ("signature of zeros", OFFERED + bytes(64), "It does not verify."),
        ("signature with a flipped bit", flip(OFFER, -2), "It does not verify."),
        ("signature with S above the group order", OFFERED + lengthened_s(OFFER[-64:]),
         "RFC 8032 holds S below the order: a signature has one form."),
        ("signed without the zero byte", OFFERED + sign(PUBLISHER, usual.replace(b"offer\0", b"offer", 1)),
         "A zero byte ends the label."),
        ("signed without hashing", OFFERED + sign(PUBLISHER, usual[:-32] + keys.entry(OFFERED)),
         "The hash of the message is signed."),
        ("signed without the length", OFFERED + sign(PUBLISHER, usual[:-32] + keys.sha256(OFFERED)),
         "What is hashed is an entry."),
        ("signed with zeros in place of the signature", signed(exchange=(OFFERED + bytes(64),)),
         "The message is signed without its signature."),
    ]


def forged_answers():
    def signed(seed=VIEWER, message="answer", binding=BINDING, epoch=EPOCH, exchange=(OFFER, ANSWERED)):
        return ANSWERED + sign(seed, keys.rekey_signed(message, binding, epoch, exchange))

    other = offer_head(EPOCH, 2, fixed("another share", 32))
    other += sign(PUBLISHER, keys.rekey_signed("offer", BINDING, EPOCH, [other]))
    return [
        ("signed by the publisher", signed(PUBLISHER), "The viewer signs answers."),
        ("signed by a third", signed(OTHER), "The viewer signs answers."),
        ("signed as an offer", signed(message="offer"), OWN_LABEL),
        ("signed for another session", signed(binding=fixed("another binding", 32)), "The binding names the session."),
        ("signed for the epoch before", signed(epoch=EPOCH - 1), "The epoch is signed."),
        ("signed for an epoch with the same low bits", signed(epoch=EPOCH + 65_536), "The whole number is signed."),
        ("to another offer", signed(exchange=(other, ANSWERED)), "The offer is signed as well."),
        ("to no offer", signed(exchange=(ANSWERED,)), "The offer is signed as well."),
        ("to the offer without its signature", signed(exchange=(OFFERED, ANSWERED)), "The whole offer is signed."),
        ("messages in the other order", signed(exchange=(ANSWERED, OFFER)), "The offer stands first."),
        ("another ciphertext", flip(ANSWER, 10), "The answer is signed."),
        ("signature of zeros", ANSWERED + bytes(64), "It does not verify."),
        ("signature of the offer", ANSWERED + OFFER[-64:], "It signs something else."),
        ("signature with S above the group order", ANSWERED + lengthened_s(ANSWER[-64:]),
         "RFC 8032 holds S below the order: a signature has one form."),
    ]


def refused(name, check, why, offer, answer):
    try:
        check()
    except Refused as reason:
        return {"name": name, "expect": str(reason), "why": why, "epoch": EPOCH - 1, **ends_json(),
                "offer": offer.hex(), "answer": answer and answer.hex()}
    raise AssertionError(f"accepted: {name}")


def refused_rekeys():
    check_offer(EPOCH, OFFER)
    check_answer(EPOCH, OFFER, ANSWER)
    cases = [refused(f"offer: {name}", lambda offer=offer: check_offer(EPOCH, offer), why, offer, None)
             for name, offer, why in forged_offers()]
    cases += [refused(f"answer: {name}", lambda answer=answer: check_answer(EPOCH, OFFER, answer), why, OFFER, answer)
              for name, answer, why in forged_answers()]
    return check_names(cases)


def generate():
    return {"rekeys": rekeys(), "refused_rekeys": refused_rekeys()}
