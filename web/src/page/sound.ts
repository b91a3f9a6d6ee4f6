// The sound of the stream: silent until the user switches it on, since browsers let nothing be heard before.

import { type SoundOffer, type ToWorker } from "../messages.ts";
import { type Steer } from "../sound/pcm.ts";
import { texts } from "../text/page.ts";
import { byId, say } from "./dom.ts";

/** Milliseconds between two looks at when samples leave, and how many looks are remembered. */
const LOOK_INTERVAL = 200;
const LOOKS = 15;
/** Channels of the output at least: one channel is heard on both sides. */
const STEREO = 2;
/**
 * Seconds of latency that the output should have: as few as it can. With "interactive" Chromium keeps 40 ms, by which
 * alone lips would be late.
 */
const LATENCY = 0;
const MS_PER_S = 1_000;
const PROCESSOR = "/sound.js";

/** Sends a message to the worker, and gives away what it transfers. */
export type SendWith = (message: ToWorker, transfer: Transferable[]) => void;

/** What plays sound, from one press of the button to the next. */
class Output {
  readonly #context: AudioContext;
  #node: AudioWorkletNode | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #offsets: number[] = [];

  constructor(rate: number) {
    this.#context = contextOf(rate);
  }

  /** Loads the audio thread's part, and joins it with the worker. @throws what the browser throws */
  async begin(channels: number, send: SendWith): Promise<void> {
    const context = this.#context;
    await Promise.all([context.resume(), context.audioWorklet.addModule(PROCESSOR)]);
    const node = new AudioWorkletNode(context, "sealcast-sound", {
      numberOfInputs: 0, numberOfOutputs: 1, outputChannelCount: [Math.max(STEREO, channels)],
    });
    this.#node = node;
    const { port1, port2 } = new MessageChannel();
    this.#steer({ type: "feed", port: port2 }, [port2]);
    send({ type: "sound", port: port1 }, [port1]);
    node.connect(context.destination);
    this.#look();
    this.#timer = setInterval(() => {
      this.#look();
    }, LOOK_INTERVAL);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#steer({ type: "close" });
    // One that is closed already says so by rejecting.
    this.#context.close().catch(() => undefined);
  }

  #steer(message: Steer, transfer: Transferable[] = []): void {
    this.#node?.port.postMessage(message, transfer);
  }

  /** Tells the audio thread when its samples leave, by the clock of the pictures. */
  #look(): void {
    const offset = leavesAfter(this.#context);
    if (offset === undefined) {
      return;
    }
    this.#offsets = [...this.#offsets, offset].slice(-LOOKS);
    const sorted = [...this.#offsets].sort((a, b) => a - b);
    const [least, median, most] = [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
    if (least !== undefined && median !== undefined && most !== undefined) {
      this.#steer({ type: "output", offset: median, spread: (most - least) / 2 });
    }
  }
}

/** With the stream's own rate the browser converts it; a rate that it does not know, it throws at. */
function contextOf(sampleRate: number): AudioContext {
  try {
    return new AudioContext({ latencyHint: LATENCY, sampleRate });
  } catch {
    return new AudioContext({ latencyHint: LATENCY });
  }
}

/** Milliseconds from a sample's context time to when it leaves (since 1970); not known at the beginning. */
function leavesAfter(context: AudioContext): number | undefined {
  const { contextTime = 0, performanceTime = 0 } = context.getOutputTimestamp();
  return contextTime > 0 && performanceTime > 0
    ? performance.timeOrigin + performanceTime - contextTime * MS_PER_S : undefined;
}

/** The button for sound, and what there is to say beside it. */
export class Sound {
  readonly #button = byId("sound", HTMLButtonElement);
  readonly #words = byId("sound-words", HTMLElement);
  readonly #send: SendWith;
  #offer: SoundOffer | undefined;
  #output: Output | undefined;
  /** What the user wants, which outlives a connection. */
  #wanted = false;

  constructor(send: SendWith) {
    this.#send = send;
    this.#button.addEventListener("click", () => {
      this.#wanted = this.#output === undefined;
      this.#turn();
    });
  }

  /** Another connection begins, or there is none: nothing is heard. */
  clear(): void {
    this.#output?.close();
    this.#output = undefined;
    this.#offer = undefined;
    this.#show("");
  }

  /** The stream has sound. It goes on by itself where the user had switched it on before. */
  take(offer: SoundOffer): void {
    const before = this.#offer;
    this.#offer = offer;
    const other = before !== undefined && (before.rate !== offer.rate || before.channels !== offer.channels);
    if (offer.unable !== "" || other) {
      this.#silence();
    }
    this.#show("");
    if (offer.unable === "" && this.#wanted && this.#output === undefined) {
      this.#turn();
    }
  }

  #turn(): void {
    if (this.#wanted) {
      void this.#begin();
    } else {
      this.#silence();
      this.#show("");
    }
  }

  #silence(): void {
    if (this.#output !== undefined) {
      this.#output.close();
      this.#output = undefined;
      this.#send({ type: "sound" }, []);
    }
  }

  async #begin(): Promise<void> {
    const offer = this.#offer;
    if (offer === undefined) {
      return;
    }
    let output: Output | undefined;
    try {
      // In the same turn as the press of the button, or the browser would not let it begin.
      output = new Output(offer.rate);
      this.#output = output;
      this.#show("");
      await output.begin(offer.channels, (message, transfer) => {
        if (output === this.#output) {
          this.#send(message, transfer);
        }
      });
    } catch {
      if (output === this.#output) {
        this.#wanted = false;
        this.#silence();
        this.#show(texts().live.soundBroken);
      } else {
        output?.close();
      }
    }
  }

  #show(trouble: string): void {
    const offer = this.#offer;
    const able = offer !== undefined && offer.unable === "";
    this.#button.hidden = !able;
    say(this.#button, this.#output === undefined ? texts().live.soundOn : texts().live.soundOff);
    this.#button.title = offer?.name ?? "";
    const words = offer === undefined ? "" : able ? trouble : offer.unable;
    say(this.#words, words);
    this.#words.hidden = words === "";
  }
}
