// The messages of the handshake (protocol.md, section 3): their form only.

import { type Bytes } from "../bytes.ts";
import { ProtocolError, malformed, misuse } from "../error.ts";
import { MAX_HANDSHAKE_MESSAGE } from "../wire/framing.ts";
import { kemField } from "../wire/kem-field.ts";
import { Reader } from "../wire/reader.ts";
import { Writer } from "../wire/writer.ts";
import { MAC_LEN } from "./psk.ts";
import { WISH_LEN } from "./wish.ts";

/** The protocol's version. */
export const VERSION = 3;
/** First bytes of handshake messages. */
export const HELLO = 0x01;
export const RETRY = 0x02;
const REPLY = 0x03;
const FINISH = 0x04;
const ALERT = 0x05;

/** Bytes of `random`. */
export const RANDOM_LEN = 32;
/** Identifiers that an offer lists at most. */
export const MAX_OFFERS = 8;
/** Longest cookie in bytes. */
export const MAX_COOKIE = 64;
/** Bytes of the sealed part of a reply or finish: identity, wish, signature and tag. */
const SEALED_LEN = 32 + WISH_LEN + 64 + 16;
/** Alert codes: a refusal, and an unknown pre-shared key. */
const ALERT_REFUSED = 1;
const ALERT_PSK = 2;

/** What an end does. */
export type Role = "publisher" | "viewer";

/** The role that the other end must have. */
export function otherRole(role: Role): Role {
  return role === "publisher" ? "viewer" : "publisher";
}

function roleByte(role: Role): number {
  return role === "publisher" ? 1 : 2;
}

function roleOf(byte: number): Role {
  if (byte !== 1 && byte !== 2) {
    throw new ProtocolError("role");
  }
  return byte === 1 ? "publisher" : "viewer";
}

export interface Hello {
  readonly role: Role;
  readonly random: Bytes;
  readonly suites: readonly number[];
  readonly mechanisms: readonly number[];
  readonly shareMechanism: number;
  readonly share: Bytes;
  readonly cookie: Bytes;
}

export interface Retry {
  readonly mechanism: number;
  readonly cookie: Bytes;
}

export interface Reply {
  readonly role: Role;
  readonly random: Bytes;
  readonly suite: number;
  readonly mechanism: number;
  readonly ciphertext: Bytes;
  readonly sealed: Bytes;
}

/** True if a hello may list these identifiers: 1 to 8, all different. */
export function canBeOffered(ids: readonly number[]): boolean {
  return ids.length >= 1 && ids.length <= MAX_OFFERS && new Set(ids).size === ids.length;
}

function start(message: Bytes, kind: number): Reader {
  const reader = new Reader(message);
  if (message.length > MAX_HANDSHAKE_MESSAGE || reader.u8() !== kind) {
    throw malformed();
  }
  return reader;
}

function checkVersion(version: number): void {
  if (version !== VERSION) {
    throw new ProtocolError("version");
  }
}

function offers(bytes: Bytes): readonly number[] {
  const ids = [...bytes];
  if (!canBeOffered(ids)) {
    throw malformed();
  }
  return ids;
}

function cookie(bytes: Bytes): Bytes {
  if (bytes.length > MAX_COOKIE) {
    throw malformed();
  }
  return bytes;
}

/** A hello without its binder and MAC. */
export function helloHead(hello: Hello): Bytes {
  if (hello.random.length !== RANDOM_LEN) {
    throw misuse("a handshake takes 32 random bytes");
  }
  return new Writer()
    .u8(HELLO)
    .u8(VERSION)
    .u8(roleByte(hello.role))
    .bytes(hello.random)
    .bytes8(Uint8Array.from(hello.suites))
    .bytes8(Uint8Array.from(hello.mechanisms))
    .u8(hello.shareMechanism)
    .bytes16(hello.share)
    .bytes8(hello.cookie)
    .done();
}

/** A hello as it came, with what its binder covers. */
export interface ParsedHello {
  readonly hello: Hello;
  readonly head: Bytes;
  readonly binder: Bytes;
}

/**
 * Parses a hello whose MAC was verified: first its form, then its version and role. The `first` one has no cookie.
 * @throws ProtocolError `malformed`, `version`, `role`
 */
export function parseHello(message: Bytes, first: boolean, from: Role): ParsedHello {
  const reader = start(message, HELLO);
  const version = reader.u8();
  const role = reader.u8();
  const fields = {
    random: reader.bytes(RANDOM_LEN),
    suites: offers(reader.bytes8()),
    mechanisms: offers(reader.bytes8()),
    shareMechanism: reader.u8(),
    share: kemField(reader.bytes16()),
    cookie: cookie(reader.bytes8()),
  };
  const head = message.subarray(0, reader.at);
  const binder = reader.bytes(MAC_LEN);
  reader.bytes(MAC_LEN);
  reader.finish();
  if (!fields.mechanisms.includes(fields.shareMechanism) || (first && fields.cookie.length > 0)) {
    throw malformed();
  }
  checkVersion(version);
  if (roleOf(role) !== from) {
    throw new ProtocolError("role");
  }
  return { hello: { role: from, ...fields }, head, binder };
}

export function retryBytes(retry: Retry): Bytes {
  return new Writer().u8(RETRY).u8(VERSION).u8(retry.mechanism).bytes8(retry.cookie).done();
}

/** @throws ProtocolError `malformed`, `version` */
export function parseRetry(message: Bytes): Retry {
  const reader = start(message, RETRY);
  const version = reader.u8();
  const retry = { mechanism: reader.u8(), cookie: cookie(reader.bytes8()) };
  reader.finish();
  checkVersion(version);
  return retry;
}

/** A reply without its sealed part, as th1 covers it. */
export function replyHead(reply: Omit<Reply, "sealed">): Bytes {
  if (reply.random.length !== RANDOM_LEN) {
    throw misuse("a handshake takes 32 random bytes");
  }
  return new Writer()
    .u8(REPLY)
    .u8(VERSION)
    .u8(roleByte(reply.role))
    .bytes(reply.random)
    .u8(reply.suite)
    .u8(reply.mechanism)
    .bytes16(reply.ciphertext)
    .done();
}

/** A whole reply. */
export function replyBytes(head: Bytes, sealed: Bytes): Bytes {
  return new Writer().bytes(head).bytes16(sealed).done();
}

/**
 * Parses a reply, and returns what th1 covers of it.
 * @throws ProtocolError `malformed`, `version`, `role`
 */
export function parseReply(message: Bytes): { reply: Reply; head: Bytes } {
  const reader = start(message, REPLY);
  const version = reader.u8();
  const role = reader.u8();
  const fields = {
    random: reader.bytes(RANDOM_LEN),
    suite: reader.u8(),
    mechanism: reader.u8(),
    ciphertext: kemField(reader.bytes16()),
  };
  const head = message.subarray(0, reader.at);
  const sealed = reader.bytes16();
  reader.finish();
  if (sealed.length !== SEALED_LEN) {
    throw malformed();
  }
  checkVersion(version);
  return { reply: { role: roleOf(role), ...fields, sealed }, head };
}

export function finishBytes(sealed: Bytes): Bytes {
  return new Writer().u8(FINISH).bytes16(sealed).done();
}

/** The sealed part of a finish. @throws ProtocolError `malformed` */
export function parseFinish(message: Bytes): Bytes {
  const reader = start(message, FINISH);
  const sealed = reader.bytes16();
  reader.finish();
  if (sealed.length !== SEALED_LEN) {
    throw malformed();
  }
  return sealed;
}

/** The alert that tells a peer of an error: code 2 for an unknown pre-shared key, 1 for all else. */
export function alertBytes(reason: ProtocolError["reason"]): Bytes {
  return Uint8Array.of(ALERT, reason === "psk" ? ALERT_PSK : ALERT_REFUSED);
}

/** The error that an alert means; `undefined` if the message is no alert, or one with an unknown code. */
export function alerted(message: Bytes): ProtocolError | undefined {
  if (message[0] !== ALERT || message.length !== 2) {
    return undefined;
  }
  switch (message[1]) {
    case ALERT_REFUSED:
      return new ProtocolError("alert");
    case ALERT_PSK:
      return new ProtocolError("psk");
    default:
      return undefined;
  }
}
