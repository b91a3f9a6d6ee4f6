// Fills cells with the records that wait, and knows when cells are due (protocol.md, section 10, "Ticks").

import { type Bytes, concat } from "../bytes.ts";
import { type CellContent, type CellPlan, cellRoom } from "../wire/cell.ts";
import { lengthPrefix } from "../wire/framing.ts";

/** Ticks that are sent at once after a delay at most, and that a carrier may hold before no more are sent. */
export const MAX_CAUGHT_UP = 8;
/** Bytes of control messages that may wait; more come only from a peer that asks more than it is answered. */
const MAX_WAITING_CONTROL = 65_536;
const NANOSECONDS = 1_000_000;

interface Counts {
  readonly cells: number;
  readonly lateTicks: number;
  readonly skippedTicks: number;
  readonly droppedControl: number;
}

/** The cells of one end on a byte stream. */
export class CellWriter {
  readonly plan: CellPlan;
  /** Milliseconds between two ticks. */
  readonly #tick: number;
  /** When the next tick is due; the first is at once. */
  #next: number;
  readonly #control: Bytes[] = [];
  #controlBytes = 0;
  /** Framed media records; the caller seals the next frame when few bytes wait. */
  readonly #media: Bytes[] = [];
  #mediaBytes = 0;
  /** The record that goes on in the next cell: the bytes of it that are left. */
  #current: Bytes = new Uint8Array(0);
  #cells = 0;
  #late = 0;
  #skipped = 0;
  #dropped = 0;

  constructor(plan: CellPlan, now: number) {
    this.plan = plan;
    this.#tick = plan.tick / NANOSECONDS;
    this.#next = now;
  }

  get counts(): Counts {
    return { cells: this.#cells, lateTicks: this.#late, skippedTicks: this.#skipped, droppedControl: this.#dropped };
  }

  /** Adds a sealed control record. */
  pushControl(record: Bytes): void {
    if (this.#controlBytes + record.length > MAX_WAITING_CONTROL) {
      this.#dropped += 1;
      return;
    }
    this.#controlBytes += record.length;
    this.#control.push(record);
  }

  /** Adds a sealed media record. */
  pushMedia(record: Bytes): void {
    const framed = concat(lengthPrefix(record), record);
    this.#mediaBytes += framed.length;
    this.#media.push(framed);
  }

  /** Bytes of media that no cell has taken yet. */
  get waitingMedia(): number {
    return this.#mediaBytes;
  }

  get isEmpty(): boolean {
    return this.#current.length === 0 && this.#control.length === 0 && this.#media.length === 0;
  }

  /** Forgets the media that waits. What was begun is finished, so that no record is cut off. */
  dropMedia(): void {
    this.#media.length = 0;
    this.#mediaBytes = 0;
  }

  /** When the next tick is due. */
  get deadline(): number {
    return this.#next;
  }

  /** Milliseconds between two ticks. */
  get interval(): number {
    return this.#tick;
  }

  /** How many ticks to send now; `held` are bytes that the carrier has not taken yet. */
  due(now: number, held: number): number {
    if (now < this.#next) {
      return 0;
    }
    const late = Math.floor((now - this.#next) / this.#tick);
    const most = this.plan.size * this.plan.cells * MAX_CAUGHT_UP;
    const sent = held > most ? 0 : Math.min(late + 1, MAX_CAUGHT_UP);
    this.#late += late;
    this.#skipped += late + 1 - sent;
    // Always whole ticks after the last one, so that the schedule depends on nothing.
    this.#next += this.#tick * (late + 1);
    return sent;
  }

  /** What the next cell carries: control first, at the end of each record. */
  fill(): CellContent {
    const inner = new Uint8Array(cellRoom(this.plan));
    let at = 0;
    let first: number | undefined;
    while (at < inner.length) {
      if (this.#current.length === 0) {
        const begun = this.#takeRecord();
        if (begun === undefined) {
          break;
        }
        this.#current = begun;
        first ??= at;
      }
      const part = this.#current.subarray(0, inner.length - at);
      inner.set(part, at);
      at += part.length;
      this.#current = this.#current.subarray(part.length);
    }
    this.#cells += 1;
    return { inner: inner.subarray(0, at), first };
  }

  #takeRecord(): Bytes | undefined {
    const control = this.#control.shift();
    if (control !== undefined) {
      this.#controlBytes -= control.length;
      return concat(lengthPrefix(control), control);
    }
    const media = this.#media.shift();
    this.#mediaBytes -= media?.length ?? 0;
    return media;
  }
}
