// Slice headers (ITU-T H.264, clause 7.3.3).

import { type Bytes } from "../../bytes.ts";
import { NalType, nalType } from "../annexb.ts";
import { type BitReader, Rbsp, broken, unsplit } from "./bits.ts";
import {
  MAX_MACROBLOCKS, MAX_REFERENCES, type ParameterSets, type Pps, type Sps, passQpChange,
} from "./parameter-sets.ts";

/** Longest list of commands in a header: one for each of 32 references, in both fields, and the end. */
const MAX_COMMANDS = 66;
/** Bytes at the begin of a unit that hold the first two fields of a slice header. */
const KIND_BYTES = 16;

/** Kind of a slice. `SP` and `SI` are switching slices. */
export type SliceKind = "P" | "B" | "I" | "SP" | "SI";

/** By `slice_type` (table 7-6). */
const KINDS: readonly SliceKind[] = ["P", "B", "I", "SP", "SI"];

/** What is needed to parse the data of a slice. */
export interface SliceContext {
  readonly kind: "P" | "B" | "I";
  /** Number of active reference indices of both lists. */
  readonly references: readonly [number, number];
  readonly firstMb: number;
  readonly widthMbs: number;
  readonly macroblocks: number;
  readonly monochrome: boolean;
  readonly transform8x8: boolean;
  readonly direct8x8: boolean;
  /** Bits of an uncompressed macroblock. */
  readonly pcmBits: number;
}

/** A slice header, as far as the data after it needs it. */
export interface SliceHeader {
  readonly context: SliceContext;
  /** The first bit of the data in the payload. */
  readonly at: number;
}

/** True if all macroblocks of such a slice are intra. */
export function isIntra(kind: SliceKind): boolean {
  return kind === "I" || kind === "SI";
}

/** The kind of a slice NAL unit by its first bytes, without parameter sets; `undefined` for what is no slice header. */
export function sliceKind(unit: Bytes): SliceKind | undefined {
  try {
    const bits = new Rbsp(unit.subarray(0, KIND_BYTES)).reader(8);
    bits.ueTo(MAX_MACROBLOCKS - 1);
    const kind = KINDS[bits.ueTo(9) % KINDS.length];
    bits.check();
    return kind;
  } catch {
    return undefined;
  }
}

/** Parses the header of a slice. @throws ProtocolError `not-split` with the reason */
export function parseHeader(rbsp: Rbsp, sets: ParameterSets): SliceHeader {
  const first = rbsp.bytes[0] ?? 0;
  const type = nalType(first);
  if (type !== 1 && type !== NalType.Idr) {
    throw unsplit("the camera uses data partitions or an extension of H.264, which are not supported");
  }
  const bits = rbsp.reader(8);
  const firstMb = bits.ueTo(MAX_MACROBLOCKS - 1);
  const kind = KINDS[bits.ueTo(9) % KINDS.length] ?? "SI";
  const pps = sets.pps(bits.ueTo(255));
  const sps = pps && sets.sps(pps.sps);
  if (pps === undefined || sps === undefined) {
    throw unsplit("the parameter sets are missing");
  }
  // Refuses what the rest of the header would need.
  const context = contextOf(sps, pps, kind, firstMb);
  bits.read(sps.frameNumBits);
  if (!sps.framesOnly && bits.flag()) {
    throw interlaced();
  }
  const idr = type === NalType.Idr;
  if (idr) {
    bits.ue();
  }
  skipOrder(bits, sps, pps);
  if (pps.redundant) {
    bits.ueTo(127);
  }
  if (context.kind === "B") {
    bits.skip(1);
  }
  const references = parseReferences(bits, context);
  const whole = { ...context, references };
  if ((context.kind === "P" && pps.weightedP) || (context.kind === "B" && pps.weightedB)) {
    skipWeights(bits, whole);
  }
  if ((first & 0x60) !== 0) {
    skipMarking(bits, idr);
  }
  passQpChange(bits);
  if (pps.deblockingControl && bits.ueTo(2) !== 1) {
    bits.se();
    bits.se();
  }
  bits.check();
  return { context: whole, at: bits.at };
}

function interlaced(): Error {
  return unsplit("the video is interlaced, which is not supported");
}

/** Refuses what these parameter sets announce and is not supported. */
function contextOf(sps: Sps, pps: Pps, kind: SliceKind, firstMb: number): SliceContext {
  if (pps.cabac) {
    throw unsplit("the camera uses CABAC, which cannot be split");
  }
  if (pps.sliceGroups) {
    throw unsplit("the camera uses slice groups, which are not supported");
  }
  if (sps.adaptive) {
    throw interlaced();
  }
  if (sps.chromaFormat > 1) {
    throw unsplit("the chroma format is neither 4:0:0 nor 4:2:0");
  }
  if (kind === "SP" || kind === "SI") {
    throw unsplit("the camera uses switching slices, which are not supported");
  }
  const macroblocks = sps.widthMbs * sps.heightMbs;
  if (firstMb >= macroblocks) {
    throw broken();
  }
  const monochrome = sps.chromaFormat === 0;
  return {
    kind, references: pps.references, firstMb, widthMbs: sps.widthMbs, macroblocks, monochrome,
    transform8x8: pps.transform8x8, direct8x8: sps.direct8x8,
    pcmBits: 256 * sps.depthLuma + (monochrome ? 0 : 128 * sps.depthChroma),
  };
}

/** Passes over the fields that tell the order of pictures. */
function skipOrder(bits: BitReader, sps: Sps, pps: Pps): void {
  if (sps.orderCount === "nothing") {
    return;
  }
  if (sps.orderCount === "differences") {
    bits.se();
  } else {
    bits.skip(sps.orderCount);
  }
  if (pps.bottomOrder) {
    bits.se();
  }
}

/** The number of active references; passes over the modification of their lists (clause 7.3.3.1). */
function parseReferences(bits: BitReader, context: SliceContext): [number, number] {
  const lists = context.kind === "P" ? 1 : context.kind === "B" ? 2 : 0;
  const references: [number, number] = [...context.references];
  if (lists > 0 && bits.flag()) {
    for (let list = 0; list < lists; list += 1) {
      references[list] = 1 + bits.ueTo(MAX_REFERENCES - 1);
    }
  }
  for (let list = 0; list < lists; list += 1) {
    if (bits.flag()) {
      skipCommands(bits, [1, 1, 1, "end"]);
    }
  }
  return references;
}

/** Passes over commands up to the last. `fields` says how many numbers follow each. */
function skipCommands(bits: BitReader, fields: readonly (number | "end")[]): void {
  for (let count = 0; count < MAX_COMMANDS; count += 1) {
    const follow = fields[bits.ue()];
    if (follow === undefined) {
      throw broken();
    }
    if (follow === "end") {
      return;
    }
    for (let field = 0; field < follow; field += 1) {
      bits.ue();
    }
  }
  throw broken();
}

/** The prediction weight table (clause 7.3.3.2). */
function skipWeights(bits: BitReader, { kind, monochrome, references }: SliceContext): void {
  bits.ueTo(7);
  if (!monochrome) {
    bits.ueTo(7);
  }
  for (const count of references.slice(0, kind === "B" ? 2 : 1)) {
    for (let reference = 0; reference < count; reference += 1) {
      for (const weights of monochrome ? [2] : [2, 4]) {
        for (let left = bits.flag() ? weights : 0; left > 0; left -= 1) {
          bits.se();
        }
      }
    }
  }
}

/** The marking of references (clause 7.3.3.3). */
function skipMarking(bits: BitReader, idr: boolean): void {
  if (idr) {
    bits.skip(2);
  } else if (bits.flag()) {
    skipCommands(bits, ["end", 1, 1, 2, 1, 0, 1]);
  }
}
