// What a viewer wants of a publisher (protocol.md, section 3).

import { type Bytes } from "../bytes.ts";
import { ProtocolError } from "../error.ts";
import { isPlain } from "../words.ts";

/** Longest name of a camera in bytes. */
const MAX_CAMERA = 64;
/** Bytes of a wish, the same for all. */
export const WISH_LEN = 2 + MAX_CAMERA;
/** The wish of a publisher, which has none. */
export const NO_WISH: Bytes = new Uint8Array(WISH_LEN);

const MEDIA = ["frames", "packets", "nothing-yet", "cameras"] as const;

export interface Wish {
  /**
   * Pictures and sound, packets of RTSP cameras, nothing before the viewer says more, or the names of the cameras and
   * nothing else.
   */
  readonly media: (typeof MEDIA)[number];
  /** The camera's name; empty for the publisher's only one, or the one that it gives to who names none. */
  readonly camera: string;
}

/** The wish of a viewer that does not say. */
export const FRAMES: Wish = { media: "frames", camera: "" };

/** The bytes of a camera's name. @throws ProtocolError `camera` if it is too long or is unfit to be shown */
export function cameraBytes(camera: string): Bytes {
  const name = new TextEncoder().encode(camera);
  if (name.length > MAX_CAMERA || !isPlain(camera)) {
    throw new ProtocolError("camera");
  }
  return name;
}

/** @throws ProtocolError `camera` */
export function wishBytes({ media, camera }: Wish): Bytes {
  const name = cameraBytes(camera);
  const bytes = new Uint8Array(WISH_LEN);
  bytes.set([MEDIA.indexOf(media) + 1, name.length]);
  bytes.set(name, 2);
  return bytes;
}

/** A camera's name from its bytes; `undefined` if it is none. */
export function parseCamera(bytes: Bytes): string | undefined {
  try {
    const camera = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return bytes.length > MAX_CAMERA || !isPlain(camera) ? undefined : camera;
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
