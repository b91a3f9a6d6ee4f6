// Writes down what the page's workers say. It runs in the page before the page's own program.

import { type Pcm } from "../../../src/sound/pcm.ts";
import {
  type Audience, type Figures, type FromWorker, type LinkState, type Protection,
  type SoundOffer,
} from "../../../src/messages.ts";

/** What one worker, which is one connection, has said. */
export interface Told {
  readonly states: { readonly state: LinkState; readonly cause?: string; readonly words?: string }[];
  readonly units: { readonly frame: number; readonly sha256: string }[];
  /** Packets of sound that the page sealed. */
  readonly sounds: { readonly frame: number; readonly sha256: string }[];
  readonly events: { readonly words: string; readonly bad: boolean }[];
  readonly sizes: { readonly width: number; readonly height: number }[];
  readonly protections: Protection[];
  /** The newest, and how many came. */
  figures: Figures | undefined;
  reports: number;
  /** What the stream's sound was offered as. */
  readonly offers: SoundOffer[];
  /** The newest, of a publisher through a relay. */
  audience: Audience | undefined;
}

/** What the recorder leaves in the page. */
export interface Recorded {
  /** One of each worker, the oldest first. */
  readonly told: Told[];
  /** What the page's content policy forbade. */
  readonly violations: string[];
}

declare global {
  var recorded: Recorded;
  /** The page's workers, the oldest first, for tests that speak in their place. */
  var workers: Worker[];
  /** What the workers' decoders of sound gave. */
  var decoded: Pcm[];
  /** What is heard of the page: each of its sources joins this too. */
  var tap: AnalyserNode | undefined;
}

/**
 * Puts a class of its own in the place of `Worker`, which hears what the worker says beside the page. With `testing`
 * the worker has the name by which it tells each access unit. It is serialised: nothing outside of it may be used.
 */
export function record(testing: boolean): void {
  const recorded: Recorded = { told: [], violations: [] };
  globalThis.recorded = recorded;
  globalThis.workers = [];
  globalThis.decoded = [];
  addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
    recorded.violations.push(`${violatedDirective}: ${blockedURI}`);
  });
  const note = (told: Told, message: FromWorker): void => {
    switch (message.type) {
      case "state":
        told.states.push(message);
        break;
      case "unit":
        told.units.push({ frame: message.frame, sha256: message.sha256 });
        break;
      case "sound-unit":
        told.sounds.push({ frame: message.frame, sha256: message.sha256 });
        break;
      case "event":
        told.events.push({ words: message.words, bad: message.bad });
        break;
      case "size":
        told.sizes.push({ width: message.width, height: message.height });
        break;
      case "protection":
        told.protections.push(message.protection);
        break;
      case "audience":
        told.audience = message.audience;
        break;
      case "figures":
        told.figures = message.figures;
        told.reports += 1;
        break;
      case "sound":
        told.offers.push(message.sound);
        break;
      case "pcm":
        globalThis.decoded.push(message.pcm);
    }
  };
  globalThis.AudioWorkletNode = class extends AudioWorkletNode {
    constructor(context: BaseAudioContext, name: string, options?: AudioWorkletNodeOptions) {
      super(context, name, options);
      globalThis.tap = context.createAnalyser();
      this.connect(globalThis.tap);
    }
  };
  globalThis.Worker = class extends Worker {
    constructor(url: string | URL, options: WorkerOptions = {}) {
      super(url, testing ? { ...options, name: "test" } : options);
      const told: Told = {
        states: [], units: [], sounds: [], events: [], sizes: [], protections: [], figures: undefined, reports: 0,
        offers: [], audience: undefined,
      };
      recorded.told.push(told);
      globalThis.workers.push(this);
      this.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => {
        note(told, data);
      });
    }
  };
}
