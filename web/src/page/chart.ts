// The geometry of the chart: areas of the stages' medians, one on the other, over the last minute.

import { type StageFigures, type StageName } from "../messages.ts";

/** Milliseconds that the chart shows. */
export const SPAN = 60_000;
/** A pause of so many milliseconds is a gap: nothing was measured, so nothing is drawn. */
const GAP = 2_500;

/** The medians of one report. `at` is of a steady clock, in milliseconds. */
export interface Sample {
  readonly at: number;
  readonly medians: ReadonlyMap<StageName, number>;
}

/** Where the areas lie in the picture, in pixels. */
export interface Frame {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** One stage in the chart. */
export interface Area {
  readonly name: StageName;
  /** Path data of SVG. */
  readonly path: string;
  /** The newest median, and where its part of the right edge lies: its middle. */
  readonly value: number;
  readonly middle: number;
}

/** Everything to draw. */
export interface Chart {
  readonly areas: readonly Area[];
  /** Lines of the vertical axis, with what they stand for in milliseconds. */
  readonly lines: readonly { readonly y: number; readonly value: number }[];
}

/** Order of the stages, from the source up. */
export const ORDER: readonly StageName[] =
  ["capture", "encode", "queue", "seal", "send", "network", "open", "wait", "decode", "draw"];

/** A sample of the stages of a report. */
export function sampleOf(at: number, stages: readonly StageFigures[]): Sample {
  const medians = new Map<StageName, number>();
  for (const { name, median, count } of stages) {
    if (count > 0 && Number.isFinite(median)) {
      medians.set(name, median);
    }
  }
  return { at, medians };
}

/** The samples that the chart still shows, with a new one. */
export function withSample(samples: readonly Sample[], next: Sample): readonly Sample[] {
  // One more than fits, so that the areas begin at the edge.
  const first = samples.findIndex(({ at }) => at >= next.at - SPAN);
  return [...(first < 0 ? [] : samples.slice(Math.max(0, first - 1))), next];
}

/** The steps of an axis from 0 that covers `highest` with three to six lines: 1, 2 or 5 times a power of ten. */
export function axis(highest: number): { readonly step: number; readonly top: number } {
  const wanted = Number.isFinite(highest) && highest > 0 ? highest : 1;
  const power = 10 ** Math.floor(Math.log10(wanted / 3));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => wanted / size <= 5) ?? 10 * power;
  return { step, top: Math.ceil(wanted / step - 1e-9) * step };
}

/** A median as high as it is drawn: clocks that are apart can make one negative. */
function height(sample: Sample, name: StageName): number {
  return Math.max(0, sample.medians.get(name) ?? 0);
}

/** Runs of samples without a gap between them. */
function runs(samples: readonly Sample[]): Sample[][] {
  const found: Sample[][] = [];
  let last = -Infinity;
  for (const sample of samples) {
    if (sample.at - last > GAP) {
      found.push([]);
    }
    found.at(-1)?.push(sample);
    last = sample.at;
  }
  return found;
}

/** Lays out the samples up to `now`; `undefined` before the first one with a stage. */
export function layOut(samples: readonly Sample[], now: number, frame: Frame): Chart | undefined {
  const names = ORDER.filter((name) => samples.some(({ medians }) => medians.has(name)));
  const newest = samples.at(-1);
  if (newest === undefined || names.length === 0) {
    return undefined;
  }
  const sum = (sample: Sample): number => names.reduce((total, name) => total + height(sample, name), 0);
  const { step, top } = axis(Math.max(...samples.map(sum)));
  const x = (at: number): number =>
    Math.max(frame.left, frame.right - ((now - at) / SPAN) * (frame.right - frame.left));
  const y = (value: number): number => frame.bottom - (value / top) * (frame.bottom - frame.top);
  const base = new Map<Sample, number>();
  const parts = runs(samples);
  const areas = names.map((name): Area => {
    const paths = parts.map((run) => {
      const lower = run.map((sample) => point(x(sample.at), y(base.get(sample) ?? 0)));
      const upper = run.map((sample) => point(x(sample.at), y((base.get(sample) ?? 0) + height(sample, name))));
      return `M${lower.join("L")}L${upper.reverse().join("L")}Z`;
    });
    const under = base.get(newest) ?? 0;
    for (const sample of samples) {
      base.set(sample, (base.get(sample) ?? 0) + height(sample, name));
    }
    const middle = y(under + height(newest, name) / 2);
    return { name, path: paths.join(""), value: newest.medians.get(name) ?? NaN, middle };
  });
  const lines = Array.from({ length: Math.round(top / step) + 1 }, (_, at) => at * step)
    .map((value) => ({ value, y: y(value) }));
  return { areas, lines };
}

function point(x: number, y: number): string {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}

/**
 * Moves labels apart so that each has `gap` pixels and all lie between `top` and `bottom`. `wanted` are their places
 * from the lowest label, with the largest y, up.
 */
export function spread(wanted: readonly number[], gap: number, top: number, bottom: number): number[] {
  const placed: number[] = [];
  let limit = bottom;
  for (const y of wanted) {
    const at = Math.min(y, limit);
    placed.push(at);
    limit = at - gap;
  }
  // Those that were pushed out at the top push back down.
  let least = top;
  for (let at = placed.length - 1; at >= 0; at -= 1) {
    const y = Math.max(placed[at] ?? top, least);
    placed[at] = y;
    least = y + gap;
  }
  return placed;
}
