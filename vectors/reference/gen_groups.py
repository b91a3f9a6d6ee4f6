"""vectors/groups.json"""

import groups
import handshake
import keys
from common import check_names, fixed, flip
from groups import FULL, ROOT, UPDATE, Group, Leader, Member, Refused, Terms, node, parent
from suites import SUITES

CAMERA = fixed("group camera", 32)
PEER = handshake.public_of(CAMERA)
RUN = fixed("group run", 16)
STREAM = 3
GROUP = Group(PEER, STREAM, RUN)
FIRST = 65_530
ACCEPTED = (1, 2)


def group_json(group):
    return {"camera": group.camera.hex(), "stream": group.stream, "run": group.run.hex()}


def shared(member):
    return fixed(f"group shared {member}", 32)


def key(member):
    return groups.member_key(shared(member), PEER, STREAM)


def member_keys():
    other = handshake.public_of(fixed("another group camera", 32))
    return check_names([
        {"name": name, "expect": "ok", "shared": secret.hex(), "camera": camera.hex(), "stream": stream,
         "member_key": groups.member_key(secret, camera, stream).hex()}
        for name, secret, camera, stream in (
            ("stream 1", shared(0), PEER, 1), ("stream 15", shared(0), PEER, 15),
            ("another camera", shared(0), other, 1), ("another secret", shared(1), PEER, 1))])


def node_secrets():
    cases = []
    for name, epoch, number, steps in (("root", 0, ROOT, 3), ("level 1, the last node", 7, node(1, 4_095), 2),
                                       ("over 16 bits", 65_535, node(4, 5), 2), ("a late epoch", 2**63, node(6, 3), 1)):
        seed = fixed(f"group seed {name}", 32)
        secrets = [groups.fresh(seed, GROUP, epoch, number)]
        for step in range(1, steps + 1):
            secrets.append(groups.ratchet(secrets[-1], GROUP, epoch + step, number))
        cases.append({"name": name, "expect": "ok", "group": group_json(GROUP), "seed": seed.hex(), "epoch": epoch,
                      "node": number, "secrets": [secret.hex() for secret in secrets]})
    return check_names(cases)


def wraps():
    cases = []
    for name, epoch, number in (("a leaf", 1, node(0, 5)), ("the last leaf", 2**40, node(0, 16_383)),
                                ("an inner node", 1, node(3, 17)), ("below the root", 1, node(6, 3))):
        secret, of_parent = fixed(f"group secret {name}", 32), fixed(f"group parent {name}", 32)
        wrapped = groups.wrap(secret, GROUP, epoch, number, of_parent)
        cases.append({"name": name, "expect": "ok", "group": group_json(GROUP), "epoch": epoch, "node": number,
                      "secret": secret.hex(), "parent": parent(number), "parent_secret": of_parent.hex(),
                      "wrap_key": groups.wrap_key(secret, GROUP).hex(), "wrapped": wrapped.hex()})
    return check_names(cases)


def media_keys():
    cases = []
    for suite in SUITES.values():
        for epoch, flags in ((0, groups.WHOLE), (65_536, groups.WHOLE), (0, groups.REPAIR), (65_536, groups.REPAIR)):
            secret, use = fixed(f"group media {epoch}", 32), groups.use_of(flags)
            key_bytes, base = groups.media(secret, GROUP, epoch, suite, use)
            record = groups.seal(secret, GROUP, epoch, suite, 5, b"frame", flags)
            cases.append({"name": f"{suite.name}, {use}, epoch {epoch}", "expect": "ok", "group": group_json(GROUP),
                          "suite": suite.number, "epoch": epoch, "use": use, "group_secret": secret.hex(),
                          "key": key_bytes.hex(), "base": base.hex(), "record": record.hex()})
        for flags in (groups.WHOLE, groups.REPAIR):
            group, secret, use = Group(PEER, 1, RUN), fixed("group media sound", 32), groups.use_of(flags)
            of_sound = groups.sound(group)
            key_bytes, base = groups.media(secret, of_sound, 7, suite, use)
            record = groups.seal(secret, of_sound, 7, suite, 5, b"frame", flags)
            cases.append({"name": f"{suite.name}, {use} of the sound", "expect": "ok", "group": group_json(group),
                          "suite": suite.number, "epoch": 7, "use": f"sound {use}", "group_secret": secret.hex(),
                          "key": key_bytes.hex(), "base": base.hex(), "record": record.hex()})
    return check_names(cases)


class Play:
    """A leader's life, written down step by step."""

    def __init__(self, name, suite=1, first=FIRST):
        self.name, self.entropy = name, fixed(f"group entropy {name}", 32)
        self.leader = Leader(CAMERA, STREAM, SUITES[suite], RUN, first, 100, self.entropy)
        self.first, self.suite, self.steps = first, suite, []

    def step(self, remove=(), admit=(), rekey=False, paths=(), full=False):
        leader, number = self.leader, len(self.steps)
        entropy, next_group = fixed(f"group entropy {self.name} {number}", 32), 100 + 2 * number
        sheet = leader.change(entropy, next_group, remove, [(member, key(member)) for member in admit], rekey)
        self.steps.append({
            "remove": list(remove), "admit": [{"member": member, "shared": shared(member).hex()} for member in admit],
            "rekey": rekey, "next_group": next_group, "seed": entropy.hex(), "epoch": leader.epoch,
            "sheet": sheet and leader.signed(sheet).hex(), "full": leader.signed(leader.full()).hex() if full else None,
            "paths": [{"member": member, "sheet": leader.signed(leader.path(member)).hex()} for member in paths],
            "record": leader.record().hex()})
        return sheet and leader.signed(sheet)

    def json(self):
        return {"name": self.name, "expect": "ok", "camera_seed": CAMERA.hex(), "stream": STREAM, "suite": self.suite,
                "run": RUN.hex(), "first": self.first, "first_group": 100, "seed": self.entropy.hex(),
                "steps": self.steps}


def leaders():
    small = Play("a small group")
    small.step(admit=[0], paths=[0], full=True)
    small.step(admit=range(1, 6), paths=[4, 5])
    small.step(remove=[1])
    small.step(admit=[9], paths=[9])
    small.step(rekey=True)
    small.step(remove=[0, 2, 3], admit=[10], full=True)
    small.step(remove=[4, 5, 9, 10])
    large = Play("more than 256 members", suite=2, first=2**33)
    large.step(admit=range(259), paths=[258])
    large.step(remove=[100])
    large.step(remove=[17, 18, 19, 16, 200], admit=[300, 301], paths=[300, 301])
    large.step(rekey=True)
    ahead = Play("a sheet at the latest with the 64th epoch", suite=4)
    ahead.step(admit=[0], paths=[0])
    for joiner in range(1, 65):
        ahead.step(admit=[joiner])
    return check_names([play.json() for play in (small, large, ahead)])


def terms_of(group=GROUP, suite=1, **fields):
    return Terms(1, suite, group).changed(**fields)


def taking(name, who, told, records=(), accepted=ACCEPTED, terms=None):
    """What a member makes of terms and sheets, each (bytes, why it is refused or None), and then of records, likewise.

    It is told the terms of the first sheet's suite first, if no others are given.
    """
    member = Member(PEER, STREAM, accepted, key(who))
    terms = terms or terms_of(suite=groups.parse(told[0][0]).suite).signed_by(CAMERA)
    steps, opened = [], []
    for data, why in [(terms, None), *told]:
        is_terms = data[:1] == bytes([groups.TERMS_KIND])
        step = {"terms" if is_terms else "sheet": data.hex(), "expect": "ok"}
        try:
            (member.agree if is_terms else member.take)(data)
            if not is_terms:
                step.update(epoch=member.last.epoch, effect=member.last.effect)
        except Refused as reason:
            step["expect"] = str(reason)
        assert (step["expect"] == "ok") == (why is None), (name, step["expect"])
        steps.append(step | ({"why": why} if why else {}))
    for record, why in records:
        step = {"record": record.hex(), "expect": "ok"}
        try:
            epoch, payload = member.opens(record)
            step.update(epoch=epoch, payload=payload.hex())
        except Refused as reason:
            step["expect"] = str(reason)
        assert (step["expect"] == "ok") == (why is None), (name, step["expect"])
        opened.append(step | ({"why": why} if why else {}))
    refused = any(step["expect"] != "ok" for step in steps + opened)
    case = {"name": name, "expect": "mixed" if refused else "ok", "camera": PEER.hex(), "stream": STREAM,
            "suites": list(accepted), "member_key": key(who).hex(), "told": steps, "records": opened}
    return case | ({"why": "Each step says why."} if refused else {})


def terms_cases():
    """What a viewer makes of terms: (name, bytes, why it is refused or None, the camera's name that it asked for)."""
    other, good = fixed("another group camera", 32), terms_of(name=b"front")
    signed, unsigned = good.signed_by(CAMERA), good.unsigned()
    longest, letters = b"n" * 64, "h\u00f6fchen \u65e5".encode()
    content = groups.signed_content(unsigned, groups.TERMS_LABEL)
    reserved = "It was a mode of earlier versions."
    expected = {sign: reserved if sign in groups.RESERVED else None for sign in range(5)}
    rows = [(f"sign {sign}", good.changed(sign=sign), refusal) for sign, refusal in expected.items()]
    rows += [
        ("no name", good.changed(name=b""), None), ("the longest name", good.changed(name=longest), None),
        ("a name beyond ASCII", good.changed(name=letters), None), ("suite 2", good.changed(suite=2), None),
        ("sign 5", good.changed(sign=5), "0 to 4 are the values."),
        ("kind of a sheet", good.changed(kind=groups.KIND), "Their kind is 0x21."),
        ("version 0", good.changed(version=0), "It is 1."), ("version 2", good.changed(version=2), "It is 1."),
        ("stream 0", good.changed(group=Group(PEER, 0, RUN)), "Streams are 1 to 15."),
        ("stream 16", good.changed(group=Group(PEER, 16, RUN)), "Streams are 1 to 15."),
        ("a name of 65 bytes", good.changed(name=longest + b"n"), "At most 64 bytes."),
        ("a cut letter", good.changed(name=letters[:-1]), "Not UTF-8."),
        ("a line break", good.changed(name=b"a\nb"), "No control characters."),
        ("an escape", good.changed(name=b"\x1b[2J"), "No control characters."),
        ("a control character beyond ASCII", good.changed(name="\u0085".encode()), "No control characters."),
        ("an override of the direction", good.changed(name="a\u202eb".encode()),
         "No character that turns text around."),
        ("another camera's", good.changed(group=Group(handshake.public_of(other), STREAM, RUN)), "It is another."),
        ("another stream", good.changed(group=Group(PEER, 4, RUN)), "It is another."),
        ("suite 3", good.changed(suite=3), "It was not accepted."),
    ]
    cases = [(name, terms.signed_by(CAMERA), why, b"") for name, terms, why in rows]
    cases += [
        ("nothing", b"", "They are no terms.", b""), ("cut in the name", signed[:63], "They end early.", b""),
        ("cut in the signature", signed[:-1], "They end early.", b""),
        ("a byte more", signed + b"\0", "They end late.", b""),
        ("length too low", groups.signed_by(CAMERA, good.unsigned(4), groups.TERMS_LABEL), "They end late.", b""),
        ("length too high", groups.signed_by(CAMERA, good.unsigned(6), groups.TERMS_LABEL), "They end early.", b""),
        ("the name that was asked for", signed, None, b"front"),
        ("another name than was asked for", signed, "It is another camera of this publisher.", b"back"),
        ("the beginning of the name that was asked for", signed, "As before.", b"front door"),
        ("no name where one was asked for", good.changed(name=b"").signed_by(CAMERA), "As before.", b"front"),
        ("signed by another", good.signed_by(other), "The camera signs.", b""),
        ("signature of zeros", unsigned + bytes(64), "It does not verify.", b""),
        ("signed as a sheet", good.signed_by(CAMERA, groups.SHEET_LABEL), "The label is signed.", b""),
        ("signed without hashing", unsigned + handshake.sign(CAMERA, content[:22] + unsigned), "The hash is signed.",
         b""),
        *((f"{field} altered", flip(signed, at), "Everything is signed.", b"") for field, at in (
            ("sign", 2), ("suite", 3), ("run", 40), ("the name", 57))),
    ]
    return [terms_case(*case) for case in cases]


def terms_case(name, data, why, asked):
    member, case = Member(PEER, STREAM, ACCEPTED, key(0), asked), {}
    try:
        member.agree(data)
        terms = groups.parse_terms(data)
        case = {"expect": "ok", "sign": terms.sign, "suite": terms.suite, "run": terms.group.run.hex(),
                "name_of_camera": terms.name.decode()}
    except Refused as reason:
        case = {"expect": str(reason), "why": why}
    assert (case["expect"] == "ok") == (why is None), (name, case)
    return {"name": name, **case, "camera": PEER.hex(), "stream": STREAM, "suites": list(ACCEPTED),
            "asked": asked.decode(), "terms": data.hex()}


def runs():
    """What a member makes of terms and sheets of several runs of a camera, in whatever order."""
    def start(run, first, suite=1):
        leader = Leader(CAMERA, STREAM, SUITES[suite], fixed(f"group {run}", 16), first, 1, fixed(f"group {run}", 32))
        leader.change(fixed(f"group {run} 0", 32), 1, admit=[(0, key(0))])
        return leader, terms_of(leader.group, suite).signed_by(CAMERA), leader.signed(leader.path(0))

    old, old_terms, old_sheet = start("run 1", 10)
    new, new_terms, new_sheet = start("run 2", 20, 2)
    _, last_terms, last_sheet = start("run 3", 30)
    over, unknown = "That run is over.", "There are no terms of that run."
    weaker = terms_of(new.group, 2, sign=0).signed_by(CAMERA)
    return [
        taking("a sheet before its terms", 0, [(new_sheet, unknown), (old_sheet, None)], [(old.record(), None)],
               terms=old_terms),
        taking("a new run", 0, [(old_sheet, None), (new_terms, None), (new_sheet, None)],
               [(new.record(), None), (old.record(), "It does not open under the new run's keys.")], terms=old_terms),
        taking("terms alone change nothing", 0, [(old_sheet, None), (new_terms, None)], [(old.record(), None)],
               terms=old_terms),
        taking("terms of a run that is over", 0,
               [(old_sheet, None), (new_terms, None), (new_sheet, None), (old_terms, None), (old_sheet, over)],
               [(new.record(), None)], terms=old_terms),
        taking("terms of two runs to come", 0,
               [(old_sheet, None), (new_terms, None), (last_terms, None), (new_sheet, "Only the last are kept."),
                (last_sheet, None)], terms=old_terms),
        taking("other terms of the run in force", 0,
               [(new_sheet, None), (weaker, "A run has one."), (new_terms, None)], [(new.record(), None)],
               terms=new_terms),
        taking("other terms of a run to come", 0,
               [(old_sheet, None), (new_terms, None), (weaker, "A run has one."), (new_sheet, None)],
               [(new.record(), None)], terms=old_terms),
        taking("a sheet of another suite than its terms", 0,
               [(new.path(0).changed(suite=1).signed_by(CAMERA), "The terms say which."), (new_sheet, None)],
               [(new.record(), None)], terms=new_terms),
        taking("no terms at all", 0, [(old_sheet, unknown)], terms=last_terms),
    ]


def large_group():
    """(leader, the path sheet of member 0, and per change the update and a record)."""
    leader = Leader(CAMERA, STREAM, SUITES[2], RUN, 10, 1, fixed("group taking", 32))
    leader.change(fixed("group taking 0", 32), 1, admit=[(member, key(member)) for member in range(260)])
    start, updates = leader.signed(leader.path(0)), []
    changes = {"remove": [259]}, {"remove": [1]}, {"remove": [4]}, {"rekey": True}, {"remove": [0]}
    for number, change in enumerate(changes):
        sheet = leader.change(fixed(f"group taking {number + 1}", 32), 2 + number, **change)
        updates.append((leader.signed(sheet), leader.record()))
    return leader, start, updates


def histories():
    _, start, updates = large_group()
    leader = Leader(CAMERA, STREAM, SUITES[2], RUN, 10, 1, fixed("group taking", 32))
    leader.change(fixed("group taking 0", 32), 1, admit=[(member, key(member)) for member in range(260)])
    sheets, records = [sheet for sheet, _ in updates], [record for _, record in updates]
    wrong_key = "It knows another epoch's secret."
    cases = [
        taking("every update", 0, [(start, None), *((sheet, None) for sheet in sheets[:4]),
                                   (sheets[4], "It was removed.")],
               [(records[3], None), (records[4], "It was removed.")]),
        taking("the first update is missed, the second makes up for it", 0, [(start, None), (sheets[1], None)],
               [(records[1], None)]),
        taking("the second update is missed", 0,
               [(start, None), (sheets[0], None), (sheets[2], "The second drew a node below anew.")],
               [(records[0], None), (records[2], wrong_key)]),
        taking("updates in the wrong order", 0,
               [(start, None), (sheets[1], None), (sheets[0], "A later one was taken."),
                (sheets[1], "It was taken already."), (start, "It is from the beginning."), (sheets[2], None)],
               [(records[2], None)]),
        taking("an update and nothing before", 0, [(sheets[0], "There is nothing to build on.")],
               [(records[0], "It has no sheet.")]),
        taking("a member's path for another", 2, [(start, "It is for member 0.")]),
        taking("records in packets", 0, [(start, None)],
               [(leader.record(flags=groups.WHOLE | 0x80), None), (leader.record(flags=groups.REPAIR), None),
                (flip(leader.record(1, flags=groups.REPAIR), 1, 6), "Repair records have a key of their own.")]),
    ]
    joins = Leader(CAMERA, STREAM, SUITES[1], RUN, 65_530, 1, fixed("group joins", 32))
    before = joins.record()
    joins.change(fixed("group joins 0", 32), 1, admit=[(0, key(0))])
    start, records = joins.signed(joins.path(0)), []
    for step in range(63):
        joins.change(fixed("group joins", 32), 1, admit=[(step + 1, key(step + 1))] if step < 9 else ())
        records.append(joins.record())
        if step == 8:
            late = joins.signed(joins.path(9))
    beyond = bytearray(records[-1])
    beyond[2:4] = ((65_531 + 65) & 0xFFFF).to_bytes(2, "big")
    cases += [
        taking("joins of others", 0, [(start, None)],
               [(record, None) for record in records[::10]]
               + [(before, "It was sealed before the member joined."), (bytes(beyond), "65 steps are too many."),
                  (flip(records[1], 7), "It is of another stream."), (flip(records[1], 30), "It was altered."),
                  (flip(records[3], 3), "It is of another epoch.")]),
        taking("the last who joins", 9, [(late, None)], [(records[8], None), (records[7], "It was sealed before.")]),
    ]
    return cases


def forms(good):
    """(name, bytes, why) of what is malformed; `good` is a path sheet."""
    def sheet(**fields):
        return good.changed(**fields).signed_by(CAMERA)

    def wraps(change):
        entries = [list(entry) for entry in good.wraps]
        change(entries)
        return sheet(wraps=tuple(map(tuple, entries)))

    signed = good.signed_by(CAMERA)
    numbers = "There is no such node, or it has no parent."
    return [
        ("nothing", b"", "It is no sheet."), ("cut before the count", signed[:73], "It ends early."),
        ("cut in the signature", signed[:-1], "It ends early."), ("a byte more", signed + b"\0", "It ends late."),
        ("kind of a media record", sheet(kind=0x10), "Its kind is 0x20."), ("version 0", sheet(version=0), "It is 1."),
        ("version 2", sheet(version=2), "It is 1."), ("scope 0", sheet(scope=0), "Scopes are 1 to 3."),
        ("scope 4", sheet(scope=4), "Scopes are 1 to 3."),
        ("stream 0", sheet(group=Group(PEER, 0, RUN)), "Streams are 1 to 15."),
        ("stream 16", sheet(group=Group(PEER, 16, RUN)), "Streams are 1 to 15."),
        ("count too low", groups.signed_by(CAMERA, good.unsigned(6)), "It ends late."),
        ("count too high", groups.signed_by(CAMERA, good.unsigned(8)), "It ends early."),
        ("a leaf too many", wraps(lambda entries: entries[0].__setitem__(0, node(0, 16_384))), numbers),
        ("level 1 is narrower", wraps(lambda entries: entries[1].__setitem__(0, node(1, 4_096))), numbers),
        ("level 6 is narrower", wraps(lambda entries: entries[6].__setitem__(0, node(6, 4))), numbers),
        ("the root", wraps(lambda entries: entries[6].__setitem__(0, ROOT)), numbers),
        ("level 8", wraps(lambda entries: entries[6].__setitem__(0, node(8, 0))), numbers),
        ("one node twice", wraps(lambda entries: entries.insert(0, entries[0])), "Each node has one wrap."),
        ("descending nodes", wraps(lambda entries: entries.reverse()), "Nodes ascend."),
        ("no wrap of level 1", wraps(lambda entries: entries.pop(1)), "From every wrap a chain leads to the root."),
        ("no wrap of level 6", wraps(lambda entries: entries.pop()), "From every wrap a chain leads to the root."),
    ]


def forged(leader, good):
    """(name, bytes, why) of well-formed sheets that no member takes."""
    signed, other = good.signed_by(CAMERA), fixed("another group camera", 32)
    stranger = Group(handshake.public_of(other), STREAM, RUN)
    unsigned = good.unsigned()
    content = groups.signed_content(unsigned)
    own = "The label and the hash are signed."
    return [
        ("another camera's", good.changed(group=stranger).signed_by(other), "It is of another camera."),
        ("another camera's name, the camera's signature", good.changed(group=stranger).signed_by(CAMERA), "As before."),
        ("another stream", good.changed(group=Group(PEER, 4, RUN)).signed_by(CAMERA), "It is of another stream."),
        ("signed by another", good.signed_by(other), "The camera signs."),
        ("signature of zeros", unsigned + bytes(64), "It does not verify."),
        ("signature of another sheet", unsigned + leader.signed(leader.full())[-64:], "It is of other bytes."),
        ("signed without hashing", unsigned + handshake.sign(CAMERA, content[:20] + unsigned), own),
        ("signed without a label", unsigned + handshake.sign(CAMERA, keys.sha256(unsigned)), own),
        ("signed without the zero byte", unsigned + handshake.sign(CAMERA, content.replace(b"\0", b"", 1)), own),
        *((f"{field} altered", flip(signed, at), "Everything is signed.") for field, at in (
            ("suite", 3), ("run", 40), ("epoch", 63), ("effect", 71), ("a wrap", 90), ("the last wrap", -70))),
        ("suite 3", good.changed(suite=3).signed_by(CAMERA), "The terms say another."),
        ("the epoch before", good.changed(epoch=good.epoch - 2).signed_by(CAMERA), "A later one was taken."),
        ("effect 0", good.changed(effect=0).signed_by(CAMERA), "An earlier sheet takes effect later."),
        ("a leaf's wrap that does not open",
         good.changed(wraps=((good.wraps[0][0], flip(good.wraps[0][1], 0)), *good.wraps[1:])).signed_by(CAMERA),
         "Nobody's key opens it."),
        ("an inner wrap that does not open",
         good.changed(wraps=(*good.wraps[:3], (good.wraps[3][0], flip(good.wraps[3][1], 0)), *good.wraps[4:]))
         .signed_by(CAMERA), "The chain is broken."),
        ("nobody is a member", good.changed(scope=FULL, wraps=()).signed_by(CAMERA), "There is no wrap for it."),
        ("an update for others", good.changed(scope=UPDATE, wraps=()).signed_by(CAMERA), "There is no wrap for it."),
        ("an update 65 epochs later", good.changed(scope=UPDATE, epoch=good.epoch + 64).signed_by(CAMERA),
         "It is too far."),
        ("an update of another run", good.changed(scope=UPDATE, group=Group(PEER, STREAM, bytes(16))).signed_by(CAMERA),
         "There are no terms of that run."),
    ]


def refused():
    """Each case's last sheet but one is refused, and the last one is taken as if it had not come."""
    leader = Leader(CAMERA, STREAM, SUITES[1], RUN, 70, 5, fixed("group refused", 32))
    leader.change(fixed("group refused 0", 32), 6, admit=[(member, key(member)) for member in range(3)])
    start = leader.signed(leader.path(0))
    leader.change(fixed("group refused 1", 32), 7, rekey=True)
    good, record = leader.path(0), leader.record()
    rows = forms(good) + forged(leader, good)
    end = good.signed_by(CAMERA)
    return [taking(f"refused: {name}", 0, [(start, None), (sheet, why), (end, None)], [(record, None)])
            for name, sheet, why in rows]


def generate():
    return {"member_keys": member_keys(), "node_secrets": node_secrets(), "wraps": wraps(), "media_keys": media_keys(),
            "leaders": leaders(), "terms": check_names(terms_cases()),
            "members": check_names(histories() + runs() + refused())}
