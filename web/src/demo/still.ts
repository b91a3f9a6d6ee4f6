// Pictures that the program makes: the camera's, the network's and the eavesdropper's. Each is asked for when the one
// before is there.

/** Milliseconds after which a picture that did not come is asked for again. */
const AGAIN = 1_000;
/** Milliseconds between two pictures at least; the program makes a dozen a second. */
const PAUSE = 60;

/** Keeps an image up to date while the page can be seen. */
export class Still {
  readonly #image: HTMLImageElement;
  readonly #path: string;
  #number = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(image: HTMLImageElement, path: string) {
    this.#image = image;
    this.#path = path;
    image.addEventListener("load", () => {
      this.#later(PAUSE);
    });
    // There is no picture yet, or the program has ended: an old picture must not look live.
    image.addEventListener("error", () => {
      image.removeAttribute("src");
      this.#later(AGAIN);
    });
    document.addEventListener("visibilitychange", () => {
      this.#later(0);
    });
    this.#next();
  }

  #later(milliseconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#next();
    }, milliseconds);
  }

  #next(): void {
    if (!document.hidden) {
      this.#number += 1;
      // The number makes it another address: a page asks for each only once.
      this.#image.src = `${this.#path}?${this.#number}`;
    }
  }
}
