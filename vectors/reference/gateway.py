"""What crosses between two RTSP gateways (protocol.md section 9)."""

from control import MAX_GATEWAY_MESSAGE, Ignored, Malformed, Reader, counted

VERBS = {1: "PLAY", 2: "PAUSE", 3: "GET_PARAMETER", 4: "SET_PARAMETER", 5: "TEARDOWN"}
HEADERS = {1: "Range", 2: "Scale", 3: "Speed", 4: "RTP-Info", 5: "Content-Type", 6: "Rate-Control", 7: "Immediate",
           8: "Frames"}
MAX_VALUE = 1024
MAX_CHANNEL = 31


def _number(table, name):
    return next(number for number, known in table.items() if known == name)


def _details(fields):
    out = bytes([len(fields["headers"])])
    for name, value in fields["headers"]:
        out += bytes([_number(HEADERS, name)]) + counted(value.encode("ascii"))
    return out + counted(fields["body"])


def _bits(tracks):
    return sum(1 << track for track in tracks).to_bytes(2, "big")


def _tracks(bits):
    return [track for track in range(16) if bits >> track & 1]


def encode(kind, **fields):
    if kind == "describe":
        return b"\1" + fields["request"].to_bytes(4, "big") + counted(fields["path"].encode(), 1)
    if kind == "command":
        return (b"\2" + fields["request"].to_bytes(4, "big") + bytes([fields["camera"], _number(VERBS, fields["verb"])])
                + _bits(fields["tracks"]) + _details(fields))
    if kind == "answer":
        return (b"\3" + fields["request"].to_bytes(4, "big") + bytes([fields["camera"]])
                + fields["status"].to_bytes(2, "big") + _details(fields))
    if kind == "packet":
        return bytes([4, fields["camera"], fields["channel"]]) + fields["bytes"]
    if kind == "ended":
        return bytes([5, fields["camera"]]) + fields["status"].to_bytes(2, "big")
    assert kind == "in-order"
    return bytes([7, fields["camera"]]) + _bits(fields["tracks"])


def _need(condition):
    if not condition:
        raise Malformed


def _camera(reader, lowest=1):
    camera = reader.uint(1)
    _need(lowest <= camera <= 15)
    return camera


def _status(reader):
    status = reader.uint(2)
    _need(200 <= status <= 599)
    return status


def _path(raw):
    try:
        path = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed from None
    _need(not path.startswith("/"))
    _need(not any(ord(letter) < 0x20 or 0x7F <= ord(letter) < 0xA0 for letter in path))
    return path


def _headers(reader):
    headers, last = [], 0
    for _ in range(reader.uint(1)):
        number, value = reader.uint(1), reader.counted(2)
        _need(number in HEADERS and number > last)
        _need(1 <= len(value) <= MAX_VALUE and all(0x20 <= byte <= 0x7E for byte in value))
        headers.append([HEADERS[number], value.decode("ascii")])
        last = number
    return headers


def decode(data):
    _need(len(data) <= MAX_GATEWAY_MESSAGE)
    reader = Reader(data)
    kind = reader.uint(1)
    if kind == 1:
        name, fields = "describe", {"request": reader.uint(4), "path": _path(reader.counted(1))}
    elif kind == 2:
        fields = {"request": reader.uint(4), "camera": _camera(reader)}
        verb, tracks = reader.uint(1), reader.uint(2)
        _need(verb in VERBS and (tracks != 0) == (verb == 1))
        fields |= {"verb": VERBS[verb], "tracks": _tracks(tracks)}
        name, fields = "command", fields | {"headers": _headers(reader), "body": reader.counted(2)}
    elif kind == 3:
        fields = {"request": reader.uint(4), "camera": _camera(reader, lowest=0), "status": _status(reader)}
        _need(fields["camera"] != 0 or fields["status"] >= 300)
        name, fields = "answer", fields | {"headers": _headers(reader), "body": reader.counted(2)}
    elif kind == 4:
        fields = {"camera": _camera(reader), "channel": reader.uint(1), "bytes": reader.rest()}
        name = "packet"
        _need(fields["channel"] <= MAX_CHANNEL and fields["channel"] % 2 == 1 and fields["bytes"])
    elif kind == 5:
        name, fields = "ended", {"camera": _camera(reader), "status": _status(reader)}
    elif kind == 7:
        name, fields = "in-order", {"camera": _camera(reader), "tracks": _tracks(reader.uint(2))}
    else:
        raise Ignored
    reader.end()
    return name, fields


def encode_packets(packets):
    return b"".join(bytes([channel]) + counted(data) for channel, data in packets)


def decode_packets(frame):
    reader, packets = Reader(frame), []
    while not packets or reader.at < len(frame):
        channel, data = reader.uint(1), reader.counted(2)
        _need(channel <= MAX_CHANNEL and data)
        packets.append((channel, data))
    return packets
