// Sound for tests: a tone whose value follows from its media time.

import { type Pcm } from "../../src/sound/pcm.ts";

const HERTZ = 440;

/** The tone at a media time (ms). */
export function toneAt(media: number): number {
  return 0.5 * Math.sin((2 * Math.PI * HERTZ * media) / 1_000);
}

/** So many samples of it from a media time (ms) on. */
export function tone(at: number, rate: number, length: number, channels = 1): Pcm {
  const plane = Float32Array.from({ length }, (_, sample) => toneAt(at + (sample * 1_000) / rate));
  return { at, rate, planes: Array.from({ length: channels }, () => plane.slice()) };
}
