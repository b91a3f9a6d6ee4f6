// Decodes H.264, H.265 and AV1 with the browser's decoder, and watches over it.

import { type Time } from "../worker/clock.ts";
import { type Codec, type CodecConfig, MAX_SIDE, type MakeCodec, type Picture } from "./codecs.ts";
import { Av1Stream } from "./av1-config.ts";
import { type Absurd, type DecoderStream, type StreamConfig } from "./decoder-stream.ts";
import { H264Stream } from "./h264-config.ts";
import { H265Stream } from "./h265-config.ts";
import { type Bytes } from "../protocol/bytes.ts";

/** Chunks that wait for the decoder at most; above, everything up to the next keyframe is dropped. */
const MAX_QUEUED = 8;
/** Beyond that, what a publisher kept for a page that joined in the middle of a group of pictures: it comes at once. */
const MAX_KEPT = 600;
/** Frames that may stay in the decoder while another comes. */
const MAX_INSIDE = 1;
/** A decoder that has taken so many frames and gives nothing has failed. */
const MAX_HELD = 64;
/** So many frames in a row must find more than that before another decoder is tried. */
const PATIENCE = 10;
/** Milliseconds that lie between two frames that count for that: a burst fills every decoder. */
const BURST = 5;
/** Milliseconds between two decoders that failed. */
const RESTART_PAUSE = 1_000;
/** Decoders that failed in a row, without a picture, before the user is told that it is the codec. */
const HOPELESS = 3;
/** Microseconds between two timestamps; they only name the frames. */
const STEP = 1_000;

/** Which decoder is in use, as figures name it. */
export type DecoderKind = "hardware-allowed" | "software";

/** Who is told what comes of frames. */
export interface DecoderEvents<Tag> {
  /** A picture, which the receiver closes, with the tag of its frame. */
  picture(picture: Picture, tag: Tag): void;
  /** A frame goes to the decoder now. */
  fed(tag: Tag): void;
  /** A frame was dropped: no picture comes of it. */
  dropped(): void;
  /** Nothing can be decoded before the next keyframe. */
  needsKeyframe(): void;
  /** Something that the user's log should have. */
  news(words: string, bad: boolean): void;
}

/** Decodes the frames of one stream, one after the other. */
export class StreamDecoder<Tag> {
  readonly #make: MakeCodec;
  readonly #events: DecoderEvents<Tag>;
  readonly #time: Time;
  #stream: DecoderStream = new H264Stream();
  #codec: Codec | undefined;
  #config: StreamConfig | undefined;
  #awaitsKeyframe = true;
  #software = false;
  /** True once another kind was tried, whatever came of it. */
  #switched = false;
  readonly #inside = new Map<number, Tag>();
  /** Timestamps of kept frames among them. */
  readonly #kept = new Set<number>();
  #next = 0;
  /** Timestamp of the last keyframe. */
  #keyAt = 0;
  #tooMany = 0;
  #lastFed = -Infinity;
  #lastFailure = -Infinity;
  #failures = 0;
  /** How often a decoder was made anew, and access units that no decoder saw. */
  restarts = 0;
  absurd = 0;

  constructor(make: MakeCodec, events: DecoderEvents<Tag>, time: Time) {
    this.#make = make;
    this.#events = events;
    this.#time = time;
  }

  /** Frames that went in and have not come out. */
  get inside(): number {
    return this.#inside.size;
  }

  get kind(): DecoderKind {
    return this.#software ? "software" : "hardware-allowed";
  }

  /** The codec in use, such as `avc1.42C01E`; empty before the first keyframe. */
  get codec(): string {
    return this.#config?.codec ?? "";
  }

  /** The codec of the stream as described, such as `avc1.42C01E`; `undefined` without parameters that tell. */
  get described(): string | undefined {
    return this.#stream.config?.codec;
  }

  /** A stream of this codec begins, instead of the one before. */
  begin(codec: "h264" | "h265" | "av1"): void {
    this.reset();
    this.#stream = codec === "h264" ? new H264Stream() : codec === "h265" ? new H265Stream() : new Av1Stream();
  }

  /** Takes the parameters of a codec configuration. */
  describe(parameters: Bytes): void {
    this.#stream.describe(parameters);
  }

  /** Takes a frame. Its data is the decoder's from now on. */
  feed(data: Bytes, keyframe: boolean, tag: Tag, kept = false): void {
    const unit = this.#stream.convert(data, keyframe);
    if (typeof unit === "string") {
      this.#refuse(unit, keyframe);
      return;
    }
    this.#watch();
    if (!keyframe && this.#awaitsKeyframe) {
      this.#drop(true);
      return;
    }
    if (keyframe && !this.#prepare()) {
      this.#drop(true);
      return;
    }
    if ((this.#codec?.queued ?? 0) > MAX_QUEUED + this.#keptInside) {
      this.#awaitsKeyframe = true;
      this.#drop(true);
      return;
    }
    this.#decode(unit, keyframe, tag, kept);
  }

  /** Ends decoding; the next keyframe begins anew. */
  reset(): void {
    this.#codec?.close();
    this.#codec = undefined;
    this.#config = undefined;
    this.#inside.clear();
    this.#kept.clear();
    this.#awaitsKeyframe = true;
    this.#tooMany = 0;
  }

  #refuse(why: Absurd, keyframe: boolean): void {
    this.absurd += 1;
    // The first, the tenth, the hundredth: a stream of nothing else shall not fill the log.
    if (Number.isInteger(Math.log10(this.absurd))) {
      this.#events.news(`the decoder was not given what cannot be a frame (${why}; ${this.absurd} so far)`, true);
    }
    // Later frames may need one that was too much. One without a picture is missed by none of them.
    const needed = why === "too-long" || why === "too-many-units";
    this.#awaitsKeyframe ||= needed;
    this.#drop(needed || keyframe);
  }

  #drop(ask: boolean): void {
    this.#events.dropped();
    if (ask) {
      this.#events.needsKeyframe();
    }
  }

  /** Before a keyframe: there is a decoder with the right configuration. False if there cannot be one now. */
  #prepare(): boolean {
    const { config } = this.#stream;
    if (config === undefined || this.#time.now().monotonic < this.#lastFailure + RESTART_PAUSE) {
      return false;
    }
    if (this.#codec !== undefined && this.#config === config) {
      return true;
    }
    this.#config = config;
    if (config.reordering > 0) {
      const words = `the stream reorders pictures, which delays it by ${config.reordering} of them or more`;
      this.#events.news(`${words}: switch B frames off at the camera`, true);
    }
    try {
      this.#codec ??= this.#begin();
      this.#codec.configure(this.#configuration(config));
      return true;
    } catch {
      this.#failed(this.#codec);
      return false;
    }
  }

  #configuration({ codec, description }: StreamConfig): CodecConfig {
    return { codec, ...(description !== undefined && { description }), software: this.#software };
  }

  #begin(): Codec {
    const codec: Codec = this.#make({
      picture: (picture, timestamp) => {
        this.#came(codec, picture, timestamp);
      },
      failed: () => {
        this.#failed(codec);
      },
    });
    return codec;
  }

  get #keptInside(): number {
    return Math.min(this.#kept.size, MAX_KEPT);
  }

  #decode(data: Bytes, key: boolean, tag: Tag, kept: boolean): void {
    const codec = this.#codec;
    if (codec === undefined) {
      this.#drop(true);
      return;
    }
    if (this.#inside.size >= MAX_HELD + this.#keptInside) {
      this.#failed(codec);
      return;
    }
    const timestamp = this.#next * STEP;
    this.#next += 1;
    if (key) {
      this.#keyAt = timestamp;
    }
    this.#inside.set(timestamp, tag);
    if (kept) {
      this.#kept.add(timestamp);
    }
    this.#lastFed = this.#time.now().monotonic;
    this.#events.fed(tag);
    try {
      codec.decode({ key, timestamp, data });
      this.#awaitsKeyframe = false;
    } catch {
      this.#failed(codec);
    }
  }

  #came(from: Codec, picture: Picture, timestamp: number): void {
    const tag = this.#inside.get(timestamp);
    if (from !== this.#codec || tag === undefined) {
      picture.close();
      return;
    }
    this.#inside.delete(timestamp);
    this.#kept.delete(timestamp);
    if (timestamp >= this.#keyAt) {
      this.#forgetBefore(this.#keyAt);
    }
    // Safari has been seen to give pictures without size when its decoder is lost.
    if (picture.width < 1 || picture.height < 1 || picture.width > MAX_SIDE || picture.height > MAX_SIDE) {
      picture.close();
      this.#events.dropped();
      this.#failed(from);
      return;
    }
    this.#failures = 0;
    this.#events.picture(picture, tag);
  }

  /** After a picture from behind a keyframe nothing from before it comes: a decoder may lose it at a configuration. */
  #forgetBefore(timestamp: number): void {
    for (const earlier of this.#inside.keys()) {
      if (earlier < timestamp) {
        this.#inside.delete(earlier);
        this.#kept.delete(earlier);
        this.#events.dropped();
      }
    }
  }

  /** Looks for a decoder that holds frames back, before a frame goes in. */
  #watch(): void {
    const now = this.#time.now().monotonic;
    if (now < this.#lastFed + BURST) {
      return;
    }
    // What still waits in the queue is not held back: the decoder is busy.
    // Pictures that the stream itself reorders are not held back by this decoder alone.
    const reordering = this.#config?.reordering ?? 0;
    const most = MAX_INSIDE + reordering;
    const held = this.#inside.size > most && this.#codec?.queued === 0;
    this.#tooMany = held ? this.#tooMany + 1 : 0;
    if (this.#tooMany < PATIENCE || this.#switched) {
      return;
    }
    this.#switched = true;
    this.#software = true;
    this.#tooMany = 0;
    this.#events.news(`the decoder holds ${this.#inside.size} frames back: another one, in software, is tried`, true);
    this.#anew();
  }

  #failed(codec: Codec | undefined): void {
    if (codec !== undefined && codec !== this.#codec) {
      return;
    }
    this.#lastFailure = this.#time.now().monotonic;
    this.#failures += 1;
    if (this.#software && this.#failures === HOPELESS) {
      // The browser may have no decoder in software.
      this.#software = false;
    }
    if (this.#failures <= HOPELESS) {
      const hopeless = `this browser does not decode this video (${this.codec}); use another browser, or another codec`;
      const words = this.#failures === HOPELESS ? hopeless : "the decoder failed, and another one is begun";
      this.#events.news(words, true);
    }
    this.#anew();
  }

  #anew(): void {
    for (let left = this.#inside.size; left > 0; left -= 1) {
      this.#events.dropped();
    }
    this.restarts += 1;
    this.reset();
    this.#events.needsKeyframe();
  }
}
