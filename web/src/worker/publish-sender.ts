// Seals pictures in their order, as fast as the carrier takes them.

import { type Encoded } from "../media/encoder.ts";
import { type Bytes, equal } from "../protocol/bytes.ts";
import { type OutgoingFrame, type StreamInfo } from "../protocol/index.ts";
import { type Cancel, type Time } from "./clock.ts";

/** The stream of the only source. */
export const STREAM = 1;
/** Bytes in the carrier above which nothing is sealed: what is sealed cannot be left out any more. */
export const MAX_BACKLOG = 65_536;
/** Pictures that wait for the carrier at most, and for how long (ms). Those that follow one left out are of no use. */
const MAX_WAITING = 4;
const MAX_WAIT = 1_000;
/** Pictures whose departure is watched at most. */
const MAX_LEAVING = 64;
/** Milliseconds after which the carrier is asked again, the first times and later. */
const SOON = 1;
const SOON_TIMES = 4;
const LATER = 5;
const NS_PER_MS = 1e6;
const MAX_U32 = 0xffff_ffff;

/** A picture with its number. */
export interface Numbered extends Encoded {
  readonly number: bigint;
}

/** How long the stages of a picture took, in milliseconds. */
export interface SentStages {
  readonly queue: number;
  readonly seal: number;
}

/** Who is told what became of pictures. */
export interface SenderEvents {
  /** A picture was sealed and given to the carrier. */
  sent(picture: Numbered, stages: SentStages): void;
  /** The last byte of a picture has left this browser, as far as it says, so long after it was sealed (ms). */
  left(send: number): void;
  /** So many pictures were left out. */
  dropped(count: number): void;
  /** Only a keyframe can follow now. */
  keyframeNeeded(): void;
}

/** Where pictures go: a session with a viewer, or a relay. */
export interface Target {
  /** True once nothing is taken any more. */
  readonly isOver: boolean;
  /** Bytes that were taken and have not left. */
  readonly backlog: number;
  /** Seals a picture, after its description where there is one. Returns when that began and ended (ms, monotonic). */
  seal(frame: OutgoingFrame, info: StreamInfo | undefined): Promise<SealTimes>;
}

/** When a picture's sealing began and ended. */
export interface SealTimes {
  readonly begun: number;
  readonly sealed: number;
}

interface Leaving {
  /** Bytes of all pictures of this session up to its last one. */
  readonly end: number;
  readonly sealed: number;
}

/** The pictures for one target. */
export class Sender {
  readonly #target: Target;
  readonly #events: SenderEvents;
  readonly #time: Time;
  readonly #describe: (parameters: Bytes) => StreamInfo;
  #queue: Numbered[] = [];
  #leaving: Leaving[] = [];
  /** True from a picture that was left out up to the next keyframe; a session begins with one. */
  #skipping = true;
  #askForKeyframe = true;
  #infoDue = true;
  #parameters: Bytes = new Uint8Array(0);
  #sealing = false;
  #stopped = false;
  #timer: Cancel | undefined;
  #asked = 0;
  #bytes = 0;
  #previous = { seal: 0, send: 0 };

  /** @param describe makes the description of the stream of parameter sets */
  constructor(target: Target, describe: (parameters: Bytes) => StreamInfo, events: SenderEvents, time: Time) {
    this.#target = target;
    this.#describe = describe;
    this.#events = events;
    this.#time = time;
  }

  /** Bytes that wait: those in the carrier, and of pictures that are not sealed yet. */
  get waitingBytes(): number {
    return this.#queue.reduce((sum, { data }) => sum + data.length, this.#target.backlog);
  }

  /** The viewer asks for a keyframe: it gets the description with it. */
  keyframeRequested(): void {
    this.#infoDue = true;
  }

  /** Begins: asks for the keyframe that all else follows. */
  begin(): void {
    this.#pump();
  }

  /** So many bytes that are no picture's went to the target. */
  wentBeside(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Takes the next picture. */
  offer(picture: Numbered): void {
    if (this.#stopped || (this.#skipping && !picture.keyframe)) {
      this.#events.dropped(1);
      return;
    }
    this.#skipping = false;
    this.#askForKeyframe = false;
    this.#queue.push(picture);
    this.#pump();
  }

  /** Nothing is sealed any more. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.();
    this.#timer = undefined;
    this.#queue = [];
    this.#leaving = [];
  }

  #pump(): void {
    if (this.#stopped) {
      return;
    }
    this.#noteLeft();
    const room = this.#target.backlog < MAX_BACKLOG;
    if (!room) {
      this.#dropLate();
    } else if (this.#askForKeyframe) {
      // Before there is room it would only wait, and a keyframe is long.
      this.#askForKeyframe = false;
      this.#events.keyframeNeeded();
    }
    const next = room && !this.#sealing ? this.#queue.shift() : undefined;
    if (next !== undefined) {
      this.#sealing = true;
      void this.#seal(next).finally(() => {
        this.#sealing = false;
        this.#asked = 0;
        this.#pump();
      });
    }
    this.#watch();
  }

  /** Asks the carrier again as long as anything waits for it; it does not tell by itself. */
  #watch(): void {
    const waits = this.#leaving.length > 0 || this.#askForKeyframe || (this.#queue.length > 0 && !this.#sealing);
    if (this.#timer !== undefined || !waits) {
      return;
    }
    this.#asked += 1;
    this.#timer = this.#time.after(this.#asked <= SOON_TIMES ? SOON : LATER, () => {
      this.#timer = undefined;
      this.#pump();
    });
  }

  /** Leaves out what has waited too long: everything before the last keyframe that waits, or all up to the next one. */
  #dropLate(): void {
    const age = this.#time.now().monotonic - (this.#queue[0]?.encoded.monotonic ?? Infinity);
    if (this.#queue.length <= MAX_WAITING && age <= MAX_WAIT) {
      return;
    }
    const key = this.#queue.findLastIndex(({ keyframe }) => keyframe);
    const dropped = this.#queue.splice(0, key > 0 ? key : this.#queue.length);
    this.#events.dropped(dropped.length);
    if (this.#queue.length === 0) {
      this.#skipping = true;
      this.#askForKeyframe = true;
    }
  }

  async #seal(picture: Numbered): Promise<void> {
    const { stamps, encoded, number, keyframe, data } = picture;
    const info = this.#infoFor(picture);
    try {
      const times = await this.#target.seal({
        stream: STREAM, keyframe, data,
        stamps: {
          frame: number, mediaTime: stamps.mediaTime, captured: stamps.captured.wall, encoded: encoded.wall,
          previousSeal: nanoseconds(this.#previous.seal), previousSend: nanoseconds(this.#previous.send),
          capture: Math.min(stamps.capture, MAX_U32), stamp: "arrival",
        },
      }, info);
      this.#sealed(picture, times);
    } catch {
      // Either the target is over, which is told elsewhere, or this picture cannot be sent.
      this.#events.dropped(1 + this.#queue.length);
      this.#queue = [];
      this.#skipping = true;
      this.#askForKeyframe = !this.#target.isOver;
      this.#infoDue = true;
    }
  }

  #sealed(picture: Numbered, { begun, sealed }: SealTimes): void {
    const seal = sealed - begun;
    this.#previous = { seal, send: 0 };
    this.#bytes += picture.data.length;
    this.#leaving.push({ end: this.#bytes, sealed });
    if (this.#leaving.length > MAX_LEAVING) {
      this.#leaving.shift();
    }
    this.#events.sent(picture, { queue: begun - picture.encoded.monotonic, seal });
  }

  /** The description that goes before a picture, if one must. */
  #infoFor({ keyframe, parameters }: Numbered): StreamInfo | undefined {
    if (parameters.length > 0 && !equal(parameters, this.#parameters)) {
      this.#parameters = parameters;
      this.#infoDue = true;
    }
    if (!keyframe || !this.#infoDue) {
      return undefined;
    }
    this.#infoDue = false;
    return this.#describe(this.#parameters);
  }

  /** Notes pictures that have left: what the carrier still holds are the bytes of later ones. */
  #noteLeft(): void {
    const { backlog } = this.#target;
    const now = this.#time.now().monotonic;
    for (let first = this.#leaving[0]; first !== undefined; first = this.#leaving[0]) {
      if (backlog > this.#bytes - first.end) {
        return;
      }
      this.#leaving.shift();
      const send = now - first.sealed;
      if (this.#leaving.length === 0) {
        this.#previous = { ...this.#previous, send };
      }
      this.#events.left(send);
    }
  }
}

function nanoseconds(milliseconds: number): number {
  return Math.min(Math.round(milliseconds * NS_PER_MS), MAX_U32);
}
