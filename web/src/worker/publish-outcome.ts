// How a session ended, in words for a publisher.

import { type Outcome } from "./outcome.ts";

/** What there is to say to a publisher, by the cause; other causes are worded for both roles. */
const WORDS: Readonly<Record<string, string>> = {
  "end-of-stream": "The viewer has ended the session.",
  "not-authorised":
    "The viewer does not admit you: the link's invite was used up or has expired, or you were removed. Ask for a new " +
    "link.",
  removed: "The viewer ended your access. To publish again, ask for a new link.",
  "too-many-viewers": "The viewer has another publisher already: try again when that one has left.",
  "going-away": "The viewer went away; it may come back.",
  "too-slow": "This connection is too slow for the video; connecting again.",
  psk: "This link's invite was used up, withdrawn or has expired, or you were removed: ask the viewer for a new link.",
  silence:
    "Nobody with this identity answers here: the viewer is away, or the link is another viewer's. Try again later, " +
    "or ask for a new link.",
  peer:
    "Whoever answers here is not the viewer of this link, and got no picture. Do not trust this address: ask for a " +
    "new link over a channel that you trust.",
  handshake:
    "The other end refused the handshake. It may publish itself, and this link be for watching it; its settings may " +
    "not fit yours, so try other suites and mechanisms. Its log says why.",
  role: "The other end publishes as well: this link is for watching it.",
};

/** An outcome in words for a publisher. `said` is what the viewer said at the end. */
export function publisherOutcome(outcome: Outcome, said: string): Outcome {
  const words = WORDS[outcome.cause] ?? outcome.words.replaceAll("publisher", "viewer");
  const known = outcome.cause in WORDS;
  return { ...outcome, words: known && said !== "" ? `${words} It said: ${said}` : words };
}
