// The broadcast of a camera that this page publishes, in the words of the library for Media over QUIC.

import { type Broadcast as MoqBroadcast, type Connection, Group, Path, Time, type Track } from "@moq/net";

import { RELAY_TRACKS, type RelayTrack } from "../protocol/index.ts";
import { CountedBroadcast } from "./backlog.ts";
import {
  APPEARANCE, type Broadcast, type CameraBroadcast, type OutgoingGroup, type OutgoingTrack, TOKEN_LEN, VIEWERS,
  type ViewerAtRelay,
} from "./relay.ts";

/** Milliseconds for which the relay keeps a group after the next one began. */
const KEPT = 10_000;
/** Milliseconds for which what was said in a session is kept. */
export const SESSION_KEPT = 60_000;
/** The priority of a session among tracks that a relay weighs: above all. Keys before proofs before video. */
const HIGHEST = 255;
const PRIORITIES: Readonly<Record<RelayTrack, number>> = { keys: 3, proofs: 2, sound: 2, video: 1 };
/** Requests for tracks of viewers whose broadcast is not there yet, at most. */
const MAX_EARLY = 64;
/** Viewers that were found and not taken yet, at most: further ones are left alone. */
const MAX_FOUND = 64;
/** Objects and bytes of a group, bounds of the library: the rest of a longer one is left out. */
const MAX_OBJECTS = 1_024;
const MAX_BYTES = 32 << 20;
/** The time of all objects of a session: it stands still, so that no relay takes one for too old. */
const STILL = Time.Timestamp.fromMillis(0);
const TOKEN = new RegExp(`^[0-9a-f]{${2 * TOKEN_LEN}}$`);

export type Established = Awaited<ReturnType<typeof Connection.connect>>;

/** A track whose groups count up from 0, for what one end of a session says. */
export function sessionTrack(broadcast: MoqBroadcast.Producer, name: string): OutgoingTrack & { readonly producer:
Track.Producer } {
  const producer = broadcast.createTrack(name, { latencyMax: SESSION_KEPT, priority: HIGHEST });
  return {
    producer,
    begin() {
      const group = producer.appendGroup();
      return {
        write(payload) {
          group.writeFrame({ payload, timestamp: STILL });
        },
        end() {
          group.close();
        },
      };
    },
  };
}

/** A request for a track of a viewer that came before the viewer. */
interface Early {
  readonly token: string;
  readonly request: Track.Request;
  readonly since: number;
}

/** Publishes a camera's tracks, and finds the viewers that open sessions with it. */
export class MoqCamera implements CameraBroadcast {
  readonly #connection: Established;
  readonly #name: string;
  readonly #find: (path: string) => Promise<Broadcast>;
  readonly #broadcast = new CountedBroadcast("video");
  readonly #tracks: Readonly<Record<RelayTrack, Track.Producer>>;
  readonly #open = new Map<RelayTrack, Group.Producer>();
  readonly #sessions = new Map<string, Track.Producer>();
  #early: Early[] = [];
  #found: string[] = [];
  #wake: (() => void) | undefined;
  #over = false;

  /** @param find gives the broadcast of a viewer that was announced */
  constructor(connection: Established, name: string, find: (path: string) => Promise<Broadcast>) {
    this.#connection = connection;
    this.#name = name;
    this.#find = find;
    const create = (track: RelayTrack): [RelayTrack, Track.Producer] =>
      [track, this.#broadcast.createTrack(track, { latencyMax: KEPT, priority: PRIORITIES[track] })];
    this.#tracks = Object.fromEntries(RELAY_TRACKS.map(create)) as Record<RelayTrack, Track.Producer>;
    connection.publish(Path.from(name), this.#broadcast);
    void this.#announcements();
    void this.#requests();
    void connection.closed.then(() => {
      this.#ended();
    });
  }

  begin(track: RelayTrack, number: number): OutgoingGroup {
    this.#open.get(track)?.close();
    const group = new Group.Producer(number);
    this.#open.set(track, group);
    this.#tracks[track].writeGroup(group);
    let [objects, bytes] = [0, 0];
    return {
      write: (payload) => {
        objects += 1;
        bytes += payload.length;
        if (objects <= MAX_OBJECTS && bytes <= MAX_BYTES && !group.isClosed) {
          if (track === "video") {
            this.#broadcast.gave(number, payload.length);
          }
          group.writeFrame({ payload, timestamp: Time.Timestamp.now() });
        }
      },
      end() {
        group.close();
      },
    };
  }

  get backlog(): number {
    return this.#broadcast.waiting;
  }

  get roundTrip(): number | undefined {
    return this.#connection.probe.peek().rtt;
  }

  async viewer(): Promise<ViewerAtRelay | undefined> {
    for (;;) {
      const token = this.#found.shift();
      if (token !== undefined) {
        return this.#session(token);
      }
      if (this.#over) {
        return undefined;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #session(token: string): ViewerAtRelay {
    const name = `${VIEWERS}/${token}`;
    const answers = sessionTrack(this.#broadcast, name);
    this.#sessions.set(token, answers.producer);
    const [early, others] = [this.#early.filter((one) => one.token === token),
      this.#early.filter((one) => one.token !== token)];
    this.#early = others;
    for (const { request } of early) {
      void serve(answers.producer, request);
    }
    return {
      token, answers, find: () => this.#find(`${this.#name}/${name}`),
      leave: () => {
        this.#sessions.delete(token);
        this.#broadcast.removeTrack(name);
        answers.producer.close();
      },
    };
  }

  /** Viewers that are there, and those that come. */
  async #announcements(): Promise<void> {
    const announced = this.#connection.announced(Path.from(`${this.#name}/${VIEWERS}`));
    try {
      for (let one = await announced.next(); one !== undefined; one = await announced.next()) {
        const token: string = one.path;
        const fresh = one.active && TOKEN.test(token) && !this.#sessions.has(token) && !this.#found.includes(token);
        if (fresh && this.#found.length < MAX_FOUND) {
          this.#found.push(token);
          this.#wake?.();
        }
      }
    } catch {
      // The end of the connection is told by that.
    }
  }

  /** Tracks that viewers ask for before the relay says that they are there. */
  async #requests(): Promise<void> {
    try {
      for (let request = await this.#broadcast.requested(); request !== undefined; ) {
        this.#asked(request);
        request = await this.#broadcast.requested();
      }
    } catch {
      // The end of the connection is told by that.
    }
  }

  #asked(request: Track.Request): void {
    const [first, token = "", ...more] = request.name.split("/");
    const own = this.#sessions.get(token);
    const now = performance.now();
    this.#early = this.#early.filter((one) => {
      const waits = now - one.since < APPEARANCE;
      if (!waits) {
        one.request.reject(new Error("the viewer did not come"));
      }
      return waits;
    });
    if (first !== VIEWERS || !TOKEN.test(token) || more.length > 0 || this.#early.length >= MAX_EARLY) {
      request.reject(new Error("there is no such track"));
    } else if (own === undefined) {
      this.#early.push({ token, request, since: now });
    } else {
      void serve(own, request);
    }
  }

  #ended(): void {
    this.#over = true;
    this.#broadcast.close();
    this.#wake?.();
  }

  /** Ends the tracks and the broadcast: who watches is told at once. */
  close(): void {
    for (const group of this.#open.values()) {
      group.close();
    }
    for (const track of Object.values(this.#tracks)) {
      track.close();
    }
    this.#ended();
  }
}

/** Gives a request that came early what the track has, and what comes. */
async function serve(track: Track.Producer, request: Track.Request): Promise<void> {
  const copy = request.accept({ latencyMax: SESSION_KEPT, priority: HIGHEST });
  const reader = track.subscribe({ startGroup: 0, latencyMax: SESSION_KEPT });
  void copy.closed.then(() => {
    reader.close();
  });
  try {
    for (let group = await reader.recvGroup(); group !== undefined; group = await reader.recvGroup()) {
      const own = new Group.Producer(group.sequence);
      copy.writeGroup(own);
      for (let frame = await group.readFrame(); frame !== undefined; frame = await group.readFrame()) {
        own.writeFrame(frame);
      }
      own.close();
    }
  } catch {
    // Who asked sees the end of the track.
  }
  copy.close();
}
