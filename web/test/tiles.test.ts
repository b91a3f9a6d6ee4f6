// Which cameras the grid watches, as the publisher tells of them.

import { cameraIn, pageFor } from "../src/page/link.ts";
import { MAX_BEGINNING, MAX_WATCHED, Tiles, type Watchable } from "../src/page/tiles.ts";
import { same, test } from "./support/harness.ts";

/** Tiles that note what becomes of them. */
class Wall {
  readonly made: string[] = [];
  /** The most that were watched at once, and that began at once. */
  readonly most = { watched: 0, beginning: 0 };
  readonly tiles = new Tiles(({ key }: { key: string }) => {
    this.made.push(key);
    return new Note(key);
  });

  follow(names: readonly string[]): string[] {
    this.tiles.follow(names.map((key) => ({ key })));
    this.#look();
    return this.tiles.all.map(({ name }) => name);
  }

  /** Those that begin have begun, and others after them. */
  settle(): void {
    for (let one = this.#in("beginning")[0]; one !== undefined; one = this.#in("beginning")[0]) {
      one.state = "begun";
      this.tiles.go();
      this.#look();
    }
  }

  /** Names of those that have a session or begin one. */
  get watched(): string[] {
    return this.#in("beginning", "begun").map(({ name }) => name);
  }

  #in(...states: Watchable["state"][]): Note[] {
    return this.tiles.all.filter(({ state }) => states.includes(state));
  }

  #look(): void {
    this.most.watched = Math.max(this.most.watched, this.watched.length);
    this.most.beginning = Math.max(this.most.beginning, this.#in("beginning").length);
  }
}

class Note implements Watchable {
  readonly name: string;
  state: Watchable["state"] = "resting";

  constructor(name: string) {
    this.name = name;
  }

  wait(): void {
    this.state = this.state === "resting" ? "waiting" : this.state;
  }

  begin(): void {
    this.state = "beginning";
  }

  rest(): void {
    this.state = "resting";
  }
}

const EIGHT = ["a", "b", "c", "d", "e", "f", "g", "h"];

test("tiles appear, stay and vanish as cameras are told, in their order", () => {
  const wall = new Wall();
  same(wall.follow(["front", "yard"]), ["front", "yard"], "at first");
  wall.settle();
  const yard = wall.tiles.of("yard");
  same(wall.follow(["gate", "yard", "front"]), ["gate", "yard", "front"], "another one, and another order");
  same([wall.made, yard?.state], [["front", "yard", "gate"], "begun"], "each is made and begins once");
  same(wall.follow(["gate", "front"]), ["gate", "front"], "one less");
  same([yard?.state, wall.tiles.of("yard")], ["resting", undefined], "one that is told no more is not watched");
  same(wall.follow(["yard"]), ["yard"], "it comes back");
  same(wall.made.length, 4, "as a new tile");
  same(wall.follow([]), [], "none");
});

test("the first six are watched, also when the order changes or one vanishes", () => {
  const wall = new Wall();
  same(wall.follow(EIGHT), EIGHT, "all have tiles");
  wall.settle();
  same(wall.watched, EIGHT.slice(0, MAX_WATCHED), "the first ones");
  wall.follow([...EIGHT].reverse());
  wall.settle();
  same(wall.watched, [...EIGHT].reverse().slice(0, MAX_WATCHED), "the first ones of another order");
  wall.follow(EIGHT.slice(1));
  wall.settle();
  same(wall.watched, EIGHT.slice(1, 7), "one moves up");
  same(wall.most, { watched: MAX_WATCHED, beginning: MAX_BEGINNING }, "the most at once");
});

test("few sessions begin at once, and one that rests makes room", () => {
  const wall = new Wall();
  wall.follow(EIGHT);
  same(wall.watched, ["a", "b", "c"], "at first");
  wall.follow(EIGHT.slice(1));
  same(wall.watched, ["b", "c", "d"], "after one has gone");
});

test("the address names the camera, whatever its name, and nothing else", () => {
  same([cameraIn("?camera=front"), cameraIn(""), cameraIn("?publish")], ["front", "", ""], "names");
  for (const name of ["front", "back yard", "a&b=c#d?e", "Fenêtre 日本", "100 %", "+"]) {
    const { pathname, search, hash } = new URL(pageFor("watch", "/", name), "https://camera.example/");
    same([pathname, cameraIn(search), hash], ["/", name, ""], name);
  }
  same(pageFor("publish", "/", "front"), "/?publish", "a page that publishes");
});
