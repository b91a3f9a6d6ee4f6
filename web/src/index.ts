// What a web application uses: the protocol, and stores for identities.

export * from "./protocol/index.ts";
export { IndexedDbStore } from "./store/indexed-db-store.ts";
export { type KeyStore, ownIdentity } from "./store/key-store.ts";
export { MemoryStore } from "./store/memory-store.ts";
