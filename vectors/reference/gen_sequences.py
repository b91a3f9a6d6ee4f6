"""The parts of vectors/records.json that need memory: replay windows, byte streams."""

import records
from common import check_names, fixed, flip
from gen_records import CODEC, control, media, opener, sealed

MEDIA_PAYLOAD = fixed("sequence payload", 24)


def _media(set_name, seq, epoch=0, stream=1):
    return sealed(set_name, epoch, media(seq=seq, stream=stream), MEDIA_PAYLOAD)


def _control(set_name, seq, epoch=0):
    return sealed(set_name, epoch, control(seq=seq), b"\x08")


def _play(set_name, steps):
    """One opener for all steps; each step is (record, expected outcome)."""
    one = opener(set_name)
    played = []
    for number, (record, expect) in enumerate(steps):
        got = one.outcome(record)
        assert got == expect, (set_name, number, got, expect)
        played.append({"record": record.hex(), "expect": expect})
    return played


def _numbers(set_name, pairs):
    return [(_media(set_name, seq), expect) for seq, expect in pairs]


def sequences():
    s = "aes-128-gcm i"
    forged_high = flip(_media(s, 100_000), -1)
    table = [
        ("in order", [(n, "ok") for n in range(4)], "Each number is higher than the one before."),
        ("the same record twice", [(0, "ok"), (0, "replay"), (1, "ok"), (0, "replay"), (1, "replay")],
         "A number is accepted once."),
        ("out of order inside the window", [(10, "ok"), (3, "ok"), (7, "ok"), (3, "replay"), (10, "replay"), (0, "ok")],
         "Lower numbers are accepted once while the window covers them."),
        ("edge of the window", [(4096, "ok"), (0, "replay"), (1, "ok"), (1, "replay"), (4095, "ok")],
         "top - seq must be under 4096."),
        ("edge after the top moved", [(0, "ok"), (4095, "ok"), (0, "replay"), (4096, "ok"), (1, "ok"), (0, "replay")],
         "top - seq must be under 4096."),
        ("a jump clears what it passes", [(5, "ok"), (5 + 8192, "ok"), (5, "replay"), (5 + 4096, "replay"),
                                           (5 + 4097, "ok"), (5 + 8191, "ok")],
         "Bits of a window that the jump left behind must not be taken for new numbers, nor refuse new ones."),
        ("a jump by one window",
         [(63, "ok"), (63 + 4096, "ok"), (63, "replay"), (64, "ok"), (64 + 4096, "ok"), (64, "replay")],
         "A bit may not be shared by two numbers that are 4096 apart."),
        ("a jump by whole words",
         [(0, "ok"), (1, "ok"), (64, "ok"), (4160, "ok"), (64, "replay"), (65, "ok"), (4097, "ok")],
         "Clearing must cover every word between the old and the new top."),
        ("highest numbers", [(2**32 - 2, "ok"), (2**32 - 1, "ok"), (2**32 - 1, "replay"), (2**32 - 4096, "ok"),
                             (2**32 - 4097, "replay"), (0, "replay")],
         "The last number is 2^32 - 1."),
    ]
    cases = [{"name": name, "expect": "ok" if all(e == "ok" for _, e in pairs) else "mixed", "why": why, "key_set": s,
              "steps": _play(s, _numbers(s, pairs))} for name, pairs, why in table]
    special = [
        ("a forgery does not move the window", [(_media(s, 0), "ok"), (forged_high, "tag"), (_media(s, 1), "ok"),
                                                (_media(s, 100_000), "ok")],
         "A number is marked only after its tag has verified."),
        ("a forgery does not use up its number",
         [(flip(_media(s, 5), 30), "tag"), (_media(s, 5), "ok"), (_media(s, 5), "replay")],
         "A number is marked only after its tag has verified."),
        ("replay is asked before the tag", [(_media(s, 5), "ok"), (flip(_media(s, 5), 30), "replay")],
         "The window is asked before anything is decrypted."),
        ("form is asked before replay", [(_media(s, 5), "ok"), (flip(_media(s, 5), 1, 0), "cleartext"),
                                         (flip(_media(s, 5), 1, 7), "malformed"), (_media(s, 5)[:39], "malformed")],
         "The header is parsed before the window is asked."),
        ("epoch is asked before replay", [(_media(s, 5), "ok"), (flip(_media(s, 5), 2, 0), "unknown-epoch")],
         "Without a key there is no window to ask."),
        ("epochs have their own windows",
         [(_media(s, 5), "ok"), (_media(s, 5, epoch=1), "ok"), (_media(s, 5), "replay"),
          (_media(s, 5, epoch=1), "replay"), (_media(s, 6), "ok")],
         "Numbers belong to a key, and each epoch has its own."),
        ("purposes have their own windows", [(_media(s, 5), "ok"), (_control(s, 5), "ok"), (_control(s, 5), "replay"),
                                             (_media(s, 5), "replay")],
         "Numbers belong to a key, and each purpose has its own."),
        ("streams share a window",
         [(_media(s, 5), "ok"), (_media(s, 5, stream=2), "replay"), (_media(s, 6, stream=2), "ok")],
         "Streams share the media key, so a number is used by one of them only."),
    ]
    for name, steps, why in special:
        cases.append({"name": name, "expect": "mixed", "why": why, "key_set": s, "steps": _play(s, steps)})
    c = "aes-128-gcm clear"
    clear = [sealed(c, 0, media(seq=seq, flags=0x0C), MEDIA_PAYLOAD) for seq in range(7)]
    steps = [(clear[5], "ok"), (clear[5], "replay"), (_media(c, 5), "replay"), (flip(clear[6], 30), "tag"),
             (clear[6], "ok"), (_media(c, 4), "ok"), (clear[4], "replay")]
    cases.append({"name": "in clear and encrypted share a window", "expect": "mixed",
                  "why": "Numbers belong to a key, whatever is done with the payload.", "key_set": c,
                  "steps": _play(c, steps)})
    for other in ("aes-256-gcm i", "chacha20-poly1305 i", "aegis-128x4 i"):
        steps = _numbers(other, [(4096, "ok"), (4096, "replay"), (0, "replay"), (1, "ok")])
        cases.append({"name": f"window with {other}", "expect": "mixed",
                      "why": "The window is the same for every suite.", "key_set": other, "steps": _play(other, steps)})
    return check_names(cases)


def framings():
    record = _media("aes-128-gcm i", 0)
    table = [
        ("two messages", "established", records.framed(record) + records.framed(record), "ok", None),
        ("length zero", "established", bytes(4), "framing", "A length of zero ends the connection."),
        ("length zero after a message", "established", records.framed(record) + bytes(4), "framing",
         "A length of zero ends the connection."),
        ("longest record", "established", records.MAX_RECORD.to_bytes(4, "big"), "incomplete",
         "8 388 608 is allowed: the reader waits for the rest."),
        ("over-long record", "established", (records.MAX_RECORD + 1).to_bytes(4, "big"), "framing",
         "The length is above MAX_RECORD; it is refused before any of the message is read."),
        ("longest length there is", "established", b"\xff" * 4, "framing", "The length is above MAX_RECORD."),
        ("top bit of the length", "established", b"\x80\x00\x00\x28" + record[:40], "framing",
         "The length is unsigned and above MAX_RECORD."),
        ("longest handshake message", "handshake", (4096).to_bytes(4, "big"), "incomplete",
         "4 096 is allowed: the reader waits for the rest."),
        ("over-long handshake message", "handshake", (4097).to_bytes(4, "big"), "framing",
         "The length is above MAX_HANDSHAKE_MESSAGE."),
        ("record length before the session", "handshake", records.MAX_RECORD.to_bytes(4, "big"), "framing",
         "Before the session the limit is MAX_HANDSHAKE_MESSAGE."),
        ("handshake length zero", "handshake", bytes(4), "framing", "A length of zero ends the connection."),
        ("cut inside the length", "established", b"\0\0\0", "incomplete", "The reader waits for the rest."),
        ("cut inside the message", "established", records.framed(record)[:-1], "incomplete",
         "The reader waits for the rest."),
    ]
    cases = []
    for name, state, data, expect, why in table:
        case = {"name": name, "expect": expect, "limit": state, "stream": data.hex()}
        if why:
            case["why"] = why
        if expect != "incomplete":
            _check_framing(state, data, expect)
        if expect == "ok":
            case["messages"] = [m.hex() for m in records.split_stream(data, records.MAX_RECORD)]
        cases.append(case)
    return check_names(cases)


def _check_framing(state, data, expect):
    limit = records.MAX_RECORD if state == "established" else records.MAX_HANDSHAKE_MESSAGE
    try:
        records.split_stream(data, limit)
        got = "ok"
    except records.Refused as refused:
        got = str(refused)
    assert got == expect, (data.hex(), got)


def _connection(name, steps, why):
    """Records arriving on one byte stream, and the step after which the connection has ended."""
    set_name = "aes-128-gcm i"
    played, ends, in_a_row = _play(set_name, steps), None, 0
    for number, step in enumerate(played):
        in_a_row = 0 if step["expect"] == "ok" else in_a_row + 1
        if step["expect"] == "malformed" or in_a_row == records.MAX_CONSECUTIVE_REFUSALS:
            ends = number
            break
    assert ends is None or ends == len(played) - 1, "nothing is opened after the end"
    return {"name": name, "expect": "ok" if ends is None else "ends", "why": why, "key_set": set_name,
            "steps": played, "ends_after": ends}


def connections():
    s = "aes-128-gcm i"
    bad, good = (flip(_media(s, 900), -1), "tag"), [(_media(s, n), "ok") for n in range(4)]
    config = (sealed(s, 0, media(seq=50, flags=CODEC), bytes(15)), "ok")
    table = [
        ("15 refusals, then a good record, then 15 more", good[:1] + [bad] * 15 + good[1:2] + [bad] * 15 + good[2:3],
         "Only refusals in a row are counted together."),
        ("16 refusals in a row", good[:1] + [bad] * 16, "MAX_CONSECUTIVE_REFUSALS is 16."),
        ("16 refusals of different kinds", good[:1] + [(_media(s, 0), "replay"), (flip(_media(s, 9), 1), "cleartext"),
                                                       (_media(s, 9, epoch=2), "unknown-epoch"), bad] * 4,
         "The reasons are counted together."),
        ("a malformed record", good[:2] + [(_media(s, 2)[:39], "malformed")],
         "A malformed record ends a byte stream at once."),
        ("a refused record is dropped", good[:1] + [bad] + [config] + good[1:2], "The stream goes on."),
    ]
    return check_names([_connection(*row) for row in table])
