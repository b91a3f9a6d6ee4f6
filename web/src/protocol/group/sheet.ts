// Key sheets, byte for byte (groups.md, section 6).

import { type Bytes, ascii, concat } from "../bytes.ts";
import { sha256 } from "../crypto/primitives.ts";
import { malformed } from "../error.ts";
import { type Identity, type SignatureCheck } from "../keys/identity.ts";
import { MAX_STREAM } from "../wire/header.ts";
import { SIGNATURE_LEN } from "../wire/kem-field.ts";
import { PEER_ID_LEN } from "../wire/peer-id.ts";
import { Reader } from "../wire/reader.ts";
import { Writer } from "../wire/writer.ts";
import { MAX_MEMBERS, ROOT, childrenOf, isBelowRoot, parentOf } from "./node.ts";
import { type Group, WRAPPED_LEN } from "./secret.ts";

const KIND = 0x20;
const VERSION = 1;
/** Random bytes of a leader's run. */
export const RUN_LEN = 16;
const HEAD_LEN = 74;
const WRAP_LEN = 4 + WRAPPED_LEN;
/** All nodes below the root. */
const MAX_WRAPS = (4 * MAX_MEMBERS - 4) / 3;
/** Bytes of a full sheet of a full group. */
export const MAX_SHEET = HEAD_LEN + MAX_WRAPS * WRAP_LEN + SIGNATURE_LEN;
const SCOPES = ["full", "update", "path"] as const;

/** How much of the tree a sheet shows: all of it, what was drawn anew, or one leaf and what is above it. */
export type Scope = (typeof SCOPES)[number];

/** A sheet whose form is right; nothing else of it has been checked. */
export interface Sheet {
  readonly scope: Scope;
  /** Number of the suite of media records. */
  readonly suite: number;
  readonly stream: number;
  /** The peer id that it claims. */
  readonly camera: Bytes;
  readonly run: Bytes;
  readonly epoch: bigint;
  /** Number of the first group of pictures of which nothing is sealed under an earlier epoch. */
  readonly effect: bigint;
  /** Wraps by node, in ascending order: leaves first. */
  readonly wraps: ReadonlyMap<number, Bytes>;
  /** True if the signature is that of whom `check` is for. */
  readonly verify: (check: SignatureCheck) => Promise<boolean>;
}

function readWraps(reader: Reader): Map<number, Bytes> {
  const count = reader.u16();
  const wraps = new Map<number, Bytes>();
  for (let last = -1, at = 0; at < count; at += 1) {
    const node = reader.u32();
    if (!isBelowRoot(node) || node <= last) {
      throw malformed();
    }
    wraps.set(node, reader.bytes(WRAPPED_LEN));
    last = node;
  }
  for (const node of wraps.keys()) {
    // A chain leads from every wrap to the root.
    const parent = parentOf(node);
    if (parent !== ROOT && !wraps.has(parent)) {
      throw malformed();
    }
  }
  return wraps;
}

/** What the camera signs of a sheet that ends before its signature. */
export async function signedSheet(unsigned: Bytes): Promise<Bytes> {
  return concat(ascii("sealcast2 key sheet\0"), await sha256(unsigned));
}

/** What a leader says in a sheet beside the wraps. */
export interface Head {
  readonly scope: Scope;
  /** Number of the suite of media records. */
  readonly suite: number;
  readonly group: Group;
  readonly epoch: bigint;
  readonly effect: bigint;
}

/** The sheet with these wraps, which are in ascending order of their nodes. */
export async function sheetBytes(
  { scope, suite, group, epoch, effect }: Head, wraps: ReadonlyMap<number, Bytes>, camera: Identity,
): Promise<Bytes> {
  const out = new Writer()
    .u8(KIND).u8(VERSION).u8(SCOPES.indexOf(scope) + 1).u8(suite).u32(group.stream).bytes(group.camera.bytes)
    .bytes(group.run).u64(epoch).u64(effect).u16(wraps.size);
  for (const [node, wrapped] of wraps) {
    out.u32(node).bytes(wrapped);
  }
  const unsigned = out.done().slice();
  return concat(unsigned, await camera.sign(await signedSheet(unsigned)));
}

/** Parses a sheet. Its bytes are views of these. @throws ProtocolError `malformed` */
export function parseSheet(bytes: Bytes): Sheet {
  const end = bytes.length - SIGNATURE_LEN;
  if (end < HEAD_LEN || bytes.length > MAX_SHEET) {
    throw malformed();
  }
  const [unsigned, signature] = [bytes.subarray(0, end), bytes.subarray(end)];
  const reader = new Reader(unsigned);
  const known = reader.u8() === KIND && reader.u8() === VERSION;
  const scope = SCOPES[reader.u8() - 1];
  const [suite, stream] = [reader.u8(), reader.u32()];
  if (!known || scope === undefined || stream < 1 || stream > MAX_STREAM) {
    throw malformed();
  }
  const sheet = {
    scope, suite, stream, camera: reader.bytes(PEER_ID_LEN), run: reader.bytes(RUN_LEN), epoch: reader.u64(),
    effect: reader.u64(), wraps: readWraps(reader),
    verify: async (check: SignatureCheck) => check(await signedSheet(unsigned), signature),
  };
  reader.finish();
  return sheet;
}

/** True if a node's secret was drawn anew, as an update shows it: one of its children has a wrap. */
export function renews({ wraps }: Sheet, node: number): boolean {
  return childrenOf(node).some((child) => wraps.has(child));
}
