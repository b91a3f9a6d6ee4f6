// How a session ended, in words for the viewer, and whether to try again.

import { CarrierError } from "../carrier/carrier.ts";
import { type LinkState } from "../messages.ts";
import { Close, closeReason, ProtocolError } from "../protocol/index.ts";
import { texts } from "../text/worker.ts";

/** What the publisher said at the end of a session. */
export interface Goodbye {
  readonly reason: number;
  readonly text: string;
}

/** How an attempt ended. */
export interface Outcome {
  /** `lost` means that another attempt may succeed. */
  readonly state: Extract<LinkState, "lost" | "ended" | "refused" | "failed">;
  /** A word for programs. */
  readonly cause: string;
  /** A sentence, and what to do. */
  readonly words: string;
}

/** The cause of an outcome: another session of this identity has the place. */
export const REPLACED = "replaced";

/** Reasons of a handshake that show that somebody else answered, or changed what was said. */
const IMPOSTOR_REASONS = new Set(["wrong-peer", "signature", "sealed", "share", "not-offered", "retry", "identity"]);

/** What this end had to show when it was told goodbye; `admission`: a session stood, so it had been admitted. */
export type Shown = "admission" | "enrolment" | "invite" | "nothing";

/** What the goodbye of a publisher means. */
export function goodbyeOutcome({ reason, text }: Goodbye, shown: Shown): Outcome {
  const { watching } = texts();
  const said = text === "" ? "" : ` ${watching.said(text)}`;
  const admit = shown === "invite" ? watching.invite : watching.notAdmitted;
  switch (reason) {
    case Close.EndOfStream:
      return { state: "ended", cause: "end-of-stream", words: `${watching.endOfStream}${said}` };
    case Close.NotAuthorised:
      return shown === "admission"
        ? { state: "refused", cause: "removed", words: `${watching.removed}${said}` }
        : { state: "refused", cause: "not-authorised", words: `${admit}${said}` };
    case Close.TooManyViewers:
      return {
        state: "refused", cause: "too-many-viewers",
        words: `${watching.tooManyViewers}${said}`,
      };
    case Close.GoingAway:
      return { state: "lost", cause: "going-away", words: `${watching.goingAway}${said}` };
    case Close.TooSlow:
      return {
        state: "lost", cause: "too-slow", words: `${watching.tooSlow}${said}`,
      };
    case Close.Replaced:
      return {
        state: "lost", cause: REPLACED,
        words: `${watching.replaced}${said}`,
      };
    case Close.NotOffered:
      return { state: "refused", cause: "not-offered", words: `${watching.notOffered}${said}` };
    case Close.SourceFailed:
      return { state: "lost", cause: "source-failed", words: `${watching.sourceFailed}${said}` };
    default:
      return {
        state: "lost", cause: `close-${reason}`,
        words: `${watching.otherwise(closeReason(reason))}${said}`,
      };
  }
}

/** What an error means that ended an attempt before the publisher had admitted this end. */
export function handshakeOutcome(error: Error | undefined): Outcome {
  if (!(error instanceof ProtocolError)) {
    // A responder that is not addressed closes without a word, so silence is all that a wrong link gets.
    return { state: "refused", cause: "silence", words: texts().watching.silence };
  }
  const { reason } = error;
  if (reason === "psk") {
    return { state: "refused", cause: "psk", words: texts().watching.invite };
  }
  if (reason === "timeout" || reason === "mac") {
    return { state: "refused", cause: "silence", words: texts().watching.silence };
  }
  if (IMPOSTOR_REASONS.has(reason)) {
    return { state: "refused", cause: "peer", words: texts().watching.peer };
  }
  if (reason === "alert") {
    return { state: "refused", cause: "handshake", words: texts().watching.handshake };
  }
  const state = error.fault === "own" || error.fault === "caller" ? "failed" : "refused";
  return { state, cause: reason, words: errorWords(error) };
}

/** What an error means that ended a session that stood. */
export function lossOutcome(error: Error | undefined): Outcome {
  const cause = error instanceof ProtocolError ? error.reason : "connection";
  const known = error instanceof ProtocolError || error instanceof CarrierError;
  const words = known ? errorWords(error) : texts().watching.lost;
  return { state: "lost", cause, words };
}

/** What an error means that came before anybody was asked: no ticket, no store, no carrier. */
export function startOutcome(thrown: unknown): Outcome {
  if (thrown instanceof ProtocolError) {
    const state = thrown.reason === "ticket" ? "refused" : "failed";
    return { state, cause: thrown.reason, words: errorWords(thrown) };
  }
  if (thrown instanceof CarrierError && thrown.where === "relay") {
    return { state: "failed", cause: "carrier", words: sentence(thrown.message) };
  }
  if (thrown instanceof CarrierError) {
    return { state: "failed", cause: "carrier", words: texts().watching.noServer(thrown.message) };
  }
  return { state: "failed", cause: "browser", words: texts().watching.browser };
}

/** An error of the protocol or of a carrier as a sentence. */
function errorWords(error: Error): string {
  const own = error instanceof ProtocolError ? texts().reasons[error.reason] : undefined;
  return own ?? sentence(error.message);
}

function sentence(text: string): string {
  const end = /[.!?]$/.test(text) ? "" : ".";
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${end}`;
}
