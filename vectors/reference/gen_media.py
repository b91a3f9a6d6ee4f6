"""Media records on datagrams, for vectors/datagrams.json"""

import control
import datagrams
import records
from common import check_names, fixed
from control import Malformed
from suites import SUITES

TIME = 1_790_000_000_123_456_789
CONNECTION = 0xC0FFEE00
EPOCH = 0
SECRET = fixed("datagrams epoch", 32)
DIRECTION = "r"
STREAM = 1


def sender(suite):
    return datagrams.Sender(suite, SECRET, EPOCH, DIRECTION, CONNECTION, STREAM)


def receiver(suite):
    opener = records.Opener(suite, DIRECTION, {EPOCH: SECRET})
    return datagrams.Receiver(opener, CONNECTION)


def frame(number, length):
    preamble = control.encode_preamble(frame=number, media_time=number * 33_333_333, captured=TIME, encoded=TIME + 1,
                                       previous_seal=0, previous_send=0, capture=0, padding=0, stamp=3, layout=0,
                                       kept=0)
    return preamble + fixed(f"datagram frame {number}", length)


def configuration(length):
    return control.encode_codec_configuration(codec=1, width=1280, height=720, rate_numerator=30, rate_denominator=1,
                                              parameters=fixed("datagram parameters", length))


def equal(data, most, repairs):
    """(unit, blocks) of data cut into equal shares of at most `most` bytes; `repairs` in hundredths, rounded up."""
    parts = datagrams.cut(len(data), most)
    blocks_needed = -(-len(parts) // 128)
    each = -(-len(parts) // blocks_needed)
    counts = [min(each, len(parts) - start) for start in range(0, len(parts), each)]
    return parts[0], [(count, min(-(-count * repairs // 100), -(-count // 2))) for count in counts]


# name, suite, hundredths, [(kind, bytes, bytes of a part at most)]
STREAMS = [
    ("one record", 2, 0, [("key", 20, 1200)]),
    ("one record and its repair", 2, 50, [("key", 20, 1200)]),
    ("a description and two frames", 1, 0, [("config", 30, 1200), ("key", 900, 400), ("delta", 100, 400)]),
    ("a long description", 3, 50, [("config", 2_000, 1_000), ("key", 50, 1_000)]),
    ("three records and two repairs", 4, 50, [("key", 700, 300)]),
    ("last record shorter than the others", 2, 34, [("key", 1_001, 300)]),
    ("two frames with repairs", 3, 25, [("key", 2_500, 300), ("delta", 800, 300)]),
    ("one frame in two blocks", 1, 10, [("key", 9_000, 60)]),
    ("one frame in three blocks", 2, 5, [("key", 16_000, 60), ("delta", 8, 60)]),
]


def make(name, number, share, pushes):
    source, out, sent = sender(SUITES[number]), [], []
    frames = 0
    for index, (kind, length, most) in enumerate(pushes):
        data = configuration(length) if kind == "config" else frame(frames, length)
        frames += kind != "config"
        unit, blocks = equal(data, most, share)
        timestamp = TIME + index * 33_333_333
        datagrams_of_it = source.push(data, unit, blocks, timestamp, kind == "key", kind == "config")
        sent += datagrams_of_it
        out.append({"config": kind == "config", "keyframe": kind == "key", "timestamp": timestamp, "data": data.hex(),
                    "unit": unit, "blocks": [{"sources": sources, "repairs": repairs} for sources, repairs in blocks],
                    "datagrams": [data.hex() for data in datagrams_of_it]})
    whole = receiver(SUITES[number])
    for data in sent:
        whole.take(data)
    assert [item[-1].hex() for item in whole.media()] == [push["data"] for push in out], name
    return {"name": name, "expect": "ok", "suite": number, "direction": DIRECTION, "epoch": EPOCH,
            "epoch_secret": SECRET.hex(), "connection": CONNECTION, "stream": STREAM, "pushes": out}


def sent_of(stream):
    return [bytes.fromhex(data) for push in stream["pushes"] for data in push["datagrams"]]


def arrivals(streams):
    """Which of a stream's datagrams come, in which order, and what comes of them."""
    by_name = {stream["name"]: stream for stream in streams}
    two = "two frames with repairs"
    firsts = by_name[two]["pushes"][0]["blocks"][0]
    after = firsts["sources"] + firsts["repairs"]
    blocks = by_name["one frame in three blocks"]["pushes"][0]["blocks"]
    starts = [sum(block["sources"] + block["repairs"] for block in blocks[:index]) for index in range(4)]
    long = [index for index in range(starts[3]) if index not in (3, 9, starts[1], starts[1] + 1, starts[2] + 100)]
    table = [
        ("one record", [0]),
        ("one record and its repair", [1]),
        ("a long description", [4, 3, 0, 2]),
        ("three records and two repairs", [0, 3, 4]),
        ("three records and two repairs", [4, 3, 2]),
        ("three records and two repairs", [1, 3]),
        ("three records and two repairs", [2, 2, 0, 0, 1, 1]),
        ("last record shorter than the others", [4, 5, 1, 0]),
        (two, [index for index in range(after + 4) if index not in (0, 4, after + 1)]),
        (two, [index for index in reversed(range(after)) if index not in (1, 2, 3)]),
        ("one frame in two blocks", [index for index in range(200) if index % 11 != 4]),
        ("one frame in three blocks", long),
    ]
    cases = []
    for index, (name, order) in enumerate(table):
        stream, target = by_name[name], receiver(SUITES[by_name[name]["suite"]])
        sent = sent_of(stream)
        order = [at for at in order if at < len(sent)]
        for at in order:
            target.take(sent[at])
        media = [{"kind": item[0], "bytes": item[-1].hex()} for item in target.media()]
        cases.append({"name": f"{name}, {index}", "expect": "ok", "stream": name, "order": order,
                      "recovered": target.recovered, "media": media})
    return check_names(cases)


def violations():
    """Authentic records of which the last is a protocol error."""
    key, first, last, encrypted = records.KEYFRAME, records.FIRST, records.LAST, records.ENCRYPTED
    middle = encrypted | key
    whole, begin, end = middle | first | last, middle | first, middle | last
    symbol = records.REPAIR | encrypted
    unit, part = datagrams.encode_unit, frame(0, 52)
    preamble = frame(0, 60)
    table = [
        ("payload shorter than a unit header", [(whole, bytes(9))], "The unit header is 10 bytes."),
        ("no sources", [(whole, unit(0, 0, 0, 0) + preamble)], "1 to 128 sources."),
        ("index too high", [(middle, unit(0, 3, 3, 0) + part)], "It is below the number of sources."),
        ("too many repairs", [(begin, unit(0, 0, 3, 3) + part)], "At most half as many, rounded up."),
        ("number below the index", [(middle, unit(0, 1, 3, 0) + part)], "A session's numbers begin at 0."),
        ("another number of sources",
         [(begin, unit(0, 0, 3, 0) + part), (middle, unit(1, 1, 4, 0) + part)], "A block has one number of sources."),
        ("another number of repairs",
         [(begin, unit(0, 0, 3, 1) + part), (middle, unit(1, 1, 3, 2) + part)], "A block has one number of repairs."),
        ("a block inside another",
         [(begin, unit(0, 0, 3, 0) + part), (begin, unit(1, 0, 2, 0) + part)], "Blocks follow each other."),
        ("a block that reaches into the next",
         [(begin, unit(2, 0, 3, 0) + part), (begin, unit(0, 0, 3, 0) + part)], "Blocks follow each other."),
        ("parts of two lengths",
         [(begin, unit(0, 0, 4, 0) + part), (middle, unit(1, 1, 4, 0) + part[1:])], "All but the last are as long."),
        ("last part longer than the others",
         [(begin, unit(0, 0, 3, 0) + part), (end, unit(2, 2, 3, 0) + part + b"x")], "The last is at most as long."),
        ("last part first and longer than the others",
         [(end, unit(2, 2, 3, 0) + part + b"x"), (begin, unit(0, 0, 3, 0) + part)], "The last is at most as long."),
        ("first in the middle", [(begin, unit(1, 1, 3, 0) + part)], "A frame begins with its block."),
        ("last in the middle", [(end, unit(1, 1, 3, 0) + part)], "A frame ends with its block."),
        ("keyframe in part",
         [(begin, unit(0, 0, 3, 0) + part), (encrypted, unit(1, 1, 3, 0) + part)], "All records of a block or none."),
        ("a description and a frame in one block",
         [(0x2D, unit(0, 0, 3, 0) + part), (middle, unit(1, 1, 3, 0) + part)], "A block carries one or the other."),
        ("frame without a preamble", [(whole, unit(0, 0, 1, 0) + part[:51])], "The preamble is 52 bytes."),
        ("description that is malformed", [(0x2D, unit(0, 0, 1, 0) + b"\x07")], "Section 5 says what it is."),
        ("symbol of an odd length", [(symbol, unit(3, 0, 3, 1) + bytes(101))], "A symbol's length is even."),
        ("symbols of two lengths",
         [(symbol, unit(3, 0, 3, 2) + bytes(100)), (symbol, unit(4, 1, 3, 2) + bytes(102))],
         "All symbols of a block are as long."),
        ("symbol without a record", [(symbol, unit(1, 0, 1, 1) + bytes(100))], "A record has at least one byte."),
    ]
    cases = []
    for name, sealed, why in table:
        source, target = sender(SUITES[2]), receiver(SUITES[2])
        steps = [datagrams.datagram(CONNECTION, source.record(flags, TIME, payload)) for flags, payload in sealed]
        for data in steps[:-1]:
            target.take(data)
            target.media()
        try:
            target.take(steps[-1])
            target.media()
        except Malformed:
            pass
        else:
            raise AssertionError(name)
        cases.append({"name": name, "expect": "protocol-error", "why": why,
                      "datagrams": [data.hex() for data in steps]})
    return check_names(cases)


def generate():
    streams = check_names([make(*row) for row in STREAMS])
    return {"streams": streams, "arrivals": arrivals(streams), "violations": violations()}
