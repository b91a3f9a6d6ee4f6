"""vectors/control.json"""

import control
from common import check_names, fixed

BIG = 2**64 - 1
SIGNATURE = fixed("rekey signature", 64)
PARAMETERS = bytes.fromhex("0000000167640028acd940780227e5c044000003000400000300f03c60c65800000001 68ebe3cb22c0")
H265_PARAMETERS = bytes.fromhex(
    "0000000140010c01ffff01600000030090000003000003007895980900000001420101016000000300900000030000030078"
    "a003c08010e596566924caf0168080000003008000000f04000000014401c172b46240")
AV1_PARAMETERS = bytes.fromhex("0a0b00000042abbfc3732be401")


def _json(fields):
    return {name: _in_hex(value) for name, value in fields.items()}


def _in_hex(value):
    if isinstance(value, list):
        return [_in_hex(one) for one in value]
    return value.hex() if isinstance(value, bytes) else value


def _outcome(decode, data):
    try:
        decode(data)
    except control.Malformed:
        return "malformed"
    except control.Ignored:
        return "ignored"
    return "ok"


def _negative(decode, rows):
    cases = []
    for name, data, expect, why in rows:
        assert _outcome(decode, data) == expect, name
        cases.append({"name": name, "expect": expect, "why": why, "bytes": data.hex()})
    return cases


OK_MESSAGES = [
    ("welcome", "welcome", {}),
    ("close, end of stream", "close", {"reason": 1, "text": ""}),
    ("close with text", "close", {"reason": 2, "text": "not on the list"}),
    ("close with text beyond ASCII", "close", {"reason": 7, "text": "Kamera f\u00e4llt aus \u2014 \U0001f4f7"}),
    ("close, longest text", "close", {"reason": 8, "text": "x" * 256}),
    ("close, longest text of two-byte letters", "close", {"reason": 3, "text": "\u00e4" * 128}),
    ("close, unknown reason", "close", {"reason": 200, "text": "later version"}),
    ("close, reason zero", "close", {"reason": 0, "text": ""}),
    ("rekey-offer x25519", "rekey-offer",
     {"epoch": 1, "mechanism": 2, "share": fixed("offer share", 32), "signature": SIGNATURE}),
    ("rekey-offer x25519-mlkem768", "rekey-offer",
     {"epoch": 65535, "mechanism": 1, "share": fixed("offer hybrid", 1216), "signature": SIGNATURE}),
    ("rekey-offer for epoch 65536", "rekey-offer",
     {"epoch": 0, "mechanism": 2, "share": fixed("offer wrap", 32), "signature": SIGNATURE}),
    ("rekey-offer, longest share", "rekey-offer",
     {"epoch": 1, "mechanism": 99, "share": fixed("offer longest", 2048), "signature": SIGNATURE}),
    ("rekey-offer, signature of zeros", "rekey-offer",
     {"epoch": 1, "mechanism": 2, "share": fixed("offer share", 32), "signature": bytes(64)}),
    ("rekey-answer", "rekey-answer", {"epoch": 1, "ciphertext": fixed("answer", 32), "signature": SIGNATURE}),
    ("rekey-answer hybrid", "rekey-answer",
     {"epoch": 65535, "ciphertext": fixed("answer hybrid", 1120), "signature": SIGNATURE}),
    ("rekey-answer, longest ciphertext", "rekey-answer",
     {"epoch": 1, "ciphertext": fixed("answer longest", 2048), "signature": SIGNATURE}),
    ("keyframe-request", "keyframe-request", {"stream": 1}),
    ("keyframe-request, stream 15", "keyframe-request", {"stream": 15}),
    ("ping", "ping", {"t1": 1_790_000_000_123_456_789}),
    ("ping zero", "ping", {"t1": 0}),
    ("ping, highest", "ping", {"t1": BIG}),
    ("pong", "pong",
     {"t1": 1_790_000_000_123_456_789, "t2": 1_790_000_000_200_000_000, "t3": 1_790_000_000_200_040_000}),
    ("pong, highest", "pong", {"t1": BIG, "t2": BIG, "t3": BIG}),
    ("rekey-request", "rekey-request", {}),
    ("selection, all", "selection", {"number": 65535, "mode": 0, "argument": 0}),
    ("selection, none", "selection", {"number": 1, "mode": 1, "argument": 0}),
    ("selection, no unit", "selection", {"number": 2, "mode": 2, "argument": 0}),
    ("selection, an eighth", "selection", {"number": 3, "mode": 2, "argument": 125}),
    ("selection, every unit", "selection", {"number": 4, "mode": 2, "argument": 1000}),
    ("selection, keyframes", "selection", {"number": 256, "mode": 3, "argument": 0}),
    ("selection, headers", "selection", {"number": 5, "mode": 4, "argument": 0}),
    ("selection, headers and keyframes", "selection", {"number": 6, "mode": 5, "argument": 0}),
    ("selection, level 1", "selection", {"number": 7, "mode": 6, "argument": 1}),
    ("selection, level 2", "selection", {"number": 8, "mode": 6, "argument": 2}),
    ("selection, level 3", "selection", {"number": 9, "mode": 6, "argument": 3}),
    ("selection, level 4", "selection", {"number": 10, "mode": 6, "argument": 4}),
    ("selection-ack", "selection-ack", {"number": 1}),
    ("selection-ack, highest", "selection-ack", {"number": 65535}),
    ("budget, none", "budget", {"milliseconds": 0}),
    ("budget, the longest", "budget", {"milliseconds": 10000}),
    ("orientation, upright", "orientation", {"turns": 0, "mirrored": 0}),
    ("orientation, on its side", "orientation", {"turns": 1, "mirrored": 0}),
    ("orientation, mirrored", "orientation", {"turns": 3, "mirrored": 1}),
    ("camera, on", "camera", {"state": 1, "since": 1_790_000_000_123_456_789, "why": ""}),
    ("camera, off", "camera", {"state": 2, "since": 0, "why": "it cannot be reached"}),
    ("camera, longest", "camera", {"state": 2, "since": BIG, "why": "\u00e4" * 128}),
    ("cameras, one", "cameras", {"names": ["front"]}),
    ("cameras, two", "cameras", {"names": ["front", "back yard"]}),
    ("cameras, of other scripts", "cameras", {"names": ["\u05e9\u05dc\u05d5\u05dd", "\u65e5\u672c", "\u2027\u202f"]}),
    ("cameras, most and longest", "cameras", {"names": ["\u00e4" * 31 + f"{number:02}" for number in range(32)]}),
    ("data, none", "data", {"channels": []}),
    ("data, one", "data", {"channels": [["mavlink", 1, 1]]}),
    ("data, two", "data", {"channels": [["telemetry", 1, 3], ["stick", 2, 2]]}),
    ("data, most and longest", "data",
     {"channels": [[f"Az09._-{number}".ljust(32, "x"), 1 + number % 2, 1 + number % 3] for number in range(8)]}),
    ("addresses, none", "addresses", {"addresses": []}),
    ("addresses, one", "addresses", {"addresses": [b"[2001:db8::7]:9553"]}),
    ("addresses, four", "addresses",
     {"addresses": [b"camera.example:9553", b"192.0.2.7:9553", b"[fd00::7]:9553", b"10.0.0.7:1"]}),
    ("addresses, of the longest length", "addresses", {"addresses": [b"a" * 255, b"b"]}),
    ("addresses, not understood", "addresses", {"addresses": [b"\x00\xff", b"tomorrow"]}),
    ("part, first of two", "part", {"message": 0, "index": 0, "count": 2, "bytes": fixed("part", 600)}),
    ("part, last of four, of one byte", "part", {"message": 65535, "index": 3, "count": 4, "bytes": b"\x03"}),
    ("nack of one", "nack", {"entries": [[7, 0]]}),
    ("nack of a run that wraps", "nack", {"entries": [[2**32 - 3, 5]]}),
    ("nack of several", "nack", {"entries": [[0, 0], [5, 3], [12, 255], [12, 255], [11, 0]]}),
    ("nack, longest", "nack", {"entries": [[number * 300, 255] for number in range(64)]}),
    ("feedback, first", "feedback",
     {"highest": 0, "arrived": 1_790_000_000_123_456_789, "budget": 120, "received": b""}),
    ("feedback", "feedback",
     {"highest": 100_000, "arrived": 1_790_000_001_123_456_789, "budget": 0, "received": bytes.fromhex("f7ff01")}),
    ("feedback, longest", "feedback",
     {"highest": 2**32 - 1, "arrived": BIG, "budget": 65535, "received": fixed("received", 128)}),
    ("probe", "probe", {"token": 0xDEADBEEF, "padding": 300}),
    ("probe without padding", "probe", {"token": 0, "padding": 0}),
    ("probe-ack", "probe-ack", {"token": 0xDEADBEEF}),
    ("gateway, a describe", "gateway", {"message": b"\1\0\0\0\7\5front"}),
    ("gateway, of an unknown type", "gateway", {"message": b"\xff"}),
    ("gateway, longest", "gateway", {"message": fixed("gateway", 4096)}),
    ("path-challenge", "path-challenge", {"token": fixed("path token", 8)}),
    ("path-challenge of zeros", "path-challenge", {"token": bytes(8)}),
    ("path-response", "path-response", {"token": fixed("path token", 8)}),
    ("shape", "shape", {"publisher": [4_800_000, 1, 1196], "viewer": [20_000_000, 1, 432]}),
    ("shape, shortest", "shape", {"publisher": [10**6, 1, 432], "viewer": [10**6, 1, 432]}),
    ("shape, longest", "shape", {"publisher": [10**9, 256, 1196], "viewer": [10**9, 256, 1196]}),
    ("path-response of ones", "path-response", {"token": b"\xff" * 8}),
]

MALFORMED_ON_DATAGRAMS = [
    ("part, no bytes", b"\x0b\0\0\0\2", "malformed", "A part has at least one byte."),
    ("part, header cut", b"\x0b\0\0\0", "malformed", "The fields are missing."),
    ("part, only one of them", b"\x0b\0\0\0\1x", "malformed", "A message in one part is no part."),
    ("part, none of them", b"\x0b\0\0\0\0x", "malformed", "2 to 4 parts."),
    ("part, of five", b"\x0b\0\0\0\5x", "malformed", "2 to 4 parts."),
    ("part, third of two", b"\x0b\0\0\2\2x", "malformed", "The index is below the count."),
    ("nack of none", b"\x0c\0", "malformed", "1 to 64 entries."),
    ("nack of 65", b"\x0c\x41" + bytes(65 * 5), "malformed", "1 to 64 entries."),
    ("nack, one entry too few", b"\x0c\2" + bytes(5), "malformed", "The count is above what is there."),
    ("nack, one entry too many", b"\x0c\1" + bytes(10), "malformed", "Bytes are left over."),
    ("feedback of 129 bytes", b"\x0d" + bytes(14) + control.counted(bytes(129), 1), "malformed",
     "At most 128 bytes."),
    ("probe, padding that is not zero", b"\x0e\0\0\0\1\0\0\1", "malformed", "The rest is zeros."),
    ("probe, token cut", b"\x0e\0\0\0", "malformed", "The fields are missing."),
    ("path-challenge of 4 bytes", b"\x11" + bytes(4), "malformed", "A token has 8 bytes."),
    ("path-challenge of 16 bytes", b"\x11" + bytes(16), "malformed", "A token has 8 bytes."),
    ("path-response of 4 bytes", b"\x12" + bytes(4), "malformed", "A token has 8 bytes."),
    ("path-response of 16 bytes", b"\x12" + bytes(16), "malformed", "A token has 8 bytes."),
] + [
    (f"shape, {name}", b"\x13" + control.CELLS.pack(*cells) + control.CELLS.pack(10**7, 1, 432), "malformed", why)
    for name, cells, why in [
        ("a tick too short", (10**6 - 1, 1, 1196), "A tick is 1 ms to 1 s."),
        ("a tick too long", (10**9 + 1, 1, 1196), "A tick is 1 ms to 1 s."),
        ("no cells", (10**7, 0, 1196), "1 to 256 cells."),
        ("257 cells", (10**7, 257, 1196), "1 to 256 cells."),
        ("cells too short", (10**7, 1, 431), "432 to 1 196 bytes."),
        ("cells too long", (10**7, 1, 1197), "432 to 1 196 bytes."),
    ]
] + [
    ("shape, of one end", b"\x13" + control.CELLS.pack(10**7, 1, 432), "malformed", "The fields are missing."),
]


def malformed_rekeys(offer, answer):
    return [
        ("rekey-offer, share longer than the message", offer[:4] + b"\x00\x21" + offer[6:], "malformed",
         "The signature is short."),
        ("rekey-offer, share shorter than the message", offer[:4] + b"\x00\x1f" + offer[6:], "malformed",
         "A byte is left over."),
        ("rekey-offer, empty share", offer[:4] + bytes(2) + SIGNATURE, "malformed", "1 to 2 048 bytes."),
        ("rekey-offer, share of 2049 bytes", offer[:4] + control.counted(bytes(2049)) + SIGNATURE, "malformed",
         "1 to 2 048 bytes."),
        ("rekey-offer, no signature", offer[:-64], "malformed", "A signature has 64 bytes."),
        ("rekey-offer, half a signature", offer[:-32], "malformed", "A signature has 64 bytes."),
        ("rekey-offer, two signatures", offer + SIGNATURE, "malformed", "Bytes are left over."),
        ("rekey-offer, the signature counted", offer[:-64] + control.counted(SIGNATURE), "malformed",
         "Bytes are left over."),
        ("rekey-answer, empty ciphertext", answer[:3] + bytes(2) + SIGNATURE, "malformed", "1 to 2 048 bytes."),
        ("rekey-answer, ciphertext of 2049 bytes", answer[:3] + control.counted(bytes(2049)) + SIGNATURE, "malformed",
         "1 to 2 048 bytes."),
        ("rekey-answer, ciphertext longer than the message", answer[:3] + b"\x00\x21" + answer[5:], "malformed",
         "The signature is short."),
        ("rekey-answer, no signature", answer[:-64], "malformed", "A signature has 64 bytes."),
        ("rekey-answer, half a signature", answer[:-32], "malformed", "A signature has 64 bytes."),
        ("rekey-answer, two signatures", answer + SIGNATURE, "malformed", "Bytes are left over."),
    ]


MALFORMED_OF_PUBLISHERS = [
    ("camera, state 0", b"\x24\0" + bytes(8) + control.counted(b""), "malformed", "1 is on, and 2 is off."),
    ("camera, state 3", b"\x24\3" + bytes(8) + control.counted(b""), "malformed", "1 is on, and 2 is off."),
    ("camera, reason of 257 bytes", b"\x24\2" + bytes(8) + control.counted(b"x" * 257), "malformed",
     "At most 256 bytes."),
    ("camera, cut letter", b"\x24\2" + bytes(8) + control.counted(b"ab\xc3"), "malformed", "Not UTF-8."),
    ("cameras, none", b"\x2a\0", "malformed", "There is one at least."),
    ("cameras, 33", b"\x2a\x21" + b"\1a" * 33, "malformed", "32 are the most."),
    ("cameras, without a name", b"\x2a\2\1a\0", "malformed", "Each has a name."),
    ("cameras, name of 65 bytes", b"\x2a\1\x41" + b"a" * 65, "malformed", "At most 64 bytes."),
    ("cameras, line feed in a name", b"\x2a\1\2a\n", "malformed", "A control character."),
    ("cameras, escape in the second name", b"\x2a\2\1a\4\x1b[2J", "malformed", "A control character."),
    *((f"cameras, U+{letter:04X} in a name", b"\x2a\1" + control.counted(f"a{chr(letter)}b".encode(), 1), "malformed",
       "A character that turns text around or breaks a line.")
      for letter in (0x61C, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A, 0x202E, 0x2066, 0x2069)),
    ("cameras, cut letter", b"\x2a\1\3ab\xc3", "malformed", "Not UTF-8."),
    ("data, nine", b"\x28\x09" + b"".join(b"\1" + bytes([97 + number, 1, 1]) for number in range(9)), "malformed",
     "8 are the most."),
    ("data, 255", b"\x28\xff" + b"\1a\1\1" * 255, "malformed", "8 are the most."),
    ("data, one name twice", b"\x28\2" + b"\1a\1\1" * 2, "malformed", "Names differ."),
    ("data, without a name", b"\x28\1\0\1\1", "malformed", "Each has a name."),
    ("data, name of 33 bytes", b"\x28\1\x21" + b"a" * 33 + b"\1\1", "malformed", "At most 32 bytes."),
    ("data, space in a name", b"\x28\1\3a b\1\1", "malformed", "Letters, digits and three marks."),
    ("data, slash in a name", b"\x28\1\3a/b\1\1", "malformed", "Letters, digits and three marks."),
    ("data, letter beyond ASCII", b"\x28\1\2\xc3\xa4\1\1", "malformed", "Letters are those of ASCII."),
    ("data, line feed after a name", b"\x28\1\2a\n\1\1", "malformed", "Letters, digits and three marks."),
    ("data, order 0", b"\x28\1\1a\0\1", "malformed", "1 and 2 are the orders."),
    ("data, order 3", b"\x28\1\1a\3\1", "malformed", "1 and 2 are the orders."),
    ("data, standing 0", b"\x28\1\1a\1\0", "malformed", "1 to 3 are the standings."),
    ("data, standing 4", b"\x28\1\1a\1\4", "malformed", "1 to 3 are the standings."),
    ("data, one of two", b"\x28\2\1a\1\1", "malformed", "The second is missing."),
    ("addresses, five", b"\x25\5" + control.counted(b"10.0.0.7:1", 1) * 5, "malformed", "At most 4."),
    ("addresses, 255", b"\x25\xff" + control.counted(b"10.0.0.7:1", 1) * 255, "malformed", "At most 4."),
    ("addresses, an empty one", b"\x25\1\0", "malformed", "An address has 1 to 255 bytes."),
    ("addresses, one of two", b"\x25\2" + control.counted(b"10.0.0.7:1", 1), "malformed", "The second is missing."),
]


def messages():
    cases, encoded = [], {}
    for name, kind, fields in OK_MESSAGES:
        data = control.encode(kind, **fields)
        assert control.decode(data) == (kind, fields)
        encoded[name] = data
        cases.append({"name": name, "expect": "ok", "message": kind, "fields": _json(fields), "bytes": data.hex()})
    rows = [("empty payload", b"", "malformed", "There is no type.")]
    for name in ("welcome", "close with text", "rekey-offer x25519", "rekey-answer", "keyframe-request", "ping", "pong",
                 "rekey-request", "selection, an eighth", "selection-ack", "budget, none", "orientation, mirrored",
                 "camera, off", "cameras, two", "data, two",
                 "addresses, four", "nack of several", "feedback", "probe-ack",
                 "path-challenge", "path-response"):
        data = encoded[name]
        rows.append((f"{name}, one byte more", data + b"\0", "malformed", "A byte is left over."))
        if len(data) > 1:
            rows.append((f"{name}, one byte less", data[:-1], "malformed", "The last field is short."))
            rows.append((f"{name}, type only", data[:1], "malformed", "The fields are missing."))
    rows += [
        ("close, text of 257 bytes", b"\x02\x01" + control.counted(b"x" * 257), "malformed", "At most 256 bytes."),
        ("close, 129 letters of two bytes", b"\x02\x01" + control.counted("\u00e4".encode() * 129), "malformed",
         "The limit counts bytes."),
        ("close, text of 4096 bytes", b"\x02\x01" + control.counted(b"x" * 4096), "malformed", "At most 256 bytes."),
        ("close, stray continuation byte", b"\x02\x01" + control.counted(b"ab\x80"), "malformed", "Not UTF-8."),
        ("close, cut letter", b"\x02\x01" + control.counted(b"ab\xc3"), "malformed", "Not UTF-8."),
        ("close, overlong slash", b"\x02\x01" + control.counted(b"\xc0\xaf"), "malformed",
         "UTF-8 has one form of each letter."),
        ("close, surrogate", b"\x02\x01" + control.counted(b"\xed\xa0\x80"), "malformed", "UTF-8 has no surrogates."),
        ("close, beyond U+10FFFF", b"\x02\x01" + control.counted(b"\xf4\x90\x80\x80"), "malformed", "Not UTF-8."),
        ("close, text longer than the message", b"\x02\x01\x00\x05abcd", "malformed",
         "The count is above what is there."),
        ("close, text shorter than the message", b"\x02\x01\x00\x03abcd", "malformed", "A byte is left over."),
        *malformed_rekeys(encoded["rekey-offer x25519"], encoded["rekey-answer"]),
        ("budget, 10001 ms", b"\x23\x27\x11", "malformed", "10 seconds are the longest."),
        ("budget, 65535 ms", b"\x23\xff\xff", "malformed", "10 seconds are the longest."),
        ("orientation, four turns", b"\x27\x04\x00", "malformed", "Four quarter turns are none."),
        ("orientation, mirrored twice", b"\x27\x00\x02", "malformed", "0 and 1 are no and yes."),
        *MALFORMED_OF_PUBLISHERS,
        ("keyframe-request, stream 0", b"\x05" + bytes(4), "malformed", "Media streams are 1 to 15."),
        ("keyframe-request, stream 16", b"\x05\x00\x00\x00\x10", "malformed", "Media streams are 1 to 15."),
        ("keyframe-request, highest stream", b"\x05" + b"\xff" * 4, "malformed", "Media streams are 1 to 15."),
        ("type 0", b"\x00", "ignored", "An unknown type is ignored."),
        ("selection, number 0", b"\x09\0\0\x01\0\0", "malformed", "Selections count from 1."),
        ("selection, mode 7", b"\x09\0\x01\x07\0\0", "malformed", "0 to 6 are the modes."),
        ("selection, mode 255", b"\x09\0\x01\xff\0\0", "malformed", "0 to 6 are the modes."),
        ("selection, level 0", b"\x09\0\x01\x06\0\0", "malformed", "Levels count from 1."),
        ("selection, level 5", b"\x09\0\x01\x06\0\x05", "malformed", "4 is the highest level."),
        ("selection, level 257", b"\x09\0\x01\x06\x01\x01", "malformed", "4 is the highest level."),
        ("selection, 1001 thousandths", b"\x09\0\x01\x02\x03\xe9", "malformed", "A share is at most the whole."),
        ("selection, all with thousandths", b"\x09\0\x01\0\0\x01", "malformed", "Only mode 2 has thousandths."),
        ("selection, headers with thousandths", b"\x09\0\x01\x04\x03\xe8", "malformed",
         "Only mode 2 has thousandths."),
        ("selection-ack, number 0", b"\x0a\0\0", "malformed", "Selections count from 1."),
        *MALFORMED_ON_DATAGRAMS,
        ("gateway, no message", b"\x10", "malformed", "It carries one message."),
        ("gateway, too long", b"\x10" + bytes(4097), "malformed", "At most 4096 bytes."),
        ("type 38", b"\x26", "ignored", "An unknown type is ignored."),
        *((f"type 41, {name}", b"\x29" + fields, "ignored", "It is reserved, and ignored as an unknown type is.")
          for name, fields in (("nothing more", b""), ("ends", b"\0"), ("wants to", b"\1"), ("may", b"\2"),
                               ("a state of none", b"\3"), ("longer", b"\1" + fixed("talk", 20)))),
        ("type 200", b"\xc8", "ignored", "An unknown type is ignored."),
        ("type 200 with fields", b"\xc8" + fixed("unknown type", 30), "ignored",
         "An unknown type is ignored, whatever follows."),
        ("type 255", b"\xff\x00", "ignored", "An unknown type is ignored."),
    ]
    return check_names(cases + _negative(control.decode, rows))


def codec_configurations():
    h264 = {"codec": 1, "width": 1920, "height": 1080, "rate_numerator": 30, "rate_denominator": 1,
            "parameters": PARAMETERS}
    table = [
        ("H.264 1080p30", h264),
        ("H.264 2160p at 60000/1001",
         {**h264, "width": 3840, "height": 2160, "rate_numerator": 60000, "rate_denominator": 1001}),
        ("H.264, largest fields",
         {**h264, "width": 65535, "height": 65535, "rate_numerator": 2**32 - 1, "rate_denominator": 2**32 - 1}),
        ("Motion JPEG 720p25", {"codec": 2, "width": 1280, "height": 720, "rate_numerator": 25, "rate_denominator": 1,
                                "parameters": b""}),
        ("H.265 1080p30", {**h264, "codec": 3, "parameters": H265_PARAMETERS}),
        ("H.265 without parameters", {**h264, "codec": 3, "parameters": b""}),
        ("AV1 1080p30", {**h264, "codec": 4, "parameters": AV1_PARAMETERS}),
        ("AV1, shortest parameters", {**h264, "codec": 4, "parameters": b"\x0a\x01\x18"}),
        ("AV1, longest parameters", {**h264, "codec": 4, "parameters": b"\x0a\xfd\x07" + fixed("av1", 1021)}),
    ]
    cases = []
    for name, fields in table:
        data = control.encode_codec_configuration(**fields)
        assert control.decode_codec_configuration(data) == fields
        cases.append({"name": name, "expect": "ok", "fields": _json(fields), "bytes": data.hex()})
    good = control.encode_codec_configuration(**h264)

    def av1(parameters):
        return control.encode_codec_configuration(**{**h264, "codec": 4, "parameters": parameters})

    rows = [
        ("empty", b"", "malformed", "The fields are missing."),
        ("one byte more", good + b"\0", "malformed", "A byte is left over."),
        ("one byte less", good[:-1], "malformed", "The parameters are short."),
        ("no parameters field", good[:13], "malformed", "The count of the parameters is missing."),
        ("half a count", good[:14], "malformed", "The count of the parameters is short."),
        ("cut in the rate", good[:10], "malformed", "The denominator is short."),
        ("zero denominator", good[:9] + bytes(4) + good[13:], "malformed", "A zero denominator is malformed."),
        ("codec 0", b"\0" + good[1:], "malformed", "1 to 4 are the codecs."),
        ("codec 5", b"\5" + good[1:], "malformed", "1 to 4 are the codecs."),
        ("zero width", good[:1] + bytes(2) + good[3:], "malformed", "A picture has pixels."),
        ("zero height", good[:3] + bytes(2) + good[5:], "malformed", "A picture has pixels."),
        ("Motion JPEG with parameters", b"\2" + good[1:], "malformed", "Motion JPEG has no parameters."),
        ("AV1 with the parameters of H.264", b"\4" + good[1:], "malformed", "AV1 has a sequence header OBU."),
        ("AV1 without parameters", av1(b""), "malformed", "AV1 has a sequence header OBU."),
        ("AV1 with a header alone", av1(b"\x0a\x00"), "malformed", "A sequence header has content."),
        ("AV1 without the size of its OBU", av1(b"\x08" + AV1_PARAMETERS[2:]), "malformed", "The OBU has a size."),
        ("AV1 with parameters too long", av1(b"\x0a\xfe\x07" + fixed("av1", 1022)), "malformed",
         "1024 bytes are the most."),
    ]
    return check_names(cases + _negative(control.decode_codec_configuration, rows))


def sound_configurations():
    aac = {"codec": 16, "channels": 2, "samples_per_second": 48000, "samples_per_frame": 1024,
           "parameters": bytes.fromhex("1190")}
    head = bytes.fromhex("0102380180bb0000000000")
    opus = {"codec": 17, "channels": 2, "samples_per_second": 48000, "samples_per_frame": 960, "parameters": head}
    surround = bytes.fromhex("0106000080bb00000000010402") + bytes([0, 4, 1, 2, 3, 5])
    ulaw = {"codec": 18, "channels": 1, "samples_per_second": 8000, "samples_per_frame": 160, "parameters": b""}
    table = [
        ("AAC-LC, 48 kHz, stereo", aac),
        ("AAC, largest fields", {**aac, "channels": 8, "samples_per_second": 192000, "samples_per_frame": 2**32 - 1,
                                 "parameters": fixed("specific", 256)}),
        ("AAC, packets of several lengths", {**aac, "samples_per_frame": 0}),
        ("Opus, stereo", opus),
        ("Opus, six channels", {**opus, "channels": 6, "samples_per_frame": 0, "parameters": surround}),
        ("G.711, u-law", ulaw),
        ("G.711, A-law, 16 kHz, stereo", {**ulaw, "codec": 19, "channels": 2, "samples_per_second": 16000}),
    ]
    cases = []
    for name, fields in table:
        data = control.encode_sound_configuration(**fields)
        assert control.decode_sound_configuration(data) == fields
        cases.append({"name": name, "expect": "ok", "fields": _json(fields), "bytes": data.hex()})

    def made(base, **changed):
        return control.encode_sound_configuration(**{**base, **changed})

    good = made(aac)
    rows = [
        ("empty", b"", "malformed", "The fields are missing."),
        ("one byte more", good + b"\0", "malformed", "A byte is left over."),
        ("one byte less", good[:-1], "malformed", "The parameters are short."),
        ("codec 1", made(aac, codec=1), "malformed", "H.264 is no sound."),
        ("codec 15", made(ulaw, codec=15), "malformed", "16 to 19 are the codecs of sound."),
        ("codec 20", made(ulaw, codec=20), "malformed", "16 to 19 are the codecs of sound."),
        ("no channels", made(aac, channels=0), "malformed", "1 to 8 channels."),
        ("9 channels", made(aac, channels=9), "malformed", "1 to 8 channels."),
        ("a reserved bit", good[:4] + b"\1" + good[5:], "malformed", "The reserved field is 0."),
        ("7999 samples", made(ulaw, samples_per_second=7999), "malformed", "8 000 is the least."),
        ("192001 samples", made(aac, samples_per_second=192001), "malformed", "192 000 is the most."),
        ("AAC, no parameters", made(aac, parameters=b""), "malformed", "An AudioSpecificConfig has 2 bytes or more."),
        ("AAC, 257 bytes", made(aac, parameters=fixed("specific", 257)), "malformed", "256 bytes at most."),
        ("u-law with parameters", made(ulaw, parameters=b"\0"), "malformed", "G.711 has no parameters."),
        ("A-law with parameters", made(ulaw, codec=19, parameters=head), "malformed", "G.711 has no parameters."),
        ("Opus, 44.1 kHz", made(opus, samples_per_second=44100), "malformed", "Opus has 48 000."),
        ("Opus, cut", made(opus, parameters=head[:10]), "malformed", "An OpusHead has 11 bytes or more."),
        ("Opus, a byte more", made(opus, parameters=head + b"\0"), "malformed", "Family 0 has no mapping."),
        ("Opus, version 2", made(opus, parameters=b"\2" + head[1:]), "malformed", "The version is 1."),
        ("Opus, other channels", made(opus, channels=1), "malformed", "The OpusHead has two."),
        ("Opus, family 0 with 3", made(opus, channels=3, parameters=b"\1\3" + head[2:]), "malformed", "One or two."),
        ("Opus, family 2", made(opus, parameters=head[:10] + b"\2"), "malformed", "0 and 1 are the families."),
        ("Opus, a short mapping", made(opus, channels=6, parameters=surround[:-1]), "malformed", "Six bytes map six."),
    ]
    return check_names(cases + _negative(control.decode_sound_configuration, rows))


def preambles():
    usual = {"frame": 41, "media_time": 1_366_666_667, "captured": 1_790_000_000_000_000_000,
             "encoded": 1_790_000_000_004_000_000, "previous_seal": 61_250, "previous_send": 98_001,
             "capture": 33_366_700, "padding": 0, "stamp": 1, "layout": 0, "kept": 0}
    table = [
        ("first frame", {**usual, "frame": 0, "media_time": 0, "previous_seal": 0, "previous_send": 0},
         b"\0\0\0\1\x65frame"),
        ("later frame", usual, fixed("frame", 100)),
        ("already encoded at the source", {**usual, "encoded": usual["captured"], "capture": 0, "stamp": 3},
         b"\xff\xd8\xff\xd9"),
        ("stamped at the end of the picture", {**usual, "capture": 1_250_000, "stamp": 2}, b"\0"),
        ("kept for a viewer that joined later", {**usual, "kept": 1}, fixed("frame", 100)),
        ("padded", {**usual, "padding": 12}, fixed("frame", 100) + bytes(12)),
        ("saturated", {**usual, "previous_seal": 2**32 - 1, "previous_send": 2**32 - 1, "capture": 2**32 - 1}, b"\0"),
        ("highest",
         dict.fromkeys(control.PREAMBLE_FIELDS[:4], BIG) | dict.fromkeys(control.PREAMBLE_FIELDS[4:8], 2**32 - 1)
         | {"stamp": 3, "layout": 0, "kept": 1}, b"\0"),
    ]
    cases = []
    for name, fields, frame in table:
        data = control.encode_preamble(**fields)
        assert len(data) == 52 and control.decode_preamble(data + frame) == (fields, frame)
        cases.append({"name": name, "expect": "ok", "fields": fields, "frame_bytes": frame.hex(),
                      "bytes": (data + frame).hex()})
    good = control.encode_preamble(**usual)
    lengths = (0, 1, 8, 32, 36, 40, 44, 48, 51)
    rows = [(f"cut to {n} bytes", good[:n], "malformed", "The preamble is 52 bytes.") for n in lengths]
    rows += [(f"stamp {n}", good[:48] + bytes([n]) + good[49:], "malformed", "Stamps are 1, 2 and 3.")
             for n in (0, 4, 255)]
    rows += [(f"layout {n}", good[:49] + bytes([n]) + good[50:], "malformed", "No layout has this number.")
             for n in (2, 255)]
    rows += [(f"kept {n}", good[:50] + bytes([n]) + good[51:], "malformed", "A frame was kept or not: 1 or 0.")
             for n in (2, 255)]
    rows.append(("reserved byte 51", good[:51] + b"\1", "malformed", "The reserved byte is 0."))
    return check_names(cases + _negative(control.decode_preamble, rows))


OK_GROUP_MESSAGES = [
    ("group-terms", "group-terms", {"terms": fixed("some terms", 121)}),
    ("group-terms, empty", "group-terms", {"terms": b""}),
    ("join", "join", {"stream": 1, "media": 0}),
    ("join, media through a relay", "join", {"stream": 15, "media": 1}),
    ("join, by enrolment", "join", {"stream": 15, "media": 2}),
    ("join, sealed", "join", {"stream": 1, "media": 3}),
    ("key-sheet", "key-sheet", {"sheet": fixed("some sheet", 190)}),
    ("key-sheet, empty", "key-sheet", {"sheet": b""}),
    ("challenge", "challenge", {"challenge": fixed("challenge", 16)}),
    ("answer", "answer", {"answer": fixed("some answer", 41)}),
    ("gop-key", "gop-key", {"certificate": fixed("some certificate", 2017)}),
    ("gop-signature", "gop-signature", {"signature": fixed("some signature", 3390)}),
    ("begin", "begin", {"number": 7}),
    ("begin, the highest number", "begin", {"number": 2**32 - 1}),
    ("numbered", "numbered", {"number": 0, "more": 0, "bytes": b"\x16" + fixed("some sheet", 190)}),
    ("numbered, the highest number", "numbered", {"number": 65_535, "more": 1, "bytes": b""}),
    ("taken", "taken", {"next": 258}),
    ("multicast, IPv4", "multicast", {"tag": 0x0102_0304, "port": 5000, "address": bytes([239, 1, 2, 3])}),
    ("multicast, IPv6", "multicast", {"tag": 2**32 - 1, "port": 65_535, "address": b"\xff\2" + bytes(13) + b"\5"}),
    ("hears, away", "hears", {"hearing": 0}),
    ("hears, hearing", "hears", {"hearing": 2}),
    ("archive-recipients", "archive-recipients", {"recipients": b"age1pq1some\n"}),
    ("archive-key", "archive-key", {"epoch": 2**40 + 1, "file": fixed("some file", 200)}),
]


def group_messages():
    cases = []
    for name, message, fields in OK_GROUP_MESSAGES:
        data = control.encode(message, **fields)
        assert control.decode(data) == (message, fields), name
        cases.append({"name": name, "expect": "ok", "message": message, "fields": _json(fields), "bytes": data.hex()})
    rows = [
        ("join, stream 0", b"\x15\0\0\0", "malformed", "Media streams are 1 to 15."),
        ("join, media 4", b"\x15\0\1\4", "malformed", "0 to 3 are the values."),
        ("archive-key, cut", b"\x22" + bytes(7), "malformed", "The epoch has 8 bytes."),
        ("join, cut", b"\x15\0\1", "malformed", "Where the media comes from is missing."),
        ("join, a byte more", b"\x15\0\1\0\0", "malformed", "A byte is left over."),
        ("challenge, 15 bytes", b"\x17" + bytes(15), "malformed", "It has 16 bytes."),
        ("challenge, 17 bytes", b"\x17" + bytes(17), "malformed", "It has 16 bytes."),
        ("begin, cut", b"\x1b\0\0\0", "malformed", "The number has 4 bytes."),
        ("begin, a byte more", b"\x1b\0\0\0\1\0", "malformed", "A byte is left over."),
        ("numbered, cut", b"\x1c\0", "malformed", "The number has 2 bytes."),
        ("numbered, no more", b"\x1c\0\1", "malformed", "Whether there is more is missing."),
        ("numbered, more 2", b"\x1c\0\1\2", "malformed", "It is 0 or 1."),
        ("taken, cut", b"\x1d\0", "malformed", "The number has 2 bytes."),
        ("taken, a byte more", b"\x1d\0\1\0", "malformed", "A byte is left over."),
        ("multicast, to one host", b"\x1f\0\0\0\1\x13\x88" + bytes([10, 0, 0, 1]), "malformed", "10.0.0.1 is a host."),
        ("multicast, mapped", b"\x1f\0\0\0\1\x13\x88" + bytes(10) + b"\xff\xff" + bytes([239, 1, 2, 3]), "malformed",
         "IPv4 has 4 bytes."),
        ("multicast, port 0", b"\x1f\0\0\0\1\0\0" + bytes([239, 1, 2, 3]), "malformed", "There is no port 0."),
        ("multicast, 5 bytes", b"\x1f\0\0\0\1\x13\x88" + bytes([239, 1, 2, 3, 4]), "malformed", "4 or 16 bytes."),
        ("hears 3", b"\x20\3", "malformed", "0 to 2 are the values."),
        ("hears, cut", b"\x20", "malformed", "What it hears is missing."),
        ("hears, a byte more", b"\x20\1\0", "malformed", "A byte is left over."),
        ("type 30", b"\x1e" + fixed("reserved", 120), "ignored", "It is reserved, and ignored as an unknown type is."),
    ]
    return check_names(cases + _negative(control.decode, rows))


def generate():
    return {
        "messages": messages(), "group_messages": group_messages(), "codec_configurations": codec_configurations(),
        "sound_configurations": sound_configurations(), "preambles": preambles(),
    }
