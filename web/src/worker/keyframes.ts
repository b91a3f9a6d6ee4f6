// Requests for keyframes, not more often than a publisher can make them.

import { type Cancel, type Time } from "./clock.ts";

/** Milliseconds between two requests. */
export const REQUEST_INTERVAL = 250;

/** Passes requests on: the first at once, and of those that come too soon one, later. */
export class KeyframeRequests {
  readonly #time: Time;
  readonly #send: (stream: number) => void;
  #next = -Infinity;
  #cancel: Cancel | undefined;

  constructor(time: Time, send: (stream: number) => void) {
    this.#time = time;
    this.#send = send;
  }

  /** A keyframe of this stream is needed. */
  ask(stream: number): void {
    const now = this.#time.now().monotonic;
    if (now >= this.#next) {
      this.#next = now + REQUEST_INTERVAL;
      this.#send(stream);
      return;
    }
    this.#cancel ??= this.#time.after(this.#next - now, () => {
      this.#cancel = undefined;
      this.ask(stream);
    });
  }

  /** A keyframe came, or nobody can be asked any more: what waits is not sent. */
  settle(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
