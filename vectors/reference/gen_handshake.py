"""vectors/handshake.json: whole transcripts here, refusals in the modules of PARTS"""

import gen_binding
import gen_forgeries
import gen_shares
import gen_tampering
import keys
from common import check_names, fixed
from handshake import CAMERAS, FRAMES, NOTHING, PACKETS, PUBLISHER, VIEWER, encode_wish
from sessions import (CAMERA_SEED, INVITED, WATCHER, WATCHER_SEED, Psk, Run, hex_values, initiator_config, pairs_json,
                      responder_config)

PARTS = (gen_tampering, gen_binding, gen_forgeries, gen_shares)
KINDS = {1: "hello", 2: "retry", 3: "reply", 4: "finish"}
PUBLISHER_STARTS = {"role": PUBLISHER, "identity_seed": CAMERA_SEED, "pinned_peer": WATCHER}
VIEWER_LISTENS = {"role": VIEWER, "identity_seed": WATCHER_SEED}
ENROLLED = Psk("enrolment", fixed("enrolment", 32))


def several(count):
    """Pre-shared keys of both kinds by turns, the first and the last of invites."""
    return tuple(Psk("enrolment", fixed(f"enrolment {number}", 32)) if number % 2 else
                 Psk("invite", fixed(f"invite {number}", 16)) for number in range(count))


# name, what the initiator's configuration changes, what the responder's changes, why it is here
TRANSCRIPTS = [
    ("x25519-mlkem768", {"mechanisms": [1], "share_mechanism": 1, "suites": [1]}, {"mechanisms": [1], "suites": [1]},
     None),
    ("x25519", {"psks": (INVITED,)}, {}, None),
    ("p256", {"mechanisms": [3], "share_mechanism": 3, "suites": [2]}, {"suites": [2]}, None),
    ("mlkem768", {"mechanisms": [4], "share_mechanism": 4, "suites": [4], "psks": (INVITED,)},
     {"mechanisms": [4], "suites": [4]}, None),
    ("sntrup761-x25519", {"mechanisms": [5], "share_mechanism": 5}, {"mechanisms": [5]}, None),
    ("rsa2048", {"mechanisms": [16], "share_mechanism": 16}, {"mechanisms": [16]}, None),
    ("publisher initiates", PUBLISHER_STARTS, VIEWER_LISTENS, None),
    ("publisher initiates with invite", {**PUBLISHER_STARTS, "psks": (INVITED,)}, VIEWER_LISTENS, None),
    ("preferences of the responder decide", {"suites": [1, 2, 3, 4]}, {"suites": [4, 3, 2, 1], "mechanisms": [2, 1]},
     None),
    ("unknown identifiers are skipped", {"suites": [99, 3, 200], "mechanisms": [77, 2, 255]}, {}, None),
    ("eight identifiers", {"suites": [1, 2, 3, 4, 5, 6, 7, 8], "mechanisms": [1, 2, 3, 4, 5, 16, 17, 18]}, {}, None),
    ("retry after a wrong guess", {"mechanisms": [2, 3]}, {"mechanisms": [3, 2]}, None),
    ("retry to the hybrid", {"mechanisms": [2, 1], "psks": (INVITED,)}, {"mechanisms": [1]}, None),
    ("retry after a guess the responder does not know", {"mechanisms": [3, 2], "share_mechanism": 3},
     {"mechanisms": [2]}, None),
    ("retry for a cookie", {}, {"cookie": fixed("cookie", 32)},
     "The mechanism stays; the second hello has a key of its own."),
    ("retry after a wrong guess, with the longest cookie", {"mechanisms": [2, 3], "psks": (INVITED,)},
     {"mechanisms": [3], "cookie": fixed("long cookie", 64)}, None),
    ("retry for a cookie, with a pre-shared key", {"psks": (INVITED,)}, {"cookie": fixed("cookie", 32)},
     "Each hello has a binder of its own, made with the same key."),
    ("neither has a pre-shared key", {}, {"psks": ()}, None),
    ("only the responder has pre-shared keys", {}, {"psks": several(3)},
     "A binder of zeros uses none, whatever the responder knows."),
    ("enrolment", {"psks": (ENROLLED,)}, {"psks": (ENROLLED,)}, None),
    ("enrolment after an invite", {"psks": (ENROLLED,)}, {"psks": (INVITED, ENROLLED)}, None),
    ("enrolment, with a retry", {"psks": (ENROLLED,), "mechanisms": [2, 3]},
     {"psks": (INVITED, ENROLLED), "mechanisms": [3]}, None),
    ("publisher initiates with an enrolment", {**PUBLISHER_STARTS, "psks": (ENROLLED,)},
     {**VIEWER_LISTENS, "psks": (ENROLLED,)}, None),
    ("wish of packets", {"wish": encode_wish(PACKETS)}, {}, None),
    ("wish of nothing yet", {"wish": encode_wish(NOTHING)}, {}, None),
    ("wish of the cameras", {"wish": encode_wish(CAMERAS)}, {}, None),
    ("wish of a camera by its name", {"wish": encode_wish(FRAMES, "front")}, {}, None),
    ("wish of a camera with the longest name", {"wish": encode_wish(FRAMES, "é" * 32)}, {}, None),
    ("wish of a listening viewer", PUBLISHER_STARTS, {**VIEWER_LISTENS, "wish": encode_wish(FRAMES, "yard")}, None),
    ("first of 81 pre-shared keys", {"psks": several(81)[:1]}, {"psks": several(81)}, None),
    ("last of 81 pre-shared keys", {"psks": several(81)[-1:]}, {"psks": several(81)}, None),
    ("last of 128 pre-shared keys", {"psks": several(128)[-1:]}, {"psks": several(128)},
     "A responder knows at most 128."),
]


def transcript_case(run, name, note):
    i, r = run.ends["initiator"], run.ends["responder"]
    s = r.secrets
    assert i.peer_wish == r.c.wish and r.peer_wish == i.c.wish
    assert run.refused_by is None and i.secrets.epoch_0 == s.epoch_0 and i.suite == r.suite.number
    case = {"name": name, "expect": "ok", "initiator": run.configs["initiator"].name,
            "responder": run.configs["responder"].name, "key_pairs": pairs_json(run.configs["initiator"]),
            "encapsulation": hex_values(r.encapsulation), "suite": r.suite.number, "mechanism": i.share_mechanism,
            "messages": [{"from": sender, "kind": KINDS[m[0]], "bytes": m.hex()} for sender, m in run.messages]}
    for field in ("transcript", "ss", "psk", "early", "th1", "th2", "th3", "hs", "reply_key", "reply_iv", "finish_key",
                  "finish_iv", "epoch_0", "session_id", "binding", "enrolment"):
        case[field] = getattr(s, field).hex()
        assert getattr(i.secrets, field) == getattr(s, field), field
    with_psk = s.psk != keys.NO_PSK
    case |= {"psk_name": keys.psk_name(s.early).hex() if with_psk else None, "mac_key": keys.mac_key(r.identity).hex(),
             "binder_key": keys.binder_key(s.early, r.identity).hex() if with_psk else None}
    case |= {"identity_r": r.identity.hex(), "signed_r": r.signed.hex(), "signature_r": r.signature.hex(),
             "wish_r": r.c.wish.hex(), "wish_i": i.c.wish.hex(),
             "identity_i": i.identity.hex(), "signed_i": i.signed.hex(), "signature_i": i.signature.hex()}
    if note:
        case["why"] = note
    return case


def generate():
    configs, transcripts = {}, []

    def remember(*used):
        for config in used:
            assert configs.setdefault(config.name, config.to_json()) == config.to_json(), config.name

    def whole(name, i_fields, r_fields, note):
        i_config, r_config = initiator_config(name, **i_fields), responder_config(name, **r_fields)
        run = Run(i_config, r_config)
        remember(i_config, r_config)
        transcripts.append(transcript_case(run, name, note))
        return run.ends["responder"].secrets

    secrets = [whole(*row) for row in TRANSCRIPTS]
    kept = Psk("enrolment", secrets[0].enrolment)
    whole(f"enrolled in {TRANSCRIPTS[0][0]}", {"psks": (kept,)}, {"psks": (kept,)},
          "The pre-shared key is what that handshake left at both ends.")
    refused = []
    for part in PARTS:
        for config, case in part.cases():
            remember(config)
            refused.append(case)
    return {"configs": configs, "transcripts": check_names(transcripts), "refused": check_names(refused)}
