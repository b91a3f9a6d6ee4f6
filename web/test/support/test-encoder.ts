// An encoder for tests of publishers.

import { type Encoded, type Encoder, type EncoderEvents, type Stamps } from "../../src/media/encoder.ts";
import { type Bytes } from "../../src/protocol/bytes.ts";
import { type VirtualTime } from "./virtual-time.ts";

export const PARAMETERS = new Uint8Array([0, 0, 0, 1, 0x67, 1, 2, 3, 0, 0, 0, 1, 0x68, 4, 5]);

/** Encodes at once: an access unit is the picture's timestamp, and bytes to the length that the test wants. */
export class TestEncoder implements Encoder {
  readonly name = "test";
  readonly bitrates: number[] = [];
  closed = false;
  /** Bytes of a picture. */
  length = 1_000;
  parameters: Bytes = PARAMETERS;
  readonly events: EncoderEvents;
  readonly #time: VirtualTime;
  #keyframe = true;

  constructor(events: EncoderEvents, time: VirtualTime) {
    this.events = events;
    this.#time = time;
  }

  encode(picture: VideoFrame, stamps: Stamps): void {
    const keyframe = this.#keyframe;
    this.#keyframe = false;
    const data = new Uint8Array(this.length);
    new DataView(data.buffer).setUint32(0, picture.timestamp);
    picture.close();
    const parameters = keyframe ? this.parameters : new Uint8Array(0);
    this.events.encoded({ data, keyframe, parameters, stamps, encoded: this.#time.now() } satisfies Encoded);
  }

  requestKeyframe(): void {
    this.#keyframe = true;
  }

  setBitrate(bitrate: number): void {
    this.bitrates.push(bitrate);
  }

  close(): void {
    this.closed = true;
  }
}
