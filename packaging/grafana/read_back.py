"""Reads sealcast.json as Grafana's own library does, and fails if a field of it is unknown there.

Run by `cargo xtask alerts`, with grafana-foundation-sdk.
"""

import json
import pathlib
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

FILE = pathlib.Path(__file__).with_name("sealcast.json")


def lost(written, known, place="dashboard"):
    """Yields each place of `written` that `known` does not have, or has otherwise."""
    if isinstance(written, dict) and isinstance(known, dict):
        for name, value in written.items():
            if name in known:
                yield from lost(value, known[name], f"{place}.{name}")
            else:
                yield f"{place}.{name}"
    elif isinstance(written, list) and isinstance(known, list) and len(written) == len(known):
        for number, (value, other) in enumerate(zip(written, known)):
            yield from lost(value, other, f"{place}[{number}]")
    elif written != known:
        yield place


def main():
    written = json.loads(FILE.read_text())
    known = json.loads(JSONEncoder().encode(Dashboard.from_json(written)))
    unknown = list(lost(written, known))
    if unknown:
        sys.exit(f"{FILE.name}: Grafana knows no such field, or not with such a value: {', '.join(unknown)}")
    print(f"{FILE.name}: Grafana's library knows each field of {len(written['panels'])} panels")


main()
