// What a viewer wants of a publisher (protocol.md, section 3).

import { type Bytes } from "../bytes.ts";
import { misuse } from "../error.ts";

/** Longest name of a camera in bytes. */
const MAX_CAMERA = 64;
/** Bytes of a wish, the same for all. */
export const WISH_LEN = 2 + MAX_CAMERA;
/** The wish of a publisher, which has none. */
export const NO_WISH: Bytes = new Uint8Array(WISH_LEN);

const MEDIA = ["frames", "packets", "nothing-yet"] as const;

export interface Wish {
  /** Pictures and sound, packets of RTSP cameras, or nothing before the viewer says more. */
  readonly media: (typeof MEDIA)[number];
  /** The camera's name; empty for the publisher's only one. */
  readonly camera: string;
}

/** The wish of a viewer that does not say. */
export const FRAMES: Wish = { media: "frames", camera: "" };

/** @throws ProtocolError `misuse` if the name is too long or has control characters. */
export function wishBytes({ media, camera }: Wish): Bytes {
  const name = new TextEncoder().encode(camera);
  if (name.length > MAX_CAMERA || /\p{Cc}/u.test(camera)) {
    throw misuse("a camera's name has at most 64 bytes and no control characters");
  }
  const bytes = new Uint8Array(WISH_LEN);
  bytes.set([MEDIA.indexOf(media) + 1, name.length]);
  bytes.set(name, 2);
  return bytes;
}

/** A camera's name from its bytes; `undefined` if it is none. */
export function parseCamera(bytes: Bytes): string | undefined {
  try {
    const camera = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return bytes.length > MAX_CAMERA || /\p{Cc}/u.test(camera) ? undefined : camera;
  } catch {
    return undefined;
  }
}

/** The wish that a viewer sent; `undefined` if this version does not know it. */
export function parseWish(bytes: Bytes): Wish | undefined {
  const media = MEDIA[(bytes[0] ?? 0) - 1];
  const end = 2 + (bytes[1] ?? 0);
  const camera = end > bytes.length ? undefined : parseCamera(bytes.subarray(2, end));
  const isPadded = bytes.subarray(end).every((byte) => byte === 0);
  return media === undefined || camera === undefined || !isPadded ? undefined : { media, camera };
}
