// Media over QUIC over WebTransport, by @moq/net. It is a file of its own, which a page loads only for a relay.

import { Broadcast as MoqBroadcast, Connection, type Group, Path, Time, type Track } from "@moq/net";

import { CarrierError } from "../carrier/carrier.ts";
import { type Bytes } from "../protocol/bytes.ts";
import {
  APPEARANCE, type Broadcast, type IncomingGroup, type OutgoingTrack, type Relay, type RelayAddress,
  type Subscription, type Wanted,
} from "./relay.ts";

/** The version that this is tested with. Earlier ones do not say where a track begins. */
const VERSION = "moq-lite-05";
/** Milliseconds for which a relay may have a page keep groups: so much of what comes stays in memory. */
const MAX_KEPT = 60_000;
/** The priority of a session among tracks that a relay weighs: above all. */
const HIGHEST = 255;
/** The time of all objects of a session: it stands still, so that no relay takes one for too old. */
const TIME = Time.Timestamp.fromMillis(0);

type Established = Awaited<ReturnType<typeof Connection.connect>>;

/** Connects. @throws CarrierError that says why not */
export async function openMoq({ host, url, hashes }: RelayAddress, signal: AbortSignal): Promise<Relay> {
  signal.throwIfAborted();
  const trust = hashes.length === 0
    ? {} : { serverCertificateHashes: hashes.map((value) => ({ algorithm: "sha-256", value })) };
  const options = { allowPooling: false, congestionControl: "low-latency" as const, protocols: [VERSION] };
  const transport = new WebTransport(url, { ...options, ...trust });
  transport.closed.catch(() => undefined);
  transport.ready.catch(() => undefined);
  const limit = AbortSignal.any([signal, AbortSignal.timeout(APPEARANCE)]);
  const abort = (): void => {
    transport.close();
  };
  limit.addEventListener("abort", abort, { once: true });
  try {
    await transport.ready;
    const { protocol } = transport as { readonly protocol?: string };
    if (protocol !== VERSION) {
      throw new CarrierError(`relay ${host}, or this browser, does not speak ${VERSION}; moq-relay 0.17 does, and ` +
        "browsers that have the protocols of WebTransport", "relay");
    }
    return new MoqRelay(await Connection.connect(url, { transport, discovery: true, signal: limit }), transport);
  } catch (thrown) {
    transport.close();
    throw thrown instanceof CarrierError ? thrown : whyNot(host, hashes.length, signal.aborted);
  } finally {
    limit.removeEventListener("abort", abort);
  }
}

/** A browser does not say why: a page shall not find out what listens where. */
function whyNot(host: string, hashes: number, unwanted: boolean): CarrierError {
  const certificate = hashes === 0
    ? "its certificate is none that this browser trusts"
    : "its certificate is none of those in the ticket, which last for days: ask for a new ticket";
  const why = `relay ${host} cannot be reached: it does not run, no UDP gets through to it, it refuses this page, or ` +
    certificate;
  return new CarrierError(unwanted ? "it was not wanted any more" : why, "relay");
}

class MoqRelay implements Relay {
  readonly closed: Promise<void>;
  readonly #connection: Established;
  readonly #published: MoqBroadcast.Producer[] = [];

  constructor(connection: Established, transport: WebTransport) {
    this.#connection = connection;
    this.closed = transport.closed.then(() => undefined, () => undefined);
  }

  async broadcast(name: string): Promise<Broadcast> {
    const { active } = this.#connection.announcedBroadcast(Path.from(name));
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
      subscribe: async (track, wanted) => new MoqSubscription(await subscribed(camera.track(track), wanted), wanted),
    };
  }

  publish(name: string, track: string): OutgoingTrack {
    const broadcast = new MoqBroadcast.Producer();
    const producer = broadcast.createTrack(track, { latencyMax: MAX_KEPT, priority: HIGHEST });
    this.#published.push(broadcast);
    this.#connection.publish(Path.from(name), broadcast);
    return {
      begin() {
        const group = producer.appendGroup();
        return {
          write(payload) {
            group.writeFrame({ payload, timestamp: TIME });
          },
          end() {
            group.close();
          },
        };
      },
    };
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
    throw new CarrierError("the relay's track would be kept for too long", "relay");
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
