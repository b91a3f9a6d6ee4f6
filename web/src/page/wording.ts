// Names of the protocol in plain words.

import { type Figures, type LinkState, type Protection, type StageName } from "../messages.ts";

/**
 * What the area of the picture says instead of the picture. `tampered`: records come, and none that makes a picture is
 * authentic. `none`: the picture is shown.
 */
export type Notice = Exclude<LinkState, "live"> | "waiting" | "tampered" | "silent" | "none";

/** Title, sentence where the worker has none, and the sign, whose shape alone tells them apart. */
interface NoticeWords {
  readonly title: string;
  readonly words: string;
  readonly sign: "busy" | "lost" | "ended" | "refused" | "failed";
}

/** Words for each notice. */
export const NOTICES: Readonly<Record<Exclude<Notice, "none">, NoticeWords>> = {
  connecting: { title: "Connecting", words: "The other end is being reached.", sign: "busy" },
  handshake: {
    title: "Checking who it is", words: "Both ends prove who they are, and agree on keys.", sign: "busy",
  },
  waiting: { title: "Waiting for the first picture", words: "The connection is there and protected.", sign: "busy" },
  tampered: {
    title: "Nothing authentic comes",
    words: "What arrives was altered on the way, so it is refused and counted. There is no live picture. " +
      "Try another network or carrier; if it stays so, somebody between the two ends interferes.",
    sign: "refused",
  },
  lost: {
    title: "Connection lost", words: "There is no live picture. The page tries again by itself.", sign: "lost",
  },
  silent: {
    title: "No news", words: "No new picture came for some seconds, so the last one would be old.", sign: "lost",
  },
  ended: { title: "Ended", words: "The stream is over. There is no live picture.", sign: "ended" },
  refused: { title: "Refused", words: "No connection was made, and there is no picture.", sign: "refused" },
  failed: { title: "It does not work", words: "There is no picture.", sign: "failed" },
};

/** What a key mechanism protects against. */
export function mechanismWords(name: string): string {
  switch (name) {
    case "x25519-mlkem768":
    case "sntrup761-x25519":
      return `${name}: post-quantum hybrid. Whoever records the stream would have to break both parts`;
    case "mlkem768":
      return `${name}: post-quantum, without a classical part`;
    case "x25519":
    case "p256":
    case "rsa2048":
      return `${name}: classical. A quantum computer could one day open what is recorded today`;
    default:
      return `${name}: this page does not know what it protects against`;
  }
}

/** The same in two words, for the lock. */
export function mechanismKind(name: string): string {
  return mechanismWords(name).replace(/^[^:]*: /, "").replace(/[.,].*$/, "").replace(/^this page.*$/, name);
}

/** What a publisher can choose to encrypt: the value of `--encrypt`, and what it means. */
export const SELECTIONS: readonly (readonly [value: string, text: string])[] = [
  ["all", "everything"],
  ["level:4", "level 4: everything"],
  ["level:3", "level 3: headers and intra macroblocks"],
  ["level:2", "level 2: headers and the begin of intra pictures"],
  ["level:1", "level 1: headers"],
  ["rate:75", "75 % of the units, at random"],
  ["rate:50", "50 % of the units, at random"],
  ["rate:25", "25 % of the units, at random"],
  ["keyframes", "keyframes only"],
  ["headers", "headers only"],
  ["none", "nothing"],
];

/** True if the selection leaves nothing in clear. */
export function encryptsAll(selection: string): boolean {
  return selection === "all" || selection === "level:4";
}

/** The warning for a selection, or nothing. */
export function selectionWarning(selection: string): string {
  if (encryptsAll(selection)) {
    return "";
  }
  if (selection === "none") {
    return "Nothing is encrypted: everybody on the way can watch. This is for study only.";
  }
  const known = SELECTIONS.find(([value]) => value === selection)?.[1] ?? selection;
  return `A part of the video goes in clear (encrypted: ${known}). Whoever listens on the way may see ` +
    "what it shows. This is for study only.";
}

/** What is encrypted, for the list behind the lock. */
export function selectionWords(selection: string): string {
  const known = SELECTIONS.find(([value]) => value === selection)?.[1];
  return known === undefined || known === selection ? selection : `${selection}: ${known}`;
}

/** The carrier's name as its makers write it. */
export function carrierWords(carrier: Protection["carrier"]): string {
  return carrier === "webtransport" ? "WebTransport (QUIC)" : "WebSocket (TCP)";
}

/** What decodes. */
export function decoderWords(decoder: Figures["decoder"]): string {
  switch (decoder) {
    case "hardware-allowed":
      return "the browser's choice, hardware allowed";
    case "software":
      return "software";
    case "images":
      return "images, one by one";
  }
}

/** The stages in their order, and from when until when each one lasts. */
export const STAGES: Readonly<Record<StageName, string>> = {
  capture: "from the source's stamp until the publisher has the picture",
  encode: "from the picture to the coded frame",
  queue: "waiting to be sealed",
  seal: "encrypting and authenticating the frame's records",
  send: "handing the records to the network",
  network: "until the frame's last byte is here; the error of the clocks is in it",
  open: "verifying and decrypting the frame's records",
  wait: "waiting for the decoder",
  decode: "from the coded frame to the picture",
  draw: "until the picture is on the canvas, the time for which it is held back included",
};

/** Reasons for refusing a record, in words. */
export function refusalWords(reason: string): string {
  const words: Readonly<Record<string, string>> = {
    malformed: "malformed: no record at all",
    cleartext: "cleartext: in clear, although it must be encrypted",
    "outside-cell": "outside-cell: came by itself although the peer sends cells",
    "unknown-epoch": "unknown-epoch: of keys that this end does not have",
    replay: "replay: was received before, or is too old to know",
    tag: "tag: not authentic",
  };
  return words[reason] ?? reason;
}
