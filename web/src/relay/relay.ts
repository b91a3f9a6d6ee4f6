// The seam between what a page does with a relay, and the library that speaks Media over QUIC to it.

import { type Bytes } from "../protocol/bytes.ts";
import { type RelayTrack } from "../protocol/index.ts";

/** Longest object of a track: the relay client's bound (relay.md, section 2). */
export const MAX_OBJECT = (17 << 20) - 2;
/** Milliseconds for which the other end of a session may take to appear. */
export const APPEARANCE = 10_000;
/** Beneath a camera's broadcast: those of its viewers, and the tracks of its own with what it says to them. */
export const VIEWERS = "viewers";
/** The track of a viewer's broadcast. */
export const SESSION_TRACK = "session";
/** Bytes of a token, which names one session. */
export const TOKEN_LEN = 16;
/** Milliseconds for which what is still on its way is awaited after a broadcast ended, which overtakes it. */
export const REST = 500;

/** Objects in their order, as they come. */
export interface IncomingGroup {
  readonly number: number;
  /** The next object, or `undefined` at the end. Rejects if the rest does not come. */
  next(): Promise<Bytes | undefined>;
  /** No more of it is wanted. */
  leave(): void;
}

/** What comes of a track. */
export interface Subscription {
  /** The next group, perhaps before one with a lower number; `undefined` at the end. Rejects if the track fails. */
  next(): Promise<IncomingGroup | undefined>;
  /** From here on groups from this number on are wanted, also those that a later one overtakes. */
  keepFrom(number: number): void;
  leave(): void;
}

/** How a track is wanted. */
export interface Wanted {
  /** The higher the earlier. */
  readonly priority: number;
  /** The first group; without it the newest one. */
  readonly from?: number;
  /** Old groups are wanted as well. */
  readonly whole?: boolean;
}

/** The broadcast of a camera that is at the relay. */
export interface Broadcast {
  /** Asks for a track. Rejects if there is none. */
  subscribe(track: string, wanted: Wanted): Promise<Subscription>;
  /** Resolves when it is gone, or another one has taken its place. */
  readonly gone: Promise<void>;
  /** It is not followed any more. */
  leave(): void;
}

/** A track of a broadcast of this end. */
export interface OutgoingTrack {
  /** Begins the next group; numbers count up from 0. */
  begin(): OutgoingGroup;
}

export interface OutgoingGroup {
  write(object: Bytes): void;
  end(): void;
}

/** A viewer that opens a session with the camera that this end publishes. */
export interface ViewerAtRelay {
  /** What names the session. */
  readonly token: string;
  /** Waits for the viewer's broadcast, of which `SESSION_TRACK` is what it says. */
  readonly find: () => Promise<Broadcast>;
  /** What the camera says to it. */
  readonly answers: OutgoingTrack;
  /** The session is over: its track is not needed any more. */
  readonly leave: () => void;
}

/** The broadcast of a camera that this end publishes. */
export interface CameraBroadcast {
  /** Begins a group of a track. Its number is higher than that of the one before, which is complete. */
  begin(track: RelayTrack, number: number): OutgoingGroup;
  /** The next viewer that opens a session; `undefined` once there is no connection any more. */
  viewer(): Promise<ViewerAtRelay | undefined>;
  /** Bytes of pictures that the browser has not taken yet. */
  readonly backlog: number;
  /** The round trip of the path to the relay in milliseconds, as the relay measures it; unknown at first. */
  readonly roundTrip: number | undefined;
}

/** What carries a connection to a relay. */
export type RelayWay = "webtransport" | "websocket";

/** A connection to a relay. */
export interface Relay {
  readonly way: RelayWay;
  /** True if a broadcast of this name is there, of whomever. Takes as long as a relay needs to say so. */
  has(name: string): Promise<boolean>;
  /** Publishes a camera's broadcast. */
  camera(name: string): CameraBroadcast;
  /** Waits until this broadcast is there. */
  broadcast(name: string): Promise<Broadcast>;
  /** Publishes a broadcast with one track. */
  publish(name: string, track: string): OutgoingTrack;
  /** Resolves when the connection is over, whoever ended it. */
  readonly closed: Promise<void>;
  close(): void;
}

/** Where a relay is, and the certificates of which it has one, as SHA-256; none: a public authority's. */
export interface RelayAddress {
  /** Host and port, for people. */
  readonly host: string;
  readonly url: URL;
  readonly hashes: readonly Bytes[];
}

/** Connects to a relay. @throws CarrierError */
export type OpenRelay = (address: RelayAddress, signal: AbortSignal) => Promise<Relay>;
