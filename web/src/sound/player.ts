// The worker's half of sound: from packets to the audio thread, and what there is to say of it.

import { type SoundFigures, type SoundOffer } from "../messages.ts";
import { type Frame, type SoundInfo } from "../protocol/index.ts";
import { type Time } from "../worker/clock.ts";
import { type MakeSoundCodec } from "./browser-decoder.ts";
import { type SoundConfig, isSameSound, soundConfig, soundName } from "./config.ts";
import { SoundDecoder } from "./decoder.ts";
import { type Feed, type Pcm, type PlayoutReport } from "./pcm.ts";

/** An audio thread that reports nothing for so many milliseconds is fed nothing more, until it does. */
const AUDIO_STALLED = 3_000;

/** What it needs of the browser. */
export interface SoundParts {
  /** `undefined` where the browser decodes no sound. */
  readonly codec: MakeSoundCodec | undefined;
  /** Whether the browser says that it decodes this. */
  readonly decodes: (config: SoundConfig) => Promise<boolean>;
  readonly time: Time;
}

/** Who is told what it does. */
export interface SoundPlayerEvents {
  offer(sound: SoundOffer): void;
  news(words: string, bad: boolean): void;
  /** Tests: what a packet decoded to. Where it is absent, nothing is copied for it. */
  pcm?(pcm: Pcm): void;
}

/** The audio thread, as far as it is used. */
export type SoundPort = Pick<MessagePort, "postMessage" | "close" | "onmessage">;

interface Heard {
  readonly info: SoundInfo;
  readonly decoder: SoundDecoder;
  unable: string;
}

/** Decodes the sound of one session after the other while it is switched on. */
export class SoundPlayer {
  readonly #parts: SoundParts;
  readonly #events: SoundPlayerEvents;
  #heard: Heard | undefined;
  #port: SoundPort | undefined;
  #report: PlayoutReport | undefined;
  /** When the audio thread reported last, or was connected. */
  #reported = 0;
  #counts = { frames: 0, lost: 0, dropped: 0, decoded: 0 };

  constructor(parts: SoundParts, events: SoundPlayerEvents) {
    this.#parts = parts;
    this.#events = events;
  }

  /** The session is over, or another one begins: what was before is not heard. */
  anew(): void {
    this.#heard?.decoder.close();
    this.#heard = undefined;
    this.#report = undefined;
    this.#counts = { frames: 0, lost: 0, dropped: 0, decoded: 0 };
    this.#send({ type: "anew" });
  }

  /** Sound goes to this port from now on, or nowhere. */
  turn(port: SoundPort | undefined): void {
    this.#port?.close();
    this.#heard?.decoder.close();
    this.#port = port;
    this.#report = undefined;
    this.#reported = this.#parts.time.now().monotonic;
    if (port !== undefined) {
      port.onmessage = ({ data }: MessageEvent<PlayoutReport>) => {
        this.#report = data;
        this.#reported = this.#parts.time.now().monotonic;
      };
    }
  }

  /** Takes the description of the stream. One that says what the last one said changes nothing. */
  describe(info: SoundInfo): void {
    const before = this.#heard;
    if (before !== undefined && isSameSound(before.info, info)) {
      return;
    }
    before?.decoder.close();
    if (before !== undefined) {
      this.#send({ type: "anew" });
    }
    const heard: Heard = { info, unable: "", decoder: this.#decoder(info) };
    this.#heard = heard;
    void this.#ask(heard);
  }

  #decoder(info: SoundInfo): SoundDecoder {
    const { codec, time } = this.#parts;
    const decoder: SoundDecoder = new SoundDecoder(info, codec, {
      sound: (pcm) => {
        if (decoder === this.#heard?.decoder) {
          this.#decoded(pcm);
        }
      },
      dropped: () => {
        this.#counts.dropped += 1;
      },
      unable: () => {
        if (decoder === this.#heard?.decoder) {
          this.#unable(this.#heard, "its decoder failed again and again");
        }
      },
    }, time);
    return decoder;
  }

  /** Offers the sound to the user, once it is known whether the browser decodes it. */
  async #ask(heard: Heard): Promise<void> {
    const config = soundConfig(heard.info);
    if (config === undefined) {
      this.#offer(heard);
    } else if (this.#parts.codec === undefined) {
      this.#unable(heard, "it decodes no sound (WebCodecs has no AudioDecoder here)");
    } else if (await this.#parts.decodes(config)) {
      this.#offer(heard);
    } else {
      this.#unable(heard, `it has no decoder for it (${config.codec})`);
    }
  }

  #unable(heard: Heard, why: string): void {
    const name = soundName(heard.info);
    heard.unable = `This browser cannot play the sound (${name}): ${why}. Use another browser, or another codec.`;
    this.#events.news(heard.unable, true);
    this.#offer(heard);
  }

  #offer(heard: Heard): void {
    if (heard === this.#heard) {
      const { info, unable } = heard;
      const { channels, samplesPerSecond: rate } = info;
      this.#events.offer({ name: soundName(info), channels, rate, unable });
    }
  }

  /** Takes a packet. What was kept for a page that joined later is over. */
  frame({ data, preamble, skipped }: Frame): void {
    const heard = this.#heard;
    this.#counts.frames += 1;
    this.#counts.lost += Number(skipped);
    if (heard !== undefined && heard.unable === "" && this.#takes && !preamble.kept) {
      heard.decoder.feed(data, preamble.mediaTime);
    }
  }

  /** True while there is an audio thread that takes sound. */
  get #takes(): boolean {
    return this.#port !== undefined && this.#parts.time.now().monotonic < this.#reported + AUDIO_STALLED;
  }

  #decoded(pcm: Pcm): void {
    this.#counts.decoded += 1;
    if (this.#events.pcm !== undefined) {
      this.#events.pcm({ ...pcm, planes: pcm.planes.map((plane) => plane.slice()) });
    }
    this.#send({ type: "pcm", pcm }, pcm.planes.map(({ buffer }) => buffer));
  }

  /** The picture of this media time (ns) was drawn at this time (ms since 1970, by the monotonic clock). */
  shown(media: bigint, at: number): void {
    if (this.#takes) {
      this.#send({ type: "shown", media: Number(media) / 1e6, at });
    }
  }

  #send(message: Feed, transfer: Transferable[] = []): void {
    this.#port?.postMessage(message, transfer);
  }

  /** Figures of the sound, if there is any. */
  figures(): SoundFigures | undefined {
    const heard = this.#heard;
    if (heard === undefined) {
      return undefined;
    }
    const on = this.#port === undefined ? "off" : this.#takes ? "on" : "stalled";
    return {
      name: soundName(heard.info), state: heard.unable === "" ? on : "unable", ...this.#counts,
      ...(on === "on" && this.#report !== undefined && { playout: this.#report }),
    };
  }
}
