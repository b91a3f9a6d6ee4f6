// Beside the picture: for whom it is sealed, how old it is at most, and the alarm when it may be older.

import { type Membership } from "../messages.ts";
import { byId, say } from "./dom.ts";
import { ageWords, alarmWords, holdersWords } from "./wording.ts";

/** The line under the picture, and the alarm on it and under it. */
export class AgeView {
  readonly #view = byId("view", HTMLElement);
  readonly #age = byId("age", HTMLElement);
  readonly #alarm = byId("alarm", HTMLElement);
  #membership: Membership | undefined;
  /** Milliseconds of `performance.now()` when that was told. */
  #told = 0;

  /** There is no session: nothing is known of any picture. */
  clear(): void {
    this.#membership = undefined;
    delete this.#view.dataset["age"];
    say(byId("holders", HTMLElement), "");
    say(this.#age, "");
    say(this.#alarm, "");
    this.#alarm.hidden = true;
  }

  /** Takes what is known of the group; `undefined` where the picture is sealed for this page alone. */
  show(membership: Membership | undefined): void {
    this.#membership = membership;
    this.#told = performance.now();
    say(byId("holders", HTMLElement), holdersWords(membership?.signed));
    this.tick();
  }

  /** The age goes on by itself between two reports. */
  tick(): void {
    const membership = this.#membership;
    if (membership === undefined) {
      say(this.#age, "");
      return;
    }
    const { age } = membership;
    this.#view.dataset["age"] = age.state;
    say(this.#age, ageWords(age, performance.now() - this.#told));
    const alarm = alarmWords(membership);
    say(this.#alarm, alarm);
    this.#alarm.hidden = alarm === "";
  }
}
