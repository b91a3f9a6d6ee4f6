// The viewer: what it does with the sessions of its link.

import { type Player, type PlayerFigures } from "../media/player.ts";
import { type ToWorker } from "../messages.ts";
import {
  Close, DEFAULT_MECHANISMS, DEFAULT_SUITES, isSignMode, type Media, type SessionEvent,
} from "../protocol/index.ts";
import { texts } from "../text/worker.ts";
import { type Cancel, type ClockEstimate, type Time } from "./clock.ts";
import { KeyframeRequests } from "./keyframes.ts";
import { Link, type LinkParts, type LinkRole } from "./link.ts";
import { type Outcome } from "./outcome.ts";
import { type Commands } from "./role.ts";

/** Milliseconds for which the last picture of a lost session stays. */
export const LAST_PICTURE = 2_000;

/** Watches until it is told to stop, or there is no hope. */
export class Viewer implements Commands, LinkRole {
  readonly handshake = { role: "viewer", suites: DEFAULT_SUITES, mechanisms: DEFAULT_MECHANISMS } as const;
  /** A group is joined if the camera signs each frame: every member has the key, and could forge it else. */
  readonly session = { group: { sign: "frame" } } as const;
  readonly stop = { reason: Close.GoingAway, words: texts().watching.stopped } as const;
  readonly #link: Link;
  readonly #player: Player;
  readonly #time: Time;
  readonly #keyframes: KeyframeRequests;
  #clearing: Cancel | undefined;

  constructor(parts: LinkParts, player: Player) {
    this.#player = player;
    this.#time = parts.time;
    this.#link = new Link(parts, this);
    this.#keyframes = new KeyframeRequests(parts.time, (stream) => {
      this.#link.step((session, now) => session.requestKeyframe(now, stream));
    });
  }

  /** Begins; it never rejects. */
  run(): Promise<void> {
    return this.#link.run();
  }

  command(message: ToWorker): void {
    switch (message.type) {
      case "keyframe":
        this.needsKeyframe(this.#player.stream);
        return;
      case "rekey":
        this.#link.step((session, now) => session.rekey(now));
        return;
      case "jitter":
        this.#player.jitter = message.milliseconds;
        return;
      case "sound":
        this.#player.turnSound(message.port);
        return;
      case "stop":
        this.#link.stop();
        return;
      case "watch":
      case "publish":
      case "publish-relay":
      case "end-access":
      case "select":
        // None of a viewer's.
    }
  }

  /** The player misses something. */
  needsKeyframe(stream: number): void {
    if (this.#link.isLive) {
      this.#keyframes.ask(stream);
    }
  }

  /** What is known of the publisher's clock. */
  clock(now: number): ClockEstimate | undefined {
    return this.#link.clock(now);
  }

  /** A line for the log of events. */
  news(words: string, bad: boolean): void {
    this.#link.news(words, bad);
  }

  /** This browser cannot show the stream. */
  unable(words: string): void {
    this.#link.end({ state: "failed", cause: "codec", words }, Close.GoingAway);
  }

  outcome(outcome: Outcome): Outcome {
    return outcome;
  }

  established(): void {
    this.#clearing?.();
    this.#clearing = undefined;
    this.#player.begin();
  }

  event(event: SessionEvent): void {
    if (event.type === "orientation") {
      this.#player.orient(event.orientation);
    }
    if (event.type === "unfit-group") {
      const { signed } = event;
      const signs = isSignMode(signed) ? "signs nothing, or has a suite that this page lacks" :
        `has signing mode ${signed}, which is not supported any more`;
      const words = `The camera ${signs}. Through a relay this page shows only pictures of which each is signed: ask ` +
        "the publisher for --sign frame or both.";
      this.#link.end({ state: "refused", cause: "unfit-group", words }, Close.GoingAway);
    }
  }

  media(media: Media): void {
    if (media.type === "frame" && media.keyframe) {
      this.#keyframes.settle();
    }
    this.#player.media(media);
  }

  over(): void {
    this.#keyframes.settle();
    // From here on nothing is drawn.
    this.#player.end();
  }

  lost(): void {
    this.#clearing ??= this.#time.after(LAST_PICTURE, () => {
      this.#player.clear();
    });
  }

  finished(): void {
    this.#clearing?.();
    this.#player.clear();
  }

  figures(): PlayerFigures {
    return this.#player.figures();
  }
}
