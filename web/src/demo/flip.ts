// What came of a flipped bit, put together from what the worker says.

/** Milliseconds after which a frame that was not refused is given up. */
const PATIENCE = 6_000;
/** Milliseconds after the refusal after which the length of the standstill is not waited for any more. */
const SETTLED = 1_500;

/** How far it is. */
export interface FlipState {
  /** `asked`: the request is on its way. `on`: the picture goes on. `missed`: no record of this page was refused. */
  readonly step: "none" | "asked" | "refused" | "on" | "missed" | "lost";
  /** Why it was refused. */
  readonly reason?: string;
  /** Milliseconds for which the picture stood still, and how many frames were not shown, if both are known. */
  readonly still?: number;
  readonly missing?: number;
}

/** Follows one flipped bit. Times are milliseconds of any steady clock, those of frames of another one. */
export class Flip {
  #state: FlipState = { step: "none" };
  #asked = 0;
  #refusedAt = 0;
  #refused: Readonly<Record<string, number>> = {};
  #drawn = 0;
  /** The frame that was told last, when, and how long after the one before. */
  #last: { readonly frame: number; readonly at: number; readonly after: number } | undefined;
  #gap: { readonly still: number; readonly missing: number } | undefined;

  get state(): FlipState {
    return this.#state;
  }

  /** A bit is going to be flipped. */
  ask(now: number): void {
    this.#state = { step: "asked" };
    this.#asked = now;
    this.#gap = undefined;
  }

  /** It is not: the program does not answer. */
  failed(): void {
    this.#state = { step: "none" };
  }

  /** What was refused and drawn in this session so far. */
  figures(refused: Readonly<Record<string, number>>, drawn: number, now: number): void {
    const reason = Object.keys(refused).find((name) => (refused[name] ?? 0) > (this.#refused[name] ?? 0));
    const goesOn = drawn > this.#drawn;
    this.#refused = refused;
    this.#drawn = drawn;
    // On a busy machine the refusal is told after it was given up.
    if ((this.#state.step === "asked" || this.#state.step === "missed") && reason !== undefined) {
      this.#state = { step: "refused", reason };
      this.#refusedAt = now;
    } else if (this.#state.step === "asked" && now > this.#asked + PATIENCE) {
      this.#state = { step: "missed" };
    } else if (this.#state.step === "refused" && goesOn && now > this.#refusedAt + SETTLED) {
      this.#state = { ...this.#state, step: "on" };
    }
    this.#finish();
  }

  /**
   * A frame was drawn. The worker tells of each when the next one is drawn, `at` by its own clock: messages may wait
   * while the page is busy.
   */
  frame(frame: number, at: number): void {
    const last = this.#last;
    this.#last = { frame, at, after: last === undefined ? 0 : at - last.at };
    const isWaiting = this.#state.step === "asked" || this.#state.step === "refused";
    if (last === undefined || !isWaiting || frame <= last.frame + 1) {
      return;
    }
    // That the frame before this one was the last before a gap is known only now: it stood for `after`. A decoder that
    // falls behind leaves out frames as well, for a shorter time.
    if (this.#gap === undefined || last.after > this.#gap.still) {
      this.#gap = { still: last.after, missing: frame - last.frame - 1 };
    }
    this.#finish();
  }

  /** Another session begins, or none is left. */
  ended(): void {
    this.#refused = {};
    this.#drawn = 0;
    this.#last = undefined;
    if (this.#state.step === "asked" || this.#state.step === "refused") {
      this.#state = { step: "lost" };
    }
  }

  #finish(): void {
    if (this.#state.step === "refused" && this.#gap !== undefined) {
      this.#state = { ...this.#state, step: "on", ...this.#gap };
    }
  }
}
