// Media over QUIC over WebTransport or a WebSocket, by @moq/net. It is a file of its own, which a page loads only for a
// relay: classes of the page's other files would be other ones here, so errors are made by whoever calls.

import { Broadcast as MoqBroadcast, Connection, type Group, Path, type Track } from "@moq/net";
import QmuxSession from "@moq/qmux";

import { hasWebTransport } from "../carrier/webtransport.ts";
import { type Bytes } from "../protocol/bytes.ts";
import { type Established, MoqCamera, SESSION_KEPT, sessionTrack } from "./moq-camera.ts";
import {
  APPEARANCE, type Broadcast, type CameraBroadcast, type IncomingGroup, type OutgoingTrack, type Relay,
  type RelayAddress, type RelayWay, type Subscription, type Wanted,
} from "./relay.ts";

/** The version that this is tested with. Earlier ones do not say where a track begins. */
const VERSION = "moq-lite-05";
/** Milliseconds for which a relay may have a page keep groups: so much of what comes stays in memory. */
const MAX_KEPT = SESSION_KEPT;
/** Milliseconds that WebTransport has before a WebSocket is tried. */
const HEAD_START = 2_000;
/** Milliseconds for which a relay may take to say which broadcasts there are. */
const LOOK = 500;

// Where a connection breaks under a publisher, the library leaves promises of its streams to themselves. Why it broke,
// `closed` tells; a browser's console would show an error of the page.
addEventListener("unhandledrejection", (event) => {
  if (event.reason instanceof WebTransportError) {
    event.preventDefault();
  }
});

/** Makes an error of a sentence for the user. */
export type Refused = (words: string) => Error;

/** Connects, or throws what `refused` makes of the reason. */
export async function openMoq(address: RelayAddress, signal: AbortSignal, refused: Refused): Promise<Relay> {
  signal.throwIfAborted();
  const { host, url, hashes } = address;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(APPEARANCE)]);
  const spoken: string[] = [];
  for (const way of waysTo(address)) {
    const own = way === "webtransport" && hashes.length === 0
      ? AbortSignal.any([limit, AbortSignal.timeout(HEAD_START)]) : limit;
    const transport = way === "webtransport" ? webTransport(address) : webSocket(url);
    transport.closed.catch(() => undefined);
    transport.ready.catch(() => undefined);
    const abort = (): void => {
      transport.close();
    };
    own.addEventListener("abort", abort, { once: true });
    try {
      await Promise.race([transport.ready, aborted(own)]);
      const { protocol } = transport as { readonly protocol?: string };
      spoken.push(protocol ?? "");
      if (protocol === VERSION) {
        const connection = await Connection.connect(url, { transport, discovery: true, signal: own });
        return new MoqRelay(connection, transport, way);
      }
    } catch {
      // Why, is not said.
    } finally {
      own.removeEventListener("abort", abort);
    }
    transport.close();
  }
  throw refused(spoken.length === 0 ? whyNot(host, hashes.length, signal.aborted) :
    `relay ${host}, or this browser, does not speak ${VERSION}; moq-relay 0.17 does, and browsers that have the ` +
      "protocols of WebTransport");
}

/** The ways to a relay, the better one first. A WebSocket's certificate is the browser's to judge, not the ticket's. */
function waysTo({ hashes }: RelayAddress): readonly RelayWay[] {
  const ways: RelayWay[] = hasWebTransport() ? ["webtransport"] : [];
  return hashes.length === 0 ? [...ways, "websocket"] : ways;
}

function webTransport({ url, hashes }: RelayAddress): WebTransport {
  const trust = hashes.length === 0
    ? {} : { serverCertificateHashes: hashes.map((value) => ({ algorithm: "sha-256", value })) };
  const options = { allowPooling: false, congestionControl: "low-latency" as const, protocols: [VERSION] };
  return new WebTransport(url, { ...options, ...trust });
}

/** Streams of QUIC in a WebSocket, which a relay has on the same port over TCP if it is set up so. */
function webSocket(url: URL): WebTransport {
  return new QmuxSession(url, { protocols: [VERSION], versions: { [VERSION]: null } });
}

/** Rejects once the signal says so. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => {
      reject(new Error("aborted"));
    }, { once: true });
  });
}

/** A browser does not say why: a page shall not find out what listens where. */
function whyNot(host: string, hashes: number, unwanted: boolean): string {
  const ways = hashes === 0 ? "no UDP gets through to it and it has no WebSocket" : "no UDP gets through to it";
  const certificate = hashes === 0
    ? "its certificate is none that this browser trusts"
    : "its certificate is none of those in the ticket, which last for days: ask for a new ticket";
  const why = `relay ${host} cannot be reached: it does not run, ${ways}, it refuses this page, or ${certificate}`;
  return unwanted ? "it was not wanted any more" : why;
}

class MoqRelay implements Relay {
  readonly closed: Promise<void>;
  readonly #connection: Established;
  readonly #published: { close(): void }[] = [];

  constructor(connection: Established, transport: WebTransport, readonly way: RelayWay) {
    this.#connection = connection;
    this.closed = transport.closed.then(() => undefined, () => undefined);
  }

  async broadcast(name: string): Promise<Broadcast> {
    const watched = this.#connection.announcedBroadcast(Path.from(name));
    const { active } = watched;
    let found = active.peek();
    while (found === undefined) {
      found = await active.changed();
    }
    const camera = found;
    const gone = (async () => {
      while (active.peek() === camera) {
        await active.changed();
      }
    })();
    return {
      gone,
      leave() {
        watched.close();
      },
      subscribe: async (track, wanted) => new MoqSubscription(await subscribed(camera.track(track), wanted), wanted),
    };
  }

  publish(name: string, track: string): OutgoingTrack {
    const broadcast = new MoqBroadcast.Producer();
    const made = sessionTrack(broadcast, track);
    this.#published.push(broadcast);
    this.#connection.publish(Path.from(name), broadcast);
    return made;
  }

  async has(name: string): Promise<boolean> {
    const watched = this.#connection.announcedBroadcast(Path.from(name));
    await new Promise((resolve) => {
      setTimeout(resolve, LOOK);
    });
    const there = watched.active.peek() !== undefined;
    watched.close();
    return there;
  }

  camera(name: string): CameraBroadcast {
    const camera = new MoqCamera(this.#connection, name, (path) => this.broadcast(path));
    this.#published.push(camera);
    return camera;
  }

  close(): void {
    for (const broadcast of this.#published) {
      broadcast.close();
    }
    this.#connection.close();
  }
}

/** Subscribes, and looks how long the relay would have this end keep what came. */
async function subscribed(track: Track.Consumer, { priority, from, whole }: Wanted): Promise<Track.Subscriber> {
  const subscriber = track.subscribe({
    priority, ...(from !== undefined && { startGroup: from }), ...(whole === true && { latencyMax: MAX_KEPT }),
  });
  const { latencyMax } = await subscriber.info();
  if (latencyMax > MAX_KEPT) {
    subscriber.close();
    throw new Error("the relay would have what comes kept for too long");
  }
  return subscriber;
}

class MoqSubscription implements Subscription {
  readonly #subscriber: Track.Subscriber;
  readonly #wanted: Wanted;

  constructor(subscriber: Track.Subscriber, wanted: Wanted) {
    this.#subscriber = subscriber;
    this.#wanted = wanted;
  }

  async next(): Promise<IncomingGroup | undefined> {
    const group = await this.#subscriber.recvGroup();
    return group && incoming(group);
  }

  keepFrom(startGroup: number): void {
    this.#subscriber.update({ priority: this.#wanted.priority, latencyMax: MAX_KEPT, startGroup });
  }

  leave(): void {
    this.#subscriber.close();
  }
}

function incoming(group: Group.Consumer): IncomingGroup {
  return {
    number: group.sequence,
    async next(): Promise<Bytes | undefined> {
      // The library's own buffer may be larger, and is shared.
      return (await group.readFrame())?.payload.slice();
    },
    leave() {
      group.close();
    },
  };
}
