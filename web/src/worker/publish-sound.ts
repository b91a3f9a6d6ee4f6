// The sound beside the pictures of a publisher: from its source to the sessions or the relay that take it.

import { type SendingFigures } from "../messages.ts";
import { soundName } from "../sound/config.ts";
import { type MakeSoundEncoder } from "../sound/encoder.ts";
import { type Bytes } from "../protocol/bytes.ts";
import { type OutgoingFrame, SOUND_STREAM, type SoundInfo } from "../protocol/index.ts";
import { type Cancel, type Time } from "./clock.ts";
import { type EncodedSound, Microphone, type MicrophoneEvents } from "./publish-microphone.ts";
import { MAX_BACKLOG } from "./publish-sender.ts";
import { type Post } from "./role.ts";

/** Bytes in the carrier above which no sound is sealed: more than stop pictures, so it goes first where both wait. */
const MAX_SOUND_BACKLOG = MAX_BACKLOG + 8_192;
/** Packets that wait for the carrier at most, and for how long (ms): sound that comes later is of no use. */
const MAX_WAITING = 32;
const MAX_WAIT = 400;
/** Nothing more is sealed while a packet has been in the carrier for so long (ms): the path stands still. */
const STALLED = 1_000;
/** Packets whose departure is watched at most: those of such a time, and some. */
const MAX_LEAVING = 64;
/** Milliseconds after which the carrier is asked again. */
const ASK_AGAIN = 10;

/** Where sound goes: a session with a viewer, or a relay. */
export interface SoundTarget {
  /** True once nothing is taken any more. */
  readonly isOver: boolean;
  /** Bytes that were taken and have not left. */
  readonly backlog: number;
  /** Seals a packet, of this description. */
  seal(packet: OutgoingFrame, info: SoundInfo): Promise<void>;
}

/** What it needs. */
export interface PublishSoundParts {
  /** `undefined` where the browser encodes no sound. */
  readonly makeEncoder: MakeSoundEncoder | undefined;
  readonly time: Time;
  readonly post: Post;
  /** The media time (ns) of what was recorded then (ms, monotonic); `undefined` before the first picture. */
  mediaTimeAt(monotonic: number): bigint | undefined;
  /** True while there is anybody who could open a packet. */
  isHeard(): boolean;
  /** A packet of so many bytes was given to the carrier. */
  sent(length: number): void;
  /** For tests: a packet that was sealed, by its number. */
  readonly unit?: ((frame: bigint, data: Bytes) => void) | undefined;
}

interface Waiting {
  readonly since: number;
  readonly info: SoundInfo;
  readonly packet: OutgoingFrame;
}

/** The sound of one publisher. */
export class PublishSound implements MicrophoneEvents {
  readonly #parts: PublishSoundParts;
  readonly #microphone: Microphone;
  #target: SoundTarget | undefined;
  #waiting: Waiting[] = [];
  /** Bytes that went to the target, the pictures' as well; and packets that have not left, by where they end. */
  #bytes = 0;
  #leaving: { readonly end: number; readonly since: number }[] = [];
  #sealing = false;
  #timer: Cancel | undefined;
  /** Number of the next packet; the count goes on from one session to the next. */
  #number = 0n;
  #info: SoundInfo | undefined;
  #counts = { packets: 0, dropped: 0 };

  constructor(parts: PublishSoundParts) {
    this.#parts = parts;
    this.#microphone = new Microphone(parts.makeEncoder, this, parts.time);
  }

  /** Sound comes from here from now on; without a source none does. */
  turn(source?: ReadableStream<AudioData>): void {
    this.#microphone.turn(source);
  }

  /** Sound goes there from now on. */
  begin(target: SoundTarget): void {
    this.#target = target;
    this.#waiting = [];
    this.#counts = { packets: 0, dropped: 0 };
  }

  /** So many bytes of pictures went to the target. */
  wentBeside(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Sound goes nowhere. */
  over(): void {
    this.#target = undefined;
    this.#leaving = [];
    this.#waiting = [];
    this.#timer?.();
    this.#timer = undefined;
  }

  /** Nothing follows: the source is let go. */
  stop(): void {
    this.over();
    this.#microphone.turn();
  }

  /** Figures of the sound, once there was any. */
  get figures(): SendingFigures | undefined {
    const info = this.#info;
    return info && { name: soundName(info), on: this.#microphone.isOn, ...this.#counts };
  }

  // What the microphone tells.

  open(): boolean {
    return this.#target !== undefined && this.#parts.isHeard();
  }

  encoded({ data, info, at, captured, encoded }: EncodedSound): void {
    const mediaTime = this.#parts.mediaTimeAt(at);
    if (this.#target === undefined || mediaTime === undefined) {
      // Of a time before the first picture, or for nobody.
      return;
    }
    this.#info = info;
    const stamps = {
      frame: this.#number, mediaTime, captured, encoded, previousSeal: 0, previousSend: 0, capture: 0,
      stamp: "arrival",
    } as const;
    this.#number += 1n;
    const packet: OutgoingFrame = { stream: SOUND_STREAM, keyframe: true, data, stamps };
    this.#waiting.push({ since: this.#parts.time.now().monotonic, info, packet });
    this.#pump();
  }

  /** One piece of the microphone's, or packets that waited too long. */
  dropped(count = 1): void {
    this.#counts.dropped += count;
  }

  level(peak: number): void {
    this.#parts.post({ type: "microphone-level", peak });
  }

  failed(words: string): void {
    this.#parts.post({ type: "microphone-failed", words });
    this.#parts.post({ type: "event", at: Date.now(), words, bad: true });
  }

  #pump(): void {
    const target = this.#target;
    if (target === undefined || this.#sealing) {
      return;
    }
    this.#dropLate();
    const next = this.#hasRoom(target) ? this.#waiting.shift() : undefined;
    if (next !== undefined) {
      this.#sealing = true;
      void this.#seal(target, next).finally(() => {
        this.#sealing = false;
        this.#pump();
      });
    } else if (this.#waiting.length > 0) {
      this.#timer ??= this.#parts.time.after(ASK_AGAIN, () => {
        this.#timer = undefined;
        this.#pump();
      });
    }
  }

  #hasRoom({ backlog }: SoundTarget): boolean {
    this.#leaving = this.#leaving.filter(({ end }) => backlog > this.#bytes - end).slice(-MAX_LEAVING);
    const stalled = this.#parts.time.now().monotonic - (this.#leaving[0]?.since ?? Infinity) > STALLED;
    return backlog < MAX_SOUND_BACKLOG && !stalled;
  }

  /** Leaves out the oldest, one by one: no packet needs another one. */
  #dropLate(): void {
    const now = this.#parts.time.now().monotonic;
    const kept = this.#waiting.filter(({ since }) => now - since <= MAX_WAIT).slice(-MAX_WAITING);
    this.dropped(this.#waiting.length - kept.length);
    this.#waiting = kept;
  }

  async #seal(target: SoundTarget, { info, packet }: Waiting): Promise<void> {
    try {
      await target.seal(packet, info);
      this.#counts.packets += 1;
      this.#bytes += packet.data.length;
      this.#leaving.push({ end: this.#bytes, since: this.#parts.time.now().monotonic });
      this.#parts.sent(packet.data.length);
      this.#parts.unit?.(packet.stamps.frame, packet.data);
    } catch {
      // Either the target is over, which is told elsewhere, or this packet cannot be sent.
      this.dropped();
    }
  }
}
