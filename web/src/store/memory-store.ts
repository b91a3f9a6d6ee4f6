// A store that forgets everything with the page: for tests, and for pages that may keep nothing.

import { type Identity, type PeerId, type PresharedKey } from "../protocol/index.ts";
import { type KeyStore } from "./key-store.ts";

/** Keeps keys in memory. */
export class MemoryStore implements KeyStore {
  #identity: Identity | undefined;
  readonly #enrolments = new Map<string, PresharedKey>();

  identity(): Promise<Identity | undefined> {
    return Promise.resolve(this.#identity);
  }

  keepIdentity(identity: Identity): Promise<Identity> {
    this.#identity ??= identity;
    return Promise.resolve(this.#identity);
  }

  enrolment(peer: PeerId): Promise<PresharedKey | undefined> {
    return Promise.resolve(this.#enrolments.get(peer.toString()));
  }

  keepEnrolment(peer: PeerId, key: PresharedKey): Promise<void> {
    this.#enrolments.set(peer.toString(), key);
    return Promise.resolve();
  }

  forget(): Promise<void> {
    this.#identity = undefined;
    this.#enrolments.clear();
    return Promise.resolve();
  }
}
