// How the page is told what to connect to: the ticket in the fragment of its address, or pasted, and the role.

import { parseTicket, type PeerId, ProtocolError } from "../protocol/index.ts";
import { parseRelayAddress } from "../relay/address.ts";
import { relayOf } from "../relay/meet.ts";
import { texts } from "../text/page.ts";

/** What the user wants to do. */
export type Role = "watch" | "publish";

/** A ticket that has the right form. */
export interface Link {
  /** The whole ticket, *with its invite*: for the worker and nobody else. */
  readonly text: string;
  /** The ticket without its invite, which is no secret. */
  readonly bare: string;
  /** Address of the end that listens, for people. */
  readonly address: string;
  /** What to call the other end as long as it has told no name. */
  readonly label: string;
  readonly peer: PeerId;
}

const SCHEME = "sealcast://";

/** A text without the escapes that chat programs put into addresses. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The ticket in a pasted text: the ticket itself, a page's address that ends with one, or either of them broken into
 * lines by a mail program. `undefined` if there is none.
 */
export function ticketIn(pasted: string): string | undefined {
  const text = pasted.replace(/\s+/g, "").replace(/^[<"']+|[>"']+$/g, "");
  // A ticket has no percent signs.
  const plain = text.includes("%") ? unescaped(text) : text;
  const at = plain.indexOf(SCHEME);
  return at < 0 ? undefined : plain.slice(at);
}

/**
 * Reads what the user pasted, or what follows `#` in the address.
 * @throws ProtocolError `ticket`, without any of its characters
 */
export function readLink(pasted: string): Link {
  const text = ticketIn(pasted);
  if (text === undefined) {
    throw new ProtocolError("ticket", texts().enter.beginsWith);
  }
  const ticket = parseTicket(text);
  const { host } = ticket;
  const name = host.kind === "ipv6" ? `[${host.name}]` : host.name;
  const address = `${name}:${ticket.port}`;
  const label = ticket.broadcast ?? address;
  return { text, bare: text.split("#", 1)[0] ?? "", address, label, peer: ticket.peer };
}

/** What a page publishes to: a viewer, or a relay. */
export type Destination =
  | { readonly kind: "viewer"; readonly link: Link }
  /** The address as it was entered, and for people the relay and the name there. */
  | { readonly kind: "relay"; readonly address: string; readonly host: string; readonly name: string };

/** Reads a relay's address. @throws ProtocolError `relay-address`, without any of its characters */
export function readRelay(text: string): Destination {
  const place = parseRelayAddress(text);
  return { kind: "relay", address: text.trim(), host: relayOf(place).host, name: place.broadcast };
}

/** The role that the query of the page's address asks for. */
export function roleIn(query: string): Role {
  return new URLSearchParams(query).has("publish") ? "publish" : "watch";
}

/** The camera that the query of the page's address names; empty without one. */
export function cameraIn(query: string): string {
  return new URLSearchParams(query).get("camera") ?? "";
}

/** True if the query asks for what is for study alone: to leave pictures in clear. */
export function isStudy(query: string): boolean {
  return new URLSearchParams(query).has("study");
}

/** The address of this page for a role and a camera: without a fragment, so that no invite stays in it. */
export function pageFor(role: Role, path: string, camera = "", study = false): string {
  const parts = [
    ...(role === "publish" ? ["publish"] : camera === "" ? [] : [`camera=${encodeURIComponent(camera)}`]),
    ...(study ? ["study"] : []),
  ];
  return `${path}${parts.length === 0 ? "" : "?"}${parts.join("&")}`;
}
