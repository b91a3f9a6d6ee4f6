// Where a browser keeps what a page needs that publishes through a relay: which epoch numbers were used, and whom it
// enrolled.

import { EnrolledSecret, PeerId, PresharedKey } from "../protocol/index.ts";
import { done, openDatabase, settled } from "./indexed-db.ts";

/** Viewers that are enrolled at one place at most (peers.md). */
export const MAX_GUESTS = 64;

/** A viewer that was enrolled. */
export interface Guest {
  readonly peer: PeerId;
  /** What it proves in later handshakes. */
  readonly psk: PresharedKey;
  /** What its member key follows from. */
  readonly secret: EnrolledSecret;
}

/** The store. Every method throws `storage` if the browser refuses. */
export interface CameraStore {
  /**
   * Reserves so many epoch numbers that no page of this browser has used, and returns the first (groups.md, section 1).
   * It is written, and flushed, before this returns.
   */
  reserveEpochs(count: bigint): Promise<bigint>;
  /** Reserves so many more, if the numbers from `end` on are still free; else returns false. */
  extendEpochs(end: bigint, count: bigint): Promise<boolean>;
  /** Those who are enrolled at a place: `HOST:PORT/NAME` of a relay. */
  guests(place: string): Promise<readonly Guest[]>;
  /** Keeps one, instead of an earlier one of the same peer. */
  keepGuest(place: string, guest: Guest): Promise<void>;
  forgetGuest(place: string, peer: PeerId): Promise<void>;
}

/** Apart from the identities, so that pages of earlier versions that are open hold up nothing. */
const NAME = "sealcast-camera";
const VERSION = 1;
const NUMBERS = "numbers";
const GUESTS = "guests";
/** The number above all that were reserved. */
const EPOCHS = "epochs";

interface StoredGuest {
  readonly peer: string;
  readonly psk: CryptoKey;
  readonly secret: CryptoKey;
}

/** A place has no blank. */
function keyOf(place: string, peer: PeerId): string {
  return `${place} ${peer.toString()}`;
}

/** Keeps it in IndexedDB, for this page's origin and this browser's profile. */
export class IndexedDbCameraStore implements CameraStore {
  readonly #database: IDBDatabase;

  private constructor(database: IDBDatabase) {
    this.#database = database;
  }

  /** Opens the store, and makes it if there is none. @throws ProtocolError `storage` */
  static async open(name = NAME): Promise<IndexedDbCameraStore> {
    return new IndexedDbCameraStore(await openDatabase(name, VERSION, [NUMBERS, GUESTS]));
  }

  /** Closes the store. */
  close(): void {
    this.#database.close();
  }

  /** Changes the number, in one transaction, so that of two pages each gets numbers of its own. */
  async #epochs(change: (before: bigint) => bigint | undefined): Promise<bigint | undefined> {
    const transaction = this.#database.transaction(NUMBERS, "readwrite", { durability: "strict" });
    const store = transaction.objectStore(NUMBERS);
    const before = (await settled(store.get(EPOCHS) as IDBRequest<bigint | undefined>)) ?? 0n;
    const after = change(before);
    if (after !== undefined) {
      store.put(after, EPOCHS);
    }
    await done(transaction);
    return after === undefined ? undefined : before;
  }

  async reserveEpochs(count: bigint): Promise<bigint> {
    return (await this.#epochs((before) => before + count)) ?? 0n;
  }

  async extendEpochs(end: bigint, count: bigint): Promise<boolean> {
    return (await this.#epochs((before) => (before === end ? end + count : undefined))) !== undefined;
  }

  async guests(place: string): Promise<readonly Guest[]> {
    const range = IDBKeyRange.bound(`${place} `, `${place} \uffff`);
    const store = this.#database.transaction(GUESTS).objectStore(GUESTS);
    const found = await settled(store.getAll(range, MAX_GUESTS) as IDBRequest<StoredGuest[]>);
    return found.flatMap(({ peer: text, psk, secret }) => {
      const peer = PeerId.parse(text);
      return peer === undefined
        ? [] : [{ peer, psk: PresharedKey.restore(psk), secret: EnrolledSecret.restore(secret) }];
    });
  }

  async keepGuest(place: string, { peer, psk, secret }: Guest): Promise<void> {
    const transaction = this.#database.transaction(GUESTS, "readwrite", { durability: "strict" });
    const stored: StoredGuest = { peer: peer.toString(), psk: psk.stored, secret: secret.stored };
    transaction.objectStore(GUESTS).put(stored, keyOf(place, peer));
    await done(transaction);
  }

  async forgetGuest(place: string, peer: PeerId): Promise<void> {
    const transaction = this.#database.transaction(GUESTS, "readwrite", { durability: "strict" });
    transaction.objectStore(GUESTS).delete(keyOf(place, peer));
    await done(transaction);
  }
}

/** A store that forgets everything with its owner, for tests. */
export class MemoryCameraStore implements CameraStore {
  #epochs = 0n;
  readonly #guests = new Map<string, Guest>();

  reserveEpochs(count: bigint): Promise<bigint> {
    const first = this.#epochs;
    this.#epochs += count;
    return Promise.resolve(first);
  }

  extendEpochs(end: bigint, count: bigint): Promise<boolean> {
    const free = this.#epochs === end;
    this.#epochs += free ? count : 0n;
    return Promise.resolve(free);
  }

  guests(place: string): Promise<readonly Guest[]> {
    const found = [...this.#guests].filter(([key]) => key.startsWith(`${place} `));
    return Promise.resolve(found.map(([, guest]) => guest));
  }

  keepGuest(place: string, guest: Guest): Promise<void> {
    this.#guests.set(keyOf(place, guest.peer), guest);
    return Promise.resolve();
  }

  forgetGuest(place: string, peer: PeerId): Promise<void> {
    this.#guests.delete(keyOf(place, peer));
    return Promise.resolve();
  }
}
