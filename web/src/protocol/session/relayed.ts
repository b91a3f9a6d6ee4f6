// What a relay brings of a group (relay.md, section 3). Nothing that it says is trusted.

import { type Bytes } from "../bytes.ts";
import { type Refusal } from "../error.ts";
import { LENGTH_PREFIX, MAX_RECORD } from "../wire/framing.ts";

/** The tracks of a camera's broadcast. */
export const RELAY_TRACKS = ["video", "keys", "proofs", "sound"] as const;
export type RelayTrack = (typeof RELAY_TRACKS)[number];

/** An object of one of the tracks, in the order in which the camera put them there. */
export interface RelayedObject {
  readonly track: RelayTrack;
  /** It is the first one of its group of objects: of `video` a frame that begins a group of pictures, of `sound` a
   * packet with its description. */
  readonly begins: boolean;
  readonly bytes: Bytes;
}

/** Frames that wait for their key, at most. */
export const MAX_WAITING = 64;
/** Packets of sound that wait for theirs: as long as those frames at 25 a second. */
export const MAX_WAITING_SOUND = 128;
/** Milliseconds for which a frame waits for its key. */
export const WAIT_FOR_KEY = 1_000;
/** Milliseconds for which it waits before the camera itself is asked for the sheet, and between two such questions. */
export const KEY_PATIENCE = 250;
export const ASK_INTERVAL = 1_000;

/** A frame as it is on the track. */
interface Waiting {
  readonly since: number;
  readonly begins: boolean;
  readonly frame: Bytes;
}

/** The records of a frame, each behind its length; `undefined` if it is not made of records. */
export function recordsOf(frame: Bytes): readonly Bytes[] | undefined {
  const records: Bytes[] = [];
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  for (let at = 0; at < frame.length; ) {
    const length = at + LENGTH_PREFIX <= frame.length ? view.getUint32(at) : 0;
    const end = at + LENGTH_PREFIX + length;
    if (length === 0 || length > MAX_RECORD || end > frame.length) {
      return undefined;
    }
    records.push(frame.subarray(at + LENGTH_PREFIX, end));
    at = end;
  }
  return records.length === 0 ? undefined : records;
}

/** Frames in their order, until their keys are there: tracks are apart, so a frame can overtake its key. */
export class WaitingFrames {
  readonly #most: number;
  #waiting: Waiting[] = [];
  /** The present group of pictures is of no use: its beginning was not opened. */
  #skipping = true;
  /** When the camera was asked for a sheet. */
  #asked = -Infinity;

  /** @param most frames that wait, at most */
  constructor(most: number) {
    this.#most = most;
  }

  push(now: number, begins: boolean, frame: Bytes): void {
    this.#waiting.push({ since: now, begins, frame });
  }

  /** Takes the next frame whose key is there, or that has waited for it long enough. */
  async take(now: number, waits: (record: Bytes) => Promise<boolean>): Promise<Waiting | undefined> {
    if (this.#skipping) {
      const next = this.#waiting.findIndex(({ begins }) => begins);
      this.#waiting.splice(0, next < 0 ? this.#waiting.length : next);
    }
    const [first] = this.#waiting;
    if (first === undefined) {
      return undefined;
    }
    const mayWait = now < first.since + WAIT_FOR_KEY && this.#waiting.length <= this.#most;
    const [record] = mayWait ? (recordsOf(first.frame) ?? []) : [];
    if (record !== undefined && (await waits(record))) {
      return undefined;
    }
    this.#waiting.shift();
    return first;
  }

  /** Notes how a frame was opened: what follows a beginning without a key is left out. */
  taken({ begins }: Waiting, refused: Refusal | undefined): void {
    this.#skipping = begins && (refused === "unknown-epoch" || refused === "tag");
  }

  /** True, each time once, if the camera is to be asked for a sheet now. */
  asks(now: number): boolean {
    const due = now >= this.#asksAt;
    this.#asked = due ? now : this.#asked;
    return due;
  }

  get #asksAt(): number {
    const [first] = this.#waiting;
    return first === undefined ? Infinity : Math.max(first.since + KEY_PATIENCE, this.#asked + ASK_INTERVAL);
  }

  /** When a frame has waited long enough, or the camera is to be asked. */
  get deadline(): number {
    const [first] = this.#waiting;
    return first === undefined ? Infinity : Math.min(first.since + WAIT_FOR_KEY, this.#asksAt);
  }
}
