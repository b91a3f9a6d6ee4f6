// Tells which access unit goes to a decoder or a relay, for tests.

import { type Bytes } from "../protocol/bytes.ts";
import { sha256 } from "../protocol/index.ts";
import { type Post } from "./role.ts";

/** The name of a worker that tells the hash of each access unit. */
export const TEST_WORKER = "test";

/** True in a worker that does. */
export function isTestWorker(): boolean {
  return (globalThis as { readonly name?: unknown }).name === TEST_WORKER;
}

export async function tellUnit(post: Post, frame: bigint, data: Bytes, type: "unit" | "sound-unit" = "unit"):
Promise<void> {
  const hash = await sha256(data);
  const hex = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
  post({ type, frame: Number(frame), sha256: hex });
}
