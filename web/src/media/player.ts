// From the session's media to the canvas: decoder, screen and figures of the stream that is shown.

import { type Figures } from "../messages.ts";
import { type Bytes } from "../protocol/bytes.ts";
import { type Frame, type Media, type Orientation, type StreamInfo } from "../protocol/index.ts";
import { SoundPlayer, type SoundParts, type SoundPlayerEvents, type SoundPort } from "../sound/player.ts";
import { type ClockEstimate, type Time } from "../worker/clock.ts";
import { type MakeCodec } from "./codecs.ts";
import { type DecoderEvents, StreamDecoder } from "./decoder.ts";
import { Freezes } from "./freezes.ts";
import { ImageDecoder, type MakeImage } from "./images.ts";
import { Screen, type Surface, UPRIGHT } from "./screen.ts";
import { Stages, type Way } from "./stages.ts";

/** Milliseconds over which rates are counted. */
const RATE_WINDOW = 1_000;
/** Frames that a rate is counted from at most. */
const MAX_ARRIVALS = 512;

/** What a player needs of the browser. */
export interface PlayerParts {
  readonly surface: Surface;
  /** `undefined` where the browser decodes no video. */
  readonly codec: MakeCodec | undefined;
  /** Says of a codec, such as `av01.0.04M.08`, whether the browser decodes it; without it, decoding tells. */
  readonly supports?: (codec: string) => Promise<boolean>;
  readonly image: MakeImage;
  readonly time: Time;
  readonly sound: Omit<SoundParts, "time">;
}

/** Who is told what a player does. */
export interface PlayerEvents extends SoundPlayerEvents {
  /** The publisher should send a keyframe of this stream. */
  needsKeyframe(stream: number): void;
  /** This browser cannot show the stream at all. */
  unable(words: string): void;
  size(width: number, height: number): void;
  /** What is known of the publisher's clock at this monotonic time. */
  clock(now: number): ClockEstimate | undefined;
  /** Tests: an access unit goes to the decoder. Where it is absent, no access unit is copied for it. */
  unit?(frame: bigint, data: Bytes): void;
  /** The laboratory: this frame was drawn, and all that will be known of its way is. */
  way?(frame: bigint, way: Way): void;
}

/** What a player counts. */
export type PlayerFigures = Omit<Figures, "refused" | "roundTrip" | "membership">;

/** A frame on its way, with its data where a test wants it. */
interface Tag {
  readonly way: Way;
  readonly frame: bigint;
  /** Nanoseconds since the stream began. */
  readonly media: bigint;
  readonly unit?: Bytes;
}

interface Shown {
  readonly stream: number;
  readonly info: StreamInfo;
}

/** Shows the first stream that a session describes. */
export class Player {
  readonly #events: PlayerEvents;
  readonly #time: Time;
  readonly #screen: Screen<Tag>;
  readonly #video: StreamDecoder<Tag> | undefined;
  readonly #supports: PlayerParts["supports"];
  readonly #images: ImageDecoder<Tag>;
  readonly #sound: SoundPlayer;
  readonly #stages = new Stages();
  #shown: Shown | undefined;
  #lastDrawn: Tag | undefined;
  #arrivals: { readonly at: number; readonly bytes: number }[] = [];
  #counts = { frames: 0, drawn: 0, dropped: 0, keyframes: 0, bytes: 0 };
  #freezes = new Freezes();

  constructor(parts: PlayerParts, events: PlayerEvents, jitter: number) {
    const { time } = parts;
    this.#events = events;
    this.#time = time;
    const dropped = (): void => {
      this.#counts.dropped += 1;
    };
    this.#screen = new Screen(parts.surface, {
      dropped,
      drawn: (tag) => {
        this.#drawn(tag);
      },
      size(width, height) {
        events.size(width, height);
      },
    }, time, jitter);
    const decoding: DecoderEvents<Tag> = {
      dropped,
      fed: (tag) => {
        this.#fed(tag);
      },
      picture: (picture, tag) => {
        tag.way.decoded = time.now().monotonic;
        this.#screen.take(picture, tag.way.captured, tag);
      },
      needsKeyframe: () => {
        this.#needsKeyframe();
      },
      news(words, bad) {
        events.news(words, bad);
      },
    };
    this.#video = parts.codec && new StreamDecoder(parts.codec, decoding, time);
    this.#supports = parts.supports;
    this.#images = new ImageDecoder(parts.image, decoding);
    this.#sound = new SoundPlayer({ ...parts.sound, time }, events);
  }

  /** A session is live: its pictures are shown. */
  begin(): void {
    this.end();
    this.#shown = undefined;
    this.#lastDrawn = undefined;
    this.#stages.clear();
    this.#arrivals = [];
    this.#counts = { frames: 0, drawn: 0, dropped: 0, keyframes: 0, bytes: 0 };
    this.#freezes = new Freezes();
    this.#screen.orientation = UPRIGHT;
    this.#screen.open();
  }

  /** The session is not live any more: nothing is drawn, and what is on the canvas stays until `clear`. */
  end(): void {
    this.#screen.close();
    this.#video?.reset();
    this.#images.reset();
    this.#sound.anew();
  }

  /** Sound goes to the audio thread at this port from now on, or nowhere. */
  turnSound(port: SoundPort | undefined): void {
    this.#sound.turn(port);
  }

  /** Pictures are turned so before they are shown. */
  orient(orientation: Orientation): void {
    this.#screen.orientation = orientation;
  }

  clear(): void {
    this.#screen.clear();
  }

  /** The stream that is shown, or that will be if the publisher has only one. */
  get stream(): number {
    return this.#shown?.stream ?? 1;
  }

  set jitter(milliseconds: number) {
    this.#screen.target = milliseconds;
  }

  /** Takes what the session hands out. */
  media(media: Media): void {
    switch (media.type) {
      case "info":
        this.#describe(media.stream, media.info);
        return;
      case "frame":
        this.#frame(media);
        return;
      case "sound-info":
        this.#sound.describe(media.info);
        return;
      case "sound":
        this.#sound.frame(media);
        return;
      case "undecodable":
        this.#counts.dropped += 1 + Number(media.skipped);
        this.#stages.interrupted();
        this.#needsKeyframe();
        return;
      case "lost":
        this.#stages.interrupted();
        this.#needsKeyframe();
    }
  }

  /** Asks for a keyframe of the stream that is shown, or of the first. */
  #needsKeyframe(): void {
    this.#events.needsKeyframe(this.stream);
  }

  #describe(stream: number, info: StreamInfo): void {
    if (this.#shown !== undefined && this.#shown.stream !== stream) {
      return;
    }
    const { codec, parameters } = info;
    const begins = this.#shown?.info.codec !== codec;
    this.#shown = { stream, info };
    if (begins) {
      this.#images.reset();
    }
    if (codec === "mjpeg") {
      this.#video?.reset();
    } else if (this.#video === undefined) {
      if (begins) {
        this.#events.unable("This browser has no video decoder (WebCodecs): update it, or use another browser.");
      }
    } else {
      if (begins) {
        this.#video.begin(codec);
      }
      this.#video.describe(parameters);
      if (begins && codec !== "h264") {
        void this.#checkSupport(this.#video.described, codec === "av1" ? "AV1" : "H.265");
      }
    }
  }

  /** Ends the session where the browser says that it does not decode this: not all decode what others do. */
  async #checkSupport(codec: string | undefined, name: string): Promise<void> {
    const supported = codec === undefined || ((await this.#supports?.(codec).catch(() => false)) ?? true);
    if (!supported && this.#video?.described === codec) {
      const what = `This browser does not decode ${name} (${codec})`;
      this.#events.unable(`${what}: use another browser, or ask the publisher for H.264.`);
    }
  }

  #frame(frame: Frame): void {
    if (this.#shown === undefined || frame.stream !== this.#shown.stream) {
      return;
    }
    const { data, keyframe } = frame;
    const now = this.#time.now().monotonic;
    this.#count(frame, now);
    const way = this.#stages.begin(frame, now);
    const { frame: number, mediaTime: media } = frame.preamble;
    // The decoder writes into the data.
    const copied = this.#events.unit !== undefined && { unit: data.slice() };
    const tag: Tag = { way, frame: number, media, ...copied };
    if (this.#shown.info.codec === "mjpeg") {
      this.#images.feed(data, tag);
    } else if (this.#video !== undefined) {
      this.#video.feed(data, keyframe, tag, frame.preamble.kept);
    } else {
      this.#counts.dropped += 1;
    }
  }

  #count({ data, keyframe, skipped }: Frame, at: number): void {
    this.#counts.frames += 1;
    this.#counts.keyframes += keyframe ? 1 : 0;
    this.#counts.bytes += data.length;
    this.#counts.dropped += Number(skipped);
    this.#arrivals.push({ at, bytes: data.length });
    if (this.#arrivals.length > MAX_ARRIVALS) {
      this.#arrivals.shift();
    }
  }

  #drawn(tag: Tag): void {
    const now = this.#time.now().monotonic;
    this.#counts.drawn += 1;
    this.#freezes.drawn(now);
    this.#stages.drawn(tag.way, now, this.#events.clock(now));
    if (!tag.way.kept) {
      this.#sound.shown(tag.media, performance.timeOrigin + now);
    }
    // What its sealing and sending took came with a later frame, so the one before is told.
    const before = this.#lastDrawn;
    this.#lastDrawn = tag;
    if (before !== undefined) {
      this.#events.way?.(before.frame, before.way);
    }
  }

  #fed({ way, frame, unit }: Tag): void {
    way.fed = this.#time.now().monotonic;
    if (unit !== undefined) {
      this.#events.unit?.(frame, unit);
    }
  }

  /** Counts so far, and figures of the last second. */
  figures(): PlayerFigures {
    const now = this.#time.now().monotonic;
    this.#arrivals = this.#arrivals.filter(({ at }) => at > now - RATE_WINDOW);
    const { stages, total, drawn } = this.#stages.figures(now);
    const images = this.#shown?.info.codec === "mjpeg";
    const video = images ? undefined : this.#video;
    const sound = this.#sound.figures();
    return {
      ...this.#screen.size,
      ...this.#counts,
      freezes: this.#freezes.count,
      frozen: this.#freezes.length,
      codec: images ? "mjpeg" : (video?.codec ?? ""),
      framesPerSecond: drawn,
      bitsPerSecond: this.#arrivals.reduce((sum, { bytes }) => sum + bytes * 8, 0),
      inDecoder: images ? this.#images.inside : (video?.inside ?? 0),
      decoder: images ? "images" : (video?.kind ?? "hardware-allowed"),
      decoderRestarts: video?.restarts ?? 0,
      stages,
      ...(total !== undefined && { total }),
      ...(sound !== undefined && { sound }),
    };
  }
}
