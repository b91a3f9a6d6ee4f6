// Decoded sound on its way, and what worker, page and audio thread say to each other about it.

/** Decoded sound: planes of the same length, one a channel. */
export interface Pcm {
  /** Media time of the first sample, milliseconds since the stream began. */
  readonly at: number;
  /** Samples a second of each plane. */
  readonly rate: number;
  readonly planes: readonly Float32Array<ArrayBuffer>[];
}

/** From the worker to the audio thread. */
export type Feed =
  | { readonly type: "pcm"; readonly pcm: Pcm }
  /** The picture of this media time (ms) came onto the canvas at this time (ms since 1970, by the monotonic clock). */
  | { readonly type: "shown"; readonly media: number; readonly at: number }
  /** Another session: what was before belongs to another timeline. */
  | { readonly type: "anew" };

/** From the page to the audio thread. */
export type Steer =
  | { readonly type: "feed"; readonly port: MessagePort }
  /** A sample that is rendered at context time `t` (ms) leaves at `t + offset` (ms since 1970), known to ± `spread`. */
  | { readonly type: "output"; readonly offset: number; readonly spread: number }
  | { readonly type: "close" };

/** How the lips are in time, in milliseconds. */
export interface Skew {
  /** Media time of the picture on the canvas minus that of the sample that leaves, over the last second. */
  readonly median: number;
  readonly least: number;
  readonly most: number;
  /** How wrong it may be: what is known of when a sample leaves, and a quantum of rendering. */
  readonly uncertainty: number;
}

/** From the audio thread to the worker, every half second. Counts are since it began. */
export interface PlayoutReport {
  readonly skew?: Skew;
  /** Milliseconds of sound that wait. */
  readonly waiting: number;
  /** How much faster than recorded it is played, in parts of 1; slower below 0. */
  readonly correction: number;
  /** Milliseconds of silence where sound was missing, once it had begun, and of sound that was left out. */
  readonly silence: number;
  readonly left: number;
  /** True while sound is heard. */
  readonly playing: boolean;
}
