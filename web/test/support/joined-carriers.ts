// Two carriers that are joined in memory, with what a test of the loop between session and carrier does to them.

import { type Carrier, type CarrierEvents } from "../../src/carrier/carrier.ts";
import { type Bytes } from "../../src/protocol/bytes.ts";

/** One end of a pair. What is sent arrives later, in pieces of at most so many bytes. */
export class JoinedCarrier implements Carrier {
  readonly kind = "memory";
  readonly backlog = 0;
  /** What this end has sent. */
  readonly sent: Bytes[] = [];
  /** True once nothing comes or goes any more; a test sets it for an end that falls silent. */
  isClosed = false;
  readonly #piece: number;
  #peer: JoinedCarrier | undefined;
  #events: CarrierEvents | undefined;
  /** What came before anybody received. */
  readonly #early: (() => void)[] = [];

  private constructor(piece: number) {
    this.#piece = piece;
  }

  static pair(piece = Infinity): [JoinedCarrier, JoinedCarrier] {
    const [one, other] = [new JoinedCarrier(piece), new JoinedCarrier(piece)];
    one.#peer = other;
    other.#peer = one;
    return [one, other];
  }

  /** One end whose peer never says anything. */
  static alone(): JoinedCarrier {
    return new JoinedCarrier(Infinity);
  }

  receive(events: CarrierEvents): void {
    this.#events = events;
    for (const event of this.#early.splice(0)) {
      event();
    }
  }

  send(piece: Bytes): void {
    if (this.isClosed) {
      return;
    }
    this.sent.push(piece);
    const peer = this.#peer;
    for (let at = 0; at < piece.length; at += this.#piece) {
      // A copy, as a network makes one.
      const part = piece.slice(at, at + this.#piece);
      queueMicrotask(() => void peer?.deliver(part));
    }
  }

  close(): void {
    if (!this.isClosed) {
      this.isClosed = true;
      const peer = this.#peer;
      queueMicrotask(() => peer?.end(true));
    }
  }

  /** The network breaks for both ends. */
  break(): void {
    this.end(false);
    this.#peer?.end(false);
  }

  /** Bytes come to this end. */
  deliver(piece: Bytes): Promise<void> | undefined {
    if (this.isClosed) {
      return undefined;
    }
    if (this.#events === undefined) {
      this.#early.push(() => void this.deliver(piece));
      return undefined;
    }
    return this.#events.bytes(piece);
  }

  /** The carrier ends at this end. */
  end(clean: boolean): void {
    if (this.#events === undefined) {
      this.#early.push(() => {
        this.end(clean);
      });
    } else if (!this.isClosed) {
      this.isClosed = true;
      this.#events.closed(clean);
    }
  }
}
