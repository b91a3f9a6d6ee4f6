// How a camera begins to be watched, large or in a tile.

import { type ToWorker, type WatchOptions } from "../messages.ts";
import { plain } from "../protocol/index.ts";
import { texts } from "../text/page.ts";

/** A canvas, and what its worker begins with. */
export interface Watching {
  readonly first: Extract<ToWorker, { type: "watch" }>;
  readonly transfer: Transferable[];
  readonly picture: HTMLCanvasElement;
}

/** The canvas for this camera's pictures; without a name they are those that the publisher gives to who names none. */
export function watching(ticket: string, camera: string, options: WatchOptions): Watching {
  const picture = document.createElement("canvas");
  picture.role = "img";
  picture.ariaLabel = camera === "" ? texts().live.itsPicture : texts().live.pictureOf(plain(camera));
  const canvas = picture.transferControlToOffscreen();
  const { language } = texts();
  return { first: { type: "watch", ticket, camera, canvas, options, language }, transfer: [canvas], picture };
}
