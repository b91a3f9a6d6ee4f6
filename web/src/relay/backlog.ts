// How many bytes of what a page gave to a relay's connection the browser has not taken yet.

import { Broadcast as MoqBroadcast, type Group, type Track } from "@moq/net";

/** A group that is being sent, and how many bytes of it were read for that. */
interface Sending {
  readonly group: number;
  read: number;
}

/** Groups whose lengths are remembered at most: older ones are not sent any more. */
const MAX_GROUPS = 16;

/**
 * A broadcast that counts what leaves of one track. A browser does not say how many bytes wait in a connection, but the
 * library reads the next object of a group only when the browser has taken the one before.
 */
export class CountedBroadcast extends MoqBroadcast.Producer {
  readonly #counted: string;
  readonly #sending = new Set<Sending>();
  /** Bytes that were given, by group. */
  readonly #given = new Map<number, number>();

  /** @param counted the track's name */
  constructor(counted: string) {
    super();
    this.#counted = counted;
  }

  /** So many bytes were given to a group. */
  gave(group: number, bytes: number): void {
    this.#given.set(group, (this.#given.get(group) ?? 0) + bytes);
    if (this.#given.size > MAX_GROUPS) {
      this.#given.delete(Math.min(...this.#given.keys()));
    }
  }

  /** Bytes that wait; 0 while nobody asks for the track. */
  get waiting(): number {
    let waiting = 0;
    for (const { group, read } of this.#sending) {
      waiting += Math.max(0, (this.#given.get(group) ?? 0) - read);
    }
    return waiting;
  }

  override subscribe(name: string, options?: Track.Subscription): Track.Subscriber {
    const subscriber = super.subscribe(name, options);
    if (name === this.#counted) {
      const next = subscriber.recvGroup.bind(subscriber);
      subscriber.recvGroup = async () => {
        const group = await next();
        if (group !== undefined) {
          this.#count(group);
        }
        return group;
      };
    }
    return subscriber;
  }

  /** Counts what is read of a group, until its reader leaves it. */
  #count(group: Group.Consumer): void {
    const sending: Sending = { group: group.sequence, read: 0 };
    this.#sending.add(sending);
    const [read, close] = [group.readFrame.bind(group), group.close.bind(group)];
    group.readFrame = async () => {
      const frame = await read();
      sending.read += frame?.payload.length ?? 0;
      return frame;
    };
    group.close = (abort) => {
      this.#sending.delete(sending);
      close(abort);
    };
  }
}
