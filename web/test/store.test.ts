// Stores of keys: in memory everywhere, in IndexedDB where there is one.

import { identityFromSeed, verifySignature } from "../src/protocol/keys/identity.ts";
import { PresharedKey } from "../src/protocol/keys/psk.ts";
import { IndexedDbStore } from "../src/store/indexed-db-store.ts";
import { type KeyStore, ownIdentity } from "../src/store/key-store.ts";
import { MemoryStore } from "../src/store/memory-store.ts";
import { assert, same, test } from "./support/harness.ts";

async function keeps(open: () => Promise<KeyStore>): Promise<void> {
  const store = await open();
  await store.forget();
  same(await store.identity(), undefined, "a new store is empty");
  const identity = await ownIdentity(store);
  const again = await ownIdentity(await open());
  same(again.peerId.toString(), identity.peerId.toString(), "the identity stays");
  const other = await store.keepIdentity(await identityFromSeed(new Uint8Array(32).fill(5)));
  same(other.peerId.toString(), identity.peerId.toString(), "the first one is kept");
  const message = new Uint8Array([1, 2, 3]);
  const signature = await again.sign(message);
  assert(await verifySignature(identity.peerId, message, signature), "what was kept signs for the same peer id");
  const psk = await PresharedKey.fromBytes(new Uint8Array(32).fill(6));
  same(await store.enrolment(other.peerId), undefined, "no enrolment yet");
  await store.keepEnrolment(other.peerId, psk);
  const kept = await (await open()).enrolment(other.peerId);
  same(await kept?.name(), await psk.name(), "the enrolment stays");
  await store.forget();
  same(await store.identity(), undefined, "it is forgotten");
  same(await store.enrolment(other.peerId), undefined, "and the enrolment too");
}

test("a store in memory keeps an identity and enrolments", async () => {
  const store = new MemoryStore();
  await keeps(() => Promise.resolve(store));
});

test("a store in IndexedDB keeps them where nobody can read them, or says that it cannot", async () => {
  if (!("indexedDB" in globalThis)) {
    let reason = "";
    await IndexedDbStore.open().catch((error: unknown) => {
      reason = (error as { reason: string }).reason;
    });
    same(reason, "storage", "without IndexedDB");
    return;
  }
  await keeps(() => IndexedDbStore.open("test"));
  const store = await IndexedDbStore.open("test");
  const { stored } = await ownIdentity(store);
  assert(stored.kind === "webcrypto" && !stored.privateKey.extractable, "the secret half cannot be exported");
  await store.forget();
  store.close();
});
