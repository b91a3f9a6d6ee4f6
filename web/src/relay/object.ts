// What the two tracks of a session through a relay carry: `kind u8 | fields` (relay.md, section 3).

import { type Bytes, concat } from "../protocol/bytes.ts";

/** Longest piece of the stream in bytes. */
export const MAX_PIECE = 65_536;
const TAKEN_LEN = 9;
const Kind = { Taken: 0, Piece: 1, End: 2 } as const;

/** An object of a session. Each track begins with `taken` 0, by which the other end knows that it is there. */
export type SessionObject =
  /** How many pieces of the other direction have been taken so far. */
  | { readonly type: "taken"; readonly pieces: bigint }
  /** The next bytes of the stream. */
  | { readonly type: "piece"; readonly bytes: Bytes }
  /** There are no further bytes. */
  | { readonly type: "end" };

/** Reads an object; `undefined` if it is none. */
export function parseObject(object: Bytes): SessionObject | undefined {
  const fields = object.subarray(1);
  switch (object[0]) {
    case Kind.Taken:
      return object.length === TAKEN_LEN
        ? { type: "taken", pieces: new DataView(fields.buffer, fields.byteOffset).getBigUint64(0) } : undefined;
    case Kind.Piece:
      return fields.length >= 1 && fields.length <= MAX_PIECE ? { type: "piece", bytes: fields } : undefined;
    case Kind.End:
      return fields.length === 0 ? { type: "end" } : undefined;
    default:
      return undefined;
  }
}

/** An object as it is on the track. */
export function objectBytes(object: SessionObject): Bytes {
  switch (object.type) {
    case "taken": {
      const bytes = new Uint8Array(TAKEN_LEN);
      new DataView(bytes.buffer).setBigUint64(1, object.pieces);
      return bytes;
    }
    case "piece":
      return concat(Uint8Array.of(Kind.Piece), object.bytes);
    case "end":
      return Uint8Array.of(Kind.End);
  }
}
