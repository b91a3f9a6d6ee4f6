// The name of a peer for people.

import { type PeerId, wordsOf } from "../protocol/index.ts";

/** The six words of a peer, or nothing where they cannot be computed; then the hexadecimal id stands alone. */
export async function peerWords(peer: PeerId): Promise<string | undefined> {
  return wordsOf(peer).then((words) => words.join(" "), () => undefined);
}
