// Draws the chart of the last minute as SVG, in the pixels that it has, so that its texts stay readable.

import { type StageFigures } from "../messages.ts";
import { texts } from "../text/page.ts";
import { type Chart, type Frame, type Sample, layOut, sampleOf, spread, withSample } from "./chart.ts";
import { svgElement } from "./dom.ts";
import { milliseconds } from "./format.ts";

const HEIGHT = 240;
/** Pixels beside the areas: for the axis, for the stages' names, and for the times below. */
const MARGIN = { left: 34, right: 118, top: 8, bottom: 22 } as const;
/** Pixels from one name to the next. */
const LINE = 15;

/** The chart in the element `at`. */
export class ChartView {
  readonly #at: HTMLElement;
  #samples: readonly Sample[] = [];

  constructor(at: HTMLElement) {
    this.#at = at;
    new ResizeObserver(() => {
      this.#draw();
    }).observe(at);
    this.#draw();
  }

  reset(): void {
    this.#samples = [];
    this.#draw();
  }

  add(at: number, stages: readonly StageFigures[]): void {
    this.#samples = withSample(this.#samples, sampleOf(at, stages));
    this.#draw();
  }

  #draw(): void {
    const width = Math.max(260, this.#at.clientWidth);
    const frame: Frame = {
      left: MARGIN.left, top: MARGIN.top, right: width - MARGIN.right, bottom: HEIGHT - MARGIN.bottom,
    };
    const chart = layOut(this.#samples, this.#samples.at(-1)?.at ?? 0, frame);
    const svg = svgElement("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": describe(chart) });
    if (chart === undefined) {
      const place = { x: width / 2, y: HEIGHT / 2, "text-anchor": "middle" };
      svg.append(svgElement("text", place, texts().figures.nothingMeasured));
    } else {
      svg.append(...areas(chart), ...axes(chart, frame), ...labels(chart, frame));
    }
    this.#at.replaceChildren(svg);
  }
}

/** The chart in words, for those who cannot see it. */
function describe(chart: Chart | undefined): string {
  if (chart === undefined) {
    return texts().figures.chartEmpty;
  }
  const parts = chart.areas.map(({ name, value }) => `${name} ${milliseconds(value)}`);
  return texts().figures.chart(parts.join(", "));
}

function areas(chart: Chart): SVGElement[] {
  return chart.areas.map(({ name, path }) => svgElement("path", { d: path, class: "area", "data-stage": name }));
}

function axes(chart: Chart, frame: Frame): SVGElement[] {
  const lines = chart.lines.flatMap(({ y, value }) => [
    svgElement("line", { x1: frame.left, x2: frame.right, y1: y, y2: y, class: "grid" }),
    svgElement("text", { x: frame.left - 6, y: y + 4, "text-anchor": "end" }, String(Number(value.toPrecision(3)))),
  ]);
  const y = frame.bottom + 16;
  const middle = (frame.left + frame.right) / 2;
  // On a phone there is no room for three.
  const half = middle - frame.left < 90 ? [] : [[middle, "middle", texts().figures.halfMinute] as const];
  const times = [[frame.left, "start", texts().figures.secondsBefore], ...half,
    [frame.right, "end", texts().figures.newest]] as const;
  return [...lines, ...times.map(([x, anchor, text]) => svgElement("text", { x, y, "text-anchor": anchor }, text))];
}

function labels(chart: Chart, frame: Frame): SVGElement[] {
  const places = spread(chart.areas.map(({ middle }) => middle), LINE, frame.top + 6, frame.bottom - 2);
  return chart.areas.flatMap(({ name, value, middle }, at) => {
    const y = places[at] ?? middle;
    const x = frame.right;
    return [
      svgElement("path", { d: `M${x + 2} ${middle}L${x + 8} ${y}H${x + 12}`, class: "leader" }),
      svgElement("rect", { x: x + 14, y: y - 5, width: 10, height: 10, rx: 2, "data-stage": name }),
      svgElement("text", { x: x + 28, y: y + 4, class: "label" }, `${name} ${milliseconds(value)}`),
    ];
  });
}
