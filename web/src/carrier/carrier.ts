// The seam between a session and what carries its bytes.

import { type Bytes } from "../protocol/bytes.ts";
import { type RelayedObject } from "../protocol/index.ts";

/** Why there is no carrier, or none any more. Its text says what happened and what to do. */
export class CarrierError extends Error {
  override readonly name = "CarrierError";
  /** Who could not be reached, or left. */
  readonly where: "server" | "relay";

  constructor(message: string, where: "server" | "relay" = "server") {
    super(message);
    this.where = where;
  }
}

/** What a carrier tells the one who drives it. */
export interface CarrierEvents {
  /**
   * Bytes came, in order; the buffer is the receiver's from now on. Where a promise comes back, a carrier that can hold
   * its peer back reads no more before it is settled.
   */
  bytes(piece: Bytes): Promise<void> | undefined;
  /** The carrier has ended: nothing follows. `clean` is false if it broke; `why` says more where that is known. */
  closed(clean: boolean, why?: string): void;
}

/** What comes beside a session that goes through a relay: the pictures that are sealed for all, and their keys. */
export interface Beside {
  /** Begins to deliver, once; where a promise comes back, no more of that track is read before it is settled. */
  hear(take: (object: RelayedObject) => Promise<void> | undefined): void;
}

/** An ordered stream of bytes in both directions. Where one call's bytes end means nothing. */
export interface Carrier {
  readonly kind: "webtransport" | "websocket" | "relay" | "relay-websocket" | "memory";
  /** Absent where the session is all that there is. */
  readonly beside?: Beside;
  /** Begins to deliver what comes; called once, at once after the carrier was opened. */
  receive(events: CarrierEvents): void;
  /** Sends bytes. They may be held back; `backlog` counts them. The buffer is the carrier's from now on. */
  send(piece: Bytes): void;
  /** Bytes taken and not yet handed to the network. */
  readonly backlog: number;
  /** Sends what is left, and ends. */
  close(): void;
}
