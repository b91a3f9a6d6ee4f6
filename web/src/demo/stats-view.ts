// Shows the program's own figures: the table of its stages, the price of security, frames, session and machine.

import { byId, element, say, showLines } from "../page/dom.ts";
import { count } from "../page/format.ts";
import { type DemoStats, type FrameCounts, type Price, type Spread } from "./stats.ts";
import { STEPS } from "./wording.ts";

const COUNTS: readonly (keyof FrameCounts)[] =
  ["captured", "sealed", "sent", "received", "opened", "decoded", "refused", "dropped"];
/** Stages that are there for security alone. */
const CRYPTO = ["seal", "open"];
/** Powers of ten on the scale, from 1 µs to 1 s. */
const DECADES = 6;

/** A time that may be anything from parts of a microsecond to seconds. */
export function time(us: number): string {
  const size = Math.abs(us);
  if (size >= 1e6) {
    return `${(us / 1e6).toFixed(2)} s`;
  }
  if (size >= 1e3) {
    return `${(us / 1e3).toFixed(size >= 1e4 ? 1 : 2)} ms`;
  }
  return `${us.toFixed(size >= 100 ? 0 : 1)} µs`;
}

function bytes(size: number): string {
  if (size >= 1e6) {
    return `${(size / 1e6).toFixed(1)} MB`;
  }
  return size >= 1e4 ? `${(size / 1e3).toFixed(1)} kB` : `${count(size)} bytes`;
}

/** Where a time lies on the scale, in percent. */
function place(us: number): number {
  return Math.min(100, Math.max(0, (Math.log10(Math.max(us, 1)) / DECADES) * 100));
}

function row(name: string, title: string, spread: Spread, kind: string): HTMLTableRowElement {
  const made = element("tr", "", kind);
  made.title = title;
  const head = element("th", name);
  head.scope = "row";
  const { p50_us: median, p99_us: slow, max_us: slowest, samples } = spread;
  const cells = [time(median), time(slow), time(slowest), count(samples)].map((text) => element("td", text));
  const strip = element("div", "", "strip");
  const bar = strip.appendChild(element("i"));
  bar.style.left = `${place(median)}%`;
  bar.style.width = `${Math.max(0, place(slow) - place(median))}%`;
  strip.appendChild(element("u")).style.left = `${place(slowest)}%`;
  const scale = element("td", "", "scale");
  scale.append(strip);
  made.append(head, ...cells, scale);
  return made;
}

function showStages({ stages, end_to_end: whole }: DemoStats): void {
  const rows = stages.map((one) =>
    row(one.stage, STEPS[one.stage] ?? "", one, CRYPTO.includes(one.stage) ? "crypto" : ""));
  const title = "from the beginning of the picture until the program's own viewer passes it on";
  const total = whole === null ? [] : [row("picture to picture", title, whole, "total")];
  byId("program-stages", HTMLTableSectionElement).replaceChildren(...rows, ...total);
}

function showPrice(price: Price): void {
  const { median_us: median, low_us: low, high_us: high } = price.difference;
  const none = low <= 0 && high >= 0;
  say(byId("price", HTMLElement), `${median < 0 ? "−" : "+"}${time(Math.abs(median))}`);
  say(byId("interval", HTMLElement), `95 % confidence: ${time(low)} to ${time(high)}, from ` +
    `${count(price.pairs)} pairs.${none ? " The interval includes zero: no difference found." : ""}`);
  const full = Math.max(price.unsealed_us, price.sealed_us);
  for (const [id, us] of [["unsealed", price.unsealed_us], ["sealed", price.sealed_us]] as const) {
    byId(`${id}-bar`, HTMLElement).style.width = `${(us / full) * 100}%`;
    say(byId(id, HTMLElement), time(us));
  }
  byId("pair", HTMLElement).hidden = false;
  const part = (median / price.frame_interval_us) * 100;
  say(byId("share", HTMLElement),
    `That is ${part.toPrecision(2)} % of the ${time(price.frame_interval_us)} from frame to frame.`);
  // The price is measured even before a viewer connects; until then no frame has been sent.
  if (price.frame_bytes !== 0) {
    const more = (price.added_bytes / price.frame_bytes) * 100;
    say(byId("added", HTMLElement), `On the wire it adds ${bytes(price.added_bytes)} to a frame of ` +
      `${bytes(price.frame_bytes)}: ${more.toPrecision(2)} %.`);
  }
}

function showSession({ session, machine }: DemoStats): void {
  const known = <T>(value: T | null, text: (value: T) => string): string =>
    value === null ? "not measurable here" : text(value);
  showLines(byId("session", HTMLDListElement), [
    { name: "suite", value: session.suite },
    { name: "key exchange", value: session.mechanism },
    { name: "handshake", value: session.handshake_us === null ? "none yet" : time(session.handshake_us) },
    { name: "processor", value: known(machine.cpu_percent, (percent) => `${percent.toFixed(1)} % of a core`) },
    { name: "memory", value: known(machine.memory_bytes, bytes) },
    { name: "temperature", value: known(machine.temperature_celsius, (degrees) => `${degrees.toFixed(1)} °C`) },
    {
      name: "H.264 codec",
      value: known(machine.codec_assembly, (has) => (has ? "with assembly" : "without assembly: 2.5 times slower")),
    },
  ]);
}

function clockWords(apart: number | null): string {
  if (apart === null) {
    return "";
  }
  return apart === 0 ? "Both ends of the table read the same clock." :
    `The clocks of two ends may differ by ${time(apart)}, and the network time is as uncertain.`;
}

/** Shows all of it. */
export function showStats(stats: DemoStats): void {
  const { source, transport, frames, eavesdropper, running_seconds: running } = stats;
  say(byId("source", HTMLElement), `${source}, ${transport}`);
  const seconds = Math.floor(running);
  const parts = [seconds / 3600, (seconds / 60) % 60, seconds % 60];
  const status = byId("status", HTMLElement);
  status.className = "live";
  say(status, `live for ${parts.map((part) => String(Math.floor(part)).padStart(2, "0")).join(":")}`);
  showStages(stats);
  if (stats.price !== null) {
    showPrice(stats.price);
  }
  showLines(byId("frames", HTMLDListElement), COUNTS.map((name) =>
    ({ name, value: count(frames[name]), ...(name === "refused" && frames[name] > 0 && { look: "bad" }) })));
  showSession(stats);
  const { known_percent: percent } = eavesdropper;
  say(byId("known", HTMLElement), percent < 0.05
    ? "nothing is in clear, so there is none" : `made of the ${percent.toFixed(0)} % of bytes in clear`);
  say(byId("clock", HTMLElement), clockWords(stats.clock_uncertainty_us));
}

/** The program does not answer. */
export function showLoss(): void {
  const status = byId("status", HTMLElement);
  status.className = "lost";
  say(status, "the demo does not answer: it has ended, or is starting");
}
