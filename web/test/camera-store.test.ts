// What a page that publishes through a relay keeps: numbers that no other page has, and whom it enrolled.

import { EnrolledSecret, NodeSecret } from "../src/protocol/group/secret.ts";
import { generateIdentity, identityFromSeed } from "../src/protocol/keys/identity.ts";
import { PresharedKey } from "../src/protocol/keys/psk.ts";
import { type CameraStore, type Guest, IndexedDbCameraStore, MemoryCameraStore } from "../src/store/camera-store.ts";
import { assert, reasonOf, same, test } from "./support/harness.ts";

async function guest(seed: number): Promise<Guest> {
  return {
    peer: (await identityFromSeed(new Uint8Array(32).fill(seed))).peerId,
    psk: await PresharedKey.fromBytes(new Uint8Array(32).fill(seed)),
    secret: await EnrolledSecret.fromBytes(new Uint8Array(32).fill(seed)),
  };
}

async function keeps(open: () => Promise<CameraStore>): Promise<void> {
  const store = await open();
  const first = await store.reserveEpochs(100n);
  const [one, two] = await Promise.all([store.reserveEpochs(100n), (await open()).reserveEpochs(100n)]);
  same([one, two].sort((a, b) => (a < b ? -1 : 1)), [first + 100n, first + 200n], "each page has numbers of its own");
  same(await store.extendEpochs(first + 200n, 100n), false, "numbers that another page has");
  same(await store.extendEpochs(first + 300n, 100n), true, "numbers that nobody has");
  same(await (await open()).reserveEpochs(1n), first + 400n, "they stay used");
  const [here, there] = ["relay.example:4443/front", "relay.example:4443/front2"];
  const known = await guest(5);
  await store.keepGuest(here, known);
  await store.keepGuest(here, await guest(6));
  const found = await (await open()).guests(here);
  const kept = found.find(({ peer }) => peer.equals(known.peer));
  same([found.length, (await store.guests(there)).length], [2, 0], "guests of each place");
  same(await kept?.psk.name(), await known.psk.name(), "what it proves");
  const name = { camera: (await generateIdentity()).peerId, stream: 1 };
  const key = await NodeSecret.ofMember(new Uint8Array(32).fill(5), name);
  assert((await kept?.secret.memberKey(name))?.equals(key) === true, "its member key");
  same(kept?.secret.stored.extractable, false, "whether anybody can read it");
  for (const { peer } of found) {
    await store.forgetGuest(here, peer);
  }
  same((await store.guests(here)).length, 0, "they are forgotten");
}

test("a camera's store in memory gives each number once, and keeps guests by their place", async () => {
  const store = new MemoryCameraStore();
  await keeps(() => Promise.resolve(store));
});

test("a camera's store in IndexedDB does so for all pages, or says that it cannot", async () => {
  if ("indexedDB" in globalThis) {
    await keeps(() => IndexedDbCameraStore.open("test-camera"));
  } else {
    same(await reasonOf(() => IndexedDbCameraStore.open(), "without IndexedDB"), "storage", "reason");
  }
});
