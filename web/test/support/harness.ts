// What a test needs, the same in Node and in a browser. The scripts replace `./platform.ts` by one of the two.

import { ProtocolError, type Reason } from "../../src/protocol/error.ts";
import { register, skip } from "./platform.ts";

/** Registers a test, named after the behaviour that it checks. */
export function test(name: string, body: () => Promise<void> | void): void {
  register(name, async () => {
    await body();
  });
}

/** The same where the platform has what it needs; elsewhere it is listed as skipped, with the reason. */
export function testWhere(has: boolean, lacks: string, name: string, body: () => Promise<void> | void): void {
  if (has) {
    test(name, body);
  } else {
    skip(name, lacks);
  }
}

/** Fails unless `condition` holds. */
export function assert(condition: boolean, what: string): asserts condition {
  if (!condition) {
    throw new Error(`not so: ${what}`);
  }
}

/** A text for a value, with bytes as hex, bigints as such and keys in order. */
export function show(value: unknown): string {
  if (value instanceof Uint8Array) {
    return `bytes ${toHex(value)}`;
  }
  if (typeof value === "bigint") {
    return `${value}n`;
  }
  if (Array.isArray(value)) {
    return `[${value.map(show).join(", ")}]`;
  }
  if (typeof value === "object" && value !== null) {
    const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${fields.map(([key, field]) => `${key}: ${show(field)}`).join(", ")}}`;
  }
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

/** Fails unless both have the same content, bytes and bigints included. */
export function same(actual: unknown, expected: unknown, what: string): void {
  const [found, wanted] = [show(actual), show(expected)];
  if (found !== wanted) {
    throw new Error(`${what}: found ${cut(found)}, not ${cut(wanted)}`);
  }
}

function cut(text: string): string {
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}

/** The reason with which `body` fails. Fails itself if it succeeds, or throws another error than the protocol's. */
export async function reasonOf(body: () => unknown, what: string): Promise<Reason> {
  try {
    await body();
  } catch (thrown) {
    if (thrown instanceof ProtocolError) {
      return thrown.reason;
    }
    throw new Error(`${what}: threw ${String(thrown)}, not the protocol's own error`);
  }
  throw new Error(`${what}: was accepted`);
}

/** Bytes of a hex string. */
export function hex(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length / 2);
  for (let at = 0; at < bytes.length; at += 1) {
    bytes[at] = Number.parseInt(text.slice(2 * at, 2 * at + 2), 16);
  }
  return bytes;
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A repeatable sequence of numbers below 2³² (mulberry32), for tests that try many inputs. Print the seed. */
export function sequence(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
}
