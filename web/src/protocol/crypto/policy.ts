// What this end offers and accepts: suites and mechanisms in order of preference, by name.

import { ProtocolError } from "../error.ts";
import { AES_128_GCM, AES_256_GCM, type Suite } from "../seal/suite.ts";
import { P256, X25519 } from "./curves.ts";
import { type Mechanism } from "./mechanism.ts";
import { MLKEM768, X25519_MLKEM768 } from "./mlkem.ts";

const MECHANISMS: readonly Mechanism[] = [X25519_MLKEM768, X25519, P256, MLKEM768];
const SUITES: readonly Suite[] = [AES_256_GCM, AES_128_GCM];

/** The mechanisms that a browser peer offers unless it is told otherwise. */
export const DEFAULT_MECHANISMS: readonly Mechanism[] = [X25519_MLKEM768];
/** The suites that a browser peer offers unless it is told otherwise. */
export const DEFAULT_SUITES: readonly Suite[] = [AES_256_GCM, AES_128_GCM];

function find<T extends { readonly name: string }>(known: readonly T[], name: string, what: string): T {
  const found = known.find((one) => one.name === name);
  if (found === undefined) {
    const names = known.map((one) => one.name).join(", ");
    throw new ProtocolError("unsupported", `a browser peer has these ${what}: ${names}`);
  }
  return found;
}

/**
 * The mechanism of this name.
 * @throws ProtocolError `unsupported`, with the names that there are
 */
export function mechanismNamed(name: string): Mechanism {
  return find(MECHANISMS, name, "mechanisms");
}

/**
 * The suite of this name.
 * @throws ProtocolError `unsupported`, with the names that there are
 */
export function suiteNamed(name: string): Suite {
  return find(SUITES, name, "suites");
}
