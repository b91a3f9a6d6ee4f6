// Saves the picture that is on the canvas as a file of the user's.

import { texts } from "../text/page.ts";
import { byId, say } from "./dom.ts";
import { pictureName } from "./wording.ts";

/** Milliseconds after which a file that was handed to the browser is let go. */
const HANDED = 60_000;

/** The picture of a canvas, also of one on which a worker draws, as PNG. @throws what the browser throws */
export async function picture(canvas: HTMLCanvasElement): Promise<Blob> {
  const copy = new OffscreenCanvas(canvas.width, canvas.height);
  const context = copy.getContext("2d");
  if (context === null) {
    throw new Error("no context");
  }
  context.drawImage(canvas, 0, 0);
  return copy.convertToBlob({ type: "image/png" });
}

/** The button. */
export class Save {
  readonly #button = byId("save", HTMLButtonElement);
  readonly #words = byId("save-words", HTMLElement);
  /** The camera's name, for that of the file. */
  camera = "";

  constructor() {
    this.#button.addEventListener("click", () => void this.#save());
  }

  /** Only a picture of now is saved. */
  enable(live: boolean): void {
    this.#button.disabled = !live;
  }

  async #save(): Promise<void> {
    const canvas = document.querySelector<HTMLCanvasElement>("#picture canvas");
    let words = "";
    try {
      if (canvas !== null) {
        hand(await picture(canvas), pictureName(this.camera, new Date()));
      }
    } catch {
      words = texts().live.noSave;
    }
    say(this.#words, words);
    this.#words.hidden = words === "";
  }
}

/** Hands a file to the browser, which saves it or asks where. */
function hand(file: Blob, name: string): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => {
    URL.revokeObjectURL(address);
  }, HANDED);
}
