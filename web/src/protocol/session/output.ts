// What a session hands to the program that drives it.

import { type Bytes } from "../bytes.ts";
import { type ClockReading } from "../clock/exchange.ts";
import { type Peer } from "../keys/handshake.ts";
import { type GopVerdict } from "../sign/gop-verifier.ts";
import { type SignMode, type StatedSign } from "../sign/mode.ts";
import { type Media } from "../unit/assemble.ts";
import { type Orientation } from "../wire/control.ts";
import { type MediaFrom } from "../wire/group-message.ts";
import { type Selection } from "../wire/selection.ts";
import { type RekeyCause } from "./rekey.ts";
import { type RelayTrack } from "./relayed.ts";

/** Results of a handshake. */
export interface Facts {
  readonly peer: Peer;
  /** Name of the suite. */
  readonly suite: string;
  /** Name of the mechanism. */
  readonly mechanism: string;
  /** Names the session in logs; public. */
  readonly sessionId: Bytes;
}

/** What happened in a session. */
export type SessionEvent =
  /** Responder: the peer proved its identity. Answer with `admit` or `close`. */
  | { readonly type: "peer-proved"; readonly peer: Peer }
  /** Both ends have keys, and the peer is admitted. */
  | { readonly type: "established"; readonly facts: Facts }
  /**
   * Publisher: the viewer wants to be a member of the group that was offered. `again`: it is one, whose frames come
   * through a relay, and lacks a sheet.
   */
  | { readonly type: "joins-group"; readonly media: MediaFrom; readonly again: boolean }
  /** Publisher: a member challenges it, with 16 bytes. */
  | { readonly type: "challenged"; readonly challenge: Bytes }
  /** Publisher: the viewer needs a keyframe of this stream. */
  | { readonly type: "keyframe-requested"; readonly stream: number }
  /** Records are sealed under a new epoch from here on. Only a publisher knows the cause. */
  | { readonly type: "rekeyed"; readonly epoch: bigint; readonly cause?: RekeyCause }
  /** Another selection is in force: frames are sealed by it (publisher), or may be (viewer). Show it as a warning. */
  | { readonly type: "selection"; readonly selection: Selection }
  /** Viewer: pictures are turned before they are shown, from here on. */
  | { readonly type: "orientation"; readonly orientation: Orientation }
  /** Viewer: whether the publisher's camera gives pictures, since when by its clock (ns), and why, in its words. */
  | { readonly type: "camera"; readonly on: boolean; readonly since: bigint; readonly why: string }
  /** Viewer: the cameras that it may watch, as the publisher of several tells them. The names may turn text around. */
  | { readonly type: "cameras"; readonly names: readonly string[] }
  /** A reading of the peer's clock. */
  | { readonly type: "clock"; readonly reading: ClockReading }
  /** Viewer: it is a member of the publisher's group, which signs this. Media is sealed for all from here on. */
  | { readonly type: "joined-group"; readonly signed: SignMode }
  /** Viewer through a relay: the camera signs less than its policy asks for, or has no suite of its. */
  | { readonly type: "unfit-group"; readonly signed: StatedSign }
  /** Member: something of this track of a relay was refused, and why. It changed nothing. */
  | { readonly type: "relay-refused"; readonly track: RelayTrack; readonly reason: string }
  /** Viewer: the publisher's group signs this, which is not enough here. Media is sealed for this end alone. */
  | { readonly type: "declined-group"; readonly signed: StatedSign }
  /** Member: answer with `challenge`, and look at the picture's age. */
  | { readonly type: "challenge-due" }
  /** Member: what the signature of a group of pictures says of the frames that were handed out. */
  | { readonly type: "proven"; readonly verdict: GopVerdict }
  /** The peer ended the session. `text` has no control characters. */
  | { readonly type: "closed"; readonly reason: number; readonly text: string };

/** One output of a session. */
export type Output =
  /** Send this message; on a byte stream after its length (`lengthPrefix`). */
  | { readonly type: "transmit"; readonly message: Bytes }
  | { readonly type: "event"; readonly event: SessionEvent }
  | { readonly type: "media"; readonly media: Media };

/** Outputs in order. The program drains them after every call, so they stay few. */
export class Outbox {
  readonly #outputs: Output[] = [];

  transmit(message: Bytes): void {
    this.#outputs.push({ type: "transmit", message });
  }

  event(event: SessionEvent): void {
    this.#outputs.push({ type: "event", event });
  }

  media(media: Media): void {
    this.#outputs.push({ type: "media", media });
  }

  next(): Output | undefined {
    return this.#outputs.shift();
  }
}
