// The direction of a session that this end sends.

import { CarrierError } from "../carrier/carrier.ts";
import { type Bytes } from "../protocol/bytes.ts";
import { MAX_PIECE, type SessionObject, objectBytes } from "./object.ts";
import { type OutgoingGroup, type OutgoingTrack } from "./relay.ts";

/** Objects of a group, and its bytes: well below the bounds of libraries, so that nothing is lost to them. */
export const GROUP_OBJECTS = 1_024;
export const GROUP_BYTES = 1 << 20;
/**
 * Pieces and their bytes that are on their way in one direction. Relays send the newer of two groups first, so more
 * would let the older one wait for ever.
 */
export const WINDOW_PIECES = 256;
export const WINDOW_BYTES = 256 << 10;

interface OpenGroup {
  readonly group: OutgoingGroup;
  objects: number;
  bytes: number;
}

/** The track of this end, and what of it the other end has not taken yet. */
export class Outlet {
  readonly #track: OutgoingTrack;
  #group: OpenGroup | undefined;
  /** Lengths of the pieces that are on their way. */
  #onTheirWay: number[] = [];
  #bytes = 0;
  /** Pieces that the other end has taken. */
  #taken = 0;

  /** Begins the track, which tells the other end that this one is there. */
  constructor(track: OutgoingTrack) {
    this.#track = track;
    this.sayTaken(0);
  }

  /** Whether a piece may leave, however long it is. */
  get hasRoom(): boolean {
    return this.#onTheirWay.length < WINDOW_PIECES && this.#bytes + MAX_PIECE <= WINDOW_BYTES;
  }

  /** True if the other end has taken all. */
  get isEmpty(): boolean {
    return this.#onTheirWay.length === 0;
  }

  /** Sends a piece of 1 to `MAX_PIECE` bytes; there must be room for it. */
  send(bytes: Bytes): void {
    this.#onTheirWay.push(bytes.length);
    this.#bytes += bytes.length;
    this.#write({ type: "piece", bytes });
  }

  /** The other end says that it has taken so many pieces. @throws CarrierError if it cannot have */
  wasTaken(pieces: bigint): void {
    const more = Number(pieces) - this.#taken;
    if (more < 0 || more > this.#onTheirWay.length) {
      throw new CarrierError("the other end says that it took what it cannot have");
    }
    for (const length of this.#onTheirWay.splice(0, more)) {
      this.#bytes -= length;
    }
    this.#taken += more;
  }

  /** Tells the other end how many of its pieces have been taken here. */
  sayTaken(pieces: number): void {
    this.#write({ type: "taken", pieces: BigInt(pieces) });
  }

  /** Tells the other end that there are no further bytes. */
  sayEnd(): void {
    this.#write({ type: "end" });
  }

  #write(object: SessionObject): void {
    const bytes = objectBytes(object);
    const full = (open: OpenGroup): boolean =>
      open.objects === GROUP_OBJECTS || open.bytes + bytes.length > GROUP_BYTES;
    if (this.#group !== undefined && full(this.#group)) {
      this.#group.group.end();
      this.#group = undefined;
    }
    this.#group ??= { group: this.#track.begin(), objects: 0, bytes: 0 };
    this.#group.objects += 1;
    this.#group.bytes += bytes.length;
    this.#group.group.write(bytes);
  }
}
