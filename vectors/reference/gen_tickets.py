"""vectors/tickets.json"""

import handshake
import text
from common import check_names, fixed, no_peer_ids

PEER = handshake.public_of(fixed("ticket peer", 32))
INVITE = fixed("ticket invite", 16)
HASHES = tuple(fixed(f"ticket certificate {number}", 32) for number in range(5))
P, V = text.base32(PEER), text.base32(INVITE)


def _ok(name, host, port, transport=None, invite=None, latency=None, cert_hashes=(), broadcast=None, addresses=()):
    value = text.ticket(host, port, PEER, transport, invite, latency, cert_hashes, broadcast, addresses)
    fields = text.parse_ticket(value)
    assert fields == {"host": host, "port": port, "peer_id": PEER, "transport": transport or "tcp",
                      "latency": latency, "cert_hashes": cert_hashes, "broadcast": broadcast, "addresses": addresses,
                      "invite": invite}
    return {"name": name, "expect": "ok", "ticket": value, "host": host,
            "host_kind": _kind(host), "port": port, "peer_id": PEER.hex(), "transport": transport or "tcp",
            "transport_written": transport is not None, "latency": latency,
            "cert_hashes": [value.hex() for value in cert_hashes], "broadcast": broadcast,
            "addresses": [{"host": host, "host_kind": _kind(host), "port": port} for host, port in addresses],
            "invite": None if invite is None else invite.hex(), "page_link": text.page_link(value)}


def _kind(host):
    if ":" in host:
        return "ipv6"
    return "ipv4" if host.rsplit(".", 1)[-1].isdigit() else "dns"


def ok_cases():
    return [
        _ok("IPv4", "192.0.2.7", 7788),
        _ok("IPv4 with invite", "192.0.2.7", 7788, invite=INVITE),
        _ok("IPv4 loopback", "127.0.0.1", 65535),
        _ok("IPv4, port 1", "10.0.0.1", 1),
        _ok("DNS name", "camera.example.org", 7788),
        _ok("DNS name with invite", "camera.example.org", 7788, invite=INVITE),
        _ok("DNS name of one label", "localhost", 443),
        _ok("DNS name with digits and hyphens", "cam-01.site-2.example", 5000),
        _ok("DNS name that begins with digits", "4.cams.example", 5000),
        _ok("IPv6", "2001:db8::7", 7788),
        _ok("IPv6 with invite", "2001:db8::7", 7788, invite=INVITE),
        _ok("IPv6 loopback", "::1", 7788),
        _ok("IPv6 in full", "2001:db8:1:2:3:4:5:6", 7788),
        _ok("IPv6, first of two equal runs shortened", "2001:db8::1:0:0:1", 7788),
        _ok("IPv6, a single zero group", "2001:db8:0:1:1:1:1:1", 7788),
        _ok("DNS name of the longest label", "a" * 63 + ".example", 7788),
        _ok("transport tcp written out", "192.0.2.7", 7788, "tcp"),
        _ok("transport udp", "192.0.2.7", 7788, "udp"),
        _ok("transport quic", "camera.example.org", 7788, "quic"),
        _ok("transport udp with invite", "192.0.2.7", 7788, "udp", INVITE),
        _ok("IPv6, transport quic with invite", "2001:db8::7", 7788, "quic", INVITE),
        _ok("transport tcp written out with invite", "192.0.2.7", 7788, "tcp", INVITE),
        _ok("transport udp with latency", "192.0.2.7", 7788, "udp", latency=250),
        _ok("transport udp with latency 0", "192.0.2.7", 7788, "udp", latency=0),
        _ok("the latency that holds without a word, written out", "192.0.2.7", 7788, "udp", latency=120),
        _ok("transport quic with the longest latency and invite", "camera.example.org", 7788, "quic", INVITE, 10_000),
        _ok("transport relay", "relay.example", 4443, "relay", broadcast="door"),
        _ok("transport relay with parts and invite", "relay.example", 4443, "relay", INVITE,
            broadcast="ROV-1/front.cam_2~"),
        _ok("transport relay with certificates", "192.0.2.7", 4443, "relay", INVITE, cert_hashes=HASHES[:2],
            broadcast="door"),
        _ok("transport relay, longest broadcast", "2001:db8::7", 4443, "relay", broadcast="a" * 128),
        _ok("transport http", "127.0.0.1", 9553, "http"),
        _ok("transport http with invite", "192.0.2.7", 9553, "http", INVITE),
        _ok("transport https", "camera.example.org", 443, "https"),
        _ok("IPv6, transport https with invite", "2001:db8::7", 9553, "https", INVITE),
        _ok("transport http with a certificate", "192.0.2.7", 9553, "http", cert_hashes=HASHES[:1]),
        _ok("transport https with a certificate", "192.0.2.7", 9553, "https", cert_hashes=HASHES[:1]),
        _ok("transport https with two certificates and invite", "192.0.2.7", 9553, "https", INVITE,
            cert_hashes=HASHES[:2]),
        _ok("certificates in the order in which they are written", "192.0.2.7", 9553, "https",
            cert_hashes=HASHES[1::-1]),
        _ok("IPv6, transport https with four certificates and invite", "2001:db8:1:2:3:4:5:6", 65535, "https", INVITE,
            cert_hashes=HASHES[:4]),
        _ok("certificate hashes of zeros and ones", "localhost", 9553, "https",
            cert_hashes=(bytes(32), b"\xff" * 32)),
        _ok("a further address", "192.0.2.7", 7788, "tcp", addresses=(("2001:db8::7", 7788),)),
        _ok("a further address with another port", "camera.example.org", 7788, "udp", INVITE,
            addresses=(("192.0.2.7", 7789),)),
        _ok("the same host with another port", "192.0.2.7", 7788, "quic", addresses=(("192.0.2.7", 1),)),
        _ok("another port in brackets", "192.0.2.7", 7788, "quic", addresses=(("2001:db8::7", 65535),)),
        _ok("four addresses in all, latency and invite", "2001:db8::7", 7788, "quic", INVITE, 250,
            addresses=(("192.0.2.7", 7788), ("fd00::7", 7788), ("camera.local", 7788))),
        _ok("addresses in the order in which they are written", "192.0.2.7", 7788, "tcp",
            addresses=(("192.0.2.9", 7788), ("192.0.2.8", 7788))),
        _ok("certificates and addresses", "192.0.2.7", 9553, "https", INVITE, cert_hashes=HASHES[:2],
            addresses=(("2001:db8::7", 9553), ("10.0.0.7", 443))),
        _ok("the longest ticket with addresses", "a" * 63, 7788, "udp", INVITE,
            addresses=((f"{'b' * 63}.{'b' * 63}", 7788), (f"{'c' * 63}.{'c' * 24}", 7788))),
        _ok("a DNS name of 253 bytes", ".".join(["a" * 63] * 3 + ["a" * 61]), 7788, "tcp"),
        _ok("a further DNS name of 253 bytes", "10.0.0.7", 7788, "tcp",
            addresses=((".".join(["a" * 63] * 3 + ["a" * 61]), 7788),)),
        _ok("invite of zeros", "192.0.2.7", 7788, invite=bytes(16)),
        _ok("invite of ones", "192.0.2.7", 7788, invite=b"\xff" * 16),
    ]


def _dirty(value):
    return value[:-1] + text.ALPHABET[text.ALPHABET.index(value[-1]) | 1]


def _hosts_and_ports():
    one_spelling = "A ticket has one spelling."
    return [
        ("empty", "", "Nothing is there."),
        ("wrong scheme", f"https://192.0.2.7:7788/{P}", "The scheme is sealcast."),
        ("scheme without slashes", f"sealcast:192.0.2.7:7788/{P}", "The scheme is followed by two slashes."),
        ("upper-case scheme", f"SEALCAST://192.0.2.7:7788/{P}", one_spelling),
        ("no scheme", f"192.0.2.7:7788/{P}", "The scheme is missing."),
        ("empty host", f"sealcast://:7788/{P}", "The host is missing."),
        ("empty brackets", f"sealcast://[]:7788/{P}", "The host is missing."),
        ("missing port", f"sealcast://192.0.2.7/{P}", "The port is always present."),
        ("empty port", f"sealcast://192.0.2.7:/{P}", "The port is always present."),
        ("IPv6 without port", f"sealcast://[2001:db8::7]/{P}", "The port is always present."),
        ("port 0", f"sealcast://192.0.2.7:0/{P}", "Ports are 1 to 65535."),
        ("port 65536", f"sealcast://192.0.2.7:65536/{P}", "Ports are 1 to 65535."),
        ("port 70000000000", f"sealcast://192.0.2.7:70000000000/{P}", "Ports are 1 to 65535."),
        ("port with leading zero", f"sealcast://192.0.2.7:07788/{P}", one_spelling),
        ("port with sign", f"sealcast://192.0.2.7:+7788/{P}", one_spelling),
        ("negative port", f"sealcast://192.0.2.7:-1/{P}", "Ports are 1 to 65535."),
        ("port in hex", f"sealcast://192.0.2.7:0x1e6c/{P}", "The port is decimal."),
        ("port with space", f"sealcast://192.0.2.7: 7788/{P}", one_spelling),
        ("port in Arabic-Indic digits", f"sealcast://192.0.2.7:\u0667\u0667\u0668\u0668/{P}", "The port is ASCII."),
        ("user", f"sealcast://admin@192.0.2.7:7788/{P}", "User information is refused."),
        ("user and password", f"sealcast://admin:secret@192.0.2.7:7788/{P}", "User information is refused."),
        ("empty user", f"sealcast://@192.0.2.7:7788/{P}", "User information is refused."),
        ("IPv6 without brackets", f"sealcast://2001:db8::7:7788/{P}", "IPv6 addresses stand in brackets."),
        ("open bracket only", f"sealcast://[2001:db8::7:7788/{P}", "IPv6 addresses stand in brackets."),
        ("IPv4 in brackets", f"sealcast://[192.0.2.7]:7788/{P}", "Only IPv6 addresses stand in brackets."),
        ("DNS name in brackets", f"sealcast://[camera.example.org]:7788/{P}", "Only IPv6 addresses stand in brackets."),
        ("bad IPv6", f"sealcast://[2001:db8:::7]:7788/{P}", "Not an IPv6 address."),
        ("nine groups of IPv6", f"sealcast://[1:2:3:4:5:6:7:8:9]:7788/{P}", "Not an IPv6 address."),
        ("IPv4 byte of 256", f"sealcast://192.0.2.256:7788/{P}", "Neither an address nor a name."),
        ("IPv4 of three parts", f"sealcast://192.0.2:7788/{P}", "Neither an address nor a name."),
        ("IPv4 with leading zeros", f"sealcast://192.000.002.007:7788/{P}", one_spelling),
        ("host with a space", f"sealcast://camera example:7788/{P}", "Not a host name."),
        ("host with percent", f"sealcast://camera%2eexample:7788/{P}", "Not a host name."),
        ("host with empty label", f"sealcast://camera..example:7788/{P}", "Not a host name."),
        ("host with a letter beyond ASCII", f"sealcast://k\u00e4mera.example:7788/{P}", "Not a host name."),
        ("label of 64 letters", f"sealcast://{'a' * 64}.example:7788/{P}", "A label is at most 63 letters."),
        ("label that begins with a hyphen", f"sealcast://-cam.example:7788/{P}", "Hyphens stand inside."),
        ("label that ends in a hyphen", f"sealcast://cam-.example:7788/{P}", "Hyphens stand inside."),
        ("underscore", f"sealcast://my_cam.example:7788/{P}", "Letters, digits and hyphens."),
        ("host that ends in a dot", f"sealcast://camera.example.org.:7788/{P}", "Not a host name."),
        ("host whose last label is a number", f"sealcast://camera.42:7788/{P}",
         "It looks like an address and is none."),
        ("host of digits", f"sealcast://3221225991:7788/{P}", "It looks like an address and is none."),
        ("IPv6 in upper case", f"sealcast://[2001:DB8::7]:7788/{P}", "RFC 5952: lower case."),
        ("IPv6 with leading zeros", f"sealcast://[2001:0db8::7]:7788/{P}", "RFC 5952: no leading zeros."),
        ("IPv6 not shortened", f"sealcast://[2001:db8:0:0:0:0:0:7]:7788/{P}",
         "RFC 5952: the longest run of zeros is shortened."),
        ("IPv6, one zero group shortened", f"sealcast://[2001:db8::1:1:1:1:1]:7788/{P}",
         "RFC 5952: a run has two groups."),
        ("IPv6, second of two runs shortened", f"sealcast://[2001:db8:0:0:1::1]:7788/{P}",
         "RFC 5952: the first of equal runs."),
        ("IPv6 with a zone", f"sealcast://[fe80::1%eth0]:7788/{P}", "Zones mean something on one machine only."),
        ("IPv6 with dotted end", f"sealcast://[2001:db8::192.0.2.7]:7788/{P}", one_spelling),
        ("IPv4 mapped into IPv6", f"sealcast://[::ffff:192.0.2.7]:7788/{P}", "It is written as the IPv4 address."),
        ("IPv4 mapped into IPv6, in hex", f"sealcast://[::ffff:c000:207]:7788/{P}",
         "It is written as the IPv4 address."),
        ("upper-case host", f"sealcast://Camera.example.org:7788/{P}", "Upper case is refused."),
        ("too long", f"sealcast://{'.'.join(['a' * 60] * 8)}:7788/{P}", "At most 512 bytes."),
        ("too long by its fragment", f"sealcast://192.0.2.7:7788/{P}#{'a' * 500}",
         "At most 512 bytes, and an invite is 26."),
    ]


def _peers_and_rest():
    base = f"sealcast://192.0.2.7:7788/{P}"
    rest = "sealcast://192.0.2.7:7788"
    return [
        ("no peer id", rest, "The peer id is missing."),
        ("empty peer id", f"{rest}/", "The peer id is missing."),
        ("peer id in upper case", f"{rest}/{P.upper()}", "Upper case is refused."),
        ("last letter of the peer id in upper case", f"{rest}/{P[:-1]}{P[-1].upper()}", "Upper case is refused."),
        ("peer id padded", f"{rest}/{P}====", "Padding is refused."),
        ("peer id with unused bits", f"{rest}/{_dirty(P)}", "Unused trailing bits must be zero."),
        ("peer id short", f"{rest}/{P[:-1]}", "The peer id is 52 characters."),
        ("peer id long", f"{rest}/{P}a", "The peer id is 52 characters."),
        ("peer id in hex", f"{rest}/{PEER.hex()}", "The peer id is base32."),
        ("peer id with 1", f"{rest}/1{P[1:]}", "1 is not in the alphabet."),
        ("slash after the peer id", f"{base}/", "The path is the peer id alone."),
        ("two slashes before the peer id", f"{rest}//{P}", "The path is the peer id alone."),
        ("second path segment", f"{base}/{P}", "The path is the peer id alone."),
        ("empty query", f"{base}?", "One spelling, and a query is transport=..."),
        ("unknown query", f"{base}?name=door", "Any other query key is refused."),
        ("transport and another", f"{base}?transport=udp&name=door", "Any other query key is refused."),
        ("another and transport", f"{base}?name=door&transport=udp", "Any other query key is refused."),
        ("transport twice", f"{base}?transport=udp&transport=udp", "One spelling."),
        ("empty transport", f"{base}?transport=", "Transports are tcp, udp, quic, http, https."),
        ("transport without value", f"{base}?transport", "Transports are tcp, udp, quic, http, https."),
        ("unknown transport", f"{base}?transport=sctp", "Transports are tcp, udp, quic, http, https."),
        ("transport in upper case", f"{base}?transport=UDP", "Upper case is refused."),
        ("key in upper case", f"{base}?Transport=udp", "Upper case is refused."),
        ("transport with percent", f"{base}?transport=%75dp", "One spelling."),
        ("trailing ampersand", f"{base}?transport=udp&", "One spelling."),
        ("latency without transport", f"{base}?latency=250", "Latency goes with udp and quic only."),
        ("latency with tcp", f"{base}?transport=tcp&latency=250", "Latency goes with udp and quic only."),
        ("latency before transport", f"{base}?latency=250&transport=udp", "One order."),
        ("latency twice", f"{base}?transport=udp&latency=250&latency=250", "One spelling."),
        ("empty latency", f"{base}?transport=udp&latency=", "0 to 10 000."),
        ("latency without value", f"{base}?transport=udp&latency", "0 to 10 000."),
        ("latency of 10001", f"{base}?transport=udp&latency=10001", "0 to 10 000."),
        ("latency of 65536", f"{base}?transport=udp&latency=65536", "0 to 10 000."),
        ("latency of 4294967416", f"{base}?transport=udp&latency=4294967416", "0 to 10 000."),
        ("latency with leading zero", f"{base}?transport=udp&latency=0250", "One spelling."),
        ("latency 00", f"{base}?transport=udp&latency=00", "One spelling."),
        ("latency with sign", f"{base}?transport=udp&latency=+250", "One spelling."),
        ("negative latency", f"{base}?transport=udp&latency=-1", "0 to 10 000."),
        ("latency with a unit", f"{base}?transport=udp&latency=250ms", "It is in milliseconds."),
        ("latency with a fraction", f"{base}?transport=udp&latency=2.5", "It is in whole milliseconds."),
        ("latency in Arabic-Indic digits", f"{base}?transport=udp&latency=\u0667", "The latency is ASCII."),
        ("latency and another", f"{base}?transport=udp&latency=250&name=door", "Any other query key is refused."),
        ("ampersand after the latency", f"{base}?transport=udp&latency=250&", "One spelling."),
        ("latency key in upper case", f"{base}?transport=udp&Latency=250", "Upper case is refused."),
        ("latency in the fragment", f"{base}?transport=udp#latency=250", "An invite is 26 characters."),
        ("empty fragment", f"{base}#", "An invite is 26 characters."),
        ("invite short", f"{base}#{V[:-1]}", "An invite is 26 characters."),
        ("invite long", f"{base}#{V}a", "An invite is 26 characters."),
        ("invite in upper case", f"{base}#{V.upper()}", "Upper case is refused."),
        ("invite padded", f"{base}#{V}======", "Padding is refused."),
        ("invite with unused bits", f"{base}#{_dirty(V)}", "Unused trailing bits must be zero."),
        ("invite with 0", f"{base}#0{V[1:]}", "0 is not in the alphabet."),
        ("two fragments", f"{base}#{V}#{V}", "One invite."),
        ("query after the fragment", f"{base}#{V}?transport=udp", "The query stands before the fragment."),
        ("invite in the query", f"{base}?invite={V}", "The invite stands in the fragment only."),
        ("space before", f" {base}", "One spelling."),
        ("space after", f"{base} ", "One spelling."),
        ("line end after", f"{base}\n", "One spelling."),
        ("line end after the invite", f"{base}#{V}\n", "One spelling."),
        ("NUL after", f"{base}\0", "One spelling."),
    ]


def _cert_hashes():
    base = f"sealcast://192.0.2.7:7788/{P}"
    page, key = f"{base}?transport=https", f"{base}?transport=https&certhash="
    one, two = (text.base32(value) for value in HASHES[:2])
    five = ",".join(text.base32(value) for value in HASHES)
    only, spelling = "Certificates go with http and https only.", "A hash is spelled as a peer id is."
    late = "Latency goes with udp and quic only."
    return [
        ("certificate with tcp", f"{base}?transport=tcp&certhash={one}", only),
        ("certificate with udp", f"{base}?transport=udp&certhash={one}", only),
        ("certificate with quic", f"{base}?transport=quic&certhash={one}", only),
        ("certificate without transport", f"{base}?certhash={one}", only),
        ("five certificates", f"{key}{five}", "1 to 4 certificates."),
        ("the same certificate twice", f"{key}{one},{one}", "None stands twice."),
        ("the same certificate twice, not side by side", f"{key}{one},{two},{one}", "None stands twice."),
        ("certificate in upper case", f"{key}{one.upper()}", spelling),
        ("last letter of a certificate in upper case", f"{key}{one[:-1]}{one[-1].upper()}", spelling),
        ("certificate padded", f"{key}{one}====", spelling),
        ("certificate with unused bits", f"{key}{_dirty(one)}", spelling),
        ("second certificate with unused bits", f"{key}{one},{_dirty(two)}", spelling),
        ("certificate short", f"{key}{one[:-1]}", spelling),
        ("certificate long", f"{key}{one}a", spelling),
        ("certificate in hex", f"{key}{HASHES[0].hex()}", spelling),
        ("no certificate", key, "1 to 4 certificates."),
        ("certhash without value", key[:-1], "1 to 4 certificates."),
        ("comma after the certificate", f"{key}{one},", "Commas separate."),
        ("comma before the certificate", f"{key},{one}", "Commas separate."),
        ("two commas", f"{key}{one},,{two}", "Commas separate."),
        ("space after the comma", f"{key}{one}, {two}", "Commas separate."),
        ("comma with percent", f"{key}{one}%2C{two}", "One spelling."),
        ("certhash twice", f"{key}{one}&certhash={two}", "Commas separate."),
        ("certhash before transport", f"{base}?certhash={one}&transport=https", "One order."),
        ("certhash in upper case", f"{page}&CertHash={one}", "Upper case is refused."),
        ("certhash and another", f"{key}{one}&name=door", "Any other query key is refused."),
        ("ampersand after the certificate", f"{key}{one}&", "One spelling."),
        ("line end after the certificate", f"{key}{one}\n", "One spelling."),
        ("certificate in the fragment", f"{page}#certhash={one}", "An invite is 26 characters."),
        ("latency with http", f"{base}?transport=http&latency=250", late),
        ("latency with https", f"{page}&latency=250", late),
        ("latency before the certificate", f"{page}&latency=250&certhash={one}", late),
        ("latency after the certificate", f"{key}{one}&latency=250", late),
        ("latency and certificate with quic", f"{base}?transport=quic&latency=250&certhash={one}", only),
        ("transport https in upper case", f"{base}?transport=HTTPS", "Upper case is refused."),
        ("transport ws", f"{base}?transport=ws", "Transports are tcp, udp, quic, http, https, relay."),
        ("page link", f"https://192.0.2.7:7788/#{page}", "A page link has a ticket, and is none."),
        ("too long by its certificates", f"sealcast://{'.'.join(['a' * 60] * 4)}:7788/{P}?transport=https&certhash="
         + ",".join(text.base32(value) for value in HASHES[:4]), "At most 512 bytes."),
    ]


def _broadcasts():
    base = f"sealcast://192.0.2.7:4443/{P}"
    relay, key = f"{base}?transport=relay", f"{base}?transport=relay&broadcast="
    one = text.base32(HASHES[0])
    form = "Parts of letters, digits, -, ., _ and ~ with slashes between them, 1 to 128 bytes."
    only = "Broadcasts go with relay, always and only."
    return [
        ("relay without a broadcast", relay, only),
        ("relay with a certificate alone", f"{relay}&certhash={one}", only),
        ("relay with latency", f"{relay}&latency=250", only),
        ("relay with broadcast and latency", f"{key}door&latency=250", "Latency goes with udp and quic only."),
        ("broadcast with tcp", f"{base}?transport=tcp&broadcast=door", only),
        ("broadcast with https", f"{base}?transport=https&broadcast=door", only),
        ("broadcast without transport", f"{base}?broadcast=door", only),
        ("broadcast after the certificate", f"{relay}&certhash={one}&broadcast=door", "One order."),
        ("no broadcast", key, form),
        ("broadcast that begins with a slash", f"{key}/door", form),
        ("broadcast that ends with a slash", f"{key}door/", form),
        ("broadcast with an empty part", f"{key}rov//door", form),
        ("broadcast with a dot alone", f"{key}rov/./door", form),
        ("broadcast of two dots", f"{key}..", form),
        ("broadcast with a space", f"{key}front door", form),
        ("broadcast with percent", f"{key}front%20door", form),
        ("broadcast with a letter that is not ASCII", f"{key}t\u00fcr", form),
        ("broadcast with a question mark", f"{key}door?jwt=x", form),
        ("broadcast with a line end", f"{key}door\n", form),
        ("broadcast of 129 bytes", f"{key}{'a' * 129}", form),
        ("two broadcasts", f"{key}door&broadcast=door", form),
        ("ampersand after the broadcast", f"{key}door&", "One spelling."),
        ("transport relay in upper case", f"{base}?transport=RELAY&broadcast=door", "Upper case is refused."),
    ]


def _addresses():
    base = f"sealcast://192.0.2.7:7788/{P}"
    key = f"{base}?transport=udp&addr="
    spelling, long = "A ticket has one spelling.", ".".join(["a" * 63] * 3 + ["a" * 62])
    return [
        ("five addresses in all", f"{key}10.0.0.1&addr=10.0.0.2&addr=10.0.0.3&addr=10.0.0.4", "At most 4 in all."),
        ("two addresses in one key", f"{key}10.0.0.1,10.0.0.2", "One address in each."),
        ("no address", key, "The host is missing."),
        ("addr without value", key[:-1], "The host is missing."),
        ("addr that is a port", f"{key}:7789", "The host is missing."),
        ("addr without transport", f"{base}?addr=10.0.0.1", "The transport stands before what follows it."),
        ("addr before transport", f"{base}?addr=10.0.0.1&transport=udp", "One order."),
        ("addr before latency", f"{key}10.0.0.1&latency=250", "One order."),
        ("addr before certhash", f"{base}?transport=https&addr=10.0.0.1&certhash={text.base32(HASHES[0])}",
         "One order."),
        ("addr and another", f"{key}10.0.0.1&name=door", "Any other query key is refused."),
        ("another and addr", f"{base}?transport=udp&name=door&addr=10.0.0.1", "Any other query key is refused."),
        ("addr with relay", f"{base}?transport=relay&broadcast=door&addr=10.0.0.1", "A relay is named once."),
        ("addr in upper case", f"{base}?transport=udp&Addr=10.0.0.1", "Upper case is refused."),
        ("addr in the fragment", f"{base}?transport=udp#addr=10.0.0.1", "An invite is 26 characters."),
        ("addr with the ticket's port", f"{key}10.0.0.1:7788", spelling),
        ("addr in brackets with the ticket's port", f"{key}[2001:db8::7]:7788", spelling),
        ("addr with port 0", f"{key}10.0.0.1:0", "Ports are 1 to 65535."),
        ("addr with port 65536", f"{key}10.0.0.1:65536", "Ports are 1 to 65535."),
        ("addr with an empty port", f"{key}10.0.0.1:", "Ports are 1 to 65535."),
        ("addr with a leading zero in its port", f"{key}10.0.0.1:07789", spelling),
        ("addr with a sign in its port", f"{key}10.0.0.1:+7789", spelling),
        ("addr that is the ticket's own", f"{key}192.0.2.7", "None stands twice."),
        ("the same addr twice", f"{key}10.0.0.1&addr=10.0.0.1", "None stands twice."),
        ("the same addr twice, not side by side", f"{key}10.0.0.1:9&addr=10.0.0.2&addr=10.0.0.1:9",
         "None stands twice."),
        ("addr of IPv6 without brackets", f"{key}2001:db8::7", "IPv6 addresses stand in brackets."),
        ("addr of IPv6 with one bracket", f"{key}[2001:db8::7", "IPv6 addresses stand in brackets."),
        ("addr of IPv4 in brackets", f"{key}[10.0.0.1]", "Only IPv6 addresses stand in brackets."),
        ("letters after the bracket", f"{key}[2001:db8::7]x", "A port may follow."),
        ("addr of IPv6 with a zone", f"{key}[fe80::1%eth0]", "Zones mean something on one machine only."),
        ("addr of IPv6 in upper case", f"{key}[2001:DB8::7]", "RFC 5952: lower case."),
        ("addr of IPv4 mapped into IPv6", f"{key}[::ffff:c000:207]", "It is written as the IPv4 address."),
        ("addr in upper case letters", f"{key}Camera.example", "Upper case is refused."),
        ("addr whose last label is a number", f"{key}camera.42", "It looks like an address and is none."),
        ("addr with percent", f"{key}10.0.0%2e1", spelling),
        ("addr with a space", f"{key}10.0.0.1 ", spelling),
        ("addr with a slash", f"{key}10.0.0.1/", "A host and a port alone."),
        ("addr with a user", f"{key}admin@10.0.0.1", "User information is refused."),
        ("addr with a line end", f"{key}10.0.0.1\n", spelling),
        ("ampersand after the addr", f"{key}10.0.0.1&", spelling),
        ("addr of 254 bytes", f"{key}{long}", "A name has at most 253."),
        ("one byte too long by its addresses",
         text.ticket("a" * 63, 7788, PEER, "udp", INVITE, addresses=((f"{'b' * 63}.{'b' * 63}", 7788),
                                                                    (f"{'c' * 63}.{'c' * 25}", 7788))),
         "At most 400 bytes where there are addresses."),
    ]


def _no_peers():
    return [(f"peer id with {name}", f"sealcast://192.0.2.7:7788/{text.base32(data)}", why)
            for name, data, why in no_peer_ids()]


def refused_cases():
    cases = []
    rows = _hosts_and_ports() + _peers_and_rest() + _cert_hashes() + _broadcasts() + _addresses() + _no_peers()
    for name, value, why in rows:
        try:
            text.parse_ticket(value)
        except text.Refused:
            cases.append({"name": name, "expect": "refused", "why": why, "ticket": value})
        else:
            raise AssertionError(f"accepted: {name}")
    return cases


def generate():
    return {"tickets": check_names(ok_cases() + refused_cases())}
