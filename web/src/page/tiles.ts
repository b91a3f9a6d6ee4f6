// Which cameras have a tile in the grid, and which of them are watched.

/** So many cameras are watched at once: a publisher gives one viewer eight sessions, and pages may overlap. */
export const MAX_WATCHED = 6;
/** So many sessions begin at once: a publisher takes four connections of an address that are not ready yet. */
export const MAX_BEGINNING = 3;

/** What the list needs of a tile. */
export interface Watchable {
  /** `waiting`: it is to be watched in its turn. `beginning`: it has no session yet. */
  readonly state: "resting" | "waiting" | "beginning" | "begun";
  /** Is to be watched, unless it is already. */
  wait(): void;
  /** Its turn has come. */
  begin(): void;
  /** Is not watched any more. */
  rest(): void;
}

/** A tile for each camera, which has a key that no other has. */
export class Tiles<Place extends { readonly key: string }, Tile extends Watchable> {
  readonly #make: (place: Place) => Tile;
  #tiles: ReadonlyMap<string, Tile> = new Map();

  constructor(make: (place: Place) => Tile) {
    this.#make = make;
  }

  /** All tiles, in the order of the cameras. */
  get all(): readonly Tile[] {
    return [...this.#tiles.values()];
  }

  /** The tile of this camera, if it has one. */
  of(key: string): Tile | undefined {
    return this.#tiles.get(key);
  }

  /** Follows what there is: the first cameras are watched. Those that are not there any more have no tile. */
  follow(places: readonly Place[]): void {
    const before = this.#tiles;
    this.#tiles = new Map(places.map((place) => [place.key, before.get(place.key) ?? this.#make(place)]));
    const gone = [...before].filter(([key]) => !this.#tiles.has(key)).map(([, tile]) => tile);
    // Those that rest come first, so that there are never more sessions than that.
    for (const tile of [...gone, ...this.all.slice(MAX_WATCHED)]) {
      tile.rest();
    }
    for (const tile of this.all.slice(0, MAX_WATCHED)) {
      tile.wait();
    }
    this.go();
  }

  /** Lets those begin whose turn has come; to be called whenever a tile has begun. */
  go(): void {
    const of = (state: Tile["state"]): Tile[] => this.all.filter((tile) => tile.state === state);
    const free = Math.max(0, MAX_BEGINNING - of("beginning").length);
    for (const tile of of("waiting").slice(0, free)) {
      tile.begin();
    }
  }
}
