// What the page needs of the browser. Found out before anything else, so that a missing part is named.

import { texts } from "../text/page.ts";
import { byId, element, say } from "./dom.ts";

/** Something that the page needs, and whether it is there. */
export interface Need {
  readonly name: string;
  readonly what: string;
  readonly present: boolean;
}

/** Looks for everything that both roles need. */
export function needs(): readonly Need[] {
  const { enter } = texts();
  const has = (name: string): boolean => name in globalThis;
  return [
    { name: enter.secure, what: enter.secureContext, present: globalThis.isSecureContext },
    {
      name: "crypto.subtle", what: enter.subtle,
      // Typed as always there, and missing outside of secure contexts.
      present: (globalThis.crypto as Partial<Crypto> | undefined)?.subtle !== undefined,
    },
    { name: "VideoDecoder", what: enter.videoDecoder, present: has("VideoDecoder") },
    { name: "Worker", what: enter.worker, present: has("Worker") },
    {
      name: "OffscreenCanvas", what: enter.offscreen,
      present: has("OffscreenCanvas") && "transferControlToOffscreen" in HTMLCanvasElement.prototype,
    },
  ];
}

/** Shows what is missing, and the three ways in. */
export function showShortage(all: readonly Need[], place: Location): void {
  const { enter } = texts();
  const missing = all.filter(({ present }) => !present);
  const names = missing.map(({ name }) => name).join(", ");
  const reason = globalThis.isSecureContext
    ? enter.tooOld : enter.insecure;
  say(byId("shortage-words", HTMLElement), `${enter.missing(names)} ${reason}`);
  byId("shortage-list", HTMLElement).replaceChildren(...all.map(({ name, what, present }) =>
    present ? element("li", `✓ ${name}: ${what}`) : element("li", `✕ ${name}: ${what} – ${enter.isMissing}`, "no")));
  const port = place.port === "" ? "" : `:${place.port}`;
  say(byId("way-local", HTMLElement), `http://127.0.0.1${port}/`);
  say(byId("way-https", HTMLElement), `https://${place.host}/`);
  byId("shortage", HTMLElement).hidden = false;
}
