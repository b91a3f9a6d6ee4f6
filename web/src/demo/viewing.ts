// The page's own viewer: a worker that does the handshake, opens and decodes, and all that is shown of it.

import { type FromWorker, type Protection } from "../messages.ts";
import { ChartView } from "../page/chart-view.ts";
import { Connection } from "../page/connection.ts";
import { byId, say } from "../page/dom.ts";
import { FiguresView } from "../page/figures-view.ts";
import { age, count } from "../page/format.ts";
import { Lock } from "../page/lock.ts";
import { LogView } from "../page/log-view.ts";
import { NoticeBoard } from "../page/notice.ts";
import { Picture } from "../page/picture.ts";
import { watching } from "../page/watching.ts";
import { noticeOf } from "../page/wording.ts";
import { type Restarts } from "./controls.ts";
import { FlipView } from "./flip-view.ts";

/** How often the page looks whether the worker is silent, and how old the keys are; ms. */
const TICK = 500;
/** Causes of an end that lie in the browser: another attempt would end in the same way. */
const UNABLE: readonly (string | undefined)[] = ["canvas", "codec", "browser", "insecure"];
const COMES_BACK = "The stream begins anew, with other keys. The page comes back by itself, as the same viewer.";

/** Everything about the fourth picture. */
export class Viewing implements Restarts {
  readonly #picture = new Picture();
  readonly #lock = new Lock();
  readonly #figures = new FiguresView();
  readonly #chart = new ChartView(byId("chart", HTMLElement));
  readonly #log = new LogView();
  readonly #flip = new FlipView();
  readonly #again = byId("again", HTMLButtonElement);
  readonly #rekey = byId("rekey", HTMLButtonElement);
  readonly #unable: (why: string) => void;
  #connection: Connection | undefined;
  #board = new NoticeBoard("watch");
  /** Why the user made the session end, until the next one stands. */
  #restarting = "";
  #protection: Protection | undefined;
  #epochBegan = 0;
  /** Changes of keys since the page was opened. */
  #rekeys = 0;

  /** `unable` is called with a sentence if this browser cannot show the stream. */
  constructor(unable: (why: string) => void) {
    this.#unable = unable;
    this.#again.addEventListener("click", () => void this.begin());
    this.#rekey.addEventListener("click", () => this.#connection?.send({ type: "rekey" }));
    addEventListener("pagehide", () => {
      this.#connection?.close();
    });
    setInterval(() => {
      this.#tick();
    }, TICK);
  }

  /** The suite of the session, if one stands. */
  get suite(): string | undefined {
    return this.#protection?.suite;
  }

  /** Begins to watch, with the ticket that the program gives to this page alone. Never rejects. */
  async begin(): Promise<void> {
    this.#connection?.close();
    this.#board = new NoticeBoard("watch");
    this.#lock.begin("watch");
    this.#figures.begin("watch");
    this.#show();
    const ticket = await fetchTicket();
    if (ticket === undefined) {
      this.#take({ type: "state", state: "failed", cause: "ticket", words: "The demo does not answer." });
      return;
    }
    const { first, transfer, picture } = watching(ticket, "", { carrier: "websocket", jitter: 0 });
    picture.ariaLabel = "Your picture, opened in this page, live";
    this.#picture.place(picture);
    // A worker of this name tells of each frame, so that the page knows how long the picture stood still.
    this.#connection = new Connection(first, transfer, (message) => {
      this.#take(message);
    }, "measure");
  }

  restarting(why: string): void {
    this.#restarting = why;
    this.#log.add(new Date(), `${why} ${COMES_BACK}`, false);
  }

  restarted(granted: boolean): void {
    // The stream went on, or has begun anew with what was in force before.
    this.#restarting = granted || this.#board.state !== "live" ? this.#restarting : "";
    if (!granted) {
      this.#log.add(new Date(), "The program refused that; all is protected as before.", false);
    }
  }

  #take(message: FromWorker): void {
    if (this.#board.over) {
      return;
    }
    this.#board.take(message, performance.now());
    switch (message.type) {
      case "state":
        this.#stateChanged(message);
        break;
      case "protection":
        this.#protected(message.protection);
        break;
      case "figures":
        this.#figures.show(message.figures);
        this.#chart.add(performance.now(), message.figures.stages);
        this.#flip.figures(message.figures.refused, message.figures.drawn);
        break;
      case "frame":
        this.#flip.frame(message.row.frame, message.row.opening.at);
        // Nothing else changes with each frame.
        return;
      case "event":
        this.#log.add(new Date(message.at), message.words, message.bad);
        break;
      case "size":
        this.#picture.form(message.width, message.height);
        byId("pictures", HTMLElement).style.setProperty("--ratio", `${message.width} / ${message.height}`);
        break;
      case "unit":
        return;
    }
    this.#show();
  }

  #stateChanged({ state, cause, words }: Extract<FromWorker, { type: "state" }>): void {
    if (state === "live") {
      this.#restarting = "";
      this.#log.add(new Date(), "The session stands.", false);
      return;
    }
    this.#lock.clear();
    this.#protection = undefined;
    this.#flip.ended();
    if (words !== undefined) {
      const expected = this.#restarting !== "" || state === "ended";
      this.#log.add(new Date(), `${noticeOf(state).title}. ${words}`, !expected);
    }
    if (this.#board.over) {
      this.#picture.place();
      if (UNABLE.includes(cause)) {
        this.#unable(words ?? "");
      }
    }
  }

  #protected(protection: Protection): void {
    const { epoch, epochAge } = protection;
    const before = this.#protection?.epoch ?? epoch;
    this.#rekeys += Math.max(0, epoch - before);
    this.#protection = protection;
    this.#epochBegan = performance.now() - epochAge * 1_000;
    this.#lock.show(protection);
  }

  #show(): void {
    const { over, state } = this.#board;
    const notice = this.#board.at(performance.now());
    const restarting = state === "lost" && this.#restarting !== "";
    const words = `${this.#restarting} The page comes back by itself, as the same viewer, with other keys.`;
    this.#picture.notice(notice, restarting ? { words } : this.#board.reason(notice));
    if (restarting) {
      say(byId("notice-title", HTMLElement), "The stream begins anew");
    }
    this.#again.hidden = !over;
    this.#rekey.disabled = state !== "live";
    this.#flip.enable(state === "live");
    this.#showKeys();
  }

  #showKeys(): void {
    const keys = byId("keys", HTMLElement);
    if (this.#protection === undefined) {
      say(keys, "no keys: there is no session");
      return;
    }
    const { suite, epoch } = this.#protection;
    const seconds = (performance.now() - this.#epochBegan) / 1_000;
    const rekeys = `${count(this.#rekeys)} ${this.#rekeys === 1 ? "rekey" : "rekeys"}`;
    say(keys, `${suite}, epoch ${epoch} for ${age(seconds)}, ${rekeys}`);
  }

  #tick(): void {
    this.#lock.tick();
    this.#show();
  }
}

async function fetchTicket(): Promise<string | undefined> {
  try {
    const answer = await fetch("/ticket");
    return answer.ok ? await answer.text() : undefined;
  } catch {
    return undefined;
  }
}
