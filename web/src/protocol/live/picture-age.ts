// How old the picture is at most: challenges to the camera, and what its answers prove (signatures.md, section 6).

import { type Bytes, equal } from "../bytes.ts";
import { type Answer, answerRoot, nameOf } from "./answer.ts";

/** Challenges that wait for their answer or its frame, at most. */
const MAX_OUTSTANDING = 64;
/** Roots of verified frames that are remembered for answers that come later, at most. */
const MAX_ROOTS = 64;
/** Milliseconds that an answer may take longer than a round trip and a group of pictures. */
export const MARGIN = 20;
/** Milliseconds that a shorter group of pictures counts as. */
export const MIN_GROUP = 1_000;
/** What a longer one counts as: who could hold a keyframe back would stretch the limit. */
export const MAX_GROUP = 10_000;
/** Milliseconds of the longest round trip that counts: who could stretch it would stretch the limit. */
export const MAX_ROUND_TRIP = 1_000;
/** Challenges in the time of a group of pictures while none is answered. */
const CHALLENGES_PER_GROUP = 10;
/** Part of a group of pictures after which a challenge follows one that is answered. */
const ANSWERED_PER_GROUP = 3;
/** Milliseconds after which one follows at the latest. */
const MAX_PAUSE = 1_000;

/** Milliseconds that a viewer goes by. */
export interface AgeTimes {
  /** The shortest round trip that was measured in the viewer's own session with the camera. */
  readonly roundTrip: number;
  /** Duration of a group of pictures. */
  readonly group: number;
}

/** What is known of the age of the picture. */
export type AgeState =
  /** No challenge is answered yet. */
  | { readonly state: "waiting" }
  /** The newest frame was signed at most so many milliseconds ago, by this end's clock alone. */
  | { readonly state: "live"; readonly atMost: number }
  /**
   * The picture may be older than the limit. `freeze`: no verified frames come. `stale`: they come, and none answers a
   * challenge in time, so they are late or old, or answers are dropped.
   */
  | { readonly state: "alarm"; readonly cause: "freeze" | "stale" };

interface Outstanding {
  readonly challenge: Bytes;
  readonly sent: number;
  /** The root to which its answer leads. */
  root?: Bytes;
}

/** Issues challenges and judges what comes back. Times are milliseconds of the monotonic clock. */
export class PictureAge {
  #times: AgeTimes;
  #outstanding: Outstanding[] = [];
  /** Roots of verified frames, the newest last. */
  readonly #roots: Bytes[] = [];
  #firstSent: number | undefined;
  /** When the newest challenge was sent. */
  #sent: number | undefined;
  readonly #began: number;
  /** When the newest challenge was sent that a verified frame answers. */
  #answered: number | undefined;
  #verified: number | undefined;

  /** Begins with a challenge that is due now. */
  constructor(times: AgeTimes, now: number) {
    this.#times = times;
    this.#began = now;
  }

  /** Other measurements of the round trip and of groups of pictures. */
  set times(times: AgeTimes) {
    this.#times = times;
  }

  get #group(): number {
    return Math.min(Math.max(this.#times.group, MIN_GROUP), MAX_GROUP);
  }

  /** Milliseconds of age above which there is an alarm. */
  get limit(): number {
    return Math.min(this.#times.roundTrip, MAX_ROUND_TRIP) + this.#group + MARGIN;
  }

  /** When the next challenge is due. One that is not answered is soon followed by the next. */
  get deadline(): number {
    if (this.#sent === undefined) {
      return this.#began;
    }
    const earliest = this.#sent + this.#group / CHALLENGES_PER_GROUP;
    const pause = Math.min(this.#group / ANSWERED_PER_GROUP, MAX_PAUSE);
    return this.#answered === undefined ? earliest : Math.max(earliest, this.#answered + pause);
  }

  /** Notes a challenge of fresh random bytes if one is due; it must be sent now. Returns false if none is due. */
  challenge(now: number, random: Bytes): boolean {
    if (now < this.deadline) {
      return false;
    }
    this.#sent = now;
    this.#firstSent ??= now;
    const { limit } = this;
    const waiting = this.#outstanding.filter(({ sent }) => now - sent <= limit);
    this.#outstanding = [...waiting.slice(1 - MAX_OUTSTANDING), { challenge: random.slice(), sent: now }];
    return true;
  }

  /** Takes a verified frame that is about to be shown, with the root of its statement. */
  verified(now: number, root: Bytes | undefined): void {
    this.#verified = now;
    if (root === undefined) {
      return;
    }
    this.#roots.push(root);
    if (this.#roots.length > MAX_ROOTS) {
      this.#roots.shift();
    }
    this.#match();
  }

  /**
   * Takes an answer. It counts once a frame with its root has been verified, before or after. Returns false if it is to
   * none of the challenges that wait: it is another viewer's, repeated, or too late.
   */
  async answer(answer: Answer): Promise<boolean> {
    const waiting = this.#outstanding.find(({ challenge }) => equal(nameOf(challenge), answer.name));
    if (waiting === undefined) {
      return false;
    }
    // A forged answer must not keep the camera's away, so the last one counts.
    waiting.root = await answerRoot(answer, waiting.challenge);
    this.#match();
    return true;
  }

  /** Finds the newest challenge that is answered, and forgets it and those before it. */
  #match(): void {
    const isProven = ({ root }: Outstanding): boolean =>
      root !== undefined && this.#roots.some((known) => equal(known, root));
    const newest = this.#outstanding.findLastIndex(isProven);
    const sent = this.#outstanding[newest]?.sent;
    if (sent !== undefined) {
      this.#outstanding = this.#outstanding.slice(newest + 1);
      this.#answered = Math.max(this.#answered ?? sent, sent);
    }
  }

  /** What is known now. */
  state(now: number): AgeState {
    const since = this.#answered ?? this.#firstSent;
    if (since === undefined) {
      return { state: "waiting" };
    }
    const age = Math.max(0, now - since);
    if (age > this.limit) {
      const silent = this.#verified === undefined || now - this.#verified > this.#group / 2;
      return { state: "alarm", cause: silent ? "freeze" : "stale" };
    }
    return this.#answered === undefined ? { state: "waiting" } : { state: "live", atMost: age };
  }
}
