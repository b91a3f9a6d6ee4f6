// Takes the camera's pictures, and gives those to the encoder that it can take.

import { type Encoded, type Encoder, EncoderError, type EncoderEvents, type MakeEncoder } from "../media/encoder.ts";
import { Pace } from "../media/pace.ts";
import { type Now } from "../protocol/index.ts";
import { type Time } from "./clock.ts";
import { type Choice } from "./publish-options.ts";
import { SourceClock } from "./source-clock.ts";

/** Milliseconds between keyframes that are asked for: each costs as much as many other pictures. */
export const KEYFRAME_SPACING = 250;
/** Encoders that may fail one after the other before it is given up. */
const MAX_FAILURES = 3;
/** An encoder that worked so many milliseconds was a good one: a browser may take it away from a hidden page. */
const WORKED = 10_000;
/** A delay is not believed if it is longer (ms): it is by another clock. */
const BELIEVED = 1_000;
const NS_PER_MS = 1e6;
const US_PER_MS = 1_000;

/** Who is told what the camera and its encoder do. */
export interface CameraEvents {
  /** True if a picture may be encoded now: a viewer is there, and not too much waits for it. */
  open(): "open" | "away" | "full";
  encoded(picture: Encoded): void;
  /** A picture was left out. */
  dropped(): void;
  /** An encoder failed, and another one takes its place. */
  restarted(): void;
  /** There are no more pictures. `why` is a sentence if the encoder is the cause. */
  ended(why?: string): void;
}

/** The pictures of one stream, from its source to the encoder's output. */
export class Camera {
  readonly #reader: ReadableStreamDefaultReader<VideoFrame>;
  readonly #choice: Choice["encoder"];
  readonly #make: MakeEncoder;
  readonly #events: CameraEvents;
  readonly #time: Time;
  readonly #pace: Pace;
  #encoder: Encoder | undefined;
  #bitrate: number;
  #failures = 0;
  /** Those that failed before they had worked for long. */
  #inRow = 0;
  #madeAt = -Infinity;
  #keyframeWanted = false;
  #lastForced = -Infinity;
  readonly #clock = new SourceClock();
  /** Media time 0 by the monotonic clock (ms), once a picture was taken. */
  #began: number | undefined;
  #mediaMicroseconds = -1;
  #ended = false;

  constructor(
    pictures: ReadableStream<VideoFrame>, choice: Choice["encoder"], make: MakeEncoder, events: CameraEvents,
    time: Time,
  ) {
    this.#reader = pictures.getReader();
    this.#choice = choice;
    this.#bitrate = choice.bitrate;
    this.#make = make;
    this.#events = events;
    this.#time = time;
    this.#pace = new Pace(choice.rate);
  }

  /** The encoder's name; that of the codec before there is one. */
  get codec(): string {
    return this.#encoder?.name ?? this.#choice.codec;
  }

  /** How many encoders have failed. */
  get failures(): number {
    return this.#failures;
  }

  /** Begins; it never rejects. */
  async run(): Promise<void> {
    void this.#makeEncoder();
    try {
      for (let next = await this.#reader.read(); !next.done; next = await this.#reader.read()) {
        this.#took(next.value);
      }
    } catch {
      // A camera that was pulled out, or a window that is not shared any more.
    }
    this.#end();
  }

  /** Makes the next picture a keyframe, or one soon after it. */
  requestKeyframe(): void {
    this.#keyframeWanted = true;
  }

  setBitrate(bitrate: number): void {
    this.#bitrate = bitrate;
    this.#encoder?.setBitrate(bitrate);
  }

  /** Lets the camera go. */
  stop(): void {
    this.#ended = true;
    this.#encoder?.close();
    this.#encoder = undefined;
    this.#reader.cancel().catch(() => undefined);
  }

  #end(why?: string): void {
    if (!this.#ended) {
      this.stop();
      this.#events.ended(why);
    }
  }

  async #makeEncoder(): Promise<void> {
    const events: EncoderEvents = {
      encoded: (picture) => {
        if (!this.#ended) {
          this.#events.encoded(picture);
        }
      },
      dropped: () => {
        this.#events.dropped();
      },
      failed: () => {
        this.#failed();
      },
    };
    try {
      const encoder = await this.#make({ ...this.#choice, failures: this.#failures }, events);
      if (this.#ended) {
        encoder.close();
        return;
      }
      encoder.setBitrate(this.#bitrate);
      this.#encoder = encoder;
      this.#madeAt = this.#time.now().monotonic;
    } catch (thrown) {
      const known = thrown instanceof EncoderError;
      this.#end(known ? thrown.message : "the browser's encoder failed; choose another codec or size");
    }
  }

  #failed(): void {
    if (this.#ended) {
      return;
    }
    this.#encoder = undefined;
    this.#failures += 1;
    this.#inRow = this.#time.now().monotonic - this.#madeAt >= WORKED ? 1 : this.#inRow + 1;
    if (this.#inRow >= MAX_FAILURES) {
      this.#end("the browser's encoder failed again and again; choose another codec or a smaller picture");
      return;
    }
    this.#events.restarted();
    void this.#makeEncoder();
  }

  #took(picture: VideoFrame): void {
    const captured = this.#time.now();
    // By the source's own clock: it is more regular than the times at which pictures come here.
    const taken = this.#clock.came(picture.timestamp / US_PER_MS, captured.monotonic);
    const encoder = this.#encoder;
    const gate = encoder === undefined || this.#ended ? "away" : this.#events.open();
    if (encoder === undefined || gate === "away" || !this.#pace.take(captured.monotonic)) {
      picture.close();
      return;
    }
    if (gate === "full") {
      picture.close();
      this.#events.dropped();
      return;
    }
    if (this.#keyframeWanted && captured.monotonic - this.#lastForced >= KEYFRAME_SPACING) {
      this.#keyframeWanted = false;
      this.#lastForced = captured.monotonic;
      encoder.requestKeyframe();
    }
    const stamps = { captured, capture: captureDelay(picture, captured), mediaTime: this.#mediaTime(taken) };
    try {
      encoder.encode(picture, stamps);
    } catch {
      encoder.close();
      this.#failed();
    }
  }

  #mediaTime(taken: number): bigint {
    this.#began ??= taken;
    const microseconds = Math.round((taken - this.#began) * US_PER_MS);
    this.#mediaMicroseconds = Math.max(microseconds, this.#mediaMicroseconds + 1);
    return BigInt(this.#mediaMicroseconds) * 1_000n;
  }

  /** The media time (ns) of what was there at this time (ms, monotonic); `undefined` before the first picture. */
  mediaTimeAt(monotonic: number): bigint | undefined {
    const since = monotonic - (this.#began ?? Infinity);
    return since >= 0 ? BigInt(Math.round(since * US_PER_MS)) * 1_000n : undefined;
  }
}

/** Nanoseconds since the browser got a picture from the camera; 0 where it does not say. */
function captureDelay(picture: VideoFrame, captured: Now): number {
  const { captureTime } = metadataOf(picture);
  const delay = captureTime === undefined ? 0 : captured.monotonic - captureTime;
  return delay > 0 && delay < BELIEVED ? Math.round(delay * NS_PER_MS) : 0;
}

function metadataOf(picture: VideoFrame): { readonly captureTime?: number } {
  const source = picture as VideoFrame & { metadata?: () => { readonly captureTime?: number } };
  return source.metadata?.() ?? {};
}
