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

/** A tile for each camera that the publisher tells of. */
export class Tiles<Tile extends Watchable> {
  readonly #make: (name: string) => Tile;
  #tiles: ReadonlyMap<string, Tile> = new Map();

  constructor(make: (name: string) => Tile) {
    this.#make = make;
  }

  /** All tiles, in the order of the cameras. */
  get all(): readonly Tile[] {
    return [...this.#tiles.values()];
  }

  /** The tile of this camera, if it has one. */
  of(name: string): Tile | undefined {
    return this.#tiles.get(name);
  }

  /** Follows the publisher: the first cameras are watched. Those of which it tells no more have no tile. */
  follow(names: readonly string[]): void {
    const before = this.#tiles;
    this.#tiles = new Map(names.map((name) => [name, before.get(name) ?? this.#make(name)]));
    const gone = [...before].filter(([name]) => !this.#tiles.has(name)).map(([, tile]) => tile);
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
