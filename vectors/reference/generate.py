"""Writes vectors/*.json, or with --check compares what it would write with what is there."""

import json
import sys
from pathlib import Path

import gen_control
import gen_datagrams
import gen_gateway
import gen_groups
import gen_handshake
import gen_records
import gen_relay
import gen_schedule
import gen_signatures
import gen_splits
import gen_tickets
import selfcheck

OUT = Path(__file__).resolve().parent.parent
GENERATORS = {
    "schedule": gen_schedule.generate,
    "records": gen_records.generate,
    "handshake": gen_handshake.generate,
    "control": gen_control.generate,
    "tickets": gen_tickets.generate,
    "datagrams": gen_datagrams.generate,
    "gateway": gen_gateway.generate,
    "relay": gen_relay.generate,
    "splits": gen_splits.generate,
    "groups": gen_groups.generate,
    "signatures": gen_signatures.generate,
}


def rendered(content):
    return (json.dumps(content, indent=1, ensure_ascii=True) + "\n").encode("ascii")


def main(arguments):
    if arguments not in ([], ["--check"]):
        print("usage: generate.py [--check]", file=sys.stderr)
        return 2
    selfcheck.run()
    different = []
    for name, generate in GENERATORS.items():
        path, content = OUT / f"{name}.json", rendered(generate())
        if not arguments:
            path.write_bytes(content)
        elif not path.exists() or path.read_bytes() != content:
            different.append(path.name)
    for name in different:
        print(f"{name} differs from what the reference generates", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
