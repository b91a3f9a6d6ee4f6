// The sending half of a session that has keys: seals records, and sends them as they come or in cells.

import { type Bytes } from "../bytes.ts";
import { type Now } from "../clock/now.ts";
import { ProtocolError, asProtocolError, misuse } from "../error.ts";
import { type RecordMeta } from "../seal/sealer.ts";
import { type CellPlan, cellPayload } from "../wire/cell.ts";
import { type Control, controlBytes } from "../wire/control.ts";
import { CONTROL_FLAGS } from "../wire/header.ts";
import { CellWriter } from "./cell-writer.ts";
import { type KeyRing } from "./keyring.ts";
import { type Outbox } from "./output.ts";

/** Cells in which an end says what it still has to say when a session ends, at most. */
const MAX_LAST_CELLS = 4_096;

/** What is still sent after the end, at its ticks. */
interface Farewell {
  readonly cells: Bytes[];
  readonly atOnce: number;
  readonly interval: number;
  next: number;
}

/** Seals and sends. */
export class Link {
  readonly ring: KeyRing;
  readonly #out: Outbox;
  #writer: CellWriter | undefined;
  #held = 0;
  #farewell: Farewell | undefined;

  constructor(ring: KeyRing, out: Outbox) {
    this.ring = ring;
    this.#out = out;
  }

  /** Sends nothing but cells from here on. */
  beginCells(plan: CellPlan, now: number): void {
    this.#writer = new CellWriter(plan, now);
  }

  /** This end's cells, if it sends cells. */
  get cells(): CellWriter | undefined {
    return this.#writer;
  }

  /** Bytes of sent messages that the carrier has not taken yet: where there are too many, ticks are left out. */
  carrierHolds(bytes: number): void {
    this.#held = bytes;
  }

  async sendControl(now: Now, message: Control): Promise<void> {
    await this.sendControlBytes(now, controlBytes(message));
  }

  async sendControlBytes(now: Now, payload: Bytes): Promise<void> {
    const record = await this.#sealControl(now, payload);
    if (this.#writer === undefined) {
      this.#out.transmit(record);
    } else {
      this.#writer.pushControl(record);
    }
  }

  #sealControl(now: Now, payload: Bytes): Promise<Bytes> {
    return this.#seal("control", { flags: CONTROL_FLAGS, stream: 0, timestamp: now.wall }, [payload]);
  }

  async #seal(purpose: "control" | "media" | "cell", meta: RecordMeta, parts: readonly Bytes[]): Promise<Bytes> {
    try {
      return await this.ring.current.seal[purpose].seal(meta, parts);
    } catch (thrown) {
      const error = asProtocolError(thrown);
      throw error.reason === "exhausted" ? new ProtocolError("key-limit") : error;
    }
  }

  /** Seals and sends a media record. */
  async sendMedia(meta: RecordMeta, parts: readonly Bytes[]): Promise<void> {
    const record = await this.#seal("media", meta, parts);
    if (this.#writer === undefined) {
      this.#out.transmit(record);
    } else {
      this.#writer.pushMedia(record);
    }
  }

  /** Sends the cells that are due. */
  async sendCells(now: Now): Promise<void> {
    const writer = this.#writer;
    if (writer === undefined) {
      return;
    }
    const count = writer.due(now.monotonic, this.#held) * writer.plan.cells;
    for (let cell = 0; cell < count; cell += 1) {
      this.#out.transmit(await this.#sealCell(writer, now));
    }
  }

  #sealCell(writer: CellWriter, now: Now): Promise<Bytes> {
    const payload = cellPayload(writer.plan, writer.fill());
    return this.#seal("cell", { flags: CONTROL_FLAGS, stream: 0, timestamp: now.wall }, [payload]);
  }

  /**
   * Says a last message: at once, or in as many cells, at their ticks, as hold what is still to be said.
   * @param keepMedia whether the media that waits goes before it
   */
  async sayLast(now: Now, message: Control, keepMedia: boolean): Promise<void> {
    const writer = this.#writer;
    if (writer === undefined) {
      await this.sendControl(now, message);
      return;
    }
    if (!keepMedia) {
      writer.dropMedia();
    }
    const cells: Bytes[] = [];
    const farewell = { cells, atOnce: writer.plan.cells, interval: writer.interval, next: writer.deadline };
    // Control overtakes media, so the message joins when nothing else waits.
    await this.#empty(writer, now, cells);
    writer.pushControl(await this.#sealControl(now, controlBytes(message)));
    await this.#empty(writer, now, cells);
    this.#farewell = farewell;
  }

  async #empty(writer: CellWriter, now: Now, cells: Bytes[]): Promise<void> {
    while (!writer.isEmpty && cells.length < MAX_LAST_CELLS) {
      cells.push(await this.#sealCell(writer, now));
    }
  }

  /** After the end: sends the last cells that are due. */
  continueFarewell(now: number): void {
    const farewell = this.#farewell;
    if (farewell === undefined || now < farewell.next) {
      return;
    }
    for (const cell of farewell.cells.splice(0, farewell.atOnce)) {
      this.#out.transmit(cell);
    }
    farewell.next = now + farewell.interval;
    if (farewell.cells.length === 0) {
      this.#farewell = undefined;
    }
  }

  /** After the end: when the next of the last cells are due; `Infinity` if all is said. */
  get farewellDeadline(): number {
    return this.#farewell?.next ?? Infinity;
  }
}

/** The error of a call that needs keys. */
export function noKeys(): ProtocolError {
  return misuse("the session has no keys, or no peer that was admitted");
}
