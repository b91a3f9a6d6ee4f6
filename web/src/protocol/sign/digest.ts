// The digest of a frame: a hash over the hashes of its sealed records (signatures.md, section 1).

import { type Bytes, ascii, concat } from "../bytes.ts";
import { sha256 } from "../crypto/primitives.ts";
import { Writer } from "../wire/writer.ts";

/** Records of a frame at most: the longest frame (16 MiB) in the shortest chunks (16 bytes). */
export const MAX_FRAME_RECORDS = 2 ** 20;
const RECORD = Uint8Array.of(0);
const LABEL = ascii("sealcast2 records\0");

/** Hashes a record as it is on the wire: header, payload, tag. */
export function recordHash(record: Bytes): Promise<Bytes> {
  return sha256(concat(RECORD, record));
}

/** What a signature says of the records of a frame. */
export interface FrameDigest {
  /** Their number, 1 to `MAX_FRAME_RECORDS`. */
  readonly records: number;
  readonly digest: Bytes;
}

/** Makes the digest of a frame, record by record. WebCrypto cannot hash piece by piece, so the hashes are kept. */
export class FrameHasher {
  readonly #content = new Writer().bytes(LABEL);
  #records = 0;

  /** Adds a record by its hash. */
  push(hash: Bytes): void {
    this.#records += 1;
    if (this.#records <= MAX_FRAME_RECORDS) {
      this.#content.bytes(hash);
    }
  }

  /** The digest; `undefined` if there are no records, or too many. The last call. */
  async finish(): Promise<FrameDigest | undefined> {
    if (this.#records < 1 || this.#records > MAX_FRAME_RECORDS) {
      return undefined;
    }
    return { records: this.#records, digest: await sha256(this.#content.u32(this.#records).done()) };
  }
}
