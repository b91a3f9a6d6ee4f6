// Which language the page speaks, and texts with marks in them.

import { type Language } from "./kinds.ts";

/** The first of the wanted languages that there is; English without any. */
export function languageOf(wanted: readonly string[]): Language {
  const found = wanted.map((tag) => tag.toLowerCase().split("-", 1)[0]).find((name) => name === "de" || name === "en");
  return found === "de" ? "de" : "en";
}

/** A piece of a text: `code`, *bold*, or as it is. */
export interface Piece {
  readonly tag: "code" | "b" | undefined;
  readonly text: string;
}

/** The pieces of a text. */
export function pieces(text: string): readonly Piece[] {
  return text.split(/(`[^`]+`|\*[^*]+\*)/).filter((part) => part !== "").map((part) => {
    const tag = part.startsWith("`") ? "code" : part.startsWith("*") ? "b" : undefined;
    return { tag, text: tag === undefined ? part : part.slice(1, -1) };
  });
}
