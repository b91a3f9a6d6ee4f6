// Motion JPEG by the browser's own encoder of images.

import { type Now } from "../protocol/index.ts";
import { type Encoder, EncoderError, type EncoderEvents, type EncoderOptions, type Stamps } from "./encoder.ts";
import { Letterbox } from "./letterbox.ts";

const TYPE = "image/jpeg";

/** Makes an encoder. @throws EncoderError */
export async function makeJpegEncoder(
  options: EncoderOptions, events: EncoderEvents, now: () => Now,
): Promise<Encoder> {
  if (typeof OffscreenCanvas !== "function") {
    throw new EncoderError("this browser does not draw in a worker; choose H.264");
  }
  // A browser without an encoder for this type makes PNG of it, and says so only in the result.
  const canvas = new OffscreenCanvas(1, 1);
  canvas.getContext("2d");
  const probe = await canvas.convertToBlob({ type: TYPE });
  if (probe.type !== TYPE) {
    throw new EncoderError("this browser makes no JPEG images; choose H.264");
  }
  return new JpegEncoder(options, events, now);
}

interface Waiting {
  readonly picture: VideoFrame;
  readonly stamps: Stamps;
}

/** One image at a time. Of the pictures that come meanwhile the newest is next. */
class JpegEncoder implements Encoder {
  readonly name = "image/jpeg";
  readonly #quality: number;
  readonly #events: EncoderEvents;
  readonly #now: () => Now;
  readonly #letterbox: Letterbox;
  #waiting: Waiting | undefined;
  #busy = false;
  #closed = false;

  constructor({ width, height, quality }: EncoderOptions, events: EncoderEvents, now: () => Now) {
    this.#quality = quality;
    this.#events = events;
    this.#now = now;
    this.#letterbox = new Letterbox(width, height);
  }

  encode(picture: VideoFrame, stamps: Stamps): void {
    if (this.#closed) {
      picture.close();
      this.#events.dropped();
      return;
    }
    if (this.#waiting !== undefined) {
      this.#waiting.picture.close();
      this.#events.dropped();
    }
    this.#waiting = { picture, stamps };
    if (!this.#busy) {
      this.#busy = true;
      void this.#run();
    }
  }

  async #run(): Promise<void> {
    try {
      for (let next = this.#waiting; next !== undefined; next = this.#waiting) {
        this.#waiting = undefined;
        await this.#encode(next);
      }
    } catch {
      this.#fail();
    } finally {
      this.#busy = false;
    }
  }

  async #encode({ picture, stamps }: Waiting): Promise<void> {
    let canvas: OffscreenCanvas;
    try {
      canvas = this.#letterbox.draw(picture);
    } finally {
      picture.close();
    }
    const blob = await canvas.convertToBlob({ type: TYPE, quality: this.#quality });
    const data = new Uint8Array(await blob.arrayBuffer());
    if (!this.#closed) {
      this.#events.encoded({
        data, keyframe: true, parameters: new Uint8Array(0), stamps, encoded: this.#now(),
      });
    }
  }

  #fail(): void {
    if (!this.#closed) {
      this.close();
      this.#events.failed();
    }
  }

  requestKeyframe(): void {
    // Each image is one.
  }

  setBitrate(): void {
    // Its quality was chosen; a narrow path carries fewer images.
  }

  close(): void {
    this.#closed = true;
    this.#waiting?.picture.close();
    this.#waiting = undefined;
  }
}
