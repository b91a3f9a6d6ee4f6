// What a worker tells of each frame, for the laboratory.

import { type Way } from "../media/stages.ts";
import { type Time } from "./clock.ts";
import { type Post } from "./role.ts";

/** Counts the session's work, and posts a row for each frame. */
export class Measured {
  readonly #post: Post;
  readonly #time: Time;
  #messages = 0;
  #milliseconds = 0;

  constructor(post: Post, time: Time) {
    this.#post = post;
    this.#time = time;
  }

  /** A session took a message. */
  opened(milliseconds: number): void {
    this.#messages += 1;
    this.#milliseconds += milliseconds;
  }

  /** A frame was drawn, and all that will be known of it is. */
  way(frame: bigint, way: Way): void {
    const { total, clock } = way;
    this.#post({
      type: "frame",
      row: {
        frame: Number(frame),
        stages: way.stages(),
        ...(total !== undefined && { total }),
        ...(clock !== undefined && { uncertainty: clock.uncertainty }),
        opening: { at: this.#time.now().monotonic, messages: this.#messages, milliseconds: this.#milliseconds },
      },
    });
  }
}
