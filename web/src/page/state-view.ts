// The line under the picture: whether it is of now, in words, by a sign and by a colour.

import { texts } from "../text/page.ts";
import { byId, say } from "./dom.ts";

/** The line, and the band across a picture that stands still. */
export class StateView {
  readonly #line = byId("state", HTMLElement);
  readonly #sign = byId("state-sign", SVGUseElement);
  readonly #words = byId("state-words", HTMLElement);
  readonly #stands = byId("stands", HTMLElement);

  /** `shown`: there is a picture; `seconds`: for how long it has stood still, 0 while it moves. */
  show(shown: boolean, seconds: number): void {
    const state = seconds > 0 ? "stands" : "live";
    this.#line.hidden = !shown;
    this.#line.dataset["state"] = state;
    this.#sign.setAttribute("href", `#sign-${state}`);
    // The words are read aloud once; the seconds, which go on, stand across the picture.
    say(this.#words, shown ? (seconds > 0 ? texts().live.standsStill : texts().live.live) : "");
    this.#stands.hidden = !shown || seconds === 0;
    say(this.#stands, shown && seconds > 0 ? texts().live.standsFor(seconds) : "");
  }
}
