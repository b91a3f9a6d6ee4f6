// The platform under test: a browser's worker, which is where applications use the library.

import { features } from "../../src/protocol/crypto/features.ts";

/** What came of a test. */
export interface Outcome {
  readonly name: string;
  readonly error?: string;
  /** Why it cannot run here. */
  readonly skipped?: string;
}

const registered: { readonly name: string; readonly body: () => Promise<void> }[] = [];
const skipped: Outcome[] = [];

export function register(name: string, body: () => Promise<void>): void {
  registered.push({ name, body });
}

/** Lists a test that cannot run here. */
export function skip(name: string, why: string): void {
  skipped.push({ name, skipped: why });
}

/** The text of a file of vectors, from the server of the script. */
export async function readVectors(name: string): Promise<string> {
  const response = await fetch(`/vectors/${name}.json`);
  if (!response.ok) {
    throw new Error(`the vectors ${name} are not there`);
  }
  return response.text();
}

async function runTests(): Promise<readonly Outcome[]> {
  const outcomes = [...skipped];
  for (const { name, body } of registered) {
    try {
      await body();
      outcomes.push({ name });
    } catch (thrown) {
      outcomes.push({ name, error: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown) });
    }
  }
  return outcomes;
}

// In the worker: all tests run once, as the page's script begins it, and their outcomes go back.
addEventListener("message", () => {
  void (async () => {
    const native = await features();
    postMessage({ native, outcomes: await runTests() });
  })();
});
