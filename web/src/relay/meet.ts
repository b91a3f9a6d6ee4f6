// Meets the camera of a ticket at its relay, and opens a session with it (relay.md, section 3).

import { type Carrier, CarrierError } from "../carrier/carrier.ts";
import { type Bytes } from "../protocol/bytes.ts";
import { type Ticket } from "../protocol/index.ts";
import { type Time } from "../worker/clock.ts";
import { RelayCarrier } from "./carrier.ts";
import { Inlet } from "./inlet.ts";
import { Outlet } from "./outlet.ts";
import {
  APPEARANCE, type OpenRelay, type Relay, type RelayAddress, SESSION_TRACK, TOKEN_LEN,
  VIEWERS, type ViewerAtRelay,
} from "./relay.ts";

type PlaceOfTicket = Pick<Ticket, "host" | "port" | "broadcast" | "certHashes">;

/** Where a ticket's relay is, and what the camera's broadcast is called there. */
export function relayOf(
  { host, port, broadcast = "", certHashes }: PlaceOfTicket,
): RelayAddress & { readonly name: string } {
  const authority = `${host.kind === "ipv6" ? `[${host.name}]` : host.name}:${port}`;
  // A relay takes the path of the address as a prefix, and the last part as the name.
  const at = broadcast.lastIndexOf("/") + 1;
  const url = new URL(`https://${authority}/${broadcast.slice(0, at)}`);
  return { host: authority, url, hashes: certHashes, name: broadcast.slice(at) };
}

/** What meeting needs of its surroundings. */
export interface MeetParts {
  readonly openRelay: OpenRelay;
  readonly time: Time;
  /** At least 16 random bytes. */
  readonly random: () => Bytes;
}

/** Opens a carrier through the relay of a ticket. @throws CarrierError in words for the user */
export async function meet(ticket: Ticket, parts: MeetParts, signal: AbortSignal): Promise<Carrier> {
  const { name, ...address } = relayOf(ticket);
  const relay = await parts.openRelay(address, signal);
  const limit = new Limit(parts.time, signal, relay);
  try {
    return await meetAt(relay, name, address.host, parts, limit);
  } catch (thrown) {
    relay.close();
    throw thrown;
  } finally {
    limit.done();
  }
}

async function meetAt(
  relay: Relay, name: string, host: string, { time, random }: MeetParts, limit: Limit,
): Promise<Carrier> {
  const token = Array.from(random().subarray(0, TOKEN_LEN), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const outlet = new Outlet(relay.publish(`${name}/${VIEWERS}/${token}`, SESSION_TRACK));
  const camera = await limit.of(relay.broadcast(name),
    `the camera's broadcast ${name} is not at relay ${host}: the camera is away, or publishes elsewhere`);
  const inlet = await limit.of(Inlet.open(camera, `${VIEWERS}/${token}`, time),
    `the camera takes no session through relay ${host}: it has too many viewers, or the relay does not let this page ` +
      "publish, which a session needs");
  return new RelayCarrier({ relay, other: camera, who: "camera", outlet, inlet }, time);
}

/**
 * Takes the session of a viewer that has come to the camera which this end publishes. @throws CarrierError if the
 * viewer does not come all the way
 */
export async function accept(relay: Relay, viewer: ViewerAtRelay, time: Time): Promise<Carrier> {
  const { answers, leave } = viewer;
  const outlet = new Outlet(answers);
  const limit = new Limit(time, new AbortController().signal, relay);
  try {
    const words = "a viewer did not come all the way";
    const broadcast = await limit.of(viewer.find(), words);
    const inlet = await limit.of(Inlet.open(broadcast, SESSION_TRACK, time), words);
    // The connection is the camera's, and of all of its sessions.
    const own = { way: relay.way, closed: relay.closed, close: leave };
    return new RelayCarrier({ relay: own, other: broadcast, who: "viewer", outlet, inlet }, time);
  } catch (thrown) {
    leave();
    throw thrown;
  } finally {
    limit.done();
  }
}

/** How long meeting may take in all. */
class Limit {
  readonly #over: Promise<string | undefined>;
  readonly done: () => void;

  constructor(time: Time, signal: AbortSignal, relay: Pick<Relay, "closed">) {
    let done = (): void => undefined;
    this.#over = new Promise<string | undefined>((resolve) => {
      const cancel = time.after(APPEARANCE, () => {
        resolve(undefined);
      });
      const unwanted = (): void => {
        resolve("it was not wanted any more");
      };
      signal.addEventListener("abort", unwanted);
      void relay.closed.then(() => {
        resolve("the connection to the relay broke");
      });
      done = () => {
        cancel();
        signal.removeEventListener("abort", unwanted);
      };
    });
    this.done = done;
  }

  /** What is awaited, or an error: in these words if it takes too long, or is refused. */
  async of<T extends object>(what: Promise<T>, words: string): Promise<T> {
    const refused = what.catch(() => undefined);
    const first = await Promise.race([refused, this.#over]);
    if (typeof first !== "object") {
      throw new CarrierError(first ?? words, "relay");
    }
    return first;
  }
}
