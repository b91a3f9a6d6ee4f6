"""vectors/gateway.json"""

import control
import gateway
from common import check_names, fixed

SDP = b"v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=control:*\r\nm=video 0 RTP/AVP 96\r\na=control:track0\r\n"
RTP_INFO = "url=track0;seq=45102;rtptime=12345678,url=track1;seq=30211;rtptime=450"
PLAY = {"request": 8, "camera": 1, "verb": "PLAY", "tracks": [0, 1], "headers": [["Range", "npt=0-"]], "body": b""}
DONE = {"request": 8, "camera": 1, "status": 200, "headers": [], "body": b""}

OK_MESSAGES = [
    ("describe", "describe", {"request": 7, "path": "front"}),
    ("describe, no path", "describe", {"request": 0, "path": ""}),
    ("describe, longest path", "describe", {"request": 2**32 - 1, "path": "yard/" * 51}),
    ("describe, path beyond ASCII", "describe", {"request": 1, "path": "h\u00f6f/\U0001f4f7"}),
    ("command, PLAY", "command", PLAY),
    ("command, PLAY of all tracks", "command", {**PLAY, "tracks": list(range(16)), "headers": []}),
    ("command, PLAY with every header", "command",
     {**PLAY, "headers": [[name, "x"] for name in gateway.HEADERS.values()]}),
    ("command, a header of 1024 bytes", "command", {**PLAY, "headers": [["Range", "~" * 1024]]}),
    ("command, PAUSE of the last camera", "command",
     {**PLAY, "camera": 15, "verb": "PAUSE", "tracks": [], "headers": []}),
    ("command, GET_PARAMETER", "command",
     {**PLAY, "verb": "GET_PARAMETER", "tracks": [], "headers": [["Content-Type", "text/parameters"]],
      "body": b"position\r\n"}),
    ("command, SET_PARAMETER", "command",
     {**PLAY, "verb": "SET_PARAMETER", "tracks": [], "headers": [["Content-Type", "text/parameters"]],
      "body": b"barparam: barstuff\r\n"}),
    ("command, TEARDOWN", "command", {**PLAY, "verb": "TEARDOWN", "tracks": [], "headers": []}),
    ("answer, a description", "answer", {**DONE, "request": 7, "headers": [], "body": SDP}),
    ("answer, PLAY", "answer", {**DONE, "headers": [["Range", "npt=0-"], ["RTP-Info", RTP_INFO]]}),
    ("answer, done", "answer", DONE),
    ("answer, no such camera", "answer", {**DONE, "camera": 0, "status": 404}),
    ("answer, refused", "answer", {**DONE, "status": 599}),
    ("answer, longest", "answer", {**DONE, "body": fixed("description", 4096 - 11)}),
    ("packet", "packet", {"camera": 1, "channel": 1, "bytes": bytes.fromhex("80c90001deadbeef")}),
    ("packet of one byte on the last channel", "packet", {"camera": 15, "channel": 31, "bytes": b"\0"}),
    ("packet, longest", "packet", {"camera": 2, "channel": 3, "bytes": fixed("report", 4093)}),
    ("ended", "ended", {"camera": 1, "status": 502}),
    ("ended, highest", "ended", {"camera": 15, "status": 599}),
    ("in-order", "in-order", {"camera": 1, "tracks": [0, 1]}),
    ("in-order, no track", "in-order", {"camera": 15, "tracks": []}),
    ("in-order, all tracks", "in-order", {"camera": 2, "tracks": list(range(16))}),
]


def _json(value):
    if isinstance(value, bytes):
        return value.hex()
    return {name: _json(field) for name, field in value.items()} if isinstance(value, dict) else value


def _negative(decode, rows):
    cases = []
    for name, data, expect, why in rows:
        try:
            decode(data)
            outcome = "ok"
        except control.Malformed:
            outcome = "malformed"
        except control.Ignored:
            outcome = "ignored"
        assert outcome == expect, name
        cases.append({"name": name, "expect": expect, "why": why, "bytes": data.hex()})
    return cases


def _command(verb=1, tracks=1, headers=b"\0", camera=1):
    return bytes([2, 0, 0, 0, 8, camera, verb]) + tracks.to_bytes(2, "big") + headers + b"\0\0"


def _header(number, value):
    return bytes([number]) + control.counted(value)


def _broken(encoded):
    rows = [("empty", b"", "malformed", "There is no type.")]
    for name in ("describe", "command, PLAY", "answer, PLAY", "ended", "in-order"):
        data = encoded[name]
        rows += [(f"{name}, one byte more", data + b"\0", "malformed", "A byte is left over."),
                 (f"{name}, one byte less", data[:-1], "malformed", "The last field is short."),
                 (f"{name}, type only", data[:1], "malformed", "The fields are missing.")]
    describe = b"\1\0\0\0\7"
    answer = b"\3\0\0\0\7"
    rows += [
        ("describe, leading slash", describe + b"\6/front", "malformed", "A path has no leading slash."),
        ("describe, a control character", describe + b"\6fr\nont", "malformed", "A path has no control characters."),
        ("describe, delete", describe + b"\1\x7f", "malformed", "A path has no control characters."),
        ("describe, a control character beyond ASCII", describe + b"\2\xc2\x85", "malformed",
         "A path has no control characters."),
        ("describe, not UTF-8", describe + b"\2\xc3\x28", "malformed", "A path is UTF-8."),
        ("command, camera 0", _command(camera=0), "malformed", "Cameras are 1 to 15."),
        ("command, camera 16", _command(camera=16), "malformed", "Cameras are 1 to 15."),
        ("command, verb 0", _command(verb=0), "malformed", "1 to 5 are the verbs."),
        ("command, verb 6", _command(verb=6, tracks=0), "malformed", "1 to 5 are the verbs."),
        ("command, PLAY of nothing", _command(tracks=0), "malformed", "PLAY names at least one track."),
        ("command, PAUSE of a track", _command(verb=2), "malformed", "Only PLAY names tracks."),
        ("command, TEARDOWN of a track", _command(verb=5), "malformed", "Only PLAY names tracks."),
        ("command, header 0", _command(headers=b"\1" + _header(0, b"x")), "malformed", "1 to 8 are the headers."),
        ("command, header 9", _command(headers=b"\1" + _header(9, b"x")), "malformed", "1 to 8 are the headers."),
        ("command, a header twice", _command(headers=b"\2" + _header(1, b"x") * 2), "malformed", "None twice."),
        ("command, headers out of order", _command(headers=b"\2" + _header(2, b"x") + _header(1, b"x")), "malformed",
         "Headers stand in order."),
        ("command, an empty header", _command(headers=b"\1" + _header(1, b"")), "malformed", "1 to 1 024 bytes."),
        ("command, a header of 1025 bytes", _command(headers=b"\1" + _header(1, b"x" * 1025)), "malformed",
         "1 to 1 024 bytes."),
        ("command, a header of two lines", _command(headers=b"\1" + _header(1, b"a\r\nb")), "malformed",
         "Bytes from 0x20 to 0x7e."),
        ("command, a header beyond ASCII", _command(headers=b"\1" + _header(1, b"\xe4")), "malformed",
         "Bytes from 0x20 to 0x7e."),
        ("command, fewer headers than counted", _command(headers=b"\1"), "malformed", "A header is missing."),
        ("answer, done by no camera", answer + b"\0\0\xc8\0\0\0", "malformed", "0 only where a description failed."),
        ("answer, camera 16", answer + b"\x10\0\xc8\0\0\0", "malformed", "Cameras are 0 to 15."),
        ("answer, status 199", answer + b"\1\0\xc7\0\0\0", "malformed", "200 to 599."),
        ("answer, status 600", answer + b"\1\2\x58\0\0\0", "malformed", "200 to 599."),
        ("answer, too long", answer + b"\1\0\xc8\0" + control.counted(bytes(4086)), "malformed",
         "At most 4096 bytes."),
        ("packet, channel 32", b"\4\1\x20x", "malformed", "Channels are 0 to 31."),
        ("packet, channel 2", b"\4\1\2x", "malformed", "Players send a camera RTCP alone: channels are odd."),
        ("packet, no bytes", b"\4\1\1", "malformed", "A packet has at least one byte."),
        ("packet, camera 0", b"\4\0\1x", "malformed", "Cameras are 1 to 15."),
        ("packet, too long", b"\4\1\1" + bytes(4094), "malformed", "At most 4096 bytes."),
        ("ended, status 199", b"\5\1\0\xc7", "malformed", "200 to 599."),
        ("ended, camera 16", b"\5\x10\1\xf6", "malformed", "Cameras are 1 to 15."),
        ("in-order, camera 0", b"\7\0\0\1", "malformed", "Cameras are 1 to 15."),
        ("type 0", b"\0", "ignored", "An unknown type is ignored."),
        ("type 6 with fields", b"\6" + fixed("unknown gateway message", 20), "ignored",
         "An unknown type is ignored, whatever follows."),
        ("type 255", b"\xff", "ignored", "An unknown type is ignored."),
    ]
    return rows


def messages():
    cases, encoded = [], {}
    for name, kind, fields in OK_MESSAGES:
        data = gateway.encode(kind, **fields)
        assert gateway.decode(data) == (kind, fields), name
        encoded[name] = data
        cases.append({"name": name, "expect": "ok", "message": kind, "fields": _json(fields), "bytes": data.hex()})
    return check_names(cases + _negative(gateway.decode, _broken(encoded)))


def frames():
    table = [
        ("one packet", [(0, fixed("rtp", 40))]),
        ("several, of all channels", [(channel, bytes([channel] * (channel + 1))) for channel in range(32)]),
        ("a long packet and a short one", [(2, fixed("long rtp", 1500)), (3, b"\x80")]),
    ]
    cases = []
    for name, packets in table:
        data = gateway.encode_packets(packets)
        assert gateway.decode_packets(data) == packets
        listed = [{"channel": channel, "bytes": packet.hex()} for channel, packet in packets]
        cases.append({"name": name, "expect": "ok", "packets": listed, "bytes": data.hex()})
    rows = [
        ("no packet", b"", "malformed", "A frame has at least one packet."),
        ("an empty packet", b"\0\0\0", "malformed", "A packet has at least one byte."),
        ("channel 32", b"\x20\0\1x", "malformed", "Channels are 0 to 31."),
        ("a packet cut short", b"\0\0\2x", "malformed", "The packet is short."),
        ("a length cut short", b"\0\0\1x\0\0", "malformed", "The second packet has half a length."),
        ("a byte after the last packet", b"\0\0\1x\0", "malformed", "A byte is left over."),
    ]
    return check_names(cases + _negative(gateway.decode_packets, rows))


def generate():
    return {"messages": messages(), "frames": frames()}
