// The area of the picture: either the picture of now, or in its place what there is instead.

import { texts } from "../text/page.ts";
import { byId, say } from "./dom.ts";
import { type Notice, type Reason, causeWords, noticeOf } from "./wording.ts";

/** A key press that is meant for a form and not for the picture. */
export function isTyping(event: KeyboardEvent): boolean {
  return event.target instanceof Element && event.target.closest("input, select, textarea") !== null;
}

/** Shows one element or one notice. */
export class Picture {
  readonly #view = byId("view", HTMLElement);
  readonly #place = byId("picture", HTMLElement);
  readonly #full = byId("full", HTMLButtonElement);

  constructor() {
    const toggle = (): void => {
      this.#toggleFull();
    };
    this.#full.hidden = !document.fullscreenEnabled;
    this.#full.addEventListener("click", toggle);
    this.#view.addEventListener("dblclick", (event) => {
      if (!(event.target instanceof HTMLButtonElement)) {
        toggle();
      }
    });
    document.addEventListener("keydown", (event) => {
      const plain = !event.ctrlKey && !event.altKey && !event.metaKey && !event.repeat;
      if (event.key.toLowerCase() === "f" && plain && !isTyping(event) && this.#view.checkVisibility()) {
        toggle();
      }
    });
    document.addEventListener("fullscreenchange", () => {
      say(this.#full, document.fullscreenElement === null ? texts().live.fullScreen : texts().live.leaveFullScreen);
    });
  }

  /** Gives the area the form of the picture. */
  form(width: number, height: number): void {
    if (width > 0 && height > 0) {
      this.#view.style.setProperty("--ratio", `${width} / ${height}`);
    }
  }

  /** Puts this element into the area, or takes away the one that is there. */
  place(element?: HTMLCanvasElement | HTMLVideoElement): void {
    this.#place.replaceChildren(...(element ? [element] : []));
  }

  /** Shows the picture (`none`) or a notice in its place. */
  notice(notice: Notice, reason: Reason = {}): void {
    this.#view.dataset["notice"] = notice;
    if (notice === "none") {
      document.title = `${texts().live.live} – sealcast`;
      // What the screen reader said last was that there is no picture.
      say(byId("notice-title", HTMLElement), texts().live.live);
      say(byId("notice-words", HTMLElement), "");
      say(byId("notice-cause", HTMLElement), "");
      return;
    }
    const { title: usual, words, sign } = noticeOf(notice);
    const title = reason.title ?? usual;
    document.title = `${title} – sealcast`;
    byId("notice-sign", SVGUseElement).setAttribute("href", `#sign-${sign}`);
    say(byId("notice-title", HTMLElement), title);
    say(byId("notice-words", HTMLElement), reason.words ?? words);
    say(byId("notice-cause", HTMLElement), causeWords(reason.cause));
  }

  #toggleFull(): void {
    if (document.fullscreenElement !== null) {
      void document.exitFullscreen();
    } else if (document.fullscreenEnabled) {
      // A browser may refuse; then the picture stays as it is.
      this.#view.requestFullscreen().catch(() => undefined);
    }
  }
}
