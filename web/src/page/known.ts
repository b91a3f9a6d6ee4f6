// The cameras that this browser knows: tickets, *without* their invites, by which it was admitted. The page's bare
// address, which a bookmark has, shows them. A browser that keeps nothing asks for the ticket.

import { plain } from "../protocol/index.ts";
import { type Link, readLink } from "./link.ts";

const KEY = "sealcast-known";
/** So many are remembered; the one that was admitted first is forgotten first. */
const MAX_KNOWN = 32;

/** A publisher that admitted this browser. */
export interface Known {
  readonly link: Link;
  /** The cameras that it told of last; none, or one, where it has only one. */
  readonly cameras: readonly string[];
}

/** A camera as the grid has it. */
export interface Place {
  /** Tells it from all others. */
  readonly key: string;
  readonly ticket: string;
  /** As the publisher calls it; empty for its only one. */
  readonly camera: string;
  /** For people. */
  readonly name: string;
}

function read(text: string | null): Known[] {
  const list: unknown = JSON.parse(text ?? "[]");
  return (Array.isArray(list) ? list : []).flatMap((entry: unknown) => {
    const { ticket, cameras } = entry as Readonly<Record<string, unknown>>;
    const names = Array.isArray(cameras) ? cameras.filter((name) => typeof name === "string") : [];
    return typeof ticket === "string" ? [{ link: readLink(ticket), cameras: names }] : [];
  });
}

/** Private windows and settings may refuse to keep anything, and what is kept may be of another version. */
function attempt<T>(step: () => T): T | undefined {
  try {
    return step();
  } catch {
    return undefined;
  }
}

function write(all: readonly Known[]): void {
  const entries = all.map(({ link, cameras }) => ({ ticket: link.bare, cameras }));
  attempt(() => {
    localStorage.setItem(KEY, JSON.stringify(entries));
  });
}

function isOf(link: Link): (other: Known) => boolean {
  return (other) => other.link.peer.toString() === link.peer.toString();
}

/** All of them, in the order in which they were admitted first. */
export function known(): readonly Known[] {
  return attempt(() => read(localStorage.getItem(KEY))) ?? [];
}

/** Remembers a publisher, and of which cameras it told; without them those of before stay. */
export function remember(link: Link, cameras?: readonly string[]): void {
  const all = known();
  const before = all.find(isOf(link));
  const now = { link, cameras: cameras ?? before?.cameras ?? [] };
  write(before === undefined ? [...all, now].slice(-MAX_KNOWN) : all.map((one) => one === before ? now : one));
}

export function isKnown(link: Link): boolean {
  return known().some(isOf(link));
}

export function forget(link: Link): void {
  write(known().filter((one) => !isOf(link)(one)));
}

/** The places of a publisher's cameras in the grid. */
export function placesOf({ link, cameras }: Known): readonly Place[] {
  const { bare: ticket } = link;
  const place = (camera: string, name: string): Place =>
    ({ key: `${link.peer.toString()} ${camera}`, ticket, camera, name });
  const [only] = cameras;
  return cameras.length > 1
    ? cameras.map((camera) => place(camera, plain(camera))) : [place("", plain(only ?? "") || link.label)];
}
