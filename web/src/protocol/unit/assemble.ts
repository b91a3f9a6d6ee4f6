// Puts verified records together to frames, and holds back what cannot be decoded (protocol.md, section 5).

import { type Bytes, concat, isZero } from "../bytes.ts";
import { ProtocolError, malformed } from "../error.ts";
import { type Opened } from "../seal/opener.ts";
import { Flag, type Header } from "../wire/header.ts";
import { type StreamInfo, parseInfo } from "./info.ts";
import { joinImage } from "./jpeg-split/split.ts";
import { MAX_FRAME, type Preamble, splitPreamble } from "./preamble.ts";
import { SOUND_STREAM, type SoundInfo, parseSoundInfo } from "./sound-info.ts";

/** A whole, verified frame. */
export interface Frame {
  /** 1 to 15. */
  readonly stream: number;
  readonly preamble: Preamble;
  readonly keyframe: boolean;
  /** Timestamp of its last record: the sender's wall clock (ns) just before sealing. */
  readonly sealedAt: bigint;
  /** This end's monotonic clock (ms) when its last record arrived. */
  readonly arrived: number;
  /** Frames missing between this one and the one before it: lost, dropped or never sent. */
  readonly skipped: bigint;
  /** The access unit, in a buffer that nothing else uses. */
  readonly data: Bytes;
}

/** What comes of media records. */
export type Media =
  | { readonly type: "info"; readonly stream: number; readonly info: StreamInfo }
  | { readonly type: "sound-info"; readonly info: SoundInfo }
  /** A frame of the picture that can be decoded after those before it. */
  | ({ readonly type: "frame" } & Frame)
  /** A frame of sound, which needs none before it. */
  | ({ readonly type: "sound" } & Frame)
  /** A frame that cannot be decoded because an earlier one is missing: request a keyframe. */
  | { readonly type: "undecodable"; readonly frame: bigint; readonly skipped: bigint }
  /** A record is missing: nothing is handed out before the next keyframe, which should be requested. */
  | { readonly type: "lost" };

/** The frame that is put together. */
interface Parts {
  readonly header: Header;
  readonly preamble: Preamble;
  readonly data: Bytes[];
  length: number;
  /** Number of its next record. */
  next: number;
}

/** Counts the frames of a stream. */
class FrameCount {
  #last: bigint | undefined;

  /** Frames missing before this one, and whether it follows the last one. */
  next({ frame: number }: Preamble): { readonly skipped: bigint; readonly follows: boolean } {
    const expected = this.#last === undefined ? number : this.#last + 1n;
    this.#last = number;
    return { skipped: number > expected ? number - expected : 0n, follows: number === expected };
  }
}

/** Decides which frames of the picture can be decoded. */
class FrameOrder {
  readonly #count = new FrameCount();
  #waits = true;

  lost(): void {
    this.#waits = true;
  }

  next(frame: Omit<Frame, "skipped">): Media {
    const { frame: number } = frame.preamble;
    const { skipped, follows } = this.#count.next(frame.preamble);
    this.#waits ||= !follows;
    if (this.#waits && !frame.keyframe) {
      return { type: "undecodable", frame: number, skipped };
    }
    this.#waits = false;
    return { type: "frame", ...frame, skipped };
  }
}

/** Cuts off the padding of a frame, and joins the parts of an image. @throws ProtocolError `malformed` */
export function restoreFrame(preamble: Preamble, bytes: Bytes): Bytes {
  const end = bytes.length - preamble.padding;
  if (end < 0 || !isZero(bytes.subarray(end))) {
    throw malformed();
  }
  const data = bytes.subarray(0, end);
  if (preamble.layout === "source") {
    return data;
  }
  try {
    return joinImage(data);
  } catch (thrown) {
    throw thrown instanceof ProtocolError && thrown.reason === "not-split" ? malformed() : thrown;
  }
}

/**
 * Puts together what comes on a byte stream, in order. It holds at most one frame of `MAX_FRAME` bytes, because a
 * publisher finishes one frame before it begins another. A gap in the numbers of a key is a missing record, whatever
 * removed it. Where there is sound as well it may have been either's: then the numbers of the frames tell, so that
 * sound that is missing costs no picture.
 */
export class Assembler {
  #parts: Parts | undefined;
  readonly #order = new FrameOrder();
  readonly #sounds = new FrameCount();
  #hasSound = false;

  /** A record is lost, of whatever stream. True if the picture waits for a keyframe now. */
  lost(): boolean {
    this.#parts = undefined;
    if (!this.#hasSound) {
      this.#order.lost();
    }
    return !this.#hasSound;
  }

  /** A frame of the picture is lost: nothing that may depend on it is handed out. */
  lostPicture(): void {
    this.#parts = undefined;
    this.#order.lost();
  }

  /**
   * Takes a verified media record that arrived at this monotonic time.
   * @throws ProtocolError `malformed` if an authentic peer violates the format: the session must end
   */
  take({ header, payload, followsGap }: Opened, arrived: number): Media[] {
    const { flags } = header;
    if ((flags & Flag.Repair) !== 0) {
      // A byte stream loses nothing, so nobody sends repair records on it.
      throw malformed();
    }
    const media: Media[] = followsGap && this.lost() ? [{ type: "lost" }] : [];
    if ((flags & Flag.CodecConfig) !== 0) {
      return [...media, this.#description(header.stream, payload)];
    }
    // What came in clear is a view of a buffer that is used again.
    const own = (flags & Flag.Encrypted) !== 0 ? payload : payload.slice();
    const parts = (flags & Flag.First) !== 0 ? this.#begin(header, own) : this.#extend(header, own);
    if (parts === undefined || (flags & Flag.Last) === 0) {
      return media;
    }
    this.#parts = undefined;
    const frame = whole(parts, header, arrived);
    return [...media, header.stream === SOUND_STREAM ? this.#sound(frame) : this.#order.next(frame)];
  }

  #description(stream: number, payload: Bytes): Media {
    if (stream !== SOUND_STREAM) {
      return { type: "info", stream, info: parseInfo(payload) };
    }
    const info = parseSoundInfo(payload);
    this.#hasSound = true;
    return { type: "sound-info", info };
  }

  #sound(frame: Omit<Frame, "skipped">): Media {
    return { type: "sound", ...frame, skipped: this.#sounds.next(frame.preamble).skipped };
  }

  #begin(header: Header, payload: Bytes): Parts {
    if (this.#parts !== undefined) {
      // The end of the frame before is missing.
      this.lost();
    }
    const { preamble, data } = splitPreamble(payload);
    this.#parts = { header, preamble, data: [data], length: data.length, next: header.seq + 1 };
    return this.#parts;
  }

  /** Adds a record to its frame. The records of a frame have consecutive numbers under one key. */
  #extend(header: Header, payload: Bytes): Parts | undefined {
    const parts = this.#parts;
    if (parts?.next !== header.seq || parts.header.epoch !== header.epoch) {
      this.lost();
      return undefined;
    }
    const keyframe = (parts.header.flags ^ header.flags) & Flag.Keyframe;
    const length = parts.length + payload.length;
    if (keyframe !== 0 || parts.header.stream !== header.stream || length > MAX_FRAME) {
      this.lost();
      throw malformed();
    }
    parts.data.push(payload);
    parts.length = length;
    parts.next += 1;
    return parts;
  }
}

function whole(parts: Parts, last: Header, arrived: number): Omit<Frame, "skipped"> {
  const bytes = parts.data.length === 1 ? parts.data[0] : undefined;
  return {
    stream: last.stream,
    preamble: parts.preamble,
    keyframe: (last.flags & Flag.Keyframe) !== 0,
    sealedAt: last.timestamp,
    arrived,
    data: restoreFrame(parts.preamble, bytes ?? concat(...parts.data)),
  };
}
