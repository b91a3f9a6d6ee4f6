// The canvas, and the pictures that wait for their time.

import { type Orientation } from "../protocol/index.ts";
import { type Cancel, type Time } from "../worker/clock.ts";
import { type Picture } from "./codecs.ts";

/** Pictures that are held at most: half a second of 60 a second. Each keeps memory of the decoder. */
const MAX_HELD = 30;
/** Highest target in milliseconds. */
export const MAX_JITTER = 500;
/** Milliseconds after which the smallest delay is looked for anew: clocks drift, and paths change. */
const DELAY_WINDOW = 5_000;

/** Pictures as they were coded. */
export const UPRIGHT: Orientation = { turns: 0, mirrored: 0 };

/** What is drawn on; `show` does not keep the picture. */
export interface Surface {
  resize(width: number, height: number): void;
  show(picture: Picture, orientation: Orientation): void;
  clear(): void;
}

/** Draws on a canvas. @throws Error if the browser gives no context */
export function canvasSurface(canvas: OffscreenCanvas): Surface {
  const context = canvas.getContext("2d", { alpha: false, desynchronized: true });
  if (context === null) {
    throw new Error("this browser does not draw on a canvas in a worker");
  }
  return {
    resize(width, height) {
      canvas.width = width;
      canvas.height = height;
    },
    show({ image, width, height }, { turns, mirrored }) {
      const [cos, sin] = [[1, 0, -1, 0][turns] ?? 1, [0, 1, 0, -1][turns] ?? 0];
      const flip = mirrored === 0 ? 1 : -1;
      context.setTransform(cos * flip, sin * flip, -sin, cos, canvas.width / 2, canvas.height / 2);
      context.drawImage(image, -width / 2, -height / 2, width, height);
      context.resetTransform();
    },
    clear() {
      context.fillStyle = "#000";
      context.fillRect(0, 0, canvas.width, canvas.height);
    },
  };
}

/** Who is told what is drawn. */
export interface ScreenEvents<Tag> {
  drawn(tag: Tag): void;
  /** A picture came too late, or nothing is shown now. */
  dropped(): void;
  /** The first picture is about to be drawn since the screen was cleared, or one of another size. */
  size(width: number, height: number): void;
}

interface Held<Tag> {
  readonly picture: Picture;
  readonly tag: Tag;
  /** Monotonic time at which it is to be drawn. */
  readonly due: number;
}

/** The smallest value of the last five to ten seconds. */
class RecentLeast {
  #before = Infinity;
  #now = Infinity;
  #began = -Infinity;

  note(value: number, at: number): number {
    if (at >= this.#began + DELAY_WINDOW) {
      this.#before = this.#now;
      this.#now = Infinity;
      this.#began = at;
    }
    this.#now = Math.min(this.#now, value);
    return Math.min(this.#now, this.#before);
  }
}

/**
 * Shows pictures at the time of their capture, plus the smallest delay that one of them had, plus a target; with a
 * target of 0 at once. Of pictures that are due together the newest is drawn. Shows nothing while it is closed.
 */
export class Screen<Tag> {
  readonly #surface: Surface;
  readonly #events: ScreenEvents<Tag>;
  readonly #time: Time;
  #target: number;
  #isOpen = false;
  /** How pictures are turned that are drawn from now on. */
  orientation = UPRIGHT;
  #size = { width: 0, height: 0 };
  #delays = new RecentLeast();
  #held: Held<Tag>[] = [];
  #cancel: Cancel | undefined;

  constructor(surface: Surface, events: ScreenEvents<Tag>, time: Time, target: number) {
    this.#surface = surface;
    this.#events = events;
    this.#time = time;
    this.#target = bounded(target);
  }

  /** Milliseconds to even out the way of the pictures. It counts for those that come. */
  set target(milliseconds: number) {
    this.#target = bounded(milliseconds);
  }

  get size(): { readonly width: number; readonly height: number } {
    return this.#size;
  }

  /** Pictures are shown from now on. */
  open(): void {
    this.#isOpen = true;
    this.#delays = new RecentLeast();
  }

  /** No picture is shown any more; the last one stays until `clear`. */
  close(): void {
    this.#isOpen = false;
    this.#cancel?.();
    this.#cancel = undefined;
    for (const { picture } of this.#held.splice(0)) {
      picture.close();
      this.#events.dropped();
    }
  }

  /** Takes the picture off the canvas. */
  clear(): void {
    this.#surface.clear();
    this.#size = { width: 0, height: 0 };
  }

  /** Takes a picture, and closes it in any case. `captured` is when, in milliseconds by any clock. */
  take(picture: Picture, captured: number, tag: Tag): void {
    if (!this.#isOpen) {
      picture.close();
      this.#events.dropped();
      return;
    }
    const now = this.#time.now().monotonic;
    const least = this.#delays.note(now - captured, now);
    const due = captured + least + this.#target;
    this.#held.push({ picture, tag, due: this.#target === 0 ? now : due });
    if (this.#held.length > MAX_HELD) {
      this.#skip(1);
    }
    this.#show();
  }

  #skip(count: number): void {
    for (const { picture } of this.#held.splice(0, count)) {
      picture.close();
      this.#events.dropped();
    }
  }

  /** Draws the newest picture that is due, and waits for the next. */
  #show(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const now = this.#time.now().monotonic;
    const last = this.#held.findLastIndex(({ due }) => due <= now);
    if (last >= 0) {
      this.#skip(last);
      const next = this.#held.shift();
      if (next !== undefined) {
        this.#draw(next);
      }
    }
    const [first] = this.#held;
    if (first !== undefined) {
      this.#cancel = this.#time.after(Math.max(0, first.due - now), () => {
        this.#show();
      });
    }
  }

  #draw({ picture, tag }: Held<Tag>): void {
    const { orientation } = this;
    const upright = orientation.turns % 2 === 0;
    const [width, height] = upright ? [picture.width, picture.height] : [picture.height, picture.width];
    try {
      if (width !== this.#size.width || height !== this.#size.height) {
        this.#size = { width, height };
        this.#surface.resize(width, height);
        this.#events.size(width, height);
      }
      this.#surface.show(picture, orientation);
      this.#events.drawn(tag);
    } catch {
      // A browser that lost its graphics may refuse a picture; the next one may pass.
      this.#events.dropped();
    } finally {
      picture.close();
    }
  }
}

function bounded(target: number): number {
  return Number.isFinite(target) ? Math.min(MAX_JITTER, Math.max(0, target)) : 0;
}
