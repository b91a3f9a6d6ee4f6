"""The texts a person sees: base32, identity files, tickets (protocol.md section 6, keys.md section 1)."""

import base64
import re

import ed25519

ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
IDENTITY_LINE = "sealcast-identity-1"
MAX_TICKET = 512
TRANSPORTS = ("tcp", "udp", "quic")
MAX_LATENCY = 10_000


class Refused(Exception):
    pass


def base32(data):
    return base64.b32encode(data).decode().rstrip("=").lower()


def unbase32(text, length):
    """Exactly `length` bytes, in their one spelling."""
    if any(c not in ALPHABET for c in text):
        raise Refused("a character outside the alphabet")
    if len(text) != -(-length * 8 // 5):
        raise Refused("wrong length")
    value = 0
    for c in text:
        value = value << 5 | ALPHABET.index(c)
    spare = len(text) * 5 - length * 8
    if value & ((1 << spare) - 1):
        raise Refused("unused trailing bits set")
    return (value >> spare).to_bytes(length, "big")


def parse_peer_id(text):
    peer_id = unbase32(text, 32)
    if not ed25519.is_peer_id(peer_id):
        raise Refused("not canonical or of small order")
    return peer_id


def identity_file(seed):
    return f"{IDENTITY_LINE}\n{base32(seed)}\n"


def parse_identity_file(text):
    lines = text.split("\n")
    if len(lines) != 3 or lines[2] != "":
        raise Refused("not two lines")
    if lines[0] != IDENTITY_LINE:
        raise Refused("wrong first line")
    return unbase32(lines[1], 32)


def ticket(host, port, peer_id, transport=None, invite=None, latency=None):
    name = f"[{host}]" if ":" in host else host
    query = f"?transport={transport}" if transport else ""
    if latency is not None:
        query += f"&latency={latency}"
    fragment = f"#{base32(invite)}" if invite is not None else ""
    return f"sealcast://{name}:{port}/{base32(peer_id)}{query}{fragment}"


def _parse_ipv6(text):
    import ipaddress
    if "%" in text:
        raise Refused("zone identifier")
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        raise Refused("not an IPv6 address") from None
    if address.ipv4_mapped is not None:
        raise Refused("an IPv4 address in IPv6 clothes")
    if address.compressed != text:
        raise Refused("not the spelling of RFC 5952")


def _parse_dns_or_ipv4(text):
    labels = text.split(".")
    if len(text) > 253 or not all(re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", label) for label in labels):
        raise Refused("not a host name")
    if labels[-1].isdigit():  # a name whose last label is a number can only be an address
        if len(labels) != 4 or not all(re.fullmatch(r"0|[1-9][0-9]{0,2}", x) and int(x) < 256 for x in labels):
            raise Refused("not an IPv4 address")


def _parse_query(text):
    match = re.fullmatch(r"transport=([a-z]*)(&latency=(0|[1-9][0-9]{0,4}))?", text, re.ASCII)
    if not match or match[1] not in TRANSPORTS:
        raise Refused("query")
    if match[2] is None:
        return match[1], None
    if match[1] == "tcp" or int(match[3]) > MAX_LATENCY:
        raise Refused("latency")
    return match[1], int(match[3])


def parse_ticket(text):
    if len(text.encode()) > MAX_TICKET:
        raise Refused("too long")
    match = re.fullmatch(
        r"sealcast://(\[(?P<v6>[^\]/?#]*)\]|(?P<name>[^:/?#\[\]@]*)):(?P<port>[0-9]+)/(?P<peer>[^/?#]*)"
        r"(\?(?P<query>[^#]*))?(#(?P<invite>.*))?", text, re.DOTALL | re.ASCII)
    if not match:
        raise Refused("form")
    if match["v6"] is not None:
        _parse_ipv6(match["v6"])
    else:
        _parse_dns_or_ipv4(match["name"])
    if not re.fullmatch(r"[1-9][0-9]{0,4}", match["port"]) or int(match["port"]) > 65535:
        raise Refused("port")
    transport, latency = "tcp", None
    if match["query"] is not None:
        transport, latency = _parse_query(match["query"])
    return {
        "host": match["v6"] if match["v6"] is not None else match["name"],
        "port": int(match["port"]),
        "peer_id": parse_peer_id(match["peer"]),
        "transport": transport,
        "latency": latency,
        "invite": None if match["invite"] is None else unbase32(match["invite"], 16),
    }
