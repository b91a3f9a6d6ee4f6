// Control messages (protocol.md, section 4): the payloads of control records.

import { type Bytes, isZero } from "../bytes.ts";
import { malformed, misuse } from "../error.ts";
import { cameraBytes, parseCamera } from "../keys/wish.ts";
import { type CellPlan, readCellPlan, writeCellPlan } from "./cell.ts";
import { GROUP_PARSERS, type GroupMessage, writeGroupMessage } from "./group-message.ts";
import { MAX_STREAM } from "./header.ts";
import { SIGNATURE_LEN, kemField } from "./kem-field.ts";
import { Reader } from "./reader.ts";
import { type Selection, selectionFromWire, selectionToWire } from "./selection.ts";
import { MAX_ADDRESSES, MAX_LATENCY } from "./ticket.ts";
import { Writer } from "./writer.ts";

/** Longest text of a close, or of a camera's state, in bytes. */
export const MAX_TEXT = 256;
/** Parts of a long message at most. */
export const MAX_PARTS = 4;
/** Entries of a NACK at most. */
export const MAX_NACK_ENTRIES = 64;
/** Bytes of `received` at most. */
export const MAX_RECEIVED = 128;
/** Cameras of a publisher at most. */
export const MAX_CAMERAS = 32;
/** Longest message between gateways. */
export const MAX_GATEWAY_MESSAGE = 4_096;
const TOKEN_LEN = 8;

/** Why a session was closed, by its number on the wire; an unknown number is shown as it is. */
export const CLOSE_REASONS = {
  1: "end of stream",
  2: "not authorised",
  3: "going away",
  4: "protocol error",
  5: "key limit reached",
  6: "too many viewers",
  7: "source failed",
  8: "too slow",
  9: "replaced",
  10: "not offered",
} as const satisfies Record<number, string>;

export const Close = {
  EndOfStream: 1,
  NotAuthorised: 2,
  GoingAway: 3,
  ProtocolError: 4,
  KeyLimit: 5,
  TooManyViewers: 6,
  SourceFailed: 7,
  TooSlow: 8,
  Replaced: 9,
  NotOffered: 10,
} as const;

/** The text for a reason's number. */
export function closeReason(number: number): string {
  return (CLOSE_REASONS as Record<number, string>)[number] ?? `reason ${number}`;
}

/** `more` numbers after `first` are missing too, modulo 2³². */
export type NackEntry = readonly [first: number, more: number];

/** The viewer's report of what arrived, on datagrams. */
export interface Feedback {
  readonly highest: number;
  /** The viewer's wall clock when that one arrived, in nanoseconds. */
  readonly arrived: bigint;
  /** Milliseconds. */
  readonly budget: number;
  /** Bit i, least significant first: whether `highest − 1 − i` arrived. */
  readonly received: Bytes;
}

/** How pictures are turned before they are shown. */
export interface Orientation {
  /** Quarter turns clockwise, 0 to 3. */
  readonly turns: number;
  /** 1 if left and right are swapped before that. */
  readonly mirrored: number;
}

/** A control message. Its bytes are views of the payload that it was parsed from. */
export type Control =
  | { readonly type: "welcome" }
  | { readonly type: "close"; readonly reason: number; readonly text: string }
  | {
      readonly type: "rekey-offer"; readonly epoch: number; readonly mechanism: number; readonly share: Bytes;
      readonly signature: Bytes;
    }
  | { readonly type: "rekey-answer"; readonly epoch: number; readonly ciphertext: Bytes; readonly signature: Bytes }
  | { readonly type: "keyframe-request"; readonly stream: number }
  | { readonly type: "ping"; readonly t1: bigint }
  | { readonly type: "pong"; readonly t1: bigint; readonly t2: bigint; readonly t3: bigint }
  | { readonly type: "rekey-request" }
  | { readonly type: "selection"; readonly number: number; readonly selection: Selection }
  | { readonly type: "selection-ack"; readonly number: number }
  | { readonly type: "budget"; readonly milliseconds: number }
  | ({ readonly type: "orientation" } & Orientation)
  /** Whether the publisher's camera gives pictures (1) or not (2). `since` is the publisher's wall clock, ns. */
  | { readonly type: "camera"; readonly state: number; readonly since: bigint; readonly why: string }
  /** The cameras that a viewer may watch: first the one for who names none. */
  | { readonly type: "cameras"; readonly names: readonly string[] }
  /** Where the publisher can be reached, as it writes it. */
  | { readonly type: "addresses"; readonly addresses: readonly Bytes[] }
  | {
      readonly type: "part"; readonly message: number; readonly index: number; readonly count: number;
      readonly bytes: Bytes;
    }
  | { readonly type: "nack"; readonly entries: readonly NackEntry[] }
  | ({ readonly type: "feedback" } & Feedback)
  | { readonly type: "probe"; readonly token: number; readonly padding: number }
  | { readonly type: "probe-ack"; readonly token: number }
  | { readonly type: "gateway"; readonly message: Bytes }
  | { readonly type: "path-challenge"; readonly token: Bytes }
  | { readonly type: "path-response"; readonly token: Bytes }
  | { readonly type: "shape"; readonly publisher: CellPlan; readonly viewer: CellPlan }
  | GroupMessage
  /** Of a type that this version does not know: it is ignored. */
  | { readonly type: "unknown" };

const ENCODER = new TextEncoder();

/** A text in words: cut to 256 bytes, at the end of a character. */
function cutText(text: string): Bytes {
  const bytes = ENCODER.encode(text);
  if (bytes.length <= MAX_TEXT) {
    return bytes;
  }
  let end = MAX_TEXT;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) {
    end -= 1;
  }
  return bytes.subarray(0, end);
}

/** A rekey-offer without its signature. */
export function offerHead(epoch: number, mechanism: number, share: Bytes): Bytes {
  return new Writer().u8(3).u16(epoch).u8(mechanism).bytes16(share).done();
}

/** A rekey-answer without its signature. */
export function answerHead(epoch: number, ciphertext: Bytes): Bytes {
  return new Writer().u8(4).u16(epoch).bytes16(ciphertext).done();
}

/** The payload of a control record. */
export function controlBytes(message: Control): Bytes {
  const out = new Writer();
  switch (message.type) {
    case "welcome":
      return out.u8(1).done();
    case "close":
      return out.u8(2).u8(message.reason).bytes16(cutText(message.text)).done();
    case "rekey-offer":
      return out.bytes(offerHead(message.epoch, message.mechanism, message.share)).bytes(message.signature).done();
    case "rekey-answer":
      return out.bytes(answerHead(message.epoch, message.ciphertext)).bytes(message.signature).done();
    case "keyframe-request":
      return out.u8(5).u32(message.stream).done();
    case "ping":
      return out.u8(6).u64(message.t1).done();
    case "pong":
      return out.u8(7).u64(message.t1).u64(message.t2).u64(message.t3).done();
    case "rekey-request":
      return out.u8(8).done();
    case "selection": {
      const [mode, argument] = selectionToWire(message.selection);
      return out.u8(9).u16(message.number).u8(mode).u16(argument).done();
    }
    case "selection-ack":
      return out.u8(10).u16(message.number).done();
    case "budget":
      return out.u8(35).u16(message.milliseconds).done();
    case "orientation":
      return out.u8(39).u8(message.turns).u8(message.mirrored).done();
    case "camera":
      return out.u8(36).u8(message.state).u64(message.since).bytes16(cutText(message.why)).done();
    case "cameras":
      out.u8(42).u8(message.names.length);
      for (const name of message.names) {
        out.bytes8(cameraBytes(name));
      }
      return out.done();
    case "addresses":
      return message.addresses.reduce((to, one) => to.bytes8(one), out.u8(37).u8(message.addresses.length)).done();
    case "gateway":
      return out.u8(16).bytes(message.message).done();
    case "shape":
      return writeCellPlan(message.viewer, writeCellPlan(message.publisher, out.u8(19))).done();
    case "unknown":
      throw misuse("a message of an unknown type cannot be made");
    case "part":
    case "nack":
    case "feedback":
    case "probe":
    case "probe-ack":
    case "path-challenge":
    case "path-response":
      return datagramControlBytes(message, out).done();
    default:
      return writeGroupMessage(message, out).done();
  }
}

type OfDatagrams = Extract<
  Control,
  { type: "part" | "nack" | "feedback" | "probe" | "probe-ack" | "path-challenge" | "path-response" }
>;

/** Messages that travel only where media goes in datagrams. */
function datagramControlBytes(message: OfDatagrams, out: Writer): Writer {
  switch (message.type) {
    case "part":
      return out.u8(11).u16(message.message).u8(message.index).u8(message.count).bytes(message.bytes);
    case "nack":
      out.u8(12).u8(message.entries.length);
      for (const [first, more] of message.entries) {
        out.u32(first).u8(more);
      }
      return out;
    case "feedback":
      return out.u8(13).u32(message.highest).u64(message.arrived).u16(message.budget).bytes8(message.received);
    case "probe":
      return out.u8(14).u32(message.token).bytes(new Uint8Array(message.padding));
    case "probe-ack":
      return out.u8(15).u32(message.token);
    case "path-challenge":
      return out.u8(17).bytes(message.token);
    case "path-response":
      return out.u8(18).bytes(message.token);
  }
}

function check<T>(value: T, fits: boolean): T {
  if (!fits) {
    throw malformed();
  }
  return value;
}

function parseText(reader: Reader): string {
  const bytes = reader.bytes16();
  check(bytes, bytes.length <= MAX_TEXT);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw malformed();
  }
}

function parseNack(reader: Reader): Control {
  const count = reader.u8();
  check(count, count >= 1 && count <= MAX_NACK_ENTRIES);
  const entries: NackEntry[] = [];
  for (let at = 0; at < count; at += 1) {
    entries.push([reader.u32(), reader.u8()]);
  }
  return { type: "nack", entries };
}

function parseCameras(reader: Reader): Control {
  const count = reader.u8();
  check(count, count >= 1 && count <= MAX_CAMERAS);
  return { type: "cameras", names: Array.from({ length: count }, () => parseName(reader)) };
}

function parseName(reader: Reader): string {
  const name = parseCamera(reader.bytes8());
  if (name === undefined || name === "") {
    throw malformed();
  }
  return name;
}

function parseAddresses(reader: Reader): Control {
  const count = atMost(MAX_ADDRESSES, reader.u8());
  const addresses = Array.from({ length: count }, () => reader.bytes8());
  check(addresses, addresses.every((address) => address.length > 0));
  return { type: "addresses", addresses };
}

function parsePart(reader: Reader): Control {
  const [message, index, count, bytes] = [reader.u16(), reader.u8(), reader.u8(), reader.rest()];
  check(count, count >= 2 && count <= MAX_PARTS && index < count && bytes.length > 0);
  return { type: "part", message, index, count, bytes };
}

function parseFeedback(reader: Reader): Control {
  const fields = { highest: reader.u32(), arrived: reader.u64(), budget: reader.u16(), received: reader.bytes8() };
  check(fields, fields.received.length <= MAX_RECEIVED);
  return { type: "feedback", ...fields };
}

function parseProbe(reader: Reader): Control {
  const [token, zeros] = [reader.u32(), reader.rest()];
  check(zeros, isZero(zeros));
  return { type: "probe", token, padding: zeros.length };
}

function mediaStream(stream: number): number {
  return check(stream, stream >= 1 && stream <= MAX_STREAM);
}

function atMost(most: number, value: number): number {
  return check(value, value <= most);
}

function cameraState(state: number): number {
  return check(state, state === 1 || state === 2);
}

function selectionNumber(number: number): number {
  return check(number, number > 0);
}

/** The parser of each type's fields, by its number. */
const PARSERS: Readonly<Record<number, (reader: Reader) => Control>> = {
  1: () => ({ type: "welcome" }),
  2: (reader) => ({ type: "close", reason: reader.u8(), text: parseText(reader) }),
  3: (reader) => ({
    type: "rekey-offer",
    epoch: reader.u16(),
    mechanism: reader.u8(),
    share: kemField(reader.bytes16()),
    signature: reader.bytes(SIGNATURE_LEN),
  }),
  4: (reader) => ({
    type: "rekey-answer",
    epoch: reader.u16(),
    ciphertext: kemField(reader.bytes16()),
    signature: reader.bytes(SIGNATURE_LEN),
  }),
  5: (reader) => ({ type: "keyframe-request", stream: mediaStream(reader.u32()) }),
  6: (reader) => ({ type: "ping", t1: reader.u64() }),
  7: (reader) => ({ type: "pong", t1: reader.u64(), t2: reader.u64(), t3: reader.u64() }),
  8: () => ({ type: "rekey-request" }),
  9: (reader) => ({
    type: "selection",
    number: selectionNumber(reader.u16()),
    selection: selectionFromWire(reader.u8(), reader.u16()),
  }),
  10: (reader) => ({ type: "selection-ack", number: selectionNumber(reader.u16()) }),
  11: parsePart,
  12: parseNack,
  13: parseFeedback,
  14: parseProbe,
  15: (reader) => ({ type: "probe-ack", token: reader.u32() }),
  16: (reader) => ({
    type: "gateway",
    message: check(reader.rest(), reader.at > 1 && reader.at <= 1 + MAX_GATEWAY_MESSAGE),
  }),
  17: (reader) => ({ type: "path-challenge", token: reader.bytes(TOKEN_LEN) }),
  18: (reader) => ({ type: "path-response", token: reader.bytes(TOKEN_LEN) }),
  19: (reader) => ({ type: "shape", publisher: readCellPlan(reader), viewer: readCellPlan(reader) }),
  ...GROUP_PARSERS,
  35: (reader) => ({ type: "budget", milliseconds: atMost(MAX_LATENCY, reader.u16()) }),
  39: (reader) => ({ type: "orientation", turns: atMost(3, reader.u8()), mirrored: atMost(1, reader.u8()) }),
  36: (reader) => ({ type: "camera", state: cameraState(reader.u8()), since: reader.u64(), why: parseText(reader) }),
  42: parseCameras,
  37: parseAddresses,
};

/**
 * Parses the payload of a control record.
 * @throws ProtocolError `malformed` for a known type with wrong fields, and for an empty payload
 */
export function parseControl(payload: Bytes): Control {
  const reader = new Reader(payload);
  const parser = PARSERS[reader.u8()];
  if (parser === undefined) {
    return { type: "unknown" };
  }
  const message = parser(reader);
  reader.finish();
  return message;
}
