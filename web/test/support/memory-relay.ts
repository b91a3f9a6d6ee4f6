// A relay in memory, with a cache as a real one has, which a test makes withhold, stall and go away.

import { type Bytes } from "../../src/protocol/bytes.ts";
import {
  type Broadcast, type CameraBroadcast, type IncomingGroup, type OutgoingTrack, type Relay, type Subscription,
  VIEWERS, type ViewerAtRelay,
} from "../../src/relay/relay.ts";

/** Something that changes, and those who wait for it. */
class Changes {
  #waiting: (() => void)[] = [];

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  tell(): void {
    for (const one of this.#waiting.splice(0)) {
      one();
    }
  }
}

interface CachedGroup {
  readonly number: number;
  readonly objects: Bytes[];
  ended: boolean;
}

/** A track as the relay has it. */
export class MemoryTrack {
  readonly changes = new Changes();
  readonly groups: CachedGroup[] = [];
  over = false;
  /** True: the relay gives nothing of it. */
  withheld = false;

  /** Begins a group; the number is the next one if it does not say. The one that was begun last has ended. */
  begin(number = (this.groups.at(-1)?.number ?? -1) + 1): void {
    this.end();
    this.groups.push({ number, objects: [], ended: false });
    this.changes.tell();
  }

  /** The group that was begun last has ended. */
  end(): void {
    const last = this.groups.at(-1);
    if (last !== undefined) {
      last.ended = true;
    }
    this.changes.tell();
  }

  write(object: Bytes): void {
    // A copy, as a network makes one.
    this.groups.at(-1)?.objects.push(object.slice());
    this.changes.tell();
  }
}

interface Published {
  readonly tracks: Map<string, MemoryTrack>;
  readonly changes: Changes;
  over: boolean;
}

/** The relay. */
export class MemoryRelay {
  readonly #broadcasts = new Map<string, Published>();
  readonly #changes = new Changes();
  #end = new Changes();
  /** False: nobody can connect. */
  isThere = true;
  connections = 0;
  /** Bytes that cameras are told to wait. */
  backlog = 0;

  /** A camera, or a viewer, publishes a track. */
  track(name: string, track: string): MemoryTrack {
    const none = { tracks: new Map<string, MemoryTrack>(), changes: new Changes(), over: false };
    const published = this.#broadcasts.get(name) ?? none;
    const made = new MemoryTrack();
    published.tracks.set(track, made);
    this.#broadcasts.set(name, published);
    published.changes.tell();
    this.#changes.tell();
    return made;
  }

  /** A broadcast ends. */
  unpublish(name: string): void {
    const published = this.#broadcasts.get(name);
    this.#broadcasts.delete(name);
    if (published !== undefined) {
      published.over = true;
      for (const track of published.tracks.values()) {
        track.over = true;
        track.changes.tell();
      }
      published.changes.tell();
    }
  }

  /** Names of the broadcasts that are there. */
  get names(): readonly string[] {
    return [...this.#broadcasts.keys()];
  }

  /** Numbers of the groups that a track has. */
  groupsOf(name: string, track: string): number[] {
    return this.#broadcasts.get(name)?.tracks.get(track)?.groups.map(({ number }) => number) ?? [];
  }

  /** The objects of the newest group of a track. */
  newest(name: string, track: string): readonly Bytes[] {
    return this.#broadcasts.get(name)?.tracks.get(track)?.groups.at(-1)?.objects ?? [];
  }

  /** All connections break, and everything is forgotten. */
  restart(): void {
    for (const name of this.names) {
      this.unpublish(name);
    }
    this.#end.tell();
    this.#end = new Changes();
  }

  connect(): Relay {
    this.connections += 1;
    const own: string[] = [];
    let close: () => void = () => undefined;
    const closed = Promise.race([this.#end.next(), new Promise<void>((resolve) => {
      close = resolve;
    })]);
    return {
      way: "webtransport",
      closed,
      broadcast: (name) => this.#found(name),
      publish: (name, track) => {
        own.push(name);
        return outgoing(this.track(name, track));
      },
      has: (name) => Promise.resolve(this.#broadcasts.has(name)),
      camera: (name) => {
        own.push(name);
        return this.#camera(name, closed);
      },
      close: () => {
        close();
        own.splice(0).forEach((name) => {
          this.unpublish(name);
        });
      },
    };
  }

  /** Publishes a camera's broadcast. */
  #camera(name: string, closed: Promise<void>): CameraBroadcast {
    const tracks = { video: this.track(name, "video"), keys: this.track(name, "keys"),
      proofs: this.track(name, "proofs"), sound: this.track(name, "sound") };
    const met = new Set<string>();
    let over = false;
    void closed.then(() => {
      over = true;
      this.#changes.tell();
    });
    const backlog = (): number => this.backlog;
    return {
      get backlog() {
        return backlog();
      },
      roundTrip: undefined,
      begin: (track, number) => {
        tracks[track].begin(number);
        return {
          write: (object) => {
            tracks[track].write(object);
          },
          end: () => undefined,
        };
      },
      viewer: async () => {
        for (;;) {
          const found = this.names.find((one) => one.startsWith(`${name}/${VIEWERS}/`) && !met.has(one));
          if (over) {
            return undefined;
          }
          if (found !== undefined) {
            met.add(found);
            return this.#viewer(name, found);
          }
          await this.#changes.next();
        }
      },
    };
  }

  #viewer(name: string, found: string): ViewerAtRelay {
    const token = found.split("/").at(-1) ?? "";
    const track = `${VIEWERS}/${token}`;
    return {
      token, answers: outgoing(this.track(name, track)), find: () => this.#found(found),
      leave: () => {
        const published = this.#broadcasts.get(name);
        const answers = published?.tracks.get(track);
        published?.tracks.delete(track);
        if (answers !== undefined) {
          answers.over = true;
          answers.changes.tell();
        }
      },
    };
  }

  async #found(name: string): Promise<Broadcast> {
    for (;;) {
      const found = this.#broadcasts.get(name);
      if (found !== undefined) {
        return consumed(found);
      }
      await this.#changes.next();
    }
  }
}

function outgoing(track: MemoryTrack): OutgoingTrack {
  return {
    begin() {
      track.begin();
      return {
        write: (object) => {
          track.write(object);
        },
        end: () => undefined,
      };
    },
  };
}

function consumed(published: Published): Broadcast {
  const gone = async (): Promise<void> => {
    while (!published.over) {
      await published.changes.next();
    }
  };
  return {
    gone: gone(),
    leave: () => undefined,
    async subscribe(name, { from }) {
      // A track that is not there yet is asked of the publisher.
      for (let track = published.tracks.get(name); ; track = published.tracks.get(name)) {
        if (published.over) {
          throw new Error("there is no such broadcast any more");
        }
        if (track !== undefined) {
          return subscription(track, from);
        }
        await published.changes.next();
      }
    },
  };
}

function subscription(track: MemoryTrack, from: number | undefined): Subscription {
  let first = from;
  let left = false;
  const given = new Set<number>();
  return {
    async next() {
      for (;;) {
        const start = first ?? track.groups.at(-1)?.number ?? Infinity;
        const group = track.groups.find(({ number }) => number >= start && !given.has(number));
        if (group !== undefined && !track.withheld && !left) {
          first ??= group.number;
          given.add(group.number);
          return incoming(track, group);
        }
        if (track.over || left) {
          return undefined;
        }
        await track.changes.next();
      }
    },
    keepFrom(number) {
      first = number;
    },
    leave() {
      left = true;
      track.changes.tell();
    },
  };
}

function incoming(track: MemoryTrack, group: CachedGroup): IncomingGroup {
  let at = 0;
  let left = false;
  return {
    number: group.number,
    async next() {
      for (;;) {
        const object = track.withheld ? undefined : group.objects[at];
        if (object !== undefined) {
          at += 1;
          return object.slice();
        }
        if (left || track.over || (group.ended && !track.withheld)) {
          return undefined;
        }
        await track.changes.next();
      }
    },
    leave() {
      left = true;
      track.changes.tell();
    },
  };
}
