// The grid: a tile for each camera, of one publisher or of all that this browser knows.

import { texts } from "../text/page.ts";
import { byId } from "./dom.ts";
import { type Place } from "./known.ts";
import { Tile, type TileActions } from "./tile.ts";
import { Tiles } from "./tiles.ts";

/** How often the tiles look whether their workers are silent; ms. */
const TICK = 500;

/** The grid, which is empty while it is hidden. */
export class Grid {
  readonly #section = byId("cameras", HTMLElement);
  readonly #list = byId("tiles", HTMLElement);
  readonly #tiles: Tiles<Place, Tile>;

  constructor(actions: Omit<TileActions, "begun">) {
    const all = { ...actions, begun: () => {
      this.#tiles.go();
    } };
    this.#tiles = new Tiles((place) => new Tile(place, all));
    setInterval(() => {
      for (const tile of this.#tiles.all) {
        tile.show();
      }
    }, TICK);
  }

  /** Shows these cameras. What stays in its place keeps its session and the focus. */
  show(places: readonly Place[]): void {
    this.#section.hidden = false;
    document.title = `${texts().markup.allCameras} – sealcast`;
    this.#tiles.follow(places);
    const elements = this.#tiles.all.map((tile) => tile.element);
    for (const old of [...this.#list.children].filter((child) => !elements.some((one) => one === child))) {
      old.remove();
    }
    elements.forEach((one, at) => {
      const there = this.#list.children[at];
      if (there !== one) {
        this.#list.insertBefore(one, there ?? null);
      }
    });
  }

  /** Gives the focus to the tile with this key, if there is one. */
  focus(key: string): void {
    this.#tiles.of(key)?.focus();
  }

  /** Ends all sessions. */
  hide(): void {
    this.#section.hidden = true;
    this.#tiles.follow([]);
    this.#list.replaceChildren();
  }
}
