// Where a browser keeps its identity, and the pre-shared keys of its enrolments.

import { generateIdentity, type Identity, type PeerId, type PresharedKey } from "../protocol/index.ts";

/** A store of keys. Every method throws `storage` if the browser refuses. */
export interface KeyStore {
  /** The identity of this browser, if it has one. */
  identity(): Promise<Identity | undefined>;
  /**
   * Keeps an identity, unless there is one already.
   * @returns the one that is kept from now on: two pages that begin at once must end up with the same
   */
  keepIdentity(identity: Identity): Promise<Identity>;
  /** The key that this peer and this browser kept from an enrolment. */
  enrolment(peer: PeerId): Promise<PresharedKey | undefined>;
  /** Keeps such a key instead of an earlier one of the same peer. */
  keepEnrolment(peer: PeerId, key: PresharedKey): Promise<void>;
  /** Forgets the identity and all enrolments. */
  forget(): Promise<void>;
}

/** The identity of this browser; a new one, which is kept, if it has none. */
export async function ownIdentity(store: KeyStore): Promise<Identity> {
  return (await store.identity()) ?? store.keepIdentity(await generateIdentity());
}
