// The publisher: a camera's pictures, and as many sessions with a viewer as it takes.

import { type Encoded, type MakeEncoder } from "../media/encoder.ts";
import { isSameSound } from "../sound/config.ts";
import { type MakeSoundEncoder } from "../sound/encoder.ts";
import { type Figures, type ToWorker } from "../messages.ts";
import { type Bytes } from "../protocol/bytes.ts";
import {
  Close, ProtocolError, type Selection, selectionNamed, type SessionEvent, type SoundInfo, type StreamInfo,
} from "../protocol/index.ts";
import { type Cancel, type Time } from "./clock.ts";
import { type SessionDriver } from "./driver.ts";
import { Link, type LinkParts, type LinkRole } from "./link.ts";
import { Camera, type CameraEvents } from "./publish-camera.ts";
import { PublishFigures } from "./publish-figures.ts";
import { type Choice, describeStream, highestRate } from "./publish-options.ts";
import { publisherOutcome } from "./publish-outcome.ts";
import { RateController } from "./publish-rate.ts";
import { MAX_BACKLOG, type Numbered, STREAM, Sender, type SenderEvents, type Target } from "./publish-sender.ts";
import { PublishSound, type SoundTarget } from "./publish-sound.ts";
import { texts } from "../text/worker.ts";
import { type Commands } from "./role.ts";

/** Milliseconds between looks at what waits. */
const OBSERVE_INTERVAL = 50;

/** A session as the place where pictures go. */
function targetOf(driver: SessionDriver, time: Time): Target {
  return {
    get isOver() {
      return driver.isOver;
    },
    get backlog() {
      return driver.carrier.backlog;
    },
    seal: (frame, info) => driver.step(async (session) => {
      const begun = time.now();
      if (info !== undefined) {
        await session.sealInfo(begun, STREAM, info);
      }
      await session.sealFrame(begun, frame);
      return { begun: begun.monotonic, sealed: time.now().monotonic };
    }),
  };
}

/** The same for sound, whose description goes before the first packet and where it changes. */
function soundTargetOf(driver: SessionDriver, time: Time): SoundTarget {
  let described: SoundInfo | undefined;
  return {
    get isOver() {
      return driver.isOver;
    },
    get backlog() {
      return driver.carrier.backlog;
    },
    seal: (packet, info) => driver.step(async (session) => {
      const now = time.now();
      if (described === undefined || !isSameSound(described, info)) {
        described = info;
        await session.sealSoundInfo(now, info);
      }
      await session.sealFrame(now, packet);
    }),
  };
}

/** What does not change while a publisher runs. */
export interface PublisherParts extends LinkParts {
  readonly pictures: ReadableStream<VideoFrame>;
  readonly choice: Choice;
  readonly makeEncoder: MakeEncoder;
  /** `undefined` where the browser encodes no sound. */
  readonly makeSoundEncoder: MakeSoundEncoder | undefined;
  /** For tests: a packet of sound that was sealed, by its number. */
  readonly soundUnit?: (frame: bigint, data: Bytes) => void;
}

/** Publishes until it is told to stop, the pictures end, or there is no hope. */
export class Publisher implements Commands, LinkRole, CameraEvents, SenderEvents {
  readonly handshake: LinkRole["handshake"];
  readonly session: LinkRole["session"];
  readonly stop = { reason: Close.EndOfStream, words: texts().publishing["stopped"] ?? "" };
  readonly #link: Link;
  readonly #camera: Camera;
  readonly #sound: PublishSound;
  readonly #choice: Choice;
  readonly #time: Time;
  #rate: RateController;
  #sender: Sender | undefined;
  #figures = new PublishFigures();
  #selection: Selection;
  #observing: Cancel | undefined;
  /** Number of the next picture; the count goes on from one session to the next, as the camera does. */
  #number = 0n;
  /** The reason why slices or images are encrypted whole, as the log has it. */
  #unsplit: string | undefined;

  constructor(parts: PublisherParts) {
    const { choice, pictures, makeEncoder, time } = parts;
    const { suites, mechanisms, rekey, selection } = choice;
    this.handshake = { role: "publisher", suites, mechanisms };
    this.session = { rekey };
    this.#choice = choice;
    this.#time = time;
    this.#selection = selection;
    this.#rate = this.#newRate();
    this.#link = new Link(parts, this);
    this.#camera = new Camera(pictures, choice.encoder, makeEncoder, this, time);
    this.#sound = new PublishSound({
      makeEncoder: parts.makeSoundEncoder, time, post: parts.post, unit: parts.soundUnit,
      mediaTimeAt: (monotonic) => this.#camera.mediaTimeAt(monotonic),
      isHeard: () => true,
      sent: (length) => {
        this.#sender?.wentBeside(length);
      },
    });
  }

  /** Begins; it never rejects. */
  async run(): Promise<void> {
    void this.#camera.run();
    await this.#link.run();
  }

  command(message: ToWorker): void {
    switch (message.type) {
      case "keyframe":
        this.#camera.requestKeyframe();
        return;
      case "select":
        this.#select(message.selection);
        return;
      case "microphone":
        this.#sound.turn(message.sound);
        return;
      case "rekey":
        this.#link.step((session, now) => session.rekey(now));
        return;
      case "stop":
        this.#link.stop();
        return;
      case "watch":
      case "publish":
      case "publish-relay":
      case "end-access":
      case "jitter":
        // None of a publisher's.
    }
  }

  #select(text: string): void {
    try {
      this.#selection = selectionNamed(text);
    } catch (thrown) {
      this.#link.news(thrown instanceof ProtocolError ? thrown.message : "this is no selection", true);
      return;
    }
    const selection = this.#selection;
    this.#link.step((session, now) => session.select(now, selection));
  }

  // What the link tells.

  outcome = publisherOutcome;

  established(driver: SessionDriver): void {
    this.#figures = new PublishFigures();
    this.#rate = this.#newRate();
    this.#camera.setBitrate(this.#rate.rate);
    const describe = (parameters: Bytes): StreamInfo => describeStream(this.#choice.encoder, parameters);
    this.#sender = new Sender(targetOf(driver, this.#time), describe, this, this.#time);
    const selection = this.#selection;
    if (selection.mode !== "all") {
      this.#link.step((session, now) => session.select(now, selection));
    }
    this.#sender.begin();
    this.#sound.begin(soundTargetOf(driver, this.#time));
    this.#observe(driver);
  }

  event(event: SessionEvent): void {
    if (event.type === "keyframe-requested" && event.stream === STREAM) {
      this.#sender?.keyframeRequested();
      this.#camera.requestKeyframe();
    } else if (event.type === "clock") {
      this.#rate.observeRoundTrip(this.#time.now().monotonic, Number(event.reading.roundTrip) / 1e6);
    }
  }

  media(): void {
    // A viewer sends none, and a session refuses it.
  }

  over(): void {
    this.#observing?.();
    this.#observing = undefined;
    this.#sender?.stop();
    this.#sender = undefined;
    this.#sound.over();
  }

  lost(): void {
    // The camera goes on, and its pictures are let go.
  }

  finished(): void {
    this.#camera.stop();
    this.#sound.stop();
  }

  figures(): Omit<Figures, "refused" | "roundTrip"> {
    const { codec, width, height } = this.#choice.encoder;
    const { failures } = this.#camera;
    const allowed = failures === 0 ? "hardware-allowed" : "software";
    const decoder = codec === "mjpeg" ? "images" : allowed;
    const stream = { width, height, codec: this.#camera.codec, decoder, decoderRestarts: failures } as const;
    const sending = this.#sound.figures;
    return { ...this.#figures.figures(this.#time.now().monotonic, stream), ...(sending && { sending }) };
  }

  // What the camera and its encoder tell.

  open(): "open" | "away" | "full" {
    const sender = this.#sender;
    if (sender === undefined) {
      return "away";
    }
    const waiting = sender.waitingBytes;
    return waiting >= MAX_BACKLOG || this.#rate.isFull(this.#time.now().monotonic, waiting) ? "full" : "open";
  }

  encoded(picture: Encoded): void {
    const numbered: Numbered = { ...picture, number: this.#number };
    this.#number += 1n;
    if (this.#sender !== undefined) {
      this.#figures.encoded(numbered);
      this.#rate.encoded(picture.encoded.monotonic, picture.data.length);
      this.#sender.offer(numbered);
    }
  }

  restarted(): void {
    this.#link.news("the encoder failed, and was made anew", true);
  }

  ended(why?: string): void {
    if (why === undefined) {
      const words = "The pictures ended: the camera was taken away, or is not shared any more.";
      this.#link.end({ state: "ended", cause: "source", words }, Close.EndOfStream);
    } else {
      const words = `${why.charAt(0).toUpperCase()}${why.slice(1)}.`;
      this.#link.end({ state: "failed", cause: "encoder", words }, Close.SourceFailed);
    }
  }

  // What the sender tells.

  sent(...[picture, stages]: Parameters<SenderEvents["sent"]>): void {
    this.#figures.sent(picture, stages, this.#time.now().monotonic);
    this.#sound.wentBeside(picture.data.length);
  }

  left(send: number): void {
    this.#figures.left(send, this.#time.now().monotonic);
  }

  /** Of the camera one picture, of the sender one or more. */
  dropped(count = 1): void {
    this.#figures.dropped(count);
  }

  keyframeNeeded(): void {
    this.#camera.requestKeyframe();
  }

  #newRate(): RateController {
    return new RateController(highestRate(this.#choice.encoder));
  }

  /** Looks at what waits, and has the encoder follow. */
  #observe(driver: SessionDriver): void {
    this.#observing = this.#time.after(OBSERVE_INTERVAL, () => {
      this.#noteUnsplit(driver.session.unsplit?.reason);
      if (this.#sender !== undefined) {
        this.#rate.observe(this.#time.now().monotonic, this.#sender.waitingBytes);
        const bitrate = this.#rate.takeChange();
        if (bitrate !== undefined) {
          this.#camera.setBitrate(bitrate);
        }
        this.#observe(driver);
      }
    });
  }

  /** Says once for each reason that a selection encrypts more than it would have to. */
  #noteUnsplit(reason: string | undefined): void {
    if (reason !== undefined && reason !== this.#unsplit) {
      this.#unsplit = reason;
      this.#link.news(`some pictures are encrypted whole: ${reason}`, false);
    }
  }
}
