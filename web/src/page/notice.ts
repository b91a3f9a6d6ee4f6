// Decides whether the picture may be seen. An old picture that looks live is the one thing that must never be shown.

import { type Figures, type FromWorker, type LinkState } from "../messages.ts";
import { type Role } from "./link.ts";
import { type Notice, type Reason, awayReason, silentReason } from "./wording.ts";

/**
 * After so many milliseconds without a new picture the last one is not shown any more: somebody on the path may
 * withhold the pictures and nothing else. The same after a silence of the worker, which reports every half second.
 */
const SILENCE = 5_000;
/** After so many milliseconds the picture is said to stand still, and how old it is. */
const STANDS = 2_000;

/** Records that were refused though no delay explains it, as of an epoch that is over, and frames of a group. */
function refusedIn({ refused, membership }: Figures): number {
  const records = Object.entries(refused).filter(([reason]) => reason !== "unknown-epoch");
  const counts = [...records.map(([, count]) => count), ...Object.values(membership?.refused ?? {})];
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Follows what the worker says. Times are milliseconds of any steady clock. */
export class NoticeBoard {
  readonly #role: Role;
  #state: LinkState = "connecting";
  #picture = false;
  #drawn: number | undefined;
  /** Refused records in all, and how many of them had been refused when a new picture was drawn last. */
  #refused = 0;
  #refusedThen = 0;
  /** What there is to say while the camera is off. */
  #away: Reason | undefined;
  #reason: Reason = {};
  #heard = 0;
  /** When a new picture was drawn last. */
  #drew = 0;
  /** The same by the clock on the wall. */
  #drewAt = 0;

  constructor(role: Role) {
    this.#role = role;
  }

  get state(): LinkState {
    return this.#state;
  }

  /** True once nothing follows. */
  get over(): boolean {
    return this.#state === "ended" || this.#state === "refused" || this.#state === "failed";
  }

  /** Why the connection is in its state, as a word for programs. */
  get cause(): string | undefined {
    return this.#reason.cause;
  }

  /** What there is to say to a notice beside its own words: a picture that does not come has these alone. */
  reason(notice: Notice): Reason {
    if (notice === "away") {
      return this.#away ?? {};
    }
    if (notice === "silent" && this.#picture) {
      return silentReason(this.#drewAt, Date.now());
    }
    return this.#state === "live" ? {} : this.#reason;
  }

  /** Takes a message. What comes after the end is ignored. */
  take(message: FromWorker, now: number): void {
    if (this.over) {
      return;
    }
    this.#heard = now;
    switch (message.type) {
      case "state":
        if (message.state !== this.#state) {
          // What was on the canvas is of the time before.
          this.#picture = false;
          this.#drawn = undefined;
          this.#refusedThen = this.#refused;
          this.#away = undefined;
        }
        this.#reason = { cause: message.cause, words: message.words };
        this.#state = message.state;
        break;
      case "camera":
        this.#away = message.on ? undefined : awayReason(message.since, message.why, Date.now());
        break;
      case "size":
        this.#picture = this.#state === "live";
        this.#draws(now);
        break;
      case "figures":
        this.#refused = refusedIn(message.figures);
        // After a loss the size may be the same as before: then a new picture shows by its number.
        if (this.#state === "live") {
          const drew = this.#drawn !== undefined && message.figures.drawn !== this.#drawn;
          this.#picture ||= drew;
          if (drew) {
            this.#draws(now);
          }
          this.#drawn = message.figures.drawn;
        }
        break;
      default:
    }
  }

  #draws(now: number): void {
    this.#drew = now;
    this.#drewAt = Date.now();
    this.#refusedThen = this.#refused;
  }

  /** For how many seconds the picture that is shown has stood still; 0 while it moves. */
  stands(now: number): number {
    const still = now - this.#drew;
    return this.at(now) === "none" && this.#role === "watch" && still >= STANDS ? Math.floor(still / 1_000) : 0;
  }

  /** What to show at this time. */
  at(now: number): Notice {
    if (this.#state !== "live") {
      return this.#state === "refused" && this.#reason.cause === "removed" ? "removed" : this.#state;
    }
    if (now - this.#heard > SILENCE) {
      return "silent";
    }
    if (this.#away !== undefined) {
      return "away";
    }
    if (this.#role === "publish" || (this.#picture && now - this.#drew <= SILENCE)) {
      return "none";
    }
    if (this.#refused > this.#refusedThen) {
      return "tampered";
    }
    return this.#picture ? "silent" : "waiting";
  }
}
