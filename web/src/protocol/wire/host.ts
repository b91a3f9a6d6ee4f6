// Hosts of tickets (protocol.md, section 6): DNS names, and addresses in their one spelling.

/** What kind of host a ticket names. */
export type HostKind = "dns" | "ipv4" | "ipv6";

/** A host, without brackets. */
export interface Host {
  readonly kind: HostKind;
  readonly name: string;
}

const MAX_NAME = 253;
const MAX_LABEL = 63;
const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const OCTET = /^(?:0|[1-9][0-9]{0,2})$/;
const GROUP = /^[0-9a-f]{1,4}$/;
const GROUPS = 8;

function isIpv4(text: string): boolean {
  const parts = text.split(".");
  return parts.length === 4 && parts.every((part) => OCTET.test(part) && Number(part) <= 255);
}

/** The eight groups of an IPv6 address without an embedded IPv4 address, or `undefined`. */
function ipv6Groups(text: string): number[] | undefined {
  const halves = text.split("::");
  if (halves.length > 2) {
    return undefined;
  }
  const sides = halves.map((half) => (half === "" ? [] : half.split(":")));
  if (!sides.flat().every((group) => GROUP.test(group))) {
    return undefined;
  }
  const [left, right] = [sides[0] ?? [], sides[1] ?? []];
  const missing = GROUPS - left.length - right.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) {
    return undefined;
  }
  const zeros = new Array<string>(missing).fill("0");
  return [...left, ...zeros, ...right].map((group) => Number.parseInt(group, 16));
}

/** The spelling of RFC 5952, section 4: the first longest run of two or more zero groups becomes `::`. */
function formatIpv6(groups: readonly number[]): string {
  let [best, length] = [0, 1];
  for (let from = 0; from < groups.length; from += 1) {
    let to = from;
    while (groups[to] === 0) {
      to += 1;
    }
    if (to - from > length) {
      [best, length] = [from, to - from];
    }
  }
  const hex = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(":");
  return length < 2 ? hex(groups) : `${hex(groups.slice(0, best))}::${hex(groups.slice(best + length))}`;
}

function isMapped(groups: readonly number[]): boolean {
  return groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
}

/** The IPv6 address in its one spelling, without brackets; `undefined` for any other text and for mapped addresses. */
export function parseIpv6(text: string): Host | undefined {
  const groups = ipv6Groups(text);
  const fits = groups !== undefined && !isMapped(groups) && formatIpv6(groups) === text;
  return fits ? { kind: "ipv6", name: text } : undefined;
}

/** An IPv4 address or a DNS name; `undefined` for anything else. */
export function parseName(text: string): Host | undefined {
  if (isIpv4(text)) {
    return { kind: "ipv4", name: text };
  }
  const labels = text.split(".");
  const fits = text.length <= MAX_NAME && labels.every((label) => label.length <= MAX_LABEL && LABEL.test(label));
  // A name whose last label is a number could only be an IPv4 address, and it is not a valid one.
  const number = /^[0-9]+$/.test(labels.at(-1) ?? "");
  return fits && !number ? { kind: "dns", name: text } : undefined;
}
