// The audio thread's part of the page: a file of its own, which the page loads when sound is switched on.

import { type Feed, type PlayoutReport, type Steer } from "./pcm.ts";
import { Playout } from "./playout.ts";

/** What the audio thread has; TypeScript's libraries do not know it. */
declare const currentTime: number;
declare const sampleRate: number;
declare function registerProcessor(name: string, made: new () => AudioWorkletProcessor): void;
declare class AudioWorkletProcessor {
  readonly port: MessagePort;
}

/** Milliseconds between reports. */
const REPORT_INTERVAL = 500;
const MS_PER_S = 1_000;

/** Plays what the worker feeds it. */
class SoundProcessor extends AudioWorkletProcessor {
  readonly #playout = new Playout(sampleRate);
  #feed: MessagePort | undefined;
  #output: { readonly offset: number; readonly spread: number } | undefined;
  #reported = 0;
  #closed = false;

  constructor() {
    super();
    this.port.onmessage = ({ data }: MessageEvent<Steer>) => {
      switch (data.type) {
        case "feed":
          this.#feed = data.port;
          data.port.onmessage = (event: MessageEvent<Feed>) => {
            this.#fed(event.data);
          };
          return;
        case "output":
          this.#output = data;
          return;
        case "close":
          this.#closed = true;
          this.#feed?.close();
      }
    };
  }

  #fed(message: Feed): void {
    const now = currentTime * MS_PER_S;
    switch (message.type) {
      case "pcm":
        this.#playout.push(message.pcm, now);
        return;
      case "shown":
        if (this.#output !== undefined) {
          this.#playout.shown(message.media, message.at - this.#output.offset, now);
        }
        return;
      case "anew":
        this.#playout.anew();
    }
  }

  /** Called by the browser for each quantum; false ends the processor. */
  process(_inputs: readonly Float32Array[][], outputs: readonly Float32Array[][]): boolean {
    const now = currentTime * MS_PER_S;
    this.#playout.render(now, outputs[0] ?? []);
    if (this.#feed !== undefined && now >= this.#reported + REPORT_INTERVAL) {
      this.#reported = now;
      const report: PlayoutReport = this.#playout.report(now, this.#output?.spread ?? Infinity);
      this.#feed.postMessage(report);
    }
    return !this.#closed;
  }
}

registerProcessor("sealcast-sound", SoundProcessor);
