"""vectors/datagrams.json"""

import control
import datagrams
import gen_media
import handshake
import keys
import records
import repair
from common import check_names, fixed, flip
from control import Malformed

CONNECTION = 0xC0FFEE00
COOKIE = fixed("cookie", 16)
OTHER = fixed("other cookie", 16)
CAMERA, WATCHER = (handshake.public_of(fixed(f"{name} identity", 32)) for name in ("camera", "watcher"))
IPV4 = bytes(10) + b"\xff\xff" + bytes([192, 0, 2, 7])
IPV6 = bytes.fromhex("20010db8000000000000000000000001")


def outcome(decode, data):
    try:
        decode(data)
    except Malformed:
        return "malformed"
    return "ok"


def _json(fields):
    return {name: value.hex() if isinstance(value, bytes) else value for name, value in fields.items()}


def messages():
    """Messages without a key."""
    random = fixed("knock", 16)
    knock = datagrams.knock(random, datagrams.knock_mac(CAMERA, random, CONNECTION))
    cookie = datagrams.cookie(random, COOKIE)
    part = datagrams.fragment(COOKIE, 1, 0, 2, fixed("fragment", 700))
    cases = []
    for name, message in (
        ("knock", knock),
        ("knock with a MAC of zeros", datagrams.knock(random, bytes(16))),
        ("cookie", cookie),
        ("fragment", part),
        ("fragment, whole message in one byte", datagrams.fragment(COOKIE, 0, 0, 1, b"\x05")),
        ("fragment, last of four", datagrams.fragment(COOKIE, 255, 3, 4, bytes(10))),
        ("media record", bytes([records.MEDIA]) + bytes(39)),
        ("control record", bytes([records.CONTROL])),
    ):
        kind, fields = datagrams.parse(message)
        cases.append({"name": name, "expect": "ok", "message": kind, "fields": _json(fields), "bytes": message.hex()})
    rows = [
        ("empty", b"", "There is no kind."),
        ("kind 0", bytes(64), "No message has it."),
        ("kind 9", b"\x09", "No message has it."),
        ("kind 255", b"\xff" * 64, "No message has it."),
        ("knock, one byte less", knock[:-1], "All of its zeros are there."),
        ("knock, one byte more", knock + b"\0", "A byte is left over."),
        ("knock, last byte not zero", flip(knock, -1), "The rest is zeros."),
        ("knock, first zero not zero", flip(knock, 33), "The rest is zeros."),
        ("knock without a MAC", knock[:17], "A MAC has 16 bytes."),
        ("knock of version 1", knock[:17] + bytes(44), "A byte is left over."),
        ("cookie, one byte less", cookie[:-1], "A cookie has 16 bytes."),
        ("cookie, one byte more", cookie + b"\0", "A byte is left over."),
        ("fragment without a part", part[:20], "A part has at least one byte."),
        ("fragment, header cut", part[:19], "The fields are missing."),
        ("fragment of none", datagrams.fragment(COOKIE, 0, 0, 0, b"x"), "1 to 4 parts."),
        ("fragment of five", datagrams.fragment(COOKIE, 0, 0, 5, b"x"), "1 to 4 parts."),
        ("fragment, third of two", datagrams.fragment(COOKIE, 0, 2, 2, b"x"), "The index is below the count."),
    ]
    for name, message, why in rows:
        assert outcome(datagrams.parse, message) == "malformed", name
        cases.append({"name": name, "expect": "malformed", "why": why, "bytes": message.hex()})
    return check_names(cases)


def knocks():
    """Datagrams with a knock, and whether the responder answers."""
    random = fixed("knock", 16)
    mac = datagrams.knock_mac(CAMERA, random, CONNECTION)

    def knock(mac, random=random, connection=CONNECTION):
        return datagrams.datagram(connection, datagrams.knock(random, mac))

    head = b"\x07" + random
    table = [
        ("knock", knock(mac), None),
        ("knock on the highest connection",
         knock(datagrams.knock_mac(CAMERA, random, 2**32 - 1), connection=2**32 - 1), None),
        ("MAC of zeros", knock(bytes(16)), "Who does not know the responder's peer id gets no answer."),
        ("first bit of the MAC flipped", knock(flip(mac, 0)), "All of it counts."),
        ("last bit of the MAC flipped", knock(flip(mac, -1, 7)), "All of it counts."),
        ("another connection", knock(mac, connection=CONNECTION + 1), "The connection is in the MAC."),
        ("another random", knock(mac, random=fixed("another knock", 16)), "The random bytes are in the MAC."),
        ("for another responder", knock(datagrams.knock_mac(WATCHER, random, CONNECTION)),
         "The MAC's key comes from the responder's peer id."),
        ("MAC without the connection", knock(keys.mac(CAMERA, head)), "The connection is in the MAC."),
        ("MAC over the connection first", knock(keys.mac(CAMERA, CONNECTION.to_bytes(4, "big") + head)),
         "The connection stands last."),
        ("MAC without the kind", knock(keys.mac(CAMERA, random + CONNECTION.to_bytes(4, "big"))),
         "The kind is in the MAC."),
    ]
    cases = []
    for name, data, why in table:
        assert datagrams.answers_knock(CAMERA, data) == (why is None), name
        cases.append({"name": name, "expect": "mac" if why else "ok", "peer_r": CAMERA.hex(),
                      "mac_key": keys.mac_key(CAMERA).hex(), "datagram": data.hex()} | ({"why": why} if why else {}))
    return check_names(cases)


def quic_ids():
    """Destination connection ids of clients' first packets, and whether a listener looks at them."""
    random = fixed("quic id", 8)
    good = datagrams.quic_id(CAMERA, random)
    table = [
        ("id", good, None),
        ("id with random bytes of zero", datagrams.quic_id(CAMERA, bytes(8)), None),
        ("20 zeros", bytes(20), "Who does not know the responder's peer id gets no answer."),
        ("empty", b"", "It has 20 bytes."),
        ("one byte less", good[:-1], "It has 20 bytes."),
        ("random alone", good[:8], "It has 20 bytes."),
        ("random flipped", flip(good, 0), "The random bytes are in the MAC."),
        ("first bit of the MAC flipped", flip(good, 8), "All of it counts."),
        ("last bit of the MAC flipped", flip(good, -1, 7), "All of it counts."),
        ("for another responder", datagrams.quic_id(WATCHER, random),
         "The MAC's key comes from the responder's peer id."),
        ("MAC without the label", random + keys.mac(CAMERA, random)[:12], "quic stands before the random bytes."),
        ("end of the MAC", random + keys.mac(CAMERA, b"quic" + random)[4:], "The first 12 bytes of 16."),
    ]
    cases = []
    for name, value, why in table:
        assert datagrams.accepts_quic_id(CAMERA, value) == (why is None), name
        cases.append({"name": name, "expect": "mac" if why else "ok", "peer_r": CAMERA.hex(),
                      "mac_key": keys.mac_key(CAMERA).hex(), "id": value.hex()} | ({"why": why} if why else {}))
    return check_names(cases)


def cookies():
    cases = []
    table = [("IPv4", 0, IPV4, 40_000, CONNECTION), ("IPv6", 0, IPV6, 443, 1),
             ("highest", 0, b"\xff" * 16, 65_535, 2**32 - 1),
             ("second secret", 1, IPV4, 40_000, CONNECTION), ("third secret", 2, IPV4, 40_000, CONNECTION)]
    for name, generation, address, port, connection in table:
        secrets = [fixed(f"doorman {number}", 32) for number in range(generation + 1)]
        cookie = datagrams.make_cookie(secrets[-1], generation, address, port, connection)
        cases.append({"name": name, "expect": "ok", "secrets": [secret.hex() for secret in secrets],
                      "address": address.hex(), "port": port, "connection": connection, "cookie": cookie.hex()})
    return check_names(cases)


def cuts():
    """Handshake messages and the datagrams they leave in."""
    cases = []
    for length in (1, 1_176, 1_177, 1_300, 2_352, 2_353, 3_529, 4_096):
        message = fixed(f"handshake message of {length}", length)
        out = datagrams.fragments(COOKIE, 3, message)
        receiver = datagrams.Fragments(COOKIE)
        receiver.expected = 3
        outcomes = [receiver.take(part) for part in out]
        assert outcomes[-1] == ("complete", message) and all(kind == "nothing" for kind, _ in outcomes[:-1])
        sent = [datagrams.datagram(CONNECTION, part) for part in out]
        assert all(len(data) <= datagrams.BASE_DATAGRAM for data in sent)
        cases.append({"name": f"message of {length} bytes", "expect": "ok", "connection": CONNECTION,
                      "cookie": COOKIE.hex(), "number": 3, "message": message.hex(),
                      "datagrams": [data.hex() for data in sent]})
    return check_names(cases)


def reassemblies():
    """Fragments as they come, and what comes of each."""
    def part(index, count, data, message=0, cookie=COOKIE):
        return datagrams.fragment(cookie, message, index, count, data)

    def every(step, messages, start=0):
        """(milliseconds, message): one each `step`."""
        return [(start + number * step, message) for number, message in enumerate(messages)]

    message = fixed("a message in three parts", 2999)
    a, b, c = (part(index, 3, message[1000 * index:1000 * index + 1000]) for index in range(3))
    x, y = fixed("first of two parts", 700), fixed("second of two parts", 700)
    following = part(0, 1, b"next", message=1)
    table = [
        ("in order", [a, b, c], "Nothing is lost."),
        ("backwards", [c, b, a], "The order does not matter."),
        ("repeated parts", [a, a, b, b, a, c], "A part that came twice changes nothing."),
        ("another count starts anew", [a, part(0, 2, x), b, c, part(1, 2, y), a, b, c],
         "Parts that disagree about the count with those before them start the message anew."),
        ("another part under the same index", [part(0, 2, x), part(0, 2, y), part(1, 2, x)],
         "The later one stands."),
        ("another cookie", [a, b, part(2, 3, message[2000:], cookie=OTHER), c], "It is not ours."),
        ("a later message first", [part(0, 1, b"later", message=1), a, b, c, part(0, 1, b"later", message=1)],
         "Only the next message is put together."),
        ("the message before again", every(200, [a, b, c, a, b, c, following, c, following]),
         "Its last part asks for the answer again; one older than that says nothing."),
        ("the message before again, changed", every(200, [a, b, c, part(2, 3, flip(message[2000:], 0)),
                                                          part(2, 3, message[2000:] + b" "), part(0, 1, b"end"),
                                                          part(3, 4, message[2000:]), flip(c, 5), c]),
         "Only the last part as it was asks for the answer again."),
        ("the message before again, which came backwards", every(200, [c, b, a, a, c]),
         "The last part is that of the highest index."),
        ("the message before again, while the next one comes",
         every(200, [a, b, c, part(0, 2, x, message=1), c, part(1, 2, y, message=1), c]),
         "It is the previous one until the next is complete."),
        ("repeated in one go", every(1, [a, b, c]) + every(30, [c, c, c, c, c, c, c], 500),
         "One answer in 100 ms."),
        ("repeated without end",
         every(1, [a, b, c]) + every(120, [c] * 18, 500) + [(3_000, following), (3_200, following)],
         "16 answers again in a session, whatever the message."),
        ("malformed among them", [a, b"\x06", b, part(3, 3, b"x"), c], "What is malformed is dropped."),
        ("no fragments", [a, datagrams.knock(bytes(16), bytes(16)), datagrams.cookie(bytes(16), COOKIE), b, c],
         "Other messages change nothing."),
        ("a short last part", [part(0, 2, message[:1100]), part(1, 2, b"x"), a, b, c],
         "The parts are as equal as can be: none is shorter, and the message starts anew."),
        ("a long last part", [part(0, 2, x), part(1, 2, x + b"x"), a, b, c], "The last part is no longer than others."),
        ("more parts than it takes", [part(0, 2, x[:300]), part(1, 2, y[:300]), a, b, c], "As few parts as fit."),
    ]
    cases = []
    for name, parts, why in table:
        receiver, steps = datagrams.Fragments(COOKIE), []
        for at, message in parts if isinstance(parts[0], tuple) else every(0, parts):
            kind, whole = receiver.take(message, at)
            steps.append({"at": at, "message": message.hex(), "expect": kind,
                          "whole": whole.hex() if whole else None})
        cases.append({"name": name, "expect": "mixed", "why": why, "cookie": COOKIE.hex(), "steps": steps})
    return check_names(cases)


def units():
    rest = fixed("unit rest", 20)
    cases = []
    for name, fields, is_repair in (
        ("only one", (0, 0, 1, 0), False),
        ("with a repair", (5, 0, 1, 1), False),
        ("last of a long block", (2**32 - 1, 127, 128, 64), False),
        ("repair", (4, 0, 3, 2), True),
        ("last repair of a long block", (191, 63, 128, 64), True),
    ):
        payload = datagrams.encode_unit(*fields) + rest
        decoded, after = datagrams.decode_unit(payload, is_repair)
        assert after == rest
        cases.append({"name": name, "expect": "ok", "repair": is_repair, "fields": decoded, "bytes": payload.hex()})
    good = datagrams.encode_unit(0, 0, 3, 2)
    for name, payload, is_repair, why in (
        ("cut to 9 bytes", good[:9], False, "The unit header is 10 bytes."),
        ("empty", b"", False, "The unit header is 10 bytes."),
        ("no sources", datagrams.encode_unit(0, 0, 0, 0), False, "1 to 128 sources."),
        ("no sources but a repair", datagrams.encode_unit(0, 0, 0, 1), True, "1 to 128 sources."),
        ("129 sources", datagrams.encode_unit(0, 0, 129, 0), False, "1 to 128 sources."),
        ("index of a source too high", datagrams.encode_unit(0, 3, 3, 2), False, "It is below the number of sources."),
        ("index of a repair too high", datagrams.encode_unit(0, 2, 3, 2), True, "It is below the number of repairs."),
        ("a repair where there are none", datagrams.encode_unit(0, 0, 3, 0), True,
         "It is below the number of repairs."),
        ("too many repairs for three", datagrams.encode_unit(0, 0, 3, 3), False, "Half as many, rounded up."),
        ("too many repairs for four", datagrams.encode_unit(0, 0, 4, 3), False, "Half as many, rounded up."),
        ("too many repairs for 128", datagrams.encode_unit(0, 0, 128, 65), False, "Half as many, rounded up."),
    ):
        assert outcome(lambda data, kind=is_repair: datagrams.decode_unit(data, kind), payload) == "malformed", name
        cases.append({"name": name, "expect": "malformed", "why": why, "repair": is_repair, "bytes": payload.hex()})
    return check_names(cases)


def codes():
    """Repair symbols of records of any content, and what brings them back."""
    cases = []
    for sources, repairs, shortest, longest in (
            (1, 1, 1, 1), (2, 1, 40, 41), (3, 2, 60, 61), (5, 3, 1, 130), (12, 6, 90, 90), (33, 17, 40, 70),
            (128, 64, 30, 30)):
        spread = longest - shortest + 1
        block = [fixed(f"code {sources} {index}", shortest + index * 37 % spread) for index in range(sources)]
        symbols = repair.encode(block, repairs)
        lost = sorted({(index * 7 + 1) % sources for index in range(repairs)})
        have = {index: record for index, record in enumerate(block) if index not in lost}
        used = dict(list(enumerate(symbols))[repairs - len(lost):])
        assert repair.recover(sources, repairs, have, used) == {index: block[index] for index in lost}
        cases.append({"name": f"{sources} records, {repairs} symbols", "expect": "ok",
                      "records": [record.hex() for record in block], "symbols": [symbol.hex() for symbol in symbols],
                      "lost": lost, "used": sorted(used)})
    return check_names(cases)


def generate():
    assert control.PREAMBLE.size == 52
    return {"messages": messages(), "knocks": knocks(), "quic_ids": quic_ids(), "cookies": cookies(),
            "cuts": cuts(), "reassemblies": reassemblies(), "units": units(), "codes": codes(), **gen_media.generate()}
