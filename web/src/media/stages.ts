// Where a frame's time goes, from the source's stamp to the canvas (docs/latency.md, "Stages").

import { type Figures, type StageFigures, type StageName } from "../messages.ts";
import { type Frame } from "../protocol/index.ts";
import { type ClockEstimate, wallAt } from "../worker/clock.ts";

/** Frames that figures are made of at most. */
const MAX_ROWS = 256;
/** Milliseconds that figures look back. */
const WINDOW = 1_000;
const NS_PER_MS = 1e6;
const NAMES: readonly StageName[] = [
  "capture", "encode", "queue", "seal", "send", "network", "open", "wait", "decode", "draw",
];

/** One frame's way: its stamps, and the times at which this end had it (monotonic, ms). */
export class Way {
  readonly #frame: Omit<Frame, "data">;
  readonly handed: number;
  fed: number | undefined;
  decoded: number | undefined;
  drawn: number | undefined;
  /** What was known of the publisher's clock when it was drawn. */
  clock: ClockEstimate | undefined;
  /** What the next frame says of this one's sealing and sending (ns, 0 for unknown); absent until that has come. */
  sealing: { readonly seal: number; readonly send: number } | undefined;

  constructor(frame: Omit<Frame, "data">, handed: number) {
    // Without the data, which the decoder has.
    const { stream, preamble, keyframe, sealedAt, arrived, skipped } = frame;
    this.#frame = { stream, preamble, keyframe, sealedAt, arrived, skipped };
    this.handed = handed;
  }

  /** True if it is from before this page joined, so that its stamps say nothing of its way. */
  get kept(): boolean {
    return this.#frame.preamble.kept;
  }

  /** The capture in milliseconds by the publisher's clock, since any time. */
  get captured(): number {
    return Number(this.#frame.preamble.captured / 1_000n) / 1_000;
  }

  /** Milliseconds of a stage; absent where it is not known. */
  stage(name: StageName): number | undefined {
    const { preamble, sealedAt, arrived } = this.#frame;
    const { sealing } = this;
    switch (name) {
      case "capture":
        return preamble.capture / NS_PER_MS;
      case "encode":
        return ms(preamble.encoded - preamble.captured);
      case "queue":
        return ms(sealedAt - preamble.encoded);
      case "seal":
        return known(sealing?.seal);
      case "send":
        return known(sealing?.send);
      case "network":
        return this.#network(sealing);
      case "open":
        return this.handed - arrived;
      case "wait":
        return difference(this.handed, this.fed);
      case "decode":
        return difference(this.fed, this.decoded);
      case "draw":
        return difference(this.decoded, this.drawn);
    }
  }

  /** Includes sealing and sending where they are not known. It may be negative by as much as the clocks are wrong. */
  #network(sealing: Way["sealing"]): number | undefined {
    const { clock } = this;
    if (clock === undefined || sealing === undefined) {
      return undefined;
    }
    const left = this.#frame.sealedAt + BigInt(sealing.seal + sealing.send);
    return ms(wallAt(this.#frame.arrived) + clock.offset - left);
  }

  /** All stages that are known. */
  stages(): Partial<Record<StageName, number>> {
    const all = NAMES.map((name) => [name, this.stage(name)] as const);
    return Object.fromEntries(all.filter(([, milliseconds]) => milliseconds !== undefined));
  }

  /** Milliseconds from the instant that the source stamped to the canvas. */
  get total(): number | undefined {
    const { drawn, clock } = this;
    const { captured, capture } = this.#frame.preamble;
    if (drawn === undefined || clock === undefined) {
      return undefined;
    }
    return ms(wallAt(drawn) + clock.offset - captured + BigInt(capture));
  }
}

function ms(nanoseconds: bigint): number {
  return Number(nanoseconds) / NS_PER_MS;
}

function known(nanoseconds: number | undefined): number | undefined {
  return nanoseconds === undefined || nanoseconds === 0 ? undefined : nanoseconds / NS_PER_MS;
}

function difference(from: number | undefined, to: number | undefined): number | undefined {
  return from === undefined || to === undefined ? undefined : to - from;
}

/** The value below which a share of the sorted values lies (nearest rank). */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

export function figuresOf(values: readonly (number | undefined)[]): Omit<StageFigures, "name"> {
  const sorted = values.filter((value) => value !== undefined).sort((a, b) => a - b);
  return { median: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), count: sorted.length };
}

/** The frames of the last second. */
export class Stages {
  #rows: Way[] = [];
  #previous: Way | undefined;

  /** A frame was handed out by the session. What it says of the one before belongs to that one. */
  begin(frame: Omit<Frame, "data">, handed: number): Way {
    const way = new Way(frame, handed);
    const { previousSeal: seal, previousSend: send } = frame.preamble;
    if (this.#previous !== undefined) {
      this.#previous.sealing = { seal, send };
    }
    this.#previous = way;
    return way;
  }

  /** A frame is missing: what the next one says belongs to it. */
  interrupted(): void {
    if (this.#previous !== undefined) {
      this.#previous.sealing = { seal: 0, send: 0 };
      this.#previous = undefined;
    }
  }

  /** A frame was drawn. */
  drawn(way: Way, at: number, clock: ClockEstimate | undefined): void {
    way.drawn = at;
    way.clock = clock;
    if (way.kept) {
      return;
    }
    this.#rows.push(way);
    if (this.#rows.length > MAX_ROWS) {
      this.#rows.shift();
    }
  }

  /** Forgets all frames: another session begins. */
  clear(): void {
    this.#rows = [];
    this.#previous = undefined;
  }

  /** Figures of the last second. */
  figures(now: number): Pick<Figures, "stages" | "total"> & { readonly drawn: number } {
    this.#rows = this.#rows.filter(({ drawn = 0 }) => drawn > now - WINDOW);
    const rows = this.#rows;
    const stages = NAMES.map((name) => ({ name, ...figuresOf(rows.map((row) => row.stage(name))) }));
    const { median, p99, count } = figuresOf(rows.map((row) => row.total));
    const uncertainty = rows.reduce((most, { clock }) => Math.max(most, clock?.uncertainty ?? 0), 0);
    return { stages, drawn: rows.length, ...(count > 0 && { total: { median, p99, uncertainty } }) };
  }
}
