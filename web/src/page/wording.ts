// Names of the protocol in plain words, and which texts belong to which state.

import {
  type Age, type Audience, type AudienceMember, type Figures, type LinkState, type Membership, type Protection,
  type SoundFigures,
} from "../messages.ts";
import { type Skew } from "../sound/pcm.ts";
import { texts } from "../text/page.ts";
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

/** The sign of each notice, whose shape alone tells them apart. */
const SIGNS = {
  connecting: "busy", handshake: "busy", waiting: "busy", tampered: "refused", lost: "lost", silent: "lost",
  away: "off", ended: "ended", refused: "refused", removed: "removed", failed: "failed",
} as const;

/** Title, sentence where the worker has none, and sign of a notice. */
export function noticeOf(notice: Exclude<Notice, "none">): { title: string; words: string; sign: string } {
  return { ...texts().notices[notice], sign: SIGNS[notice] };
}

/** The cause of an end, as programs call it. */
export function causeWords(cause: string | undefined): string {
  return cause === undefined ? "" : texts().live.cause(cause);
}

/** What there is to say while the camera is off: `since` are milliseconds of the publisher's clock. */
export function awayReason(since: number, why: string, now: number): Reason {
  const { live, notices, why: known } = texts();
  return {
    title: live.since(notices.away.title, momentWords(new Date(since), new Date(now))),
    words: live.reason(known[why] ?? why, notices.away.words),
  };
}

/** The same where no new picture comes: when the last one came. */
export function silentReason(last: number, now: number): Reason {
  const { live, notices } = texts();
  return { title: live.since(notices.silent.title, momentWords(new Date(last), new Date(now))) };
}

/** The name of a file with a picture of this camera. */
export function pictureName(camera: string, at: Date): string {
  const parts = [at.getFullYear(), at.getMonth() + 1, at.getDate()];
  const day = parts.map((part) => String(part).padStart(2, "0")).join("-");
  // No name of a file has more than letters, digits and strokes, whatever the publisher calls its camera.
  const name = camera.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
  return `${name === "" ? texts().live.cameraFile : name}-${day}-${timeOfDay(at).replaceAll(":", "-")}.png`;
}

/** Milliseconds up to which nobody sees that lips are not in time. */
const LIPS_IN_TIME = 40;

/** How the lips are in time, in words. */
export function lipsWords({ median, uncertainty }: Skew): string {
  const size = withUnit(Math.abs(median));
  const { lipsAfter, lipsBefore } = texts().figures;
  return `${median > 0 ? lipsAfter(size) : lipsBefore(size)} ± ${withUnit(uncertainty)}`;
}

/** True if lips may be seen not to be in time. */
export function lipsAreOff({ median }: Skew): boolean {
  return Math.abs(median) > LIPS_IN_TIME;
}

/** What is done with the sound. */
export function soundWords(state: SoundFigures["state"]): string {
  return texts().figures.soundStates[state];
}

/** What a key mechanism protects against, in two words and in more. */
function mechanismParts(name: string): readonly [kind: string, means: string] {
  const { lock } = texts();
  switch (name) {
    case "x25519-mlkem768":
    case "sntrup761-x25519":
      return [lock.hybrid, lock.hybridMeans];
    case "mlkem768":
      return [lock.postQuantum, lock.postQuantumMeans];
    case "x25519":
    case "p256":
    case "rsa2048":
      return [lock.classical, lock.classicalMeans];
    default:
      return [name, lock.unknownMeans];
  }
}

/** What a key mechanism protects against. */
export function mechanismWords(name: string): string {
  const [kind, means] = mechanismParts(name);
  return kind === name ? `${name}: ${means}` : `${name}: ${kind}. ${means}`;
}

/** The same in two words, for the lock. */
export function mechanismKind(name: string): string {
  return mechanismParts(name)[0];
}

/** What a publisher can choose to encrypt: the value of `--encrypt`, and what it means. */
export function selections(): readonly (readonly [value: string, text: string])[] {
  return Object.entries(texts().selections);
}

function selectionText(selection: string): string | undefined {
  return selections().find(([value]) => value === selection)?.[1];
}

/** True if the selection leaves nothing in clear. */
export function encryptsAll(selection: string): boolean {
  return selection === "all" || selection === "level:4";
}

/** The lock's words for a selection. */
export function protectionWords(selection: string): string {
  const { endToEnd, notEncrypted, partly } = texts().lock;
  return encryptsAll(selection) ? endToEnd : selection === "none" ? notEncrypted : partly;
}

/** The warning for a selection, or nothing. */
export function selectionWarning(selection: string): string {
  if (encryptsAll(selection)) {
    return "";
  }
  const { nothingEncrypted, partInClear } = texts().lock;
  return selection === "none" ? nothingEncrypted : partInClear(selectionText(selection) ?? selection);
}

/** What is encrypted, for the list behind the lock. */
export function selectionWords(selection: string): string {
  const known = selectionText(selection);
  return known === undefined || known === selection ? selection : `${selection}: ${known}`;
}

/** What is signed, for the list behind the lock; without a group nothing needs to be. */
export function signedWords(signed: Membership["signed"] | undefined): string {
  return signed === undefined ? texts().lock.unsigned : texts().signed[signed];
}

/** For whom the picture is sealed, for the same list. */
export function sealedForWords(signed: Membership["signed"] | undefined): string {
  const { sealedForThis, sealedForGroup } = texts().lock;
  return signed === undefined ? sealedForThis : sealedForGroup;
}

/** The same as a sentence beside the picture. */
export function holdersWords(signed: Membership["signed"] | undefined): string {
  const { lock, signs } = texts();
  return signed === undefined ? lock.holdsThis : lock.holdsGroup(signs[signed]);
}

/** Ages are told in steps of so many milliseconds, upwards. */
const AGE_STEP = 10;

/** A bound on an age: rounded up, so that it holds. */
function atMost(milliseconds: number): string {
  return texts().age.atMost(Math.ceil(milliseconds / AGE_STEP) * AGE_STEP);
}

/** How old the picture is, so many milliseconds after that was told; nothing where nobody can tell. */
export function ageWords(age: Age, since: number): string {
  switch (age.state) {
    case "live":
      return texts().age.newest(atMost(age.atMost + since));
    case "waiting":
      return texts().age.notSaid;
    case "alarm":
    case "unsigned":
      return "";
  }
}

/** The same in few words, among the figures. */
export function ageFigure(age: Age): string {
  const { unknownYet, noSigned, noAnswer, notSigned } = texts().age;
  switch (age.state) {
    case "live":
      return atMost(age.atMost);
    case "waiting":
      return unknownYet;
    case "alarm":
      return age.cause === "freeze" ? noSigned : noAnswer;
    case "unsigned":
      return notSigned;
  }
}

/** What is wrong with the picture, and what may be done; nothing while all is well. */
export function alarmWords({ age, proofsMissing }: Pick<Membership, "age" | "proofsMissing">): string {
  const { alarms, age: ages } = texts();
  const old = age.state === "alarm" ? alarms[age.cause] : "";
  return [old, proofsMissing ? ages.unproven : ""].filter((words) => words !== "").join(" ");
}

/** The carrier's name as its makers write it. */
export function carrierWords(carrier: Protection["carrier"]): string {
  const { webtransport, websocket, relayWay, relaySocket } = texts().lock;
  return { webtransport, websocket, relay: relayWay, "relay-websocket": relaySocket }[carrier];
}

/** What decodes. */
export function decoderWords(decoder: Figures["decoder"]): string {
  return texts().figures.decoders[decoder];
}

/** Reasons for refusing a record, in words. */
export function refusalWords(reason: string): string {
  return (texts().figures.refused as Readonly<Record<string, string>>)[reason] ?? reason;
}

/** Reasons for refusing a frame of a group, in words. */
export function frameRefusalWords(reason: string): string {
  return (texts().figures.refusedFrames as Readonly<Record<string, string>>)[reason] ?? reason;
}

/** What a viewer does, beside its name. */
export function viewerWords(state: AudienceMember["state"]): string {
  const { watches: watching, joining, away } = texts().publish;
  return { watching, joining, away }[state];
}

/** How many watch. */
export function audienceCount(viewers: readonly AudienceMember[]): string {
  const watching = viewers.filter(({ state }) => state === "watching").length;
  const others = viewers.length - watching;
  const { publish } = texts();
  return `${publish.watching(watching)}${others === 0 ? "" : publish.othersMay(others)}`;
}

/** What the ticket is good for. */
export function audienceNote({ left }: Audience): string {
  const { usedUp, stillAdmits } = texts().publish;
  return left === 0 ? usedUp : stillAdmits(left);
}
