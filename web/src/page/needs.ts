// What the page needs of the browser. Found out before anything else, so that a missing part is named.

import { byId, element, say } from "./dom.ts";

/** Something that the page needs, and whether it is there. */
export interface Need {
  readonly name: string;
  readonly what: string;
  readonly present: boolean;
}

/** Looks for everything that both roles need. */
export function needs(): readonly Need[] {
  const has = (name: string): boolean => name in globalThis;
  return [
    { name: "secure context", what: "the address counts as trustworthy", present: globalThis.isSecureContext },
    {
      name: "crypto.subtle", what: "encryption",
      // Typed as always there, and missing outside of secure contexts.
      present: (globalThis.crypto as Partial<Crypto> | undefined)?.subtle !== undefined,
    },
    { name: "VideoDecoder", what: "decoding video (WebCodecs)", present: has("VideoDecoder") },
    { name: "Worker", what: "a second thread", present: has("Worker") },
    {
      name: "OffscreenCanvas", what: "drawing in that thread",
      present: has("OffscreenCanvas") && "transferControlToOffscreen" in HTMLCanvasElement.prototype,
    },
  ];
}

/** Shows what is missing, and the three ways in. */
export function showShortage(all: readonly Need[], place: Location): void {
  const missing = all.filter(({ present }) => !present);
  const names = missing.map(({ name }) => name).join(", ");
  const reason = globalThis.isSecureContext
    ? "This browser is too old for the page, or a setting switched a part of it off."
    : "Browsers give these parts only to pages whose address they trust: https, or http on their own machine.";
  say(byId("shortage-words", HTMLElement), `Missing: ${names}. ${reason}`);
  byId("shortage-list", HTMLElement).replaceChildren(...all.map(({ name, what, present }) =>
    element("li", `${present ? "✓" : "✕"} ${name}: ${what}${present ? "" : " – missing"}`, present ? "" : "no")));
  const port = place.port === "" ? "" : `:${place.port}`;
  say(byId("way-local", HTMLElement), `http://127.0.0.1${port}/`);
  say(byId("way-https", HTMLElement), `https://${place.host}/`);
  byId("shortage", HTMLElement).hidden = false;
}
