// A carrier through a relay: the byte stream of a session in two tracks, and beside it the tracks of the broadcast.

import { type Beside, type Carrier, CarrierError, type CarrierEvents } from "../carrier/carrier.ts";
import { type Bytes, concat } from "../protocol/bytes.ts";
import { RELAY_TRACKS } from "../protocol/index.ts";
import { type Time } from "../worker/clock.ts";
import { Delivery } from "./delivery.ts";
import { type Inlet } from "./inlet.ts";
import { MAX_PIECE } from "./object.ts";
import { type Outlet, WINDOW_BYTES, WINDOW_PIECES } from "./outlet.ts";
import { type Broadcast, REST, type Relay } from "./relay.ts";

/** Pieces and bytes after which the other end is told that they were taken. Fewer than its window has. */
const TOLD_PIECES = WINDOW_PIECES / 4;
const TOLD_BYTES = WINDOW_BYTES / 4;
/** Bytes that wait until the other end takes some, at most. */
const MAX_WAITING = 4 << 20;
/** Milliseconds that the last bytes may take to the other end. */
const CLOSING = 1_000;

/** Both ends are there. */
export interface Met {
  readonly relay: Pick<Relay, "way" | "closed" | "close">;
  /** The broadcast of the other end, and who that is. */
  readonly other: Broadcast;
  readonly who: "camera" | "viewer";
  readonly outlet: Outlet;
  readonly inlet: Inlet;
}

/** Carries a session through a relay. It owns what it was given of the connection. */
export class RelayCarrier implements Carrier {
  readonly kind: "relay" | "relay-websocket";
  readonly beside: Beside;
  readonly #met: Met;
  readonly #time: Time;
  readonly #deliveries: readonly Delivery[];
  #take: Parameters<Beside["hear"]>[0] | undefined;
  #events: CarrierEvents | undefined;
  #waiting: Bytes[] = [];
  #backlog = 0;
  /** `closing`: this end has closed it, and what waits still leaves. */
  #state: "open" | "closing" | "over" = "open";
  #saidEnd = false;

  constructor(met: Met, time: Time) {
    this.#met = met;
    this.kind = met.relay.way === "websocket" ? "relay-websocket" : "relay";
    this.#time = time;
    this.#deliveries = RELAY_TRACKS.map((track) =>
      new Delivery(met.other, track, time, (object) => this.#take?.(object)));
    this.beside = {
      hear: (take) => {
        if (this.#take === undefined && this.#state === "open") {
          this.#take = take;
          this.#deliveries.forEach((one) => void one.run());
        }
      },
    };
  }

  receive(events: CarrierEvents): void {
    this.#events = events;
    const { relay, other, who } = this.#met;
    void relay.closed.then(() => {
      this.#end(false, "the connection to the relay broke");
    });
    void other.gone.then(() => {
      this.#time.after(REST, () => {
        this.#end(false, `the ${who} is gone from the relay`);
      });
    });
    void this.#read(events);
  }

  async #read(events: CarrierEvents): Promise<void> {
    const { inlet, outlet } = this.#met;
    let [taken, untoldPieces, untoldBytes] = [0, 0, 0];
    try {
      for (let object = await inlet.next(); object.type !== "end"; object = await inlet.next()) {
        if (object.type === "taken") {
          outlet.wasTaken(object.pieces);
          this.#flush();
          continue;
        }
        if (this.#state === "open") {
          await events.bytes(object.bytes);
        }
        taken += 1;
        untoldPieces += 1;
        untoldBytes += object.bytes.length;
        if (untoldPieces >= TOLD_PIECES || untoldBytes >= TOLD_BYTES) {
          outlet.sayTaken(taken);
          [untoldPieces, untoldBytes] = [0, 0];
        }
      }
      this.#end(true);
    } catch (thrown) {
      this.#end(false, thrown instanceof CarrierError ? thrown.message : "the session through the relay failed");
    }
  }

  send(piece: Bytes): void {
    if (this.#state !== "open") {
      return;
    }
    if (this.#backlog + piece.length > MAX_WAITING) {
      this.#end(false, "the other end takes nothing of the session");
      return;
    }
    this.#waiting.push(piece);
    this.#backlog += piece.length;
    this.#flush();
  }

  get backlog(): number {
    return this.#backlog;
  }

  /** Sends what waits, and there is room for. */
  #flush(): void {
    const { outlet } = this.#met;
    if (this.#state === "over" || this.#saidEnd) {
      return;
    }
    while (this.#backlog > 0 && outlet.hasRoom) {
      outlet.send(this.#nextPiece());
    }
    if (this.#state === "closing" && this.#backlog === 0) {
      this.#saidEnd = true;
      outlet.sayEnd();
    }
  }

  /** What waits together leaves together. */
  #nextPiece(): Bytes {
    const parts: Bytes[] = [];
    for (let room = MAX_PIECE; room > 0; ) {
      const first = this.#waiting.shift();
      if (first === undefined) {
        break;
      }
      if (first.length > room) {
        this.#waiting.unshift(first.subarray(room));
      }
      const part = first.subarray(0, room);
      parts.push(part);
      room -= part.length;
      this.#backlog -= part.length;
    }
    const [only] = parts;
    return only !== undefined && parts.length === 1 ? only : concat(...parts);
  }

  close(): void {
    if (this.#state !== "open") {
      return;
    }
    this.#state = "closing";
    this.#events = undefined;
    this.#flush();
    // The other end ends it once it has everything; who does not take the last bytes in time does without them.
    this.#time.after(CLOSING, () => {
      this.#end(true);
    });
  }

  #end(clean: boolean, why?: string): void {
    if (this.#state === "over") {
      return;
    }
    this.#state = "over";
    const { relay, other, inlet } = this.#met;
    this.#deliveries.forEach((one) => {
      one.leave();
    });
    inlet.leave();
    other.leave();
    relay.close();
    this.#events?.closed(clean, why);
  }
}
