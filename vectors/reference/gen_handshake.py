"""vectors/handshake.json: whole transcripts here, refusals in gen_tampering.py and gen_forgeries.py"""

import gen_forgeries
import gen_shares
import gen_tampering
from common import check_names, fixed
from handshake import PUBLISHER, VIEWER
from sessions import (CAMERA_SEED, INVITE, WATCHER, WATCHER_SEED, Run, hex_values, initiator_config, pairs_json,
                      responder_config)

KINDS = {1: "hello", 2: "retry", 3: "reply", 4: "finish"}
PUBLISHER_STARTS = {"role": PUBLISHER, "identity_seed": CAMERA_SEED, "pinned_peer": WATCHER}
VIEWER_LISTENS = {"role": VIEWER, "identity_seed": WATCHER_SEED}

# name, what the initiator's configuration changes, what the responder's changes, why it is here
TRANSCRIPTS = [
    ("x25519-mlkem768", {"mechanisms": [1], "share_mechanism": 1, "suites": [1]}, {"mechanisms": [1], "suites": [1]},
     None),
    ("x25519", {"invite": INVITE}, {}, None),
    ("p256", {"mechanisms": [3], "share_mechanism": 3, "suites": [2]}, {"suites": [2]}, None),
    ("mlkem768", {"mechanisms": [4], "share_mechanism": 4, "suites": [4], "invite": INVITE},
     {"mechanisms": [4], "suites": [4]}, None),
    ("sntrup761-x25519", {"mechanisms": [5], "share_mechanism": 5}, {"mechanisms": [5]}, None),
    ("rsa2048", {"mechanisms": [16], "share_mechanism": 16}, {"mechanisms": [16]}, None),
    ("publisher initiates", PUBLISHER_STARTS, VIEWER_LISTENS, None),
    ("publisher initiates with invite", {**PUBLISHER_STARTS, "invite": INVITE}, VIEWER_LISTENS, None),
    ("preferences of the responder decide", {"suites": [1, 2, 3, 4]}, {"suites": [4, 3, 2, 1], "mechanisms": [2, 1]},
     None),
    ("unknown identifiers are skipped", {"suites": [99, 3, 200], "mechanisms": [77, 2, 255]}, {}, None),
    ("eight identifiers", {"suites": [1, 2, 3, 4, 5, 6, 7, 8], "mechanisms": [1, 2, 3, 4, 5, 16, 17, 18]}, {}, None),
    ("retry after a wrong guess", {"mechanisms": [2, 3]}, {"mechanisms": [3, 2]}, None),
    ("retry to the hybrid", {"mechanisms": [2, 1], "invite": INVITE}, {"mechanisms": [1]}, None),
    ("retry after a guess the responder does not know", {"mechanisms": [3, 2], "share_mechanism": 3},
     {"mechanisms": [2]}, None),
    ("retry for a cookie", {}, {"cookie": fixed("cookie", 32)},
     "The mechanism stays; the second hello has a key of its own."),
    ("retry after a wrong guess, with the longest cookie", {"mechanisms": [2, 3], "invite": INVITE},
     {"mechanisms": [3], "cookie": fixed("long cookie", 64)}, None),
    ("wrong invite", {"invite": fixed("another invite", 16)}, {}, "A wrong proof leaves the peer uninvited, no more."),
    ("invite shown to a responder without one", {"invite": INVITE}, {"invite": None},
     "A proof that cannot be checked leaves the peer uninvited, no more."),
    ("neither has an invite", {}, {"invite": None}, None),
]


def transcript_case(run, name, note):
    i, r = run.ends["initiator"], run.ends["responder"]
    s = r.secrets
    assert run.refused_by is None and i.secrets.epoch_0 == s.epoch_0 and i.suite == r.suite.number
    case = {"name": name, "expect": "ok", "initiator": run.configs["initiator"].name,
            "responder": run.configs["responder"].name, "key_pairs": pairs_json(run.configs["initiator"]),
            "encapsulation": hex_values(r.encapsulation), "suite": r.suite.number, "mechanism": i.share_mechanism,
            "messages": [{"from": sender, "kind": KINDS[m[0]], "bytes": m.hex()} for sender, m in run.messages]}
    for field in ("transcript", "ss", "th1", "th2", "th3", "hs", "reply_key", "reply_iv", "finish_key", "finish_iv",
                  "epoch_0", "session_id"):
        case[field] = getattr(s, field).hex()
    case |= {"identity_r": r.identity.hex(), "signed_r": r.signed.hex(), "signature_r": r.signature.hex(),
             "identity_i": i.identity.hex(), "signed_i": i.signed.hex(), "signature_i": i.signature.hex(),
             "invited_byte": i.invited, "proof": i.proof.hex(), "invited": r.proved}
    if note:
        case["why"] = note
    return case


def generate():
    configs, transcripts = {}, []

    def remember(*used):
        for config in used:
            assert configs.setdefault(config.name, config.to_json()) == config.to_json(), config.name

    for name, i_fields, r_fields, note in TRANSCRIPTS:
        i_config, r_config = initiator_config(name, **i_fields), responder_config(name, **r_fields)
        run = Run(i_config, r_config)
        remember(i_config, r_config)
        transcripts.append(transcript_case(run, name, note))
    assert [c["invited"] for c in transcripts if "invite" in c["name"]] == [True, False, False, False]
    refused = []
    for part in (gen_tampering, gen_forgeries, gen_shares):
        for config, case in part.cases():
            remember(config)
            refused.append(case)
    return {"configs": configs, "transcripts": check_names(transcripts), "refused": check_names(refused)}
