"""vectors/records.json"""

import records
from common import check_names, fixed, flip
from records import CELL, CONTROL, DATA, MEDIA, Header, Opener
from suites import SUITES

TIME = 1_790_000_000_123_456_789
CODEC = 0x2D
FRAME, KEY, MIDDLE, REPAIR = 0x0D, 0x0F, 0x01, 0x41
FIELD_OF_BYTE = ["kind", "flags"] + ["epoch"] * 2 + ["stream"] * 4 + ["seq"] * 8 + ["timestamp"] * 8

# On the first channel, the datagram with number 7.
DATAGRAM = b"\x01" + (7).to_bytes(4, "big") + b"\xfd\x09 a datagram"

def secret(epoch):
    return fixed(f"records epoch {epoch}", 32)


def make_key_sets():
    sets = {}
    for suite in SUITES.values():
        for direction in ("i", "r"):
            sets[f"{suite.name} {direction}"] = (suite, direction, (0, 1))
        sets[f"{suite.name} wrap"] = (suite, "i", (65_535, 65_536))
        sets[f"{suite.name} clear"] = (suite, "i", (0, 1))
    return sets


def accepts_clear(name):
    """Whether that opener is one of a viewer that acknowledged a selection."""
    return name.endswith(" clear")


KEY_SETS = make_key_sets()


def opener(name):
    suite, direction, epochs = KEY_SETS[name]
    return Opener(suite, direction, {n: secret(n) for n in epochs}, accepts_clear(name))


def sealed(set_name, epoch, header, payload, purpose=None, direction=None):
    suite, own, _ = KEY_SETS[set_name]
    header = header.changed(epoch=epoch & 0xFFFF)
    return records.seal(suite, secret(epoch), epoch, direction or own, header, payload, purpose)


def media(seq=7, flags=FRAME, stream=1, timestamp=TIME):
    return Header(MEDIA, flags, 0, stream, seq, timestamp)


def control(seq=3, flags=1, stream=0, timestamp=TIME):
    return Header(CONTROL, flags, 0, stream, seq, timestamp)


def cell(seq=5, flags=1, stream=0, timestamp=TIME):
    return Header(CELL, flags, 0, stream, seq, timestamp)


def data(seq=11, flags=1, stream=0, timestamp=TIME):
    return Header(DATA, flags, 0, stream, seq, timestamp)


def ok_case(set_name, label, epoch, header, payload):
    suite, direction, _ = KEY_SETS[set_name]
    record = sealed(set_name, epoch, header, payload)
    assert opener(set_name).outcome(record) == "ok"
    return {"name": f"{set_name}: {label}", "expect": "ok", "key_set": set_name, "suite": suite.number,
            "direction": direction, "purpose": records.PURPOSE_OF_KIND[header.kind], "epoch": epoch,
            "epoch_secret": secret(epoch).hex(), "kind": header.kind, "flags": header.flags, "stream": header.stream,
            "seq": header.seq, "timestamp": header.timestamp, "payload": payload.hex(), "record": record.hex()}


def ok_cases():
    cases = []
    for suite in SUITES.values():
        i, r, wrap = f"{suite.name} i", f"{suite.name} r", f"{suite.name} wrap"
        for length in (0, 1, 15, 16, 17, 127, 128, 129, 1200):
            payload = fixed(f"payload {length}", length)
            cases.append(ok_case(i, f"media of {length} bytes", 0, media(seq=length), payload))
        table = [
            (i, "control, first record", 0, control(seq=0, timestamp=0), b"\x01"),
            (i, "control, empty payload", 0, control(), b""),
            (r, "control, other direction", 0, control(), b"\x08"),
            (i, "cell", 0, cell(), fixed("cell", 392)),
            (r, "cell, other direction, epoch 1", 1, cell(seq=0), fixed("cell", 1156)),
            (i, "data", 0, data(), DATAGRAM),
            (r, "data, other direction, epoch 1", 1, data(seq=0), DATAGRAM),
            (r, "media, other direction", 1, media(), fixed("payload r", 50)),
            (i, "keyframe", 1, media(flags=KEY), fixed("keyframe", 90)),
            (i, "codec configuration", 0, media(seq=0, flags=CODEC), fixed("codec", 47)),
            (i, "first of several", 0, media(flags=0x05), fixed("part", 64)),
            (i, "middle of several", 0, media(seq=8, flags=MIDDLE), fixed("part", 64)),
            (i, "last of several", 0, media(seq=9, flags=0x09), fixed("part", 10)),
            (i, "keyframe, middle of several", 0, media(seq=8, flags=0x03), fixed("part", 64)),
            (i, "stream 3, of a viewer", 0, media(stream=3), fixed("sound", 40)),
            (i, "stream 15", 0, media(stream=15), fixed("part", 20)),
            (i, "highest number", 0, media(seq=2**32 - 1), fixed("part", 20)),
            (i, "highest timestamp", 0, media(timestamp=2**64 - 1), fixed("part", 20)),
            (wrap, "epoch 65535", 65_535, media(), fixed("part", 20)),
            (wrap, "epoch 65536, sent as 0", 65_536, media(), fixed("part", 20)),
            (wrap, "epoch 65536, control", 65_536, control(), b"\x06" + bytes(8)),
        ]
        cases += [ok_case(*row) for row in table] + clear_cases(f"{suite.name} clear")
    return check_names(cases)


def clear_cases(set_name):
    """What an opener that accepts media in clear opens."""
    cases = []
    for length in (0, 1, 15, 16, 17, 129, 1200):
        payload = fixed(f"payload {length}", length)
        cases.append(ok_case(set_name, f"media of {length} bytes in clear", 0, media(seq=length, flags=0x0C), payload))
    table = [
        ("keyframe in clear", 1, media(flags=0x0E), fixed("keyframe", 90)),
        ("codec configuration in clear", 0, media(seq=0, flags=0x2C), fixed("codec", 47)),
        ("middle of several in clear", 0, media(seq=8, flags=0x00), fixed("part", 64)),
        ("media that is encrypted all the same", 0, media(), fixed("part", 64)),
        ("control", 0, control(), b"\x08"),
        ("repair", 0, media(flags=REPAIR), fixed("repair", 66)),
        ("highest number in clear", 0, media(seq=2**32 - 1, flags=0x0C), fixed("part", 20)),
    ]
    return cases + [ok_case(set_name, *row) for row in table]


def refused_case(set_name, label, record, expect, why):
    got = opener(set_name).outcome(record)
    assert got == expect, (set_name, label, got, expect)
    return {"name": f"{set_name}: {label}", "expect": expect, "why": why, "key_set": set_name, "record": record.hex()}


def media_flip_reason(byte, bit):
    """What a flipped header bit of the media record below must lead to, field by field."""
    field = FIELD_OF_BYTE[byte]
    if field == "kind":
        return ("malformed",
                "0x11 is a control record, whose flags and stream these are not; the others are no record kinds.")
    if field == "flags":
        return {
            0: ("cleartext", "A record without the encrypted bit is refused as cleartext."),
            4: ("malformed", "The signed bit is reserved."),
            5: ("tag", "Flags 0x2D are a codec configuration; the header is authenticated."),
            6: ("malformed", "A repair record's flags are exactly 0x41."),
            7: ("malformed", "The top bit is zero."),
        }.get(bit, ("tag", "The flags are authenticated."))
    if field == "epoch":
        if (byte, bit) == (3, 0):
            return "tag", "Epoch 1 is known and has other keys."
        return "unknown-epoch", "The opener has no keys for this epoch."
    if field == "stream":
        if byte == 7 and bit in (1, 2, 3):
            return "tag", "The stream is authenticated."
        return "malformed", "Media streams are 1 to 15."
    if field == "seq" and byte < 12:
        return "malformed", "Numbers end at 2^32 - 1."
    return "tag", f"The {field} is authenticated."


def header_flips(set_name, every_bit):
    record = sealed(set_name, 0, media(), fixed("flip payload", 33))
    cases, done = [], set()
    for byte, field in enumerate(FIELD_OF_BYTE):
        for bit in range(8):
            reason = media_flip_reason(byte, bit)
            if not every_bit and (field, reason[0]) in done and field != "flags":
                continue
            done.add((field, reason[0]))
            cases.append(refused_case(set_name, f"media, {field} byte {byte} bit {bit} flipped",
                                      flip(record, byte, bit), *reason))
    for label, byte, bit in (("first payload byte", 24, 0), ("last payload byte", 24 + 32, 7),
                             ("first tag byte", 57, 0), ("eighth tag byte", 64, 3), ("last tag byte", 72, 7)):
        cases.append(refused_case(set_name, f"media, {label} flipped", flip(record, byte, bit), "tag",
                                  "Payload and tag are authenticated."))
    return cases


def control_flips(set_name):
    record = sealed(set_name, 0, control(), b"\x06" + bytes(8))
    cases = []
    for bit in range(8):
        reason, why = ("tag", "0x13 is a data record, which has a key of its own.") if bit == 1 else \
            ("malformed", "0x10 is a media record, which has no stream 0; the others are no record kinds.")
        cases.append(refused_case(set_name, f"control, kind bit {bit} flipped", flip(record, 0, bit), reason, why))
        reason = "cleartext" if bit == 0 else "malformed"
        cases.append(refused_case(set_name, f"control, flags bit {bit} flipped", flip(record, 1, bit), reason,
                                  "A control record's flags are exactly 0x01."))
        cases.append(refused_case(set_name, f"control, stream bit {bit} flipped", flip(record, 7, bit), "malformed",
                                  "A control record's stream is 0."))
    for field, byte, reason in (("epoch", 3, "tag"), ("epoch high", 2, "unknown-epoch"), ("seq", 15, "tag"),
                                ("seq high", 8, "malformed"), ("timestamp", 23, "tag"), ("payload", 24, "tag"),
                                ("tag", 48, "tag")):
        cases.append(refused_case(set_name, f"control, {field} flipped", flip(record, byte), reason,
                                  "Every byte is authenticated, after the form has been checked."))
    return cases


def truncations(set_name):
    record = sealed(set_name, 0, media(), fixed("flip payload", 33))
    cases = []
    for length in (0, 1, 2, 8, 16, 23, 24, 25, 32, 39, 40, 41, 56, 57, 72):
        reason = "malformed" if length < 40 else "tag"
        why = "The shortest record is 40 bytes." if length < 40 else "The last 16 bytes are not the tag of the rest."
        cases.append(refused_case(set_name, f"cut to {length} bytes", record[:length], reason, why))
    cases.append(refused_case(set_name, "one byte more", record + b"\0", "tag",
                              "The last 16 bytes are not the tag of the rest."))
    return cases


def wrong_keys(set_name):
    suite, direction, _ = KEY_SETS[set_name]
    other = "r" if direction == "i" else "i"
    wrap = f"{suite.name} wrap"
    stranger = f"{'aes-256-gcm' if suite.number == 1 else 'aes-128-gcm'} {direction}"
    payload = fixed("wrong key payload", 40)
    as_epoch_1 = records.seal(suite, secret(1), 1, direction, media(), payload)  # header says epoch 0
    as_epoch_0 = records.seal(suite, secret(0), 0, "i", media(), payload)  # same header bits as epoch 65536
    table = [
        (set_name, "epoch 2", sealed(set_name, 2, media(), payload), "unknown-epoch", "Epochs 0 and 1 are known."),
        (set_name, "epoch 65535", sealed(set_name, 65_535, media(), payload), "unknown-epoch",
         "Epochs 0 and 1 are known."),
        (set_name, "control of epoch 2", sealed(set_name, 2, control(), b"\x08"), "unknown-epoch",
         "Epochs 0 and 1 are known."),
        (set_name, "sealed under epoch 1, sent as epoch 0", as_epoch_1, "tag", "The epochs have different keys."),
        (wrap, "sealed under epoch 0, sent to an opener of epoch 65536", as_epoch_0, "tag",
         "The 16 bits agree, the secrets and the 64-bit epoch number do not."),
        (wrap, "epoch 1", sealed(wrap, 1, media(), payload), "unknown-epoch", "Epochs 65535 and 65536 are known."),
        (set_name, "media of the other direction", sealed(set_name, 0, media(), payload, direction=other), "tag",
         "Each direction has its own keys: a reflected record does not open."),
        (set_name, "control of the other direction", sealed(set_name, 0, control(), b"\x08", direction=other), "tag",
         "Each direction has its own keys: a reflected record does not open."),
        (set_name, "media under the control key", sealed(set_name, 0, media(), payload, "control"), "tag",
         "Each purpose has its own keys."),
        (set_name, "control under the media key", sealed(set_name, 0, control(), b"\x08", "media"), "tag",
         "Each purpose has its own keys."),
        (set_name, "cell under the control key", sealed(set_name, 0, cell(), payload, "control"), "tag",
         "Each purpose has its own keys."),
        (set_name, "media under the cell key", sealed(set_name, 0, media(), payload, "cell"), "tag",
         "Each purpose has its own keys."),
        (set_name, "data under the control key", sealed(set_name, 0, data(), payload, "control"), "tag",
         "Each purpose has its own keys."),
        (set_name, "control under the data key", sealed(set_name, 0, control(), b"\x08", "data"), "tag",
         "Each purpose has its own keys."),
        (set_name, "data of the other direction", sealed(set_name, 0, data(), payload, direction=other), "tag",
         "Each direction has its own keys: a reflected record does not open."),
        (set_name, "sealed with another suite", sealed(stranger, 0, media(), payload), "tag",
         "The suite is in the key derivation and is not chosen by the record."),
    ]
    return [refused_case(*row) for row in table]


def bad_forms(set_name):
    """Records sealed under the right keys whose headers are not allowed: their tags are good."""
    payload = fixed("bad form payload", 40)
    table = [
        ("media on stream 0", media(stream=0), "malformed", "Media streams are 1 to 15."),
        ("media on stream 16", media(stream=16), "malformed", "Media streams are 1 to 15."),
        ("media on stream 2^32 - 1", media(stream=2**32 - 1), "malformed", "Media streams are 1 to 15."),
        ("control on stream 1", control(stream=1), "malformed", "A control record's stream is 0."),
        ("number 2^32", media(seq=2**32), "malformed", "Numbers end at 2^32 - 1."),
        ("number 2^64 - 1", media(seq=2**64 - 1), "malformed", "Numbers end at 2^32 - 1."),
        ("control with number 2^32", control(seq=2**32), "malformed", "Numbers end at 2^32 - 1."),
        ("cleartext flag", media(flags=0x0C), "cleartext", "No selection is in force."),
        ("no flags at all", media(flags=0x00), "cleartext", "No selection is in force."),
        ("signed and in clear", media(flags=0x1C), "cleartext", "Clear is refused before other flags are looked at."),
        ("repair in clear", media(flags=0x40), "cleartext", "Clear is refused before other flags are looked at."),
        ("in clear on stream 16", media(flags=0x0C, stream=16), "cleartext", "Clear is refused before the stream is."),
        ("in clear with number 2^32", media(flags=0x0C, seq=2**32), "cleartext", "Clear is refused before the number."),
        ("codec configuration in clear", media(flags=0x2C), "cleartext", "No selection is in force."),
        ("control in clear", control(flags=0x00), "cleartext", "Control is always encrypted."),
        ("signed flag", media(flags=0x1D), "malformed", "The signed bit is reserved."),
        ("repair with first and last", media(flags=0x4D), "malformed", "A repair record's flags are exactly 0x41."),
        ("repair of a keyframe", media(flags=0x43), "malformed", "A repair record's flags are exactly 0x41."),
        ("repair and codec configuration", media(flags=0x6D), "malformed", "A repair record's flags are exactly 0x41."),
        ("repair on stream 0", media(flags=REPAIR, stream=0), "malformed", "Media streams are 1 to 15."),
        ("control with repair", control(flags=REPAIR), "malformed", "A control record's flags are exactly 0x01."),
        ("reserved flag 0x80", media(flags=0x8D), "malformed", "The top bit is zero."),
        ("codec configuration and keyframe", media(flags=0x2F), "malformed", "Codec-config flags are exactly 0x2D."),
        ("codec configuration without first", media(flags=0x29), "malformed", "Codec-config flags are exactly 0x2D."),
        ("codec configuration without last", media(flags=0x25), "malformed", "Codec-config flags are exactly 0x2D."),
        ("codec configuration alone", media(flags=0x21), "malformed", "Codec-config flags are exactly 0x2D."),
        ("codec configuration on stream 0", media(flags=CODEC, stream=0), "malformed", "Media streams are 1 to 15."),
        ("control with keyframe", control(flags=0x03), "malformed", "A control record's flags are exactly 0x01."),
        ("control with first and last", control(flags=0x0D), "malformed", "A control record's flags are exactly 0x01."),
        ("cell in clear", cell(flags=0x00), "cleartext", "Cells are always encrypted."),
        ("cell on stream 1", cell(stream=1), "malformed", "A cell's stream is 0."),
        ("cell with keyframe", cell(flags=0x03), "malformed", "A cell's flags are exactly 0x01."),
        ("cell with number 2^32", cell(seq=2**32), "malformed", "Numbers end at 2^32 - 1."),
        ("data in clear", data(flags=0x00), "cleartext", "Data is always encrypted."),
        ("data on stream 1", data(stream=1), "malformed", "A data record's stream is 0."),
        ("data with keyframe", data(flags=0x03), "malformed", "A data record's flags are exactly 0x01."),
        ("data with number 2^32", data(seq=2**32), "malformed", "Numbers end at 2^32 - 1."),
        ("control with codec-config", control(flags=0x2D), "malformed", "A control record's flags are exactly 0x01."),
    ]
    cases = [refused_case(set_name, name, sealed(set_name, 0, header, payload), reason, why)
             for name, header, reason, why in table]
    for kind in (0x00, 0x01, 0x06, 0x0F, 0x14, 0x20, 0x7F, 0x80, 0xFF):
        header = media().changed(kind=kind)
        cases.append(refused_case(set_name, f"kind 0x{kind:02x}", sealed(set_name, 0, header, payload, "media"),
                                  "malformed", "Only 0x10 to 0x13 are records."))
    return cases


def clear_refusals(set_name):
    """What an opener that accepts media in clear refuses all the same."""
    payload = fixed("clear payload", 33)
    clear, hidden = sealed(set_name, 0, media(flags=0x0C), payload), sealed(set_name, 0, media(), payload)
    table = [
        ("encrypted flag set on a record in clear", flip(clear, 1, 0), "tag", "The flag is authenticated."),
        ("encrypted flag taken from an encrypted record", flip(hidden, 1, 0), "tag", "The flag is authenticated."),
        ("keyframe flag set in clear", flip(clear, 1, 1), "tag", "The flags are authenticated."),
        ("first payload byte flipped in clear", flip(clear, 24, 0), "tag", "A payload in clear is authenticated."),
        ("last payload byte flipped in clear", flip(clear, 24 + 32, 7), "tag", "A payload in clear is authenticated."),
        ("first tag byte flipped in clear", flip(clear, 57, 0), "tag", "The tag is not that of the rest."),
        ("timestamp flipped in clear", flip(clear, 23, 0), "tag", "The timestamp is authenticated."),
        ("cut by one byte in clear", clear[:-1], "tag", "The last 16 bytes are not the tag of the rest."),
        ("a payload byte cut out in clear", clear[:30] + clear[31:], "tag", "The tag is not that of the rest."),
        ("one byte more in clear", clear + b"\0", "tag", "The last 16 bytes are not the tag of the rest."),
        ("in clear, of the other direction", sealed(set_name, 0, media(flags=0x0C), payload, direction="r"), "tag",
         "Each direction has its own keys."),
        ("in clear, of epoch 2", sealed(set_name, 2, media(flags=0x0C), payload), "unknown-epoch",
         "Epochs 0 and 1 are known."),
        ("control in clear", sealed(set_name, 0, control(flags=0x00), b"\x08"), "cleartext",
         "Control is always encrypted, whatever selection is in force."),
        ("repair in clear", sealed(set_name, 0, media(flags=0x40), payload), "malformed",
         "A repair record's flags are exactly 0x41."),
        ("signed in clear", sealed(set_name, 0, media(flags=0x1C), payload), "malformed",
         "The signed bit is reserved."),
        ("top bit in clear", sealed(set_name, 0, media(flags=0x8C), payload), "malformed", "The top bit is zero."),
        ("codec configuration of a keyframe in clear", sealed(set_name, 0, media(flags=0x2E), payload), "malformed",
         "Codec-config flags in clear are exactly 0x2C."),
        ("codec configuration alone in clear", sealed(set_name, 0, media(flags=0x20), payload), "malformed",
         "Codec-config flags in clear are exactly 0x2C."),
        ("stream 16 in clear", sealed(set_name, 0, media(flags=0x0C, stream=16), payload), "malformed",
         "Media streams are 1 to 15."),
        ("number 2^32 in clear", sealed(set_name, 0, media(flags=0x0C, seq=2**32), payload), "malformed",
         "Numbers end at 2^32 - 1."),
        ("a record in clear of 39 bytes", clear[:39], "malformed", "The shortest record is 40 bytes."),
    ]
    return [refused_case(set_name, *row) for row in table]


def refused_cases():
    cases = []
    for suite in SUITES.values():
        name = f"{suite.name} i"
        cases += header_flips(name, every_bit=suite.number == 1)
        cases += truncations(name) + wrong_keys(name) + clear_refusals(f"{suite.name} clear")
        if suite.number == 1:
            cases += control_flips(name) + bad_forms(name)
    return check_names(cases)


def generate():
    import gen_sequences  # it uses this module's helpers
    key_sets = {}
    for name, (suite, direction, epochs) in KEY_SETS.items():
        key_sets[name] = {"suite": suite.number, "direction": direction, "clear": accepts_clear(name),
                          "epochs": [{"epoch": n, "secret": secret(n).hex()} for n in epochs]}
    return {"key_sets": key_sets, "sealed": ok_cases(), "refused": refused_cases(),
            "sequences": gen_sequences.sequences(), "framing": gen_sequences.framings(),
            "connections": gen_sequences.connections()}
