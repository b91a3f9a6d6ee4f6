// The address of a relay as people write it, and the ticket that leads viewers there.

import { type Bytes } from "../protocol/bytes.ts";
import {
  type Invite, MAX_CERT_HASHES, parseIpv6, parseName, parseTicket, type PeerId, ProtocolError, revealTicket,
  type Ticket,
} from "../protocol/index.ts";

const HTTPS_PORT = 443;
const HASH = /^sha256=([0-9a-fA-F]{64})$/;

/** Where a broadcast is to be published: what a ticket says of it. */
export type RelayPlace = Pick<Ticket, "host" | "port" | "certHashes"> & { readonly broadcast: string };

function refused(detail: string): ProtocolError {
  return new ProtocolError("relay-address", detail);
}

function hashesIn(fragment: string): Bytes[] {
  const parts = fragment === "" ? [] : fragment.slice(1).split("&");
  const found = parts.map((part) => HASH.exec(part)?.[1]);
  if (parts.length > MAX_CERT_HASHES || found.includes(undefined)) {
    throw refused(`behind # there may only be sha256=HASH, up to ${MAX_CERT_HASHES} of them with & between`);
  }
  return found.map((hex = "") => Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16)));
}

/**
 * Reads `https://HOST:PORT/NAME[#sha256=HASH]`.
 * @throws ProtocolError `relay-address`, with what is wrong and without any of its characters
 */
export function parseRelayAddress(text: string): RelayPlace {
  let url: URL;
  try {
    url = new URL(text.trim());
  } catch {
    throw refused("a relay's address is https://HOST:PORT/NAME, perhaps with #sha256=HASH behind it");
  }
  if (url.protocol !== "https:" || url.username !== "" || url.password !== "") {
    throw refused("a relay's address begins with https:// and has no user");
  }
  if (url.search !== "") {
    throw refused("an address with a ? has a token of its relay, which fits in no ticket: use one without");
  }
  const { hostname } = url;
  const host = hostname.startsWith("[") ? parseIpv6(hostname.slice(1, -1)) : parseName(hostname);
  if (host === undefined) {
    throw refused("the host of the relay's address fits in no ticket");
  }
  const broadcast = url.pathname.slice(1);
  if (broadcast === "" || broadcast.endsWith("/")) {
    throw refused("a relay's address ends with the name of the broadcast: choose one, such as /front");
  }
  const port = url.port === "" ? HTTPS_PORT : Number(url.port);
  return { host, port, broadcast, certHashes: hashesIn(url.hash) };
}

/** The ticket of a camera at a relay, and what stands in it. */
export function ticketAt(place: RelayPlace, peer: PeerId, invite?: Invite): Ticket {
  return { ...place, peer, transport: "relay", others: [], ...(invite && { invite }) };
}

/**
 * The same as text, *with its invite*.
 * @throws ProtocolError `relay-address` if the name of the broadcast fits in no ticket
 */
export function ticketText(ticket: Ticket): string {
  const text = revealTicket(ticket);
  try {
    parseTicket(text);
  } catch {
    throw refused("the name of the broadcast fits in no ticket: it has letters, digits, and - . _ ~ with / between " +
      "its parts, and up to 128 of them");
  }
  return text;
}
