// Helpers for byte arrays. All of the protocol's bytes lie in plain ArrayBuffers, which is what WebCrypto takes.

/** Bytes in a buffer that is not shared: a view, never a copy unless a function says so. */
export type Bytes = Uint8Array<ArrayBuffer>;

const ENCODER = new TextEncoder();

/** The ASCII (or UTF-8) bytes of a text. */
export function ascii(text: string): Bytes {
  return ENCODER.encode(text);
}

/** A new array with these parts one after the other. */
export function concat(...parts: readonly Uint8Array[]): Bytes {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** True if both have the same bytes. For public bytes only: it ends at the first difference. */
export function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

/**
 * True if both have the same bytes, comparing all of them whatever they are. JavaScript promises no constant time; this
 * loop at least does not end early and has no branch that depends on the bytes.
 */
export function equalSecret(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) {
    return false;
  }
  let difference = 0;
  for (let at = 0; at < a.length; at += 1) {
    difference |= (a[at] ?? 0) ^ (b[at] ?? 0);
  }
  return difference === 0;
}

/** True if all bytes are zero. */
export function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}

/**
 * Overwrites secrets with zeros. An engine may have copied them elsewhere, so this lessens what a memory dump shows and
 * promises nothing.
 */
export function wipe(...secrets: readonly Uint8Array[]): void {
  for (const secret of secrets) {
    secret.fill(0);
  }
}
