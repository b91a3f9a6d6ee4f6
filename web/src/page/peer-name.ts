// The name of a peer for people.

import { wordsOf } from "../protocol/keys/words.ts";
import { type PeerId } from "../protocol/wire/peer-id.ts";

/** The six words of a peer, or nothing where they cannot be computed; then the hexadecimal id stands alone. */
export async function peerWords(peer: PeerId): Promise<string | undefined> {
  return wordsOf(peer).then((words) => words.join(" "), () => undefined);
}
