// Tickets (protocol.md, section 6): one string with all that a peer needs to connect.

import { type Bytes, equal } from "../bytes.ts";
import { ProtocolError } from "../error.ts";
import { decodeBase32, encodeBase32 } from "./base32.ts";
import { type Host, parseIpv6, parseName } from "./host.ts";
import { Invite } from "./invite.ts";
import { PeerId } from "./peer-id.ts";

/** Longest ticket in bytes. */
export const MAX_TICKET = 512;
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
/** Longest name of a broadcast in bytes. */
const MAX_BROADCAST = 128;
const BROADCAST_PART = /^(?!\.{1,2}$)[A-Za-z0-9._~-]+$/;
const TRANSPORTS = ["tcp", "udp", "quic", "http", "https", "relay"] as const;

/** How the listening end is reached; a browser can use `http` and `https` only. */
export type TransportKind = (typeof TRANSPORTS)[number];

/** What a ticket says. The invite is a secret; the rest is not. */
export interface Ticket {
  readonly host: Host;
  /** 1 to 65535. */
  readonly port: number;
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

function parseAuthority(authority: string): { host: Host; port: number } {
  const bracketed = authority.startsWith("[");
  const at = bracketed ? authority.indexOf("]:") : authority.lastIndexOf(":");
  const [name, port] = at < 0 ? [authority, ""] : [authority.slice(0, at), authority.slice(at + (bracketed ? 2 : 1))];
  const host = bracketed ? parseIpv6(name.slice(1)) : parseName(name);
  if (host === undefined) {
    throw noTicket("the host is missing or is neither a name nor an address");
  }
  if (!PORT.test(port) || Number(port) > 65_535) {
    throw noTicket("the port is missing or not between 1 and 65535");
  }
  return { host, port: Number(port) };
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
      "&certhash= and 1 to 4 different hashes with http and https, or transport=relay and &broadcast= with a name",
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
  const options: Query = query === undefined ? { transport: "tcp", certHashes: [] } : parseQuery(query);
  const [authority, id] = splitOnce(path, "/");
  const peer = id === undefined ? undefined : PeerId.parse(id);
  if (peer === undefined) {
    throw noTicket("the peer id is not 52 characters of lower-case base32");
  }
  return { ...parseAuthority(authority), peer, ...options, ...(invite && { invite }) };
}

/** The ticket as text, *with its invite*: everybody who reads it is admitted. */
export function revealTicket(ticket: Ticket): string {
  const { peer, transport, latency, broadcast, certHashes, invite } = ticket;
  const budget = latency === undefined ? "" : `&latency=${latency}`;
  const hashes = certHashes.length === 0 ? "" : `&${CERT_HASH}${certHashes.map(encodeBase32).join(",")}`;
  const name = broadcast === undefined ? "" : `&${BROADCAST}${broadcast}`;
  const query = transport === "tcp" ? "" : `?transport=${transport}${budget}${name}${hashes}`;
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

function authorityOf({ host, port }: Ticket): string {
  return `${host.kind === "ipv6" ? `[${host.name}]` : host.name}:${port}`;
}
