// The button that flips a bit, and what came of it in words.

import { byId, element, say } from "../page/dom.ts";
import { count, withUnit } from "../page/format.ts";
import { refusalWords } from "../page/wording.ts";
import { Flip, type FlipState } from "./flip.ts";
import { put } from "./put.ts";

/** The lines of the story so far. */
export function story({ step, reason, still, missing }: FlipState): string[] {
  const flipped = "One bit of a frame was flipped on its way to this page.";
  const refused = `The record was refused (${refusalWords(reason ?? "")}). Nothing of it was decoded or shown.`;
  const asked = "The page asked for a keyframe, a picture that needs no earlier ones.";
  const after = still === undefined ? "" : ` The one before it stood for ${withUnit(still)}.`;
  const lost = missing === undefined ? "" : ` ${count(missing)} ${missing === 1 ? "frame is" : "frames are"} missing.`;
  switch (step) {
    case "none":
      return [];
    case "asked":
      return ["A bit of the next frame is going to be flipped."];
    case "refused":
      return [flipped, refused, asked];
    case "on":
      return [flipped, refused, asked, `The next picture is there.${after}${lost}`];
    case "missed":
      return ["No record was refused here for some seconds: another page that is open may have got that frame."];
    case "lost":
      return ["The session ended before the page knew more. Flip another bit when the picture is back."];
  }
}

/** The part of the page about flipped bits. */
export class FlipView {
  readonly #flip = new Flip();
  readonly #button = byId("flip", HTMLButtonElement);
  readonly #story = byId("flip-story", HTMLOListElement);
  readonly #error = byId("flip-error", HTMLElement);
  #shown: FlipState | undefined;

  constructor() {
    this.#button.addEventListener("click", () => void this.#ask());
  }

  /** Without a session there is nothing to flip. */
  enable(live: boolean): void {
    this.#button.disabled = !live;
  }

  figures(refused: Readonly<Record<string, number>>, drawn: number): void {
    this.#flip.figures(refused, drawn, performance.now());
    this.#show();
  }

  /** A frame was drawn; the time is the worker's. */
  frame(frame: number, at: number): void {
    this.#flip.frame(frame, at);
    this.#show();
  }

  ended(): void {
    this.#flip.ended();
    this.#show();
  }

  async #ask(): Promise<void> {
    this.#flip.ask(performance.now());
    this.#show();
    const error = await put("/alteration", "");
    say(this.#error, error);
    if (error !== "") {
      this.#flip.failed();
      this.#show();
    }
  }

  #show(): void {
    const { state } = this.#flip;
    if (state !== this.#shown) {
      this.#shown = state;
      this.#story.replaceChildren(...story(state).map((words) => element("li", words)));
      this.#story.dataset["step"] = state.step;
    }
  }
}
