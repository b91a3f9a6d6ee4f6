// How a session ended, in words for the viewer, and whether to try again.

import { CarrierError } from "../carrier/carrier.ts";
import { type LinkState } from "../messages.ts";
import { Close, closeReason, ProtocolError } from "../protocol/index.ts";

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

const INVITE = "This link's invite was used up, withdrawn or has expired, or you were removed: ask for a new link.";
const NOBODY =
  "Nobody with this identity answers here: the publisher is away, or the link is another publisher's. " +
  "Try again later, or ask for a new link.";
const IMPOSTOR =
  "Whoever answers here is not the publisher of this link. Do not trust this address: ask for a new link over a " +
  "channel that you trust.";
const REMOVED = "The publisher ended your access. To watch again, ask for a new link.";
const NOT_ADMITTED = "The publisher does not admit you: ask for a new link with an invite.";

/** Reasons of a handshake that show that somebody else answered, or changed what was said. */
const IMPOSTOR_REASONS = new Set(["wrong-peer", "signature", "sealed", "share", "not-offered", "retry", "identity"]);

/** What this end had to show when it was told goodbye; `admission`: a session stood, so it had been admitted. */
export type Shown = "admission" | "enrolment" | "invite" | "nothing";

/** What the goodbye of a publisher means. */
export function goodbyeOutcome({ reason, text }: Goodbye, shown: Shown): Outcome {
  const said = text === "" ? "" : ` It said: ${text}`;
  switch (reason) {
    case Close.EndOfStream:
      return { state: "ended", cause: "end-of-stream", words: `The stream has ended.${said}` };
    case Close.NotAuthorised:
      return shown === "admission"
        ? { state: "refused", cause: "removed", words: `${REMOVED}${said}` }
        : { state: "refused", cause: "not-authorised", words: `${shown === "invite" ? INVITE : NOT_ADMITTED}${said}` };
    case Close.TooManyViewers:
      return {
        state: "refused", cause: "too-many-viewers",
        words: `All places are taken: try again when somebody has left.${said}`,
      };
    case Close.GoingAway:
      return { state: "lost", cause: "going-away", words: `The publisher went away; it may come back.${said}` };
    case Close.TooSlow:
      return {
        state: "lost", cause: "too-slow", words: `This connection is too slow for the stream; connecting again.${said}`,
      };
    case Close.Replaced:
      return {
        state: "refused", cause: "replaced",
        words: `Another window or program of yours has the place: close one, then load this page again.${said}`,
      };
    case Close.NotOffered:
      return { state: "refused", cause: "not-offered", words: `What this page asks for is not there.${said}` };
    case Close.SourceFailed:
      return { state: "lost", cause: "source-failed", words: `The publisher's camera failed.${said}` };
    default:
      return {
        state: "lost", cause: `close-${reason}`,
        words: `The publisher ended the session (${closeReason(reason)}); connecting again.${said}`,
      };
  }
}

/** What an error means that ended an attempt before the publisher had admitted this end. */
export function handshakeOutcome(error: Error | undefined): Outcome {
  if (!(error instanceof ProtocolError)) {
    // A responder that is not addressed closes without a word, so silence is all that a wrong link gets.
    return { state: "refused", cause: "silence", words: NOBODY };
  }
  const { reason } = error;
  if (reason === "psk") {
    return { state: "refused", cause: "psk", words: INVITE };
  }
  if (reason === "timeout" || reason === "mac") {
    return { state: "refused", cause: "silence", words: NOBODY };
  }
  if (IMPOSTOR_REASONS.has(reason)) {
    return { state: "refused", cause: "peer", words: IMPOSTOR };
  }
  if (reason === "alert") {
    const words =
      "The publisher refused the handshake: its settings may not fit this page's. Ask the publisher; its log says why.";
    return { state: "refused", cause: "handshake", words };
  }
  const state = error.fault === "own" || error.fault === "caller" ? "failed" : "refused";
  return { state, cause: reason, words: sentence(error.message) };
}

/** What an error means that ended a session that stood. */
export function lossOutcome(error: Error | undefined): Outcome {
  const cause = error instanceof ProtocolError ? error.reason : "connection";
  const known = error instanceof ProtocolError || error instanceof CarrierError;
  const words = known ? sentence(error.message) : "The connection was lost.";
  return { state: "lost", cause, words };
}

/** What an error means that came before anybody was asked: no ticket, no store, no carrier. */
export function startOutcome(thrown: unknown): Outcome {
  if (thrown instanceof ProtocolError) {
    const state = thrown.reason === "ticket" ? "refused" : "failed";
    return { state, cause: thrown.reason, words: sentence(thrown.message) };
  }
  if (thrown instanceof CarrierError && thrown.where === "relay") {
    return { state: "failed", cause: "carrier", words: sentence(thrown.message) };
  }
  if (thrown instanceof CarrierError) {
    const words = `There is no connection to this page's server (${thrown.message}). Check it, and the network.`;
    return { state: "failed", cause: "carrier", words };
  }
  const words = "Something in this page or browser failed: reload the page, or use another browser.";
  return { state: "failed", cause: "browser", words };
}

function sentence(text: string): string {
  const end = /[.!?]$/.test(text) ? "" : ".";
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${end}`;
}
