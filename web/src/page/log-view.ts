// Shows the log of events. It is read aloud politely, so each line is added once and not drawn anew.

import { texts } from "../text/page.ts";
import { byId, element, say } from "./dom.ts";
import { timeOfDay } from "./format.ts";
import { Log, MAX_LINES, type LogLine } from "./log.ts";

/** The list of events, the newest on top. It outlives connections. */
export class LogView {
  readonly #list = byId("log", HTMLOListElement);
  readonly #log = new Log();

  add(at: Date, words: string, bad: boolean): void {
    const isNew = this.#log.add(at, words, bad);
    const newest = this.#log.lines[0];
    if (newest === undefined) {
      return;
    }
    if (isNew) {
      this.#list.prepend(line(newest));
    } else {
      const [time, text] = this.#list.firstElementChild?.children ?? [];
      if (time !== undefined && text !== undefined) {
        say(time, timeOfDay(newest.at));
        say(text, textOf(newest));
      }
    }
    while (this.#list.children.length > MAX_LINES) {
      this.#list.lastElementChild?.remove();
    }
  }
}

function textOf({ words, times }: LogLine): string {
  return times > 1 ? texts().live.times(words, times) : words;
}

function line(entry: LogLine): HTMLLIElement {
  const made = element("li", "", entry.bad ? "bad" : "");
  const time = element("time", timeOfDay(entry.at));
  time.dateTime = entry.at.toISOString();
  made.append(time, element("span", textOf(entry)));
  return made;
}
