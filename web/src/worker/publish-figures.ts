// Figures of a publisher: what was sent, and where the time of a picture goes on this side.

import { figuresOf } from "../media/stages.ts";
import { type Figures, type StageName } from "../messages.ts";
import { type Numbered, type SentStages } from "./publish-sender.ts";

const NAMES = ["capture", "encode", "queue", "seal", "send"] as const satisfies readonly StageName[];
/** Milliseconds that figures look back. */
const WINDOW = 1_000;
/** Values that are remembered at most: a second of the highest rate, and some. */
const MAX_VALUES = 128;
const NS_PER_MS = 1e6;

type OwnStage = (typeof NAMES)[number];

interface Timed {
  readonly at: number;
  readonly value: number;
}

/** What does not come from counting. */
export interface Stream {
  readonly width: number;
  readonly height: number;
  readonly codec: string;
  readonly decoder: Figures["decoder"];
  readonly decoderRestarts: number;
}

/** Values of the last second. */
class Recent {
  #values: Timed[] = [];

  add(at: number, value: number): void {
    this.#values.push({ at, value });
    if (this.#values.length > MAX_VALUES) {
      this.#values.shift();
    }
  }

  values(now: number): number[] {
    this.#values = this.#values.filter(({ at }) => at > now - WINDOW);
    return this.#values.map(({ value }) => value);
  }
}

/** Counts what becomes of the pictures of a session. */
export class PublishFigures {
  #frames = 0;
  #sent = 0;
  #dropped = 0;
  #keyframes = 0;
  #bytes = 0;
  #lengths = new Recent();
  #stages = Object.fromEntries(NAMES.map((name) => [name, new Recent()])) as Record<OwnStage, Recent>;

  /** A picture was encoded. */
  encoded({ stamps, encoded }: Numbered): void {
    this.#frames += 1;
    const at = encoded.monotonic;
    this.#stages.encode.add(at, at - stamps.captured.monotonic);
    if (stamps.capture > 0) {
      this.#stages.capture.add(at, stamps.capture / NS_PER_MS);
    }
  }

  /** A picture was sealed and given to the carrier. */
  sent({ keyframe, data }: Numbered, { queue, seal }: SentStages, now: number): void {
    this.#sent += 1;
    this.#keyframes += keyframe ? 1 : 0;
    this.#bytes += data.length;
    this.#lengths.add(now, data.length);
    this.#stages.queue.add(now, queue);
    this.#stages.seal.add(now, seal);
  }

  /** A picture has left this browser. */
  left(send: number, now: number): void {
    this.#stages.send.add(now, send);
  }

  /** Pictures were left out, before or after they were encoded. */
  dropped(count: number): void {
    this.#dropped += count;
  }

  /** `drawn` are the pictures that went to the carrier, since nothing is drawn here. */
  figures(now: number, stream: Stream): Omit<Figures, "refused" | "roundTrip"> {
    const lengths = this.#lengths.values(now);
    return {
      ...stream, frames: this.#frames, drawn: this.#sent, dropped: this.#dropped, keyframes: this.#keyframes,
      freezes: 0, frozen: 0, bytes: this.#bytes, inDecoder: 0,
      framesPerSecond: (lengths.length * 1_000) / WINDOW,
      bitsPerSecond: (lengths.reduce((sum, length) => sum + length, 0) * 8_000) / WINDOW,
      stages: NAMES.map((name) => ({ name, ...figuresOf(this.#stages[name].values(now)) })),
    };
  }
}
