// A clock that goes on only where a test says so.

import { type Now } from "../../src/protocol/clock/now.ts";
import { type Time } from "../../src/worker/clock.ts";
import { assert } from "./harness.ts";

const WALL = 1_790_000_000_000_000_000n;
/** Real milliseconds that a test waits for what must happen. */
const PATIENCE = 60_000;

/** Calls of WebCrypto that have not ended. They take real time, and more of it on a busy machine. */
let computing = 0;

/** Counts the calls of WebCrypto, so that virtual time stands still while they last. */
function countComputations(): void {
  const { subtle } = crypto;
  const methods = Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(subtle) as object));
  for (const [name, { value: method }] of methods) {
    if (typeof method !== "function" || name === "constructor") {
      continue;
    }
    const call = (method as (...args: unknown[]) => Promise<unknown>).bind(subtle);
    const counted = async (...args: unknown[]): Promise<unknown> => {
      computing += 1;
      try {
        return await call(...args);
      } finally {
        computing -= 1;
      }
    };
    Object.defineProperty(subtle, name, { value: counted, configurable: true });
  }
}

countComputations();

/** Lets everything run that is ready to, and what is ready after the computations that it began. */
export async function breathe(): Promise<void> {
  do {
    await new Promise((resolve) => setTimeout(resolve));
  } while (computing > 0);
}

/** Waits until `done` holds: for computations, which take real time. */
export async function until(done: () => boolean, what: string): Promise<void> {
  for (const began = performance.now(); !done(); ) {
    assert(performance.now() - began < PATIENCE, `it comes to it that ${what}`);
    await breathe();
  }
}

interface Timer {
  readonly at: number;
  readonly body: () => void;
}

/** Time that stands still between calls of `pass`. */
export class VirtualTime implements Time {
  #now = 1_000;
  #timers: Timer[] = [];

  now(): Now {
    return { monotonic: this.#now, wall: WALL + BigInt(Math.round(this.#now * 1e6)) };
  }

  after(milliseconds: number, body: () => void): () => void {
    const timer = { at: this.#now + milliseconds, body };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** When the next timer comes. */
  get next(): number {
    return Math.min(...this.#timers.map(({ at }) => at));
  }

  /** Time goes on without any timer, as on a machine that sleeps. */
  sleep(milliseconds: number): void {
    this.#now += milliseconds;
  }

  /** Lets time pass, timer by timer; after each, what is ready runs. */
  async pass(milliseconds: number): Promise<void> {
    const until = this.#now + milliseconds;
    while (this.next <= until) {
      const [first] = [...this.#timers].sort((a, b) => a.at - b.at);
      assert(first !== undefined, "there is a timer");
      this.#timers = this.#timers.filter((other) => other !== first);
      this.#now = Math.max(this.#now, first.at);
      first.body();
      await breathe();
    }
    this.#now = until;
    await breathe();
  }
}
