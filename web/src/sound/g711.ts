// G.711 (ITU-T, 1988): 8 bits for each sample, expanded by a table of 256 values each.

import { type Bytes } from "../protocol/bytes.ts";

const FULL_SCALE = 32_768;
const CODES = 256;
const SIGN = 0x80;

/** µ-law: all bits are inverted; a bias of 33 in 14 bits is 132 in 16. */
function mu(code: number): number {
  const bits = ~code & 0xff;
  const exponent = (bits >> 4) & 7;
  const size = ((((bits & 0x0f) << 3) + 0x84) << exponent) - 0x84;
  return (bits & SIGN) === 0 ? size : -size;
}

/** A-law: each second bit is inverted. */
function a(code: number): number {
  const bits = code ^ 0x55;
  const exponent = (bits >> 4) & 7;
  const mantissa = ((bits & 0x0f) << 4) + 8;
  const size = exponent === 0 ? mantissa : (mantissa + 0x100) << (exponent - 1);
  return (bits & SIGN) === 0 ? -size : size;
}

function table(expand: (code: number) => number): Float32Array {
  return Float32Array.from({ length: CODES }, (_, code) => expand(code) / FULL_SCALE);
}

const TABLES = { ulaw: table(mu), alaw: table(a) } as const;

/** Expands the interleaved samples of a packet, to planes. A last sample that some channel lacks is left out. */
export function expand(law: keyof typeof TABLES, channels: number, packet: Bytes): Float32Array<ArrayBuffer>[] {
  const values = TABLES[law];
  const length = Math.floor(packet.length / channels);
  return Array.from({ length: channels }, (_, channel) => {
    const plane = new Float32Array(length);
    for (let at = 0; at < length; at += 1) {
      plane[at] = values[packet[at * channels + channel] ?? 0] ?? 0;
    }
    return plane;
  });
}
