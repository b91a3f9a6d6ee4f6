// A carrier that a test can fill: it keeps what is sent as long as the test says so.

import { type Carrier, type CarrierEvents } from "../../src/carrier/carrier.ts";
import { type Bytes } from "../../src/protocol/bytes.ts";

export class HeldCarrier implements Carrier {
  readonly kind = "memory";
  readonly #inner: Carrier;
  #held = false;
  #waiting: Bytes[] = [];

  constructor(inner: Carrier) {
    this.#inner = inner;
  }

  receive(events: CarrierEvents): void {
    this.#inner.receive(events);
  }

  send(piece: Bytes): void {
    this.#waiting.push(piece);
    this.#flush();
  }

  get backlog(): number {
    return this.#waiting.reduce((sum, { length }) => sum + length, 0);
  }

  set held(held: boolean) {
    this.#held = held;
    this.#flush();
  }

  #flush(): void {
    for (const piece of this.#held ? [] : this.#waiting.splice(0)) {
      this.#inner.send(piece);
    }
  }

  close(): void {
    this.#inner.close();
  }
}
