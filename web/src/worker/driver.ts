// Drives one session over one carrier: the loop between the protocol and the network.

import { type Carrier, CarrierError } from "../carrier/carrier.ts";
import { type Bytes, concat } from "../protocol/bytes.ts";
import {
  Close, lengthPrefix, type Media, MessageReader, type Now, type RelayedObject, type Session, type SessionEvent,
} from "../protocol/index.ts";
import { type Cancel, REAL_TIME, type Time } from "./clock.ts";

/** Bytes that came and are not opened yet: above this, a carrier that can is asked to wait. */
const ENOUGH_WAITING = 1 << 20;
/** The same, at most: a WebSocket cannot hold its peer back, so a peer that is faster than this end is left. */
const MAX_WAITING = 32 << 20;
/** A timer that comes so many milliseconds late comes after a pause of the browser. */
const PAUSE = 250;
/** Milliseconds for what came during such a pause to be handed over before the peer counts as silent. */
const AFTER_PAUSE = 50;

/** Who is told what comes of a session. */
export interface DriverListener {
  event(event: SessionEvent): void;
  media(media: Media): void;
  /** The laboratory: the session took a message, in so many milliseconds. */
  opened?(milliseconds: number): void;
  /** The session is over, and the carrier closed; nothing follows. `error` is absent after a goodbye of either end. */
  over(error?: Error): void;
}

/**
 * Runs one call of the session after the other, hands out what comes of each, and minds the deadlines. It owns the
 * carrier from the beginning, and closes it when the session is over.
 */
export class SessionDriver {
  readonly session: Session;
  readonly carrier: Carrier;
  readonly #listener: DriverListener;
  readonly #time: Time;
  readonly #reader = new MessageReader();
  #steps: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #timer: { readonly at: number; readonly cancel: Cancel } | undefined;
  #paused = false;
  #done = false;
  #failure: Error | undefined;

  constructor(session: Session, carrier: Carrier, listener: DriverListener, time: Time = REAL_TIME) {
    this.session = session;
    this.carrier = carrier;
    this.#listener = listener;
    this.#time = time;
    carrier.receive({
      bytes: (piece) => this.#arrived(piece),
      closed: (clean, why) => {
        this.#afterSteps(() => {
          const what = clean ? "the other end closed the connection without a goodbye" : "the connection broke";
          this.#finish(this.session.isOver ? undefined : new CarrierError(why ?? what));
        });
      },
    });
    // Begins: the hello of an initiator already waits.
    this.#afterSteps(() => {
      this.#settle(undefined);
    });
  }

  /** True once nothing follows. */
  get isOver(): boolean {
    return this.#done;
  }

  /**
   * Calls the session after all calls before, and hands out what comes of it. Rejects with what the call threw; where
   * that ended the session, `over` has been told.
   */
  step<T>(body: (session: Session, now: Now) => Promise<T>): Promise<T> {
    const result = this.#steps.then(async () => {
      let thrown: unknown;
      try {
        return await body(this.session, this.#time.now());
      } catch (error) {
        thrown = error;
        throw error;
      } finally {
        this.#settle(thrown);
      }
    });
    this.#steps = result.catch(() => undefined);
    return result;
  }

  /** Says goodbye, with one of `Close`, and ends. Never rejects. */
  async close(reason: number, text = ""): Promise<void> {
    await this.step((session, now) => session.close(now, reason, text)).catch(() => undefined);
  }

  #afterSteps(body: () => void): void {
    this.#steps = this.#steps.then(body);
  }

  #arrived(piece: Bytes): Promise<void> | undefined {
    if (this.#done) {
      return undefined;
    }
    this.#waiting += piece.length;
    if (this.#waiting > MAX_WAITING) {
      this.#finish(new CarrierError("the video comes faster than this browser can open it; ask for a lower bit rate"));
      return undefined;
    }
    // The time of arrival, not that of opening: clocks and latencies are measured by it.
    const came = this.#time.now();
    const step = this.step((session) => this.#open(session, piece, came));
    const opened = step.catch((thrown: unknown) => this.#giveUp(thrown));
    return this.#waiting > ENOUGH_WAITING ? opened : undefined;
  }

  /** A relay gave an object: it waits where too much does. */
  #gave(object: RelayedObject): Promise<void> | undefined {
    this.#waiting += object.bytes.length;
    const came = this.#time.now();
    const step = this.step(async (session) => {
      this.#waiting -= object.bytes.length;
      if (session.isEstablished) {
        await session.relayed(came, object);
      }
    });
    const taken = step.catch((thrown: unknown) => this.#giveUp(thrown));
    return this.#waiting > ENOUGH_WAITING ? taken : undefined;
  }

  async #open(session: Session, piece: Bytes, came: Now): Promise<void> {
    this.#waiting -= piece.length;
    if (this.#done) {
      return;
    }
    this.#reader.push(piece);
    for (let next = this.#reader.next(session.messageLimit); next !== undefined; ) {
      if (this.#listener.opened === undefined) {
        await session.message(came, next);
      } else {
        const began = this.#time.now().monotonic;
        await session.message(came, next);
        this.#listener.opened(this.#time.now().monotonic - began);
      }
      this.#drain();
      next = session.isOver ? undefined : this.#reader.next(session.messageLimit);
    }
    if (this.#reader.waiting > 0) {
      session.partOfMessage(came);
    }
  }

  /** Gives up a session that an error has left alive: its framing is lost, or this program has a defect. */
  async #giveUp(thrown: unknown): Promise<void> {
    if (!this.#done) {
      this.#failure = thrown instanceof Error ? thrown : new Error("a step threw no error");
      await this.close(Close.ProtocolError);
      this.#finish();
    }
  }

  #drain(): void {
    for (let output = this.session.poll(); output !== undefined; output = this.session.poll()) {
      if (this.#done) {
        continue;
      }
      switch (output.type) {
        case "transmit":
          // One piece costs less than two: each is a message of its own to a browser.
          this.carrier.send(concat(lengthPrefix(output.message), output.message));
          break;
        case "event":
          if (output.event.type === "joined-group") {
            this.carrier.beside?.hear((object) => this.#gave(object));
          }
          this.#listener.event(output.event);
          break;
        case "media":
          this.#listener.media(output.media);
      }
    }
  }

  /** After a step: hands out, and ends or waits for the next deadline. */
  #settle(thrown: unknown): void {
    this.#drain();
    if (this.#done) {
      return;
    }
    const { session } = this;
    session.carrierHolds(this.carrier.backlog);
    if (session.isOver && thrown !== undefined) {
      this.#finish(thrown instanceof Error ? thrown : new Error("a step threw no error"));
    } else if (session.isOver && session.deadline === Infinity) {
      this.#finish();
    } else {
      this.#wait(session.deadline);
    }
  }

  #wait(deadline: number): void {
    if (this.#timer !== undefined && this.#timer.at <= deadline) {
      // It looks again when it comes: setting a timer anew for each record would cost more than that.
      return;
    }
    this.#timer?.cancel();
    this.#timer = undefined;
    if (deadline !== Infinity) {
      const cancel = this.#time.after(Math.max(0, deadline - this.#time.now().monotonic), () => {
        this.#timer = undefined;
        this.#due();
      });
      this.#timer = { at: deadline, cancel };
    }
  }

  #due(): void {
    const now = this.#time.now().monotonic;
    const { deadline } = this.session;
    if (this.#done || now < deadline) {
      this.#wait(this.#done ? Infinity : deadline);
    } else if (now > deadline + PAUSE && !this.#paused) {
      // What came during the pause waits behind this timer, and is to be heard first.
      this.#paused = true;
      this.#wait(now + AFTER_PAUSE);
    } else {
      this.#paused = false;
      void this.step((session, at) => session.timeout(at)).catch(() => undefined);
    }
  }

  #finish(error?: Error): void {
    if (this.#done) {
      return;
    }
    this.#done = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#reader.drop();
    this.carrier.close();
    this.#listener.over(error ?? this.#failure);
  }
}
