// What a viewer's sessions tell of the group whose member it is.

import { type Age, type Membership } from "../messages.ts";
import { type Bytes } from "../protocol/bytes.ts";
import { CHALLENGE_LEN, type GroupFacts, type SessionEvent } from "../protocol/index.ts";
import { type LinkParts } from "./link.ts";

/** What an alarm means, for the log. */
const ALARMS = {
  freeze: "the picture may be old: no frame comes that the camera signed",
  stale: "the picture may be old: frames come, and none answers this page in time, so they are late or repeated, " +
    "or the answers get lost",
} as const;
const PROOFS_MISSING = "pictures are shown without the proof that holds against quantum computers: the signatures of " +
  "their groups do not come";
const SIGNED = {
  off: "it signs nothing",
  frame: "it signs each frame",
  both: "it signs each frame and each group of pictures",
  gop: "its signing mode gop is not supported any more",
  tesla: "its signing mode tesla is not supported any more",
} as const;

/** The session that a report is about. */
export interface MemberSession {
  /** What is known of the group, of a member. */
  group(): GroupFacts | undefined;
  /** Challenges the camera with these 16 bytes. */
  challenge(random: Bytes): void;
}

/** Challenges the camera, and tells the page how old the picture is. One for each session. */
export class MemberReport {
  readonly #session: MemberSession;
  readonly #parts: Pick<LinkParts, "post" | "random">;
  readonly #news: (words: string, bad: boolean) => void;
  #proven = 0;
  #forged = 0;
  /** Frames refused so far, as the log has them. */
  #refused: Readonly<Record<string, number>> = {};
  #alarm: "freeze" | "stale" | undefined;
  #proofsMissing = false;
  /** What a relay gave beside pictures, and was refused. */
  #refusedOfRelay = 0;

  /** `news` takes lines for the log of events. */
  constructor(
    session: MemberSession, parts: Pick<LinkParts, "post" | "random">, news: (words: string, bad: boolean) => void,
  ) {
    this.#session = session;
    this.#parts = parts;
    this.#news = news;
  }

  /** What happened in the session; most of it is none of the group's. */
  event(event: SessionEvent): void {
    switch (event.type) {
      case "joined-group":
        this.#news(`the camera seals for all of its viewers at once; ${SIGNED[event.signed]}`, false);
        this.#post();
        break;
      case "declined-group":
        this.#news(`the camera has a group of viewers; ${SIGNED[event.signed]}: this page is no member of it, and ` +
          "the picture is sealed for it alone", false);
        break;
      case "challenge-due":
        this.#session.challenge(this.#parts.random().slice(0, CHALLENGE_LEN));
        this.#lookAtAge();
        this.#lookAtProofs();
        break;
      case "proven":
        this.#lookAtProofs();
        this.#judged(event.verdict.outcome === "forged");
        break;
      case "relay-refused":
        this.#refusedOfRelay += 1;
        if (Number.isInteger(Math.log2(this.#refusedOfRelay))) {
          const what = `${event.track} that the relay gave were refused (${event.reason})`;
          this.#news(`${what}, ${this.#refusedOfRelay} in all`, true);
        }
        break;
      default:
        // None of the group's.
    }
  }

  #judged(forged: boolean): void {
    this.#proven += forged ? 0 : 1;
    this.#forged += forged ? 1 : 0;
    if (forged) {
      this.#news("pictures were shown that the camera did not sign: somebody in the group forges it", true);
      this.#post();
    }
  }

  #lookAtAge(): void {
    const age = this.membership?.age;
    const alarm = age?.state === "alarm" ? age.cause : undefined;
    const ended = this.#alarm !== undefined && age?.state === "live";
    if (alarm === this.#alarm || (alarm === undefined && !ended)) {
      return;
    }
    this.#alarm = alarm;
    if (age?.state === "live") {
      this.#news(`the picture is live again: at most ${Math.round(age.atMost)} ms old`, false);
    } else if (alarm !== undefined) {
      this.#news(ALARMS[alarm], true);
    }
    this.#post();
  }

  #lookAtProofs(): void {
    const missing = this.membership?.proofsMissing === true;
    if (missing === this.#proofsMissing) {
      return;
    }
    this.#proofsMissing = missing;
    this.#news(missing ? PROOFS_MISSING : "the signatures of groups of pictures come again", missing);
    this.#post();
  }

  #post(): void {
    const { membership } = this;
    if (membership !== undefined) {
      this.#parts.post({ type: "membership", membership });
    }
  }

  /** What is known now; `undefined` while the picture is sealed for this end alone. */
  get membership(): Membership | undefined {
    const facts = this.#session.group();
    if (facts === undefined) {
      return undefined;
    }
    const { signed, suite, epoch, accepted, refused, unproven, proofsMissing, age } = facts;
    return {
      signed, suite, epoch: Number(epoch), accepted, unproven, proofsMissing, proven: this.#proven,
      forged: this.#forged,
      age: age ?? ({ state: "unsigned" } satisfies Age),
      refused: Object.fromEntries(Object.entries(refused).filter(([, count]) => count > 0)),
    };
  }

  /** The same for the figures; what was refused since the last call is told in the log. */
  report(): Membership | undefined {
    const { membership } = this;
    for (const [reason, count] of Object.entries(membership?.refused ?? {})) {
      const more = count - (this.#refused[reason] ?? 0);
      if (more > 0) {
        const what = more === 1 ? "a frame was refused that the camera did not sign as it came" :
          `${more} frames were refused that the camera did not sign as they came`;
        this.#news(`${what} (${reason})`, true);
      }
    }
    this.#refused = membership?.refused ?? {};
    return membership;
  }
}
