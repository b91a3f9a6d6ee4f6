// Puts the texts of a language into the page's markup, which names them.

import { pieces } from "../text/language.ts";
import { texts } from "../text/page.ts";
import { element } from "./dom.ts";

/** Attributes of the markup that name a text, and the attributes that have it. */
const ATTRIBUTES = { "data-label": "aria-label", "data-hint": "title" } as const;

function textOf(key: string | null): string {
  const text = (texts().markup as Readonly<Record<string, string>>)[key ?? ""];
  if (text === undefined) {
    throw new Error(`there is no text "${key ?? ""}"`);
  }
  return text;
}

/** Fills in every text. The markup that the server gives has those in English. */
export function translate(): void {
  document.documentElement.lang = texts().language;
  for (const at of document.querySelectorAll("[data-text]")) {
    at.replaceChildren(...pieces(textOf(at.getAttribute("data-text"))).map(({ tag, text }) =>
      tag === undefined ? text : element(tag, text)));
  }
  for (const [key, attribute] of Object.entries(ATTRIBUTES)) {
    for (const at of document.querySelectorAll(`[${key}]`)) {
      at.setAttribute(attribute, textOf(at.getAttribute(key)));
    }
  }
}
