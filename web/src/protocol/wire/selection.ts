// Selections: which part of its media a publisher encrypts (protocol.md, section 4; selection.md).

import { ProtocolError, malformed, misuse } from "../error.ts";

/** Thousandths of the units of a rate. */
export const MAX_RATE = 1_000;
/** Highest level of SECMPEG. */
export const MAX_LEVEL = 4;

const PLAIN = ["all", "none", "rate", "keyframes", "headers", "headers+keyframes", "level"] as const;

/** A selection. Everything that it does not encrypt is still authenticated. */
export type Selection =
  | { readonly mode: "all" | "none" | "keyframes" | "headers" | "headers+keyframes" }
  /** `thousandths` of the units, chosen at random, are encrypted. */
  | { readonly mode: "rate"; readonly thousandths: number }
  | { readonly mode: "level"; readonly level: number };

/** What a session begins with, and what keeps the picture secret. */
export const ENCRYPT_ALL: Selection = { mode: "all" };

/** The mode and its argument on the wire. @throws ProtocolError `misuse` for an argument out of range */
export function selectionToWire(selection: Selection): [mode: number, argument: number] {
  const mode = PLAIN.indexOf(selection.mode);
  const argument =
    selection.mode === "rate" ? selection.thousandths : selection.mode === "level" ? selection.level : 0;
  if (!fits(selection.mode, argument)) {
    throw misuse("a rate is 0 to 1000 thousandths, a level 1 to 4");
  }
  return [mode, argument];
}

function fits(mode: Selection["mode"], argument: number): boolean {
  switch (mode) {
    case "rate":
      return Number.isInteger(argument) && argument >= 0 && argument <= MAX_RATE;
    case "level":
      return Number.isInteger(argument) && argument >= 1 && argument <= MAX_LEVEL;
    default:
      return argument === 0;
  }
}

/** The selection of a message. @throws ProtocolError `malformed` */
export function selectionFromWire(number: number, argument: number): Selection {
  const mode = PLAIN[number];
  if (mode === undefined || !fits(mode, argument)) {
    throw malformed();
  }
  switch (mode) {
    case "rate":
      return { mode, thousandths: argument };
    case "level":
      return { mode, level: argument };
    default:
      return { mode };
  }
}

/** True if both are the same. */
export function sameSelection(a: Selection, b: Selection): boolean {
  const [left, right] = [selectionToWire(a), selectionToWire(b)];
  return left[0] === right[0] && left[1] === right[1];
}

const RATE = /^rate:([0-9]{1,3})(?:\.([0-9]))?$/;
const LEVEL = /^level:([1-4])$/;

/**
 * The selection that a user wrote, such as `all`, `rate:12.5` or `level:2`: the spelling of `--encrypt`.
 * @throws ProtocolError `selection`
 */
export function selectionNamed(text: string): Selection {
  const plain = PLAIN.find((mode) => mode === text);
  if (plain !== undefined && plain !== "rate" && plain !== "level") {
    return { mode: plain };
  }
  const level = LEVEL.exec(text)?.[1];
  if (level !== undefined) {
    return { mode: "level", level: Number(level) };
  }
  const [, whole, tenth] = RATE.exec(text) ?? [];
  const thousandths = whole === undefined ? Infinity : Number(whole) * 10 + Number(tenth ?? "0");
  if (thousandths > MAX_RATE) {
    throw new ProtocolError("selection");
  }
  return { mode: "rate", thousandths };
}

/** A selection as a user writes it. */
export function selectionName(selection: Selection): string {
  switch (selection.mode) {
    case "rate": {
      const { thousandths } = selection;
      return `rate:${Math.floor(thousandths / 10)}${thousandths % 10 === 0 ? "" : `.${thousandths % 10}`}`;
    }
    case "level":
      return `level:${selection.level}`;
    default:
      return selection.mode;
  }
}
