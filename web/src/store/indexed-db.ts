// What stores in IndexedDB share: promises in the place of events, and one word for every failure.

import { ProtocolError } from "../protocol/index.ts";

/** The result of a request. @throws ProtocolError `storage` */
export function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => {
      resolve(request.result);
    };
    request.onerror = () => {
      reject(new ProtocolError("storage"));
    };
  });
}

/** Resolves once a transaction is written. @throws ProtocolError `storage` */
export function done(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => {
      resolve();
    };
    const fail = (): void => {
      reject(new ProtocolError("storage"));
    };
    transaction.onabort = fail;
    transaction.onerror = fail;
  });
}

/** Opens a database, and makes these stores if there is none. @throws ProtocolError `storage` */
export async function openDatabase(name: string, version: number, stores: readonly string[]): Promise<IDBDatabase> {
  try {
    const request = indexedDB.open(name, version);
    request.onupgradeneeded = () => {
      for (const store of stores) {
        request.result.createObjectStore(store);
      }
    };
    return await settled(request);
  } catch {
    throw new ProtocolError("storage");
  }
}
