// A store in IndexedDB, which keeps WebCrypto's keys without anybody being able to read them.

import { type Identity, type PeerId, PresharedKey, restoreIdentity, type StoredIdentity } from "../protocol/index.ts";
import { done, openDatabase, settled } from "./indexed-db.ts";
import { type KeyStore } from "./key-store.ts";

const VERSION = 1;
const IDENTITIES = "identities";
const ENROLMENTS = "enrolments";
/** A browser has one identity for each page's origin. */
const OWN = "own";

/** Keeps keys in IndexedDB, for this page's origin and this browser's profile. */
export class IndexedDbStore implements KeyStore {
  readonly #database: IDBDatabase;

  private constructor(database: IDBDatabase) {
    this.#database = database;
  }

  /** Opens the store, and makes it if there is none. @throws ProtocolError `storage` */
  static async open(name = "sealcast"): Promise<IndexedDbStore> {
    return new IndexedDbStore(await openDatabase(name, VERSION, [IDENTITIES, ENROLMENTS]));
  }

  /** Closes the store. */
  close(): void {
    this.#database.close();
  }

  async #get(store: string, key: string): Promise<unknown> {
    return settled(this.#database.transaction(store).objectStore(store).get(key) as IDBRequest<unknown>);
  }

  async identity(): Promise<Identity | undefined> {
    const stored = (await this.#get(IDENTITIES, OWN)) as StoredIdentity | undefined;
    return stored && restoreIdentity(stored);
  }

  async keepIdentity(identity: Identity): Promise<Identity> {
    const transaction = this.#database.transaction(IDENTITIES, "readwrite");
    const store = transaction.objectStore(IDENTITIES);
    // In one transaction, so that of two pages that begin at once one finds the other's identity.
    const before = (await settled(store.get(OWN) as IDBRequest<unknown>)) as StoredIdentity | undefined;
    if (before === undefined) {
      store.put(identity.stored, OWN);
    }
    await done(transaction);
    return before === undefined ? identity : restoreIdentity(before);
  }

  async enrolment(peer: PeerId): Promise<PresharedKey | undefined> {
    const stored = (await this.#get(ENROLMENTS, peer.toString())) as CryptoKey | undefined;
    return stored && PresharedKey.restore(stored);
  }

  async keepEnrolment(peer: PeerId, key: PresharedKey): Promise<void> {
    const transaction = this.#database.transaction(ENROLMENTS, "readwrite");
    transaction.objectStore(ENROLMENTS).put(key.stored, peer.toString());
    await done(transaction);
  }

  async forget(): Promise<void> {
    const transaction = this.#database.transaction([IDENTITIES, ENROLMENTS], "readwrite");
    transaction.objectStore(IDENTITIES).clear();
    transaction.objectStore(ENROLMENTS).clear();
    await done(transaction);
  }
}
