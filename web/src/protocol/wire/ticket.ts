// Tickets (protocol.md, section 6): one string with all that a peer needs to connect.

import { ProtocolError } from "../error.ts";
import { type Host, parseIpv6, parseName } from "./host.ts";
import { Invite } from "./invite.ts";
import { PeerId } from "./peer-id.ts";

/** Longest ticket in bytes. */
export const MAX_TICKET = 512;
/** Highest budget of a ticket in milliseconds. */
export const MAX_LATENCY = 10_000;
const SCHEME = "sealcast://";
const PORT = /^[1-9][0-9]{0,4}$/;
const LATENCY = /^latency=(0|[1-9][0-9]{0,4})$/;

/** How the listening end is reached. */
export type TransportKind = "tcp" | "udp" | "quic";

/** What a ticket says. The invite is a secret; the rest is not. */
export interface Ticket {
  readonly host: Host;
  /** 1 to 65535. */
  readonly port: number;
  /** Identity of the end that listens, which the other end pins. */
  readonly peer: PeerId;
  readonly transport: TransportKind;
  /** The viewer's budget in milliseconds, 0 to 10 000, if the ticket says; never with `tcp`. */
  readonly latency?: number;
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

function parseQuery(query: string): { transport: TransportKind; latency?: number } {
  const [carrier, latency] = splitOnce(query, "&");
  const transport = (["tcp", "udp", "quic"] as const).find((kind) => carrier === `transport=${kind}`);
  const milliseconds = latency === undefined ? undefined : LATENCY.exec(latency)?.[1];
  const known = latency === undefined || (milliseconds !== undefined && Number(milliseconds) <= MAX_LATENCY);
  if (transport === undefined || !known || (transport === "tcp" && latency !== undefined)) {
    throw noTicket("after ? only transport=tcp, udp or quic may stand, and &latency=0 to 10000 with the latter two");
  }
  return milliseconds === undefined ? { transport } : { transport, latency: Number(milliseconds) };
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
  const options = query === undefined ? { transport: "tcp" as const } : parseQuery(query);
  const [authority, id] = splitOnce(path, "/");
  const peer = id === undefined ? undefined : PeerId.parse(id);
  if (peer === undefined) {
    throw noTicket("the peer id is not 52 characters of lower-case base32");
  }
  return { ...parseAuthority(authority), peer, ...options, ...(invite && { invite }) };
}

/** The ticket as text, *with its invite*: everybody who reads it is admitted. */
export function revealTicket(ticket: Ticket): string {
  const { host, port, peer, transport, latency, invite } = ticket;
  const name = host.kind === "ipv6" ? `[${host.name}]` : host.name;
  const budget = latency === undefined ? "" : `&latency=${latency}`;
  const query = transport === "tcp" ? "" : `?transport=${transport}${budget}`;
  return `${SCHEME}${name}:${port}/${peer.toString()}${query}${invite ? `#${invite.reveal()}` : ""}`;
}
