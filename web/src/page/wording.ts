// Names of the protocol in plain words.

import {
  type Age, type Audience, type AudienceMember, type Figures, type LinkState, type Membership, type Protection,
  type SoundFigures, type StageName,
} from "../messages.ts";
import { type Skew } from "../sound/pcm.ts";
import { momentWords, timeOfDay, withUnit } from "./format.ts";

/**
 * What the area of the picture says instead of the picture. `tampered`: records come, and none that makes a picture is
 * authentic. `away`: the publisher says that its camera gives no pictures. `removed`: the other end ended this one's
 * access. `none`: the picture is shown.
 */
export type Notice = Exclude<LinkState, "live"> | "removed" | "waiting" | "tampered" | "silent" | "away" | "none";

/** Why there is no picture, in more words than the notice's own. */
export interface Reason {
  /** A word for programs. */
  readonly cause?: string | undefined;
  readonly title?: string | undefined;
  readonly words?: string | undefined;
}

/** Title, sentence where the worker has none, and the sign, whose shape alone tells them apart. */
interface NoticeWords {
  readonly title: string;
  readonly words: string;
  readonly sign: "busy" | "lost" | "off" | "ended" | "refused" | "removed" | "failed";
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
    words: "What arrives was altered or repeated on the way, so it is refused and counted. There is no live picture. " +
      "Try another network or carrier; if it stays so, somebody between the two ends interferes.",
    sign: "refused",
  },
  lost: {
    title: "Connection lost", words: "There is no live picture. The page tries again by itself.", sign: "lost",
  },
  silent: {
    title: "No new picture", words: "The last one would be old, so it is not shown. The page waits for the next one.",
    sign: "lost",
  },
  away: { title: "The camera is off", words: "The page waits until it is back.", sign: "off" },
  ended: { title: "Ended", words: "The stream is over. There is no live picture.", sign: "ended" },
  refused: { title: "Refused", words: "No connection was made, and there is no picture.", sign: "refused" },
  removed: {
    title: "You were removed", words: "Your access was ended. To watch again, ask for a new link.", sign: "removed",
  },
  failed: { title: "It does not work", words: "There is no picture.", sign: "failed" },
};

/** The cause of an end, as programs call it. */
export function causeWords(cause: string | undefined): string {
  return cause === undefined ? "" : `cause: ${cause}`;
}

/** What there is to say while the camera is off: `since` are milliseconds of the publisher's clock. */
export function awayReason(since: number, why: string, now: number): Reason {
  return {
    title: `${NOTICES.away.title} since ${momentWords(new Date(since), new Date(now))}`,
    words: `The reason: ${why}. ${NOTICES.away.words}`,
  };
}

/** The same where no new picture comes: when the last one came. */
export function silentReason(last: number, now: number): Reason {
  return { title: `${NOTICES.silent.title} since ${momentWords(new Date(last), new Date(now))}` };
}

/** Whether the picture that is shown is one of now. */
export const STATES = { live: "Live", stands: "The picture stands still" } as const;

/** How old a picture is that stands still. */
export function standsWords(seconds: number): string {
  return `This picture is ${seconds} s old`;
}

/** What there is to say of a picture that is to be saved. */
export const SAVE = { failed: "The picture could not be saved. Make a screenshot of the page." } as const;

/** The name of a file with a picture of this camera. */
export function pictureName(camera: string, at: Date): string {
  const parts = [at.getFullYear(), at.getMonth() + 1, at.getDate()];
  const day = parts.map((part) => String(part).padStart(2, "0")).join("-");
  // No name of a file has more than letters, digits and strokes, whatever the publisher calls its camera.
  const name = camera.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
  return `${name === "" ? "camera" : name}-${day}-${timeOfDay(at).replaceAll(":", "-")}.png`;
}

/** The button for sound, and what stands beside it where the browser refuses. */
export const SOUND = {
  on: "Play the sound", off: "Mute the sound",
  broken: "This browser did not let the sound begin. Press the button once more, or look whether it may play sound.",
} as const;

/** The button for the sound that is sent, and what stands beside it where there is none. */
export const MICROPHONE = {
  on: "Send sound", off: "Mute",
  gone: "The sound ended: the microphone was taken away, or the screen is not shared any more.",
  broken: "The sound could not be taken. Choose another microphone.",
  noScreen: "The browser gave no sound of the screen, so none is sent. Where it can, its question has a switch for " +
    "sound: of a tab in most systems, of the whole screen in some.",
} as const;

/** Milliseconds up to which nobody sees that lips are not in time. */
const LIPS_IN_TIME = 40;

/** How the lips are in time, in words. */
export function lipsWords({ median, uncertainty }: Skew): string {
  const size = withUnit(Math.abs(median));
  const which = median > 0 ? `sound ${size} after the picture` : `sound ${size} before the picture`;
  return `${which} ± ${withUnit(uncertainty)}`;
}

/** True if lips may be seen not to be in time. */
export function lipsAreOff({ median }: Skew): boolean {
  return Math.abs(median) > LIPS_IN_TIME;
}

/** What is done with the sound. */
export function soundWords(state: SoundFigures["state"]): string {
  switch (state) {
    case "off":
      return "off";
    case "on":
      return "on";
    case "stalled":
      return "on, but the browser's output takes none";
    case "unable":
      return "not decoded by this browser";
  }
}

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

/** The lock's words for a selection. */
export function protectionWords(selection: string): string {
  return encryptsAll(selection) ? "Encrypted end to end" : selection === "none" ? "Not encrypted" : "Partly in clear";
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

/** What the camera signs of a picture that many viewers can open. */
const SIGNED: Readonly<Record<Membership["signed"], string>> = {
  off: "nothing",
  frame: "each frame (Ed25519), checked before it is shown",
  both: "each frame (Ed25519), checked before it is shown, and each group of pictures (ML-DSA-65), checked afterwards",
};

const SIGNS: Readonly<Record<Membership["signed"], string>> = {
  off: "nothing", frame: "each frame", both: "each frame and each group of pictures",
};

/** What is signed, for the list behind the lock; without a group nothing needs to be. */
export function signedWords(signed: Membership["signed"] | undefined): string {
  return signed === undefined ? "nothing: nobody else has this page's key" : SIGNED[signed];
}

/** For whom the picture is sealed, for the same list. */
export function sealedForWords(signed: Membership["signed"] | undefined): string {
  return signed === undefined ? "this page alone" : "a group of viewers at once; this page is a member";
}

/** The same as a sentence beside the picture. */
export function holdersWords(signed: Membership["signed"] | undefined): string {
  return signed === undefined
    ? "The picture is sealed for this page alone."
    : `The picture is sealed once for a group of viewers; this page is a member. The camera signs ${SIGNS[signed]}.`;
}

/** Ages are told in steps of so many milliseconds, upwards. */
const AGE_STEP = 10;

/** A bound on an age: rounded up, so that it holds. */
function atMost(milliseconds: number): string {
  return `at most ${Math.ceil(milliseconds / AGE_STEP) * AGE_STEP} ms`;
}

/** How old the picture is, so many milliseconds after that was told; nothing where nobody can tell. */
export function ageWords(age: Age, since: number): string {
  switch (age.state) {
    case "live":
      return `The newest frame is ${atMost(age.atMost + since)} old.`;
    case "waiting":
      return "How old the picture is, the camera has not said yet.";
    case "alarm":
    case "unsigned":
      return "";
  }
}

/** The same in few words, among the figures. */
export function ageFigure(age: Age): string {
  switch (age.state) {
    case "live":
      return atMost(age.atMost);
    case "waiting":
      return "not known yet";
    case "alarm":
      return age.cause === "freeze" ? "may be old: no signed frame comes" : "may be old: no answer comes";
    case "unsigned":
      return "not known: frames are not signed";
  }
}

/** What is wrong with the picture, and what may be done; nothing while all is well. */
export function alarmWords({ age, proofsMissing }: Pick<Membership, "age" | "proofsMissing">): string {
  const old = age.state === "alarm" ? ageAlarm(age.cause) : "";
  const unproven = proofsMissing ? "Pictures are shown without the proof that holds against quantum computers: the " +
    "signatures of their groups do not come. Each picture's own signature is verified." : "";
  return [old, unproven].filter((words) => words !== "").join(" ");
}

function ageAlarm(cause: "freeze" | "stale"): string {
  return cause === "freeze"
    ? "The picture may be old: no frame comes that the camera signed. The camera stands still, or frames are " +
      "held up on the way."
    : "The picture may be old: frames come, but none answers this page in time. They are late or repeated, or " +
      "the answers get lost on the way.";
}

/** The carrier's name as its makers write it. */
export function carrierWords(carrier: Protection["carrier"]): string {
  const words = {
    webtransport: "WebTransport (QUIC)", websocket: "WebSocket (TCP)",
    relay: "a relay, which has no key (Media over QUIC, over WebTransport)",
    "relay-websocket": "a relay, which has no key (Media over QUIC, over a WebSocket)",
  };
  return words[carrier];
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

/** Reasons for refusing a frame of a group, in words. */
export function frameRefusalWords(reason: string): string {
  const words: Readonly<Record<string, string>> = {
    unsigned: "unsigned: a frame without the camera's signature",
    malformed: "malformed: a frame with a proof of another form",
    stream: "stream: a frame of another stream",
    epoch: "epoch: a frame under keys that are over",
    records: "records: records of a frame were added or removed",
    digest: "digest: records of a frame are not those that the camera signed",
    order: "order: a frame was repeated or moved",
    group: "group: a frame of another group of pictures, or its keyframe was lost",
    signature: "signature: a frame that the camera did not sign",
  };
  return words[reason] ?? reason;
}

/** What a viewer does, beside its name. */
export function viewerWords(state: AudienceMember["state"]): string {
  const words = { watching: "watches", joining: "is connecting", away: "is enrolled, and has no session now" };
  return words[state];
}

/** How many watch. */
export function audienceCount(viewers: readonly AudienceMember[]): string {
  const watching = viewers.filter(({ state }) => state === "watching").length;
  const others = viewers.length - watching;
  const away = others === 0 ? "" : ` ${others} more may come back without a new ticket.`;
  const now = watching === 0 ? "Nobody watches now." : `${watching} ${watching === 1 ? "watches" : "watch"} now.`;
  return `${now}${away}`;
}

/** What the ticket is good for. */
export function audienceNote({ left }: Audience): string {
  if (left === 0) {
    return "The ticket's invite is used up or withdrawn: it admits nobody new. Publish again for another one.";
  }
  const viewers = left === 1 ? "one viewer" : `${left} viewers`;
  return `Whoever has this ticket can watch: it still admits ${viewers}. Send it over a channel that you trust. ` +
    "Ending the access of who used it withdraws it.";
}
