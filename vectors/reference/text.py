"""The texts a person sees: base32, identity files, tickets (protocol.md section 6, keys.md section 1)."""

import base64
import hashlib
import re
from pathlib import Path

import ed25519

ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
IDENTITY_LINE = "sealcast-identity-1"
MAX_TICKET = 512
TRANSPORTS = ("tcp", "udp", "quic", "http", "https", "relay")
MAX_LATENCY = 10_000
MAX_CERT_HASHES = 4
MAX_BROADCAST = 128
MAX_ADDRESSES = 4
MAX_TICKET_WITH_ADDRESSES = 400
# The English list of BIP 39, in its order.
WORDS = (Path(__file__).parent / "words.txt").read_text(encoding="ascii").split()


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


def word_indices(peer_id):
    """The six places in the list of words that stand for a peer id."""
    bits = int.from_bytes(hashlib.sha256(b"sealcast words 1" + peer_id).digest(), "big") >> (256 - 66)
    return [bits >> shift & 0x7FF for shift in range(55, -1, -11)]


def words(peer_id):
    return " ".join(WORDS[index] for index in word_indices(peer_id))


def identity_file(seed):
    return f"{IDENTITY_LINE}\n{base32(seed)}\n"


def parse_identity_file(text):
    lines = text.split("\n")
    if len(lines) != 3 or lines[2] != "":
        raise Refused("not two lines")
    if lines[0] != IDENTITY_LINE:
        raise Refused("wrong first line")
    return unbase32(lines[1], 32)


def _bracketed(host):
    return f"[{host}]" if ":" in host else host


def ticket(host, port, peer_id, transport=None, invite=None, latency=None, cert_hashes=(), broadcast=None,
           addresses=()):
    name = _bracketed(host)
    query = f"?transport={transport}" if transport else ""
    if latency is not None:
        query += f"&latency={latency}"
    if broadcast is not None:
        query += f"&broadcast={broadcast}"
    if cert_hashes:
        query += f"&certhash={','.join(base32(value) for value in cert_hashes)}"
    for other, at in addresses:
        query += f"&addr={_bracketed(other)}" + ("" if at == port else f":{at}")
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


HOST = r"(\[(?P<v6>[^\]/?#]*)\]|(?P<name>[^:/?#\[\]@]*))"


def _parse_host(match):
    if match["v6"] is None:
        _parse_dns_or_ipv4(match["name"])
        return match["name"]
    _parse_ipv6(match["v6"])
    return match["v6"]


def _parse_port(text):
    if not re.fullmatch(r"[1-9][0-9]{0,4}", text, re.ASCII) or int(text) > 65535:
        raise Refused("port")
    return int(text)


def parse_address(text):
    """The host and the port of HOST:PORT."""
    match = re.fullmatch(HOST + r":(?P<port>[0-9]+)", text, re.DOTALL | re.ASCII)
    if not match:
        raise Refused("form")
    return _parse_host(match), _parse_port(match["port"])


def _parse_addresses(texts, own):
    """Those beside the ticket's own."""
    addresses = [own]
    for value in texts:
        match = re.fullmatch(HOST + r"(:(?P<port>[0-9]+))?", value, re.DOTALL | re.ASCII)
        if not match:
            raise Refused("address")
        address = _parse_host(match), own[1] if match["port"] is None else _parse_port(match["port"])
        if match["port"] is not None and address[1] == own[1] or address in addresses:
            raise Refused("an address with the ticket's port, or twice")
        addresses.append(address)
    if len(addresses) > MAX_ADDRESSES:
        raise Refused("too many addresses")
    return tuple(addresses[1:])


def _parse_query(text):
    """Transport, latency, hashes of certificates, name of the broadcast, further addresses as they are written."""
    match = re.fullmatch(r"transport=([a-z]*)(&latency=(?P<latency>0|[1-9][0-9]{0,4})"
                         r"|(&broadcast=(?P<broadcast>[^&]*))?(&certhash=(?P<hashes>[^&]*))?)?"
                         r"(?P<others>(&addr=[^&]*)*)", text, re.DOTALL | re.ASCII)
    if not match or match[1] not in TRANSPORTS or match[1] == "relay" and match["others"]:
        raise Refused("query")
    transport, latency, hashes = match[1], match["latency"], match["hashes"]
    if latency is not None and (transport not in ("udp", "quic") or int(latency) > MAX_LATENCY):
        raise Refused("latency")
    broadcast = match["broadcast"]
    if (broadcast is not None) != (transport == "relay") or broadcast is not None and not _is_broadcast(broadcast):
        raise Refused("name of the broadcast")
    hashes = () if hashes is None else _parse_cert_hashes(transport, hashes)
    return transport, latency and int(latency), hashes, broadcast, match["others"].split("&addr=")[1:]


def _is_broadcast(name):
    parts = name.split("/")
    return len(name) <= MAX_BROADCAST and not {".", ".."} & set(parts) and all(
        re.fullmatch(r"[A-Za-z0-9._~-]+", part, re.ASCII) for part in parts)


def _parse_cert_hashes(transport, text):
    hashes = tuple(unbase32(value, 32) for value in text.split(","))
    if transport not in ("http", "https", "relay") or len(hashes) > MAX_CERT_HASHES or len(set(hashes)) < len(hashes):
        raise Refused("certificate hashes")
    return hashes


def page_link(text):
    """The link that opens the page of this ticket; None if it has none."""
    fields = parse_ticket(text)
    if fields["transport"] not in ("http", "https"):
        return None
    host = f"[{fields['host']}]" if ":" in fields["host"] else fields["host"]
    return f"{fields['transport']}://{host}:{fields['port']}/#" + text.replace("#", "%23")


def parse_ticket(text):
    if len(text.encode()) > MAX_TICKET:
        raise Refused("too long")
    match = re.fullmatch(r"sealcast://(?P<authority>[^/?#]*)/(?P<peer>[^/?#]*)(\?(?P<query>[^#]*))?(#(?P<invite>.*))?",
                         text, re.DOTALL | re.ASCII)
    if not match:
        raise Refused("form")
    host, port = parse_address(match["authority"])
    transport, latency, cert_hashes, broadcast, others = "tcp", None, (), None, ()
    if match["query"] is not None:
        transport, latency, cert_hashes, broadcast, others = _parse_query(match["query"])
    if others and len(text.encode()) > MAX_TICKET_WITH_ADDRESSES:
        raise Refused("too long")
    return {
        "host": host,
        "port": port,
        "peer_id": parse_peer_id(match["peer"]),
        "transport": transport,
        "latency": latency,
        "cert_hashes": cert_hashes,
        "broadcast": broadcast,
        "addresses": _parse_addresses(others, (host, port)),
        "invite": None if match["invite"] is None else unbase32(match["invite"], 16),
    }
