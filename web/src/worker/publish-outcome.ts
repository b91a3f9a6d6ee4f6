// How a session ended, in words for a publisher.

import { texts } from "../text/worker.ts";
import { type Outcome } from "./outcome.ts";

/** An outcome in words for a publisher. `said` is what the viewer said at the end. */
export function publisherOutcome(outcome: Outcome, said: string): Outcome {
  const { publishing, watching } = texts();
  const own = publishing[outcome.cause];
  const words = own ?? outcome.words.replaceAll("publisher", "viewer").replaceAll("Sender", "Zuschauer");
  return { ...outcome, words: own !== undefined && said !== "" ? `${words} ${watching.said(said)}` : words };
}
