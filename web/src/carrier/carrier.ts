// The seam between a session and what carries its bytes.

import { type Bytes } from "../protocol/bytes.ts";

/** Why there is no carrier, or none any more. Its text says what happened and what to do. */
export class CarrierError extends Error {
  override readonly name = "CarrierError";
}

/** What a carrier tells the one who drives it. */
export interface CarrierEvents {
  /**
   * Bytes came, in order; the buffer is the receiver's from now on. Where a promise comes back, a carrier that can hold
   * its peer back reads no more before it is settled.
   */
  bytes(piece: Bytes): Promise<void> | undefined;
  /** The carrier has ended: nothing follows. `clean` is false if it broke. */
  closed(clean: boolean): void;
}

/** An ordered stream of bytes in both directions. Where one call's bytes end means nothing. */
export interface Carrier {
  readonly kind: "webtransport" | "websocket" | "memory";
  /** Begins to deliver what comes; called once, at once after the carrier was opened. */
  receive(events: CarrierEvents): void;
  /** Sends bytes. They may be held back; `backlog` counts them. The buffer is the carrier's from now on. */
  send(piece: Bytes): void;
  /** Bytes taken and not yet handed to the network. */
  readonly backlog: number;
  /** Sends what is left, and ends. */
  close(): void;
}
