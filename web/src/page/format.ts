// Figures as people read them. A number that is not known is a dash, never a zero.

import { texts } from "../text/page.ts";

const UNKNOWN = "–";

/** A narrow space that no line breaks at. */
const THIN = "\u202f";

function signed(value: number, digits: number): string {
  const text = Math.abs(value).toFixed(digits);
  // What rounds to nothing has no sign.
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

/** Milliseconds without the unit: three digits are more than the clocks promise. */
export function milliseconds(value: number): string {
  if (!Number.isFinite(value)) {
    return UNKNOWN;
  }
  const size = Math.abs(value);
  return signed(value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

/** Milliseconds with the unit. */
export function withUnit(value: number): string {
  return Number.isFinite(value) ? `${milliseconds(value)} ms` : UNKNOWN;
}

/** A count, its thousands apart. */
export function count(value: number): string {
  return Number.isFinite(value) ? Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, THIN) : UNKNOWN;
}

/** A number with its unit in steps of a thousand, such as `1.25 Mbit/s`. */
function scaled(value: number, unit: string): string {
  if (!Number.isFinite(value)) {
    return UNKNOWN;
  }
  const steps = ["", "k", "M", "G", "T"] as const;
  let [scaledValue, at] = [value, 0];
  while (Math.abs(scaledValue) >= 999.5 && at < steps.length - 1) {
    scaledValue /= 1_000;
    at += 1;
  }
  const digits = at === 0 || scaledValue >= 99.95 ? 0 : scaledValue >= 9.995 ? 1 : 2;
  return `${scaledValue.toFixed(digits)} ${steps[at] ?? ""}${unit}`;
}

/** Bits a second. */
export function bitRate(value: number): string {
  return scaled(value, "bit/s");
}

/** A number of bytes. */
export function byteCount(value: number): string {
  return scaled(value, "B");
}

/** How long something has lasted, in seconds. */
export function age(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) {
    return UNKNOWN;
  }
  const whole = Math.floor(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  if (hours > 0) {
    return `${hours} h ${minutes} min`;
  }
  return minutes > 0 ? `${minutes} min ${rest} s` : `${rest} s`;
}

/** Hexadecimal digits in groups of four, which people can compare aloud. */
export function hexGroups(hex: string): string {
  return hex.match(/.{1,4}/g)?.join(" ") ?? "";
}

/** When something happened, to the minute; with its day unless that is today. */
export function momentWords(at: Date, now: Date): string {
  const time = timeOfDay(at).slice(0, -3);
  const day = at.toLocaleDateString(texts().language, { day: "numeric", month: "short" });
  return at.toDateString() === now.toDateString() ? time : `${day}, ${time}`;
}

/** The time of day of an event. */
export function timeOfDay(at: Date): string {
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}
