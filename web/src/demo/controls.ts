// The three things that can be chosen while the stream runs.

import { byId, fillSelect, say } from "../page/dom.ts";
import { put } from "./put.ts";
import { type Choice, SELECTIONS, SHAPES, SUITES } from "./wording.ts";

/** One of them: a `select` with the sentence for what is chosen, and why the program refused another choice. */
class Control {
  readonly #id: string;
  readonly #select: HTMLSelectElement;
  readonly #effect: HTMLElement;
  readonly #error: HTMLElement;
  readonly #choices: readonly Choice[];
  #inForce = "";
  #asking = false;

  constructor(id: string, choices: readonly Choice[], changing: () => void, changed: (granted: boolean) => void) {
    this.#id = id;
    this.#select = byId(id, HTMLSelectElement);
    this.#effect = byId(`${id}-effect`, HTMLElement);
    this.#error = byId(`${id}-error`, HTMLElement);
    this.#choices = choices;
    fillSelect(this.#select, choices.map(({ value, name }) => [value, name] as const));
    this.#select.selectedIndex = -1;
    this.#select.addEventListener("change", () => {
      changing();
      void this.#change().then(changed);
    });
  }

  /** What is in force. What the user is choosing at the moment is left alone. */
  show(value: string): void {
    if (this.#asking || value === this.#inForce || value === "") {
      return;
    }
    this.#inForce = value;
    if (!this.#choices.some((choice) => choice.value === value)) {
      // Chosen elsewhere, on the command line for example.
      this.#select.querySelector("[data-other]")?.remove();
      const other = new Option(value, value);
      other.dataset["other"] = "";
      this.#select.append(other);
    }
    this.#select.value = value;
    this.#explain();
  }

  /** Another choice makes this one impossible, for this reason. */
  forbid(why: string): void {
    if (this.#select.disabled !== (why !== "")) {
      this.#select.disabled = why !== "";
      this.#explain(why);
    }
  }

  #explain(why = ""): void {
    const effect = this.#choices.find(({ value }) => value === this.#select.value)?.effect ?? "";
    say(this.#effect, why === "" ? effect : `${effect} ${why}`);
  }

  /** True if the program did what the user chose. */
  async #change(): Promise<boolean> {
    this.#asking = true;
    this.#explain();
    const error = await put(`/${this.#id}`, this.#select.value);
    this.#asking = false;
    say(this.#error, error);
    if (error !== "") {
      const before = this.#inForce;
      this.#inForce = "";
      this.show(before);
    }
    return error === "";
  }
}

/** What is in force, as far as anybody knows. */
export interface InForce {
  readonly selection: string;
  readonly suite: string;
  readonly shape: string;
}

/** The stream begins anew for these reasons; `granted` comes when the program has done it, or has not. */
export interface Restarts {
  restarting(why: string): void;
  restarted(granted: boolean): void;
}

/** All three. */
export class Controls {
  readonly #selection: Control;
  readonly #suite: Control;
  readonly #shape: Control;

  constructor(restarts: Restarts) {
    const anew = (id: string, choices: readonly Choice[], why: string): Control => new Control(id, choices, () => {
      restarts.restarting(why);
    }, (granted) => {
      restarts.restarted(granted);
    });
    this.#selection = new Control("selection", SELECTIONS, () => undefined, () => undefined);
    this.#suite = anew("suite", SUITES, "You chose another suite.");
    this.#shape = anew("shape", SHAPES, "You chose another shape of the traffic.");
  }

  show({ selection, suite, shape }: InForce): void {
    this.#selection.show(selection);
    this.#suite.show(suite);
    this.#shape.show(shape);
    this.#selection.forbid(shape === "off" ? "" : "With a shape nothing is left in clear.");
  }
}
