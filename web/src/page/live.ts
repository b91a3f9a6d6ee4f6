// The view of one connection, of a viewer or of a publisher: picture, lock, controls, figures, events.

import { type CarrierChoice, type FromWorker, type ToWorker, type WatchOptions } from "../messages.ts";
import { texts } from "../text/page.ts";
import { AgeView } from "./age-view.ts";
import { AudienceView } from "./audience-view.ts";
import { ChartView } from "./chart-view.ts";
import { Connection } from "./connection.ts";
import { byId, fillSelect, say } from "./dom.ts";
import { FiguresView } from "./figures-view.ts";
import { type Role } from "./link.ts";
import { Lock } from "./lock.ts";
import { LogView } from "./log-view.ts";
import { Microphone, type SoundBegin } from "./microphone.ts";
import { NoticeBoard } from "./notice.ts";
import { Picture } from "./picture.ts";
import { Save } from "./save.ts";
import { Sound } from "./sound.ts";
import { StateView } from "./state-view.ts";
import { noticeOf, selections } from "./wording.ts";
import { Zoom } from "./zoom.ts";

/** How often the page looks whether the worker is silent, and how old the keys are; ms. */
const TICK = 500;
/**
 * Refusals for these causes may mean that the other role fits. An end that listens for publishers answers a viewer with
 * an alert, which does not say why.
 */
const WRONG_ROLE: readonly (string | undefined)[] = ["role", "handshake"];

/** What the view asks of the page. */
export interface LiveActions {
  /** The same once more. */
  readonly again: () => void;
  readonly otherRole: () => void;
  readonly otherTicket: () => void;
  /** The publisher admitted this viewer. */
  readonly admitted: () => void;
  /** The publisher told which cameras this viewer may watch. */
  readonly told: (names: readonly string[]) => void;
}

/** What a connection begins with. */
export interface Begin {
  readonly role: Role;
  readonly first: ToWorker;
  readonly transfer: Transferable[];
  /** The viewer's canvas, or the publisher's preview. */
  readonly picture: HTMLCanvasElement | HTMLVideoElement;
  /** Of a publisher. */
  readonly sound?: SoundBegin;
  /** Called once when the connection is over, to let go of a camera. */
  readonly release?: () => void;
}

/** The view, which outlives its connections. */
export class Live {
  readonly #section = byId("live", HTMLElement);
  readonly #picture = new Picture();
  readonly #zoom = new Zoom();
  readonly #save = new Save();
  readonly #state = new StateView();
  readonly #lock = new Lock();
  readonly #age = new AgeView();
  readonly #audience = new AudienceView((peer) => this.#connection?.send({ type: "end-access", peer }));
  readonly #sound = new Sound((message, transfer) => this.#connection?.send(message, transfer));
  readonly #microphone = new Microphone((message, transfer) => this.#connection?.send(message, transfer));
  readonly #figures = new FiguresView();
  readonly #chart = new ChartView(byId("chart", HTMLElement));
  readonly #log = new LogView();
  readonly #selection = byId("selection", HTMLSelectElement);
  readonly #jitter = byId("jitter", HTMLSelectElement);
  readonly #carrier = byId("carrier", HTMLSelectElement);
  readonly #actions: LiveActions;
  #connection: Connection | undefined;
  #board = new NoticeBoard("watch");
  #release: (() => void) | undefined;
  #wasLive = false;

  /** `study`: a publisher may leave pictures in clear. */
  constructor(actions: LiveActions, study: boolean) {
    this.#actions = actions;
    fillSelect(this.#selection, selections());
    byId("selection-label", HTMLElement).classList.toggle("unwanted", !study);
    this.#onClick("again", actions.again);
    this.#onClick("reconnect", actions.again);
    this.#onClick("other-role", actions.otherRole);
    this.#onClick("other-ticket", actions.otherTicket);
    this.#onClick("keyframe", () => this.#connection?.send({ type: "keyframe" }));
    this.#onClick("rekey", () => this.#connection?.send({ type: "rekey" }));
    this.#onClick("stop", () => {
      this.stop(texts().live.stopped);
    });
    this.#jitter.addEventListener("change", () => {
      this.#connection?.send({ type: "jitter", milliseconds: this.options.jitter });
    });
    this.#selection.addEventListener("change", () => {
      this.#connection?.send({ type: "select", selection: this.#selection.value });
    });
    setInterval(() => {
      this.#tick();
    }, TICK);
  }

  get options(): WatchOptions {
    return { carrier: this.#carrier.value as CarrierChoice, jitter: Number(this.#jitter.value) };
  }

  /** Starts a connection, and shows it. */
  begin({ role, first, transfer, picture, sound, release }: Begin): void {
    this.#drop();
    this.#section.dataset["role"] = role;
    this.#section.dataset["through"] = first.type === "publish-relay" ? "relay" : "session";
    this.#section.hidden = false;
    this.#board = new NoticeBoard(role);
    this.#wasLive = false;
    this.#release = release;
    this.#picture.place(picture);
    this.#zoom.reset();
    this.#save.camera = first.type === "watch" ? first.camera : "";
    if (picture instanceof HTMLVideoElement) {
      picture.addEventListener("resize", () => {
        this.#picture.form(picture.videoWidth, picture.videoHeight);
      });
    }
    this.#lock.begin(role);
    this.#age.clear();
    this.#audience.clear();
    this.#figures.begin(role);
    this.#chart.reset();
    const { live, markup } = texts();
    const other = first.type === "publish-relay" ? live.otherAddress : markup.otherTicket;
    say(byId("other-ticket", HTMLElement), other);
    say(byId("other-role", HTMLElement), role === "watch" ? live.publishInstead : live.watchInstead);
    if (first.type === "publish") {
      this.#selection.value = first.options.selection;
    }
    this.#log.add(new Date(), live.connectingAs(role === "watch", first.type === "watch" ? first.camera : ""), false);
    this.#connection = new Connection(first, transfer, (message) => {
      this.#take(message);
    });
    if (sound !== undefined) {
      this.#microphone.begin(sound);
    }
    this.#show();
  }

  /** Ends the connection in good order; what was shown is gone. */
  stop(words: string): void {
    if (!this.#board.over) {
      this.#take({ type: "state", state: "ended", words });
    }
  }

  /** Leaves the view. */
  hide(): void {
    this.#drop();
    this.#section.hidden = true;
    this.#audience.clear();
    this.#lock.hide();
    document.title = "sealcast";
  }

  #onClick(id: string, act: () => void): void {
    byId(id, HTMLButtonElement).addEventListener("click", act);
  }

  #drop(): void {
    this.#connection?.close();
    this.#connection = undefined;
    this.#sound.clear();
    this.#microphone.clear();
    this.#picture.place();
    this.#release?.();
    this.#release = undefined;
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
      case "cameras":
        // It may show something else now.
        this.#actions.told(message.names);
        return;
      case "protection":
        this.#lock.show(message.protection);
        this.#selection.value = message.protection.selection;
        break;
      case "figures":
        this.#figures.show(message.figures);
        this.#age.show(message.figures.membership);
        this.#chart.add(performance.now(), message.figures.stages);
        break;
      case "membership":
        this.#age.show(message.membership);
        break;
      case "audience":
        this.#audience.show(message.audience);
        if (this.#board.state === "live") {
          this.#lock.showGroup(message.audience);
        }
        break;
      case "event":
        this.#log.add(new Date(message.at), message.words, message.bad);
        break;
      case "size":
        this.#picture.form(message.width, message.height);
        break;
      case "sound":
        this.#sound.take(message.sound);
        break;
      case "microphone-level":
        this.#microphone.level(message.peak);
        return;
      case "microphone-failed":
        this.#microphone.failed(message.words);
        break;
    }
    this.#show();
  }

  #stateChanged({ state, words }: Extract<FromWorker, { type: "state" }>): void {
    if (state !== "live") {
      this.#lock.clear();
      this.#age.clear();
    }
    this.#figures.when(state === "live" || !this.#wasLive);
    this.#wasLive ||= state === "live";
    if (state === "live" && this.#section.dataset["role"] === "watch") {
      this.#actions.admitted();
    }
    const bad = state === "lost" || state === "refused" || state === "failed";
    const relay = this.#section.dataset["through"] === "relay";
    const stands = relay ? texts().live.relayTakes : texts().live.sessionStands;
    const title = state === "live" ? stands : noticeOf(state).title;
    if (words !== undefined || (state !== "connecting" && state !== "handshake")) {
      this.#log.add(new Date(), words === undefined ? `${title}.` : `${title}. ${words}`, bad);
    }
    if (this.#board.over) {
      this.#audience.clear();
      this.#drop();
    }
  }

  #show(): void {
    const { over, state } = this.#board;
    const now = performance.now();
    const notice = this.#board.at(now);
    this.#picture.notice(notice, this.#board.reason(notice));
    this.#state.show(notice === "none", this.#board.stands(now));
    this.#save.enable(notice === "none");
    for (const id of ["again", "other-ticket"]) {
      byId(id, HTMLElement).hidden = !over;
    }
    byId("other-role", HTMLElement).hidden = !(over && WRONG_ROLE.includes(this.#board.cause));
    for (const id of ["keyframe", "rekey", "selection"]) {
      byId(id, HTMLElement).toggleAttribute("disabled", state !== "live");
    }
    byId("stop", HTMLButtonElement).disabled = over;
  }

  #tick(): void {
    if (!this.#section.hidden) {
      this.#lock.tick();
      this.#age.tick();
      this.#show();
    }
  }
}
