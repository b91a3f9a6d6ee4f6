// WebSockets (RFC 6455) as far as the tests need them: frames of a stream of bytes, and the answer to an upgrade.

import { createHash } from "node:crypto";

/** What a frame carries: the first byte's lower half. */
export const Opcode = { Continuation: 0, Text: 1, Binary: 2, Close: 8, Ping: 9, Pong: 10 } as const;

/** The part of a message that one frame carries. */
export interface SocketFrame {
  readonly opcode: number;
  readonly last: boolean;
  /** Unmasked. */
  readonly payload: Buffer;
  /** As it came. */
  readonly raw: Buffer;
}

const MASK = 0x80;
const MASK_LEN = 4;
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** Cuts a stream of bytes into frames. */
export class FrameReader {
  #bytes: Buffer = Buffer.alloc(0);

  push(piece: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, piece]);
  }

  next(): SocketFrame | undefined {
    const bytes = this.#bytes;
    if (bytes.length < 2) {
      return undefined;
    }
    const [first = 0, second = 0] = bytes;
    const short = second & 0x7f;
    const wide = short === 126 ? 2 : short === 127 ? 8 : 0;
    const mask = (second & MASK) === 0 ? 0 : MASK_LEN;
    const head = 2 + wide + mask;
    if (bytes.length < head) {
      return undefined;
    }
    const length = wide === 0 ? short : wide === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
    if (bytes.length < head + length) {
      return undefined;
    }
    const payload = Buffer.from(bytes.subarray(head, head + length));
    const key = bytes.subarray(head - mask, head);
    for (let at = 0; mask > 0 && at < length; at += 1) {
      payload[at] = (payload[at] ?? 0) ^ (key[at % MASK_LEN] ?? 0);
    }
    const raw = bytes.subarray(0, head + length);
    this.#bytes = bytes.subarray(head + length);
    return { opcode: first & 0x0f, last: (first & MASK) !== 0, payload, raw };
  }
}

/** A whole message of a server, in one frame. */
export function serverFrame(opcode: number, payload: Uint8Array): Buffer {
  const { length } = payload;
  const head = length < 126 ? Buffer.from([MASK | opcode, length]) : Buffer.alloc(4);
  if (length >= 126) {
    head[0] = MASK | opcode;
    head[1] = 126;
    head.writeUInt16BE(length, 2);
  }
  return Buffer.concat([head, payload]);
}

/** The answer to an upgrade with this `Sec-WebSocket-Key`. */
export function upgradeAnswer(key: string, protocol: string): string {
  const accept = createHash("sha1").update(`${key}${GUID}`).digest("base64");
  return [
    "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${accept}`, `Sec-WebSocket-Protocol: ${protocol}`, "", "",
  ].join("\r\n");
}
