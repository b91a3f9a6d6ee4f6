// Decodes Motion JPEG with the browser's images: one at a time, in order, and the newest where there are more.

import { type Bytes } from "../protocol/bytes.ts";
import { type Picture } from "./codecs.ts";
import { type DecoderEvents } from "./decoder.ts";
import { jpegSize } from "./jpeg.ts";

/** Makes a picture of a JPEG image; it rejects where the browser cannot. */
export type MakeImage = (data: Bytes) => Promise<Picture>;

/** The browser's own. */
export async function browserImage(data: Bytes): Promise<Picture> {
  const image = await createImageBitmap(new Blob([data], { type: "image/jpeg" }));
  return {
    image, width: image.width, height: image.height,
    close() {
      image.close();
    },
  };
}

interface Waiting<Tag> {
  readonly data: Bytes;
  readonly tag: Tag;
}

/** Decodes the images of one stream. */
export class ImageDecoder<Tag> {
  readonly #make: MakeImage;
  readonly #events: Omit<DecoderEvents<Tag>, "needsKeyframe">;
  #busy = false;
  #waiting: Waiting<Tag> | undefined;
  /** Counts resets: what was begun before one is not shown after it. */
  #era = 0;
  #bad = 0;

  constructor(make: MakeImage, events: Omit<DecoderEvents<Tag>, "needsKeyframe">) {
    this.#make = make;
    this.#events = events;
  }

  /** Images that went in and have not come out. */
  get inside(): number {
    return (this.#busy ? 1 : 0) + (this.#waiting === undefined ? 0 : 1);
  }

  /** Takes an image. */
  feed(data: Bytes, tag: Tag): void {
    if (jpegSize(data) === undefined) {
      this.#refuse("it is no JPEG image, or is too large");
      return;
    }
    if (!this.#busy) {
      void this.#decode({ data, tag });
      return;
    }
    if (this.#waiting !== undefined) {
      this.#events.dropped();
    }
    this.#waiting = { data, tag };
  }

  /** Ends decoding: what is under way is not shown. */
  reset(): void {
    this.#waiting = undefined;
    this.#era += 1;
  }

  #refuse(why: string): void {
    this.#bad += 1;
    if (Number.isInteger(Math.log10(this.#bad))) {
      this.#events.news(`an image was not shown: ${why} (${this.#bad} so far)`, true);
    }
    this.#events.dropped();
  }

  async #decode(first: Waiting<Tag>): Promise<void> {
    this.#busy = true;
    for (let next: Waiting<Tag> | undefined = first; next !== undefined; next = this.#take()) {
      const { data, tag } = next;
      const era = this.#era;
      this.#events.fed(tag);
      try {
        const picture = await this.#make(data);
        if (era === this.#era) {
          this.#events.picture(picture, tag);
        } else {
          picture.close();
        }
      } catch {
        this.#refuse("the browser cannot decode it");
      }
    }
    this.#busy = false;
  }

  #take(): Waiting<Tag> | undefined {
    const next = this.#waiting;
    this.#waiting = undefined;
    return next;
  }
}
