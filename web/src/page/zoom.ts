// Zoom into the picture: by buttons, keys, two fingers, or the wheel with Ctrl; a larger picture is moved by dragging.

import { byId, say } from "./dom.ts";
import { isTyping } from "./picture.ts";

const LARGEST = 8;
/** By how much a press of a button zooms, and by how much the picture moves with an arrow key (share of the view). */
const STEP = 1.5;
const MOVE = 0.15;
/** The wheel's pixels that make the picture e times as large. */
const WHEEL = 300;

/** How the picture is shown: how many times as large, and where its middle is, in pixels beside the view's. */
export interface Zoomed {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

export const WHOLE: Zoomed = { scale: 1, x: 0, y: 0 };

/** A point beside the middle of the view, or the view's size. */
interface Pixels {
  readonly x: number;
  readonly y: number;
}

function between(value: number, most: number): number {
  return Math.min(most, Math.max(-most, value));
}

/** The view never shows anything beside the picture. */
function within({ scale, x, y }: Zoomed, view: Pixels): Zoomed {
  const over = (scale - 1) / 2;
  return { scale, x: between(x, over * view.x), y: between(y, over * view.y) };
}

/** Zooms by a factor. What is at the point `at` stays there. */
export function zoomed(before: Zoomed, factor: number, at: Pixels, view: Pixels): Zoomed {
  const scale = Math.min(LARGEST, Math.max(1, before.scale * factor));
  const real = scale / before.scale;
  return within({ scale, x: at.x - (at.x - before.x) * real, y: at.y - (at.y - before.y) * real }, view);
}

/** Moves the picture by so many pixels. */
export function moved(before: Zoomed, by: Pixels, view: Pixels): Zoomed {
  return within({ scale: before.scale, x: before.x + by.x, y: before.y + by.y }, view);
}

const MIDDLE: Pixels = { x: 0, y: 0 };
const ARROWS: Readonly<Record<string, Pixels>> = {
  ArrowLeft: { x: MOVE, y: 0 }, ArrowRight: { x: -MOVE, y: 0 },
  ArrowUp: { x: 0, y: MOVE }, ArrowDown: { x: 0, y: -MOVE },
};

/** The zoom of the large picture. */
export class Zoom {
  readonly #view = byId("view", HTMLElement);
  readonly #picture = byId("picture", HTMLElement);
  readonly #said = byId("zoom", HTMLOutputElement);
  readonly #smaller = byId("zoom-out", HTMLButtonElement);
  readonly #larger = byId("zoom-in", HTMLButtonElement);
  readonly #fingers = new Map<number, Pixels>();
  #now = WHOLE;

  constructor() {
    this.#smaller.addEventListener("click", () => {
      this.#by(1 / STEP);
    });
    this.#larger.addEventListener("click", () => {
      this.#by(STEP);
    });
    document.addEventListener("keydown", (event) => {
      if (!isTyping(event) && this.#view.checkVisibility()) {
        this.#key(event);
      }
    });
    this.#view.addEventListener("wheel", (event) => {
      if (event.ctrlKey) {
        event.preventDefault();
        this.#by(Math.exp(-event.deltaY / WHEEL), this.#beside(event));
      }
    }, { passive: false });
    this.#follow();
    new ResizeObserver(() => {
      this.#show(within(this.#now, this.#size));
    }).observe(this.#view);
    this.reset();
  }

  /** Shows the whole picture. */
  reset(): void {
    this.#fingers.clear();
    this.#show(WHOLE);
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.altKey || event.metaKey) {
      return;
    }
    const arrow = ARROWS[event.key];
    if (event.key === "+" || event.key === "-") {
      this.#by(event.key === "+" ? STEP : 1 / STEP);
    } else if (event.key === "0") {
      this.reset();
    } else if (arrow !== undefined && this.#now.scale > 1) {
      const { x, y } = this.#size;
      this.#show(moved(this.#now, { x: arrow.x * x, y: arrow.y * y }, this.#size));
    } else {
      return;
    }
    event.preventDefault();
  }

  /** Fingers, pens, and the mouse. */
  #follow(): void {
    const view = this.#view;
    view.addEventListener("pointerdown", (event) => {
      if (!(event.target instanceof HTMLButtonElement)) {
        this.#fingers.set(event.pointerId, this.#beside(event));
      }
    });
    view.addEventListener("pointermove", (event) => {
      const before = this.#fingers.get(event.pointerId);
      if (before !== undefined) {
        const after = this.#beside(event);
        this.#drag(event.pointerId, before, after);
        this.#fingers.set(event.pointerId, after);
      }
    });
    for (const end of ["pointerup", "pointercancel", "pointerleave"] as const) {
      view.addEventListener(end, ({ pointerId }) => {
        this.#fingers.delete(pointerId);
      });
    }
  }

  #drag(id: number, before: Pixels, after: Pixels): void {
    const other = [...this.#fingers].find(([one]) => one !== id)?.[1];
    if (other === undefined) {
      this.#show(moved(this.#now, { x: after.x - before.x, y: after.y - before.y }, this.#size));
      return;
    }
    const apart = (one: Pixels): number => Math.max(1, Math.hypot(one.x - other.x, one.y - other.y));
    this.#by(apart(after) / apart(before), { x: (after.x + other.x) / 2, y: (after.y + other.y) / 2 });
  }

  get #size(): Pixels {
    return { x: this.#view.clientWidth, y: this.#view.clientHeight };
  }

  /** Where something happened, beside the middle of the view. */
  #beside({ clientX, clientY }: MouseEvent): Pixels {
    const { left, top, width, height } = this.#view.getBoundingClientRect();
    return { x: clientX - left - width / 2, y: clientY - top - height / 2 };
  }

  #by(factor: number, at = MIDDLE): void {
    this.#show(zoomed(this.#now, factor, at, this.#size));
  }

  #show(next: Zoomed): void {
    this.#now = next;
    const { scale, x, y } = next;
    const whole = scale === 1;
    this.#picture.style.transform = whole ? "" : `translate(${x}px, ${y}px) scale(${scale})`;
    this.#view.classList.toggle("larger", !whole);
    this.#smaller.disabled = whole;
    this.#larger.disabled = scale >= LARGEST;
    say(this.#said, `${Number(scale.toFixed(1))}×`);
  }
}
