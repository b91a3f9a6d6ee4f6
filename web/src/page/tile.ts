// One camera in the grid: its picture without sound and its name, or what there is instead of the picture.

import { type FromWorker, type Membership } from "../messages.ts";
import { texts } from "../text/page.ts";
import { Connection } from "./connection.ts";
import { element, say, svgElement } from "./dom.ts";
import { type Place } from "./known.ts";
import { NoticeBoard } from "./notice.ts";
import { type Watchable } from "./tiles.ts";
import { type Watching } from "./watching.ts";
import { encryptsAll, noticeOf, protectionWords } from "./wording.ts";

/** What a tile asks of the grid. */
export interface TileActions {
  readonly watch: (place: Place) => Watching;
  /** The user chose this camera. */
  readonly open: (place: Place) => void;
  /** The publisher told which cameras there are. */
  readonly told: (place: Place, names: readonly string[]) => void;
  /** Its session stands, or does not. */
  readonly begun: () => void;
}

/** The tile, a button in an item of a list. */
export class Tile implements Watchable {
  readonly element = element("li");
  readonly #place: Place;
  readonly #actions: TileActions;
  readonly #button = element("button", "", "view tile");
  readonly #picture = element("span", "", "picture");
  readonly #sign = svgElement("use", {});
  readonly #title = element("span", "", "title");
  readonly #words = element("span");
  readonly #badge = element("span", "", "badge");
  readonly #stands = element("span", "", "stands");
  #wanted = false;
  #connection: Connection | undefined;
  #board = new NoticeBoard("watch");

  constructor(place: Place, actions: TileActions) {
    this.#place = place;
    this.#actions = actions;
    this.#button.type = "button";
    const name = element("span", place.name, "tile-name");
    name.dir = "auto";
    const sign = svgElement("svg", { "aria-hidden": "true", width: 32, height: 32 });
    sign.append(this.#sign);
    const notice = element("span", "", "notice");
    notice.append(sign, this.#title, this.#words);
    this.#button.append(name, this.#picture, notice, this.#badge, this.#stands,
      element("span", texts().markup.mayBeOld, "old"));
    this.#button.addEventListener("click", () => {
      actions.open(place);
    });
    this.element.append(this.#button);
    this.rest();
  }

  get state(): Watchable["state"] {
    if (this.#connection === undefined) {
      return this.#wanted ? "waiting" : "resting";
    }
    const { state } = this.#board;
    return state === "connecting" || state === "handshake" ? "beginning" : "begun";
  }

  wait(): void {
    this.#wanted = true;
    this.show();
  }

  begin(): void {
    const { first, transfer, picture } = this.#actions.watch(this.#place);
    this.#picture.replaceChildren(picture);
    this.#connection = new Connection(first, transfer, (message) => {
      this.#take(message);
    });
    this.show();
  }

  rest(): void {
    this.#wanted = false;
    this.#connection?.close();
    this.#connection = undefined;
    this.#board = new NoticeBoard("watch");
    this.#picture.replaceChildren();
    this.#badge.hidden = true;
    delete this.#button.dataset["age"];
    this.show();
  }

  focus(): void {
    this.#button.focus();
  }

  /** Shows the picture or a notice, as they are at this time. */
  show(): void {
    const now = performance.now();
    const notice = this.#wanted ? this.#board.at(now) : "resting";
    const seconds = this.#wanted ? this.#board.stands(now) : 0;
    say(this.#stands, seconds > 0 ? texts().live.standsFor(seconds) : "");
    this.#stands.hidden = seconds === 0;
    this.#button.dataset["notice"] = notice;
    if (notice === "none" || notice === "resting") {
      say(this.#title, notice === "none" ? texts().live.live : texts().live.tapToWatch);
      say(this.#words, "");
      return;
    }
    const { title, words, sign } = noticeOf(notice);
    const reason = this.#board.reason(notice);
    this.#sign.setAttribute("href", `#sign-${sign}`);
    say(this.#title, reason.title ?? title);
    say(this.#words, reason.words ?? words);
  }

  #take(message: FromWorker): void {
    this.#board.take(message, performance.now());
    switch (message.type) {
      case "state":
        if (message.state !== "live") {
          this.#badge.hidden = true;
          delete this.#button.dataset["age"];
        }
        this.#actions.begun();
        break;
      case "protection":
        say(this.#badge, protectionWords(message.protection.selection));
        this.#badge.hidden = encryptsAll(message.protection.selection);
        break;
      case "figures":
        this.#age(message.figures.membership);
        break;
      case "membership":
        this.#age(message.membership);
        break;
      case "cameras":
        this.#actions.told(this.#place, message.names);
        return;
      default:
    }
    this.show();
  }

  #age(membership: Membership | undefined): void {
    if (membership !== undefined) {
      this.#button.dataset["age"] = membership.age.state;
    }
  }
}
