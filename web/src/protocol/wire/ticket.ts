// Tickets (protocol.md, section 6): one string with all that a peer needs to connect.

import { type Bytes, equal } from "../bytes.ts";
import { ProtocolError } from "../error.ts";
import { decodeBase32, encodeBase32 } from "./base32.ts";
import { type Host, parseIpv6, parseName } from "./host.ts";
import { Invite } from "./invite.ts";
import { PeerId } from "./peer-id.ts";

/** Longest ticket in bytes. */
export const MAX_TICKET = 512;
/** Longest ticket with further addresses in bytes. */
const MAX_TICKET_WITH_ADDRESSES = 400;
/** Most addresses of a ticket, its own included, and of a message. */
export const MAX_ADDRESSES = 4;
/** Highest budget of a ticket in milliseconds. */
export const MAX_LATENCY = 10_000;
/** Most certificate hashes of a ticket. */
export const MAX_CERT_HASHES = 4;
/** Bytes of a certificate hash: SHA-256 of the certificate in DER. */
const CERT_HASH_LEN = 32;
const SCHEME = "sealcast://";
const PORT = /^[1-9][0-9]{0,4}$/;
const LATENCY = /^latency=(0|[1-9][0-9]{0,4})$/;
const CERT_HASH = "certhash=";
const BROADCAST = "broadcast=";
const ADDRESS = "&addr=";
/** Longest name of a broadcast in bytes. */
const MAX_BROADCAST = 128;
const BROADCAST_PART = /^(?!\.{1,2}$)[A-Za-z0-9._~-]+$/;
const TRANSPORTS = ["tcp", "udp", "quic", "http", "https", "relay"] as const;

/** How the listening end is reached; a browser can use `http` and `https` only. */
export type TransportKind = (typeof TRANSPORTS)[number];

/** Where an end listens. */
export interface Address {
  readonly host: Host;
  /** 1 to 65535. */
  readonly port: number;
}

/** What a ticket says. The invite is a secret; the rest is not. */
export interface Ticket extends Address {
  /** Identity of the end that listens, which the other end pins. */
  readonly peer: PeerId;
  readonly transport: TransportKind;
  /** The viewer's budget in milliseconds, 0 to 10 000, if the ticket says; only with `udp` and `quic`. */
  readonly latency?: number;
  /**
   * SHA-256 hashes of the certificates to accept for WebTransport, at most `MAX_CERT_HASHES` and none twice; empty if
   * the ticket has none. Only with `http`, `https` and `relay`.
   */
  readonly certHashes: readonly Bytes[];
  /** What the relay calls the camera's broadcast. With `relay`, always, and else never. */
  readonly broadcast?: string;
  /** Further addresses of the same end, of which a page needs none: it connects to where it came from. */
  readonly others: readonly Address[];
  readonly invite?: Invite;
}

/** The error text never contains a part of the ticket, which may be a secret. */
function noTicket(detail: string): ProtocolError {
  return new ProtocolError("ticket", detail);
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)];
}

function parseHost(text: string): Host | undefined {
  const bracketed = text.startsWith("[");
  return bracketed ? (text.endsWith("]") ? parseIpv6(text.slice(1, -1)) : undefined) : parseName(text);
}

function parseAuthority(authority: string): Address {
  const at = authority.endsWith("]") ? -1 : authority.lastIndexOf(":");
  const host = parseHost(at < 0 ? authority : authority.slice(0, at));
  const port = at < 0 ? "" : authority.slice(at + 1);
  if (host === undefined) {
    throw noTicket("the host is missing or is neither a name nor an address");
  }
  if (!PORT.test(port) || Number(port) > 65_535) {
    throw noTicket("the port is missing or not between 1 and 65535");
  }
  return { host, port: Number(port) };
}

function parseOthers(texts: readonly string[], own: Address): readonly Address[] {
  const all = [own];
  for (const text of texts) {
    const host = parseHost(text);
    const address = host === undefined ? parseAuthority(text) : { host, port: own.port };
    const spelled = host === undefined && address.port === own.port;
    if (spelled || all.length === MAX_ADDRESSES || all.some((other) => authorityOf(other) === authorityOf(address))) {
      throw noTicket("a ticket has at most 4 different addresses, and those after &addr= another port or none");
    }
    all.push(address);
  }
  return all.slice(1);
}

function parseLatency(text: string): number | undefined {
  const milliseconds = Number(LATENCY.exec(text)?.[1] ?? Infinity);
  return milliseconds <= MAX_LATENCY ? milliseconds : undefined;
}

function parseCertHashes(text: string): readonly Bytes[] | undefined {
  if (!text.startsWith(CERT_HASH)) {
    return undefined;
  }
  const hashes: Bytes[] = [];
  for (const one of text.slice(CERT_HASH.length).split(",")) {
    const hash = decodeBase32(one, CERT_HASH_LEN);
    if (hash === undefined || hashes.length === MAX_CERT_HASHES || hashes.some((other) => equal(hash, other))) {
      return undefined;
    }
    hashes.push(hash);
  }
  return hashes;
}

function parseBroadcast(text: string): string | undefined {
  const name = text.startsWith(BROADCAST) ? text.slice(BROADCAST.length) : "";
  const fits = name.length <= MAX_BROADCAST && name.split("/").every((part) => BROADCAST_PART.test(part));
  return fits ? name : undefined;
}

type Query = Pick<Ticket, "transport" | "latency" | "certHashes" | "broadcast">;

function parseQuery(query: string): Query {
  const [carrier, option] = splitOnce(query, "&");
  const transport = TRANSPORTS.find((kind) => carrier === `transport=${kind}`);
  if (transport === "relay") {
    const [name, hashes] = splitOnce(option ?? "", "&");
    const broadcast = parseBroadcast(name);
    const certHashes = hashes === undefined ? [] : parseCertHashes(hashes);
    if (broadcast !== undefined && certHashes !== undefined) {
      return { transport, certHashes, broadcast };
    }
  } else if (transport !== undefined && option === undefined) {
    return { transport, certHashes: [] };
  }
  if (transport === "udp" || transport === "quic") {
    const latency = parseLatency(option ?? "");
    if (latency !== undefined) {
      return { transport, latency, certHashes: [] };
    }
  }
  if (transport === "http" || transport === "https") {
    const certHashes = parseCertHashes(option ?? "");
    if (certHashes !== undefined) {
      return { transport, certHashes };
    }
  }
  throw noTicket(
    "after ? only transport=tcp, udp, quic, http or https may stand, and &latency=0 to 10000 with udp and quic, or " +
      "&certhash= and 1 to 4 different hashes with http and https, or transport=relay and &broadcast= with a name, " +
      "and with all but relay &addr= with a further address",
  );
}

/**
 * Reads a ticket.
 * @throws ProtocolError `ticket`, with what is wrong and without any of its characters
 */
export function parseTicket(text: string): Ticket {
  if (text.length > MAX_TICKET) {
    throw noTicket("a ticket has at most 512 characters");
  }
  if (!text.startsWith(SCHEME)) {
    throw noTicket("a ticket begins with sealcast://");
  }
  const [before, fragment] = splitOnce(text.slice(SCHEME.length), "#");
  const invite = fragment === undefined ? undefined : Invite.parse(fragment);
  if (fragment !== undefined && invite === undefined) {
    throw noTicket("the invite after # is not 26 characters of lower-case base32");
  }
  const [path, query] = splitOnce(before, "?");
  const [carrier = "", ...addresses] = (query ?? "transport=tcp").split(ADDRESS);
  const options = parseQuery(carrier);
  if (addresses.length > 0 && (options.transport === "relay" || text.length > MAX_TICKET_WITH_ADDRESSES)) {
    throw noTicket("a ticket with further addresses has at most 400 characters, and none of a relay");
  }
  const [authority, id] = splitOnce(path, "/");
  const peer = id === undefined ? undefined : PeerId.parse(id);
  if (peer === undefined) {
    throw noTicket("the peer id is not 52 characters of lower-case base32");
  }
  const own = parseAuthority(authority);
  return { ...own, peer, ...options, others: parseOthers(addresses, own), ...(invite && { invite }) };
}

/** The ticket as text, *with its invite*: everybody who reads it is admitted. */
export function revealTicket(ticket: Ticket): string {
  const { peer, port, transport, latency, broadcast, certHashes, others, invite } = ticket;
  const budget = latency === undefined ? "" : `&latency=${latency}`;
  const hashes = certHashes.length === 0 ? "" : `&${CERT_HASH}${certHashes.map(encodeBase32).join(",")}`;
  const name = broadcast === undefined ? "" : `&${BROADCAST}${broadcast}`;
  const further = others.map((other) => (other.port === port ? shown(other.host) : authorityOf(other)));
  const addresses = further.map((text) => ADDRESS + text).join("");
  const short = transport === "tcp" && addresses === "";
  const query = short ? "" : `?transport=${transport}${budget}${name}${hashes}${addresses}`;
  return `${SCHEME}${authorityOf(ticket)}/${peer.toString()}${query}${invite ? `#${invite.reveal()}` : ""}`;
}

/**
 * The link that opens the ticket's page, *with its invite*: everybody who reads it is admitted. The ticket is in the
 * fragment, which a browser sends to no server. `undefined` unless the transport is `http` or `https`.
 */
export function pageLink(ticket: Ticket): string | undefined {
  const { transport } = ticket;
  const page = transport === "http" || transport === "https";
  return page ? `${transport}://${authorityOf(ticket)}/#${revealTicket(ticket).replace("#", "%23")}` : undefined;
}

function shown(host: Host): string {
  return host.kind === "ipv6" ? `[${host.name}]` : host.name;
}

function authorityOf({ host, port }: Address): string {
  return `${shown(host)}:${port}`;
}
