// A member's media: records of the group in, frames that the camera signed out (groups.md, section 10).

import { type Bytes, concat } from "../bytes.ts";
import { ProtocolError, type Refusal, malformed } from "../error.ts";
import { type Opened } from "../seal/opener.ts";
import { type Suite } from "../seal/suite.ts";
import { FrameHasher, recordHash } from "../sign/digest.ts";
import { type FrameRefusal, type FrameRefusalCounts, FrameVerifier } from "../sign/frame-verifier.ts";
import { type SignMode, signsFrames } from "../sign/mode.ts";
import { type Statement } from "../sign/statement.ts";
import { Assembler, type Media } from "../unit/assemble.ts";
import { SOUND_STREAM } from "../unit/sound-info.ts";
import { type UnitHeader, splitUnit } from "../unit/unit-header.ts";
import { type Accept, Flag, HEADER_LEN } from "../wire/header.ts";
import { Member, type MemberConfig, type SheetRefusal, type TakenSheet } from "./member.ts";
import { type GroupName, type NodeSecret, hasSound } from "./secret.ts";
import { type Terms, type TermsRefusal } from "./terms.ts";

/** What comes of a record. */
export interface GroupOpened {
  readonly media: readonly Media[];
  /** The statement of the frame that was released, if anything is signed. */
  readonly statement?: Statement;
  /** Why the record was refused. */
  readonly refused?: Refusal;
  /** Why the frame that it completes was refused: whoever in the group sealed it, the camera did not sign it so. */
  readonly notTheCameras?: FrameRefusal;
}

/** Where a record's header names its stream. */
const STREAM_AT = 4;
/** Longest description that is put together: its parameter sets have a length of 16 bits. */
const MAX_DESCRIPTION = 65_536 + 64;

/** The payload of a record without its unit header, if it has one. */
interface Part {
  readonly payload: Bytes;
  /** Its place among the records of a description that is cut into several. */
  readonly place?: UnitHeader;
}

/** On a byte stream records come in order, so a unit header says only how many of them a description has. */
function partOf({ header: { flags }, payload }: Opened): Part {
  if ((flags & Flag.Repair) !== 0) {
    // They repair what a byte stream does not lose.
    throw malformed();
  }
  if ((flags & Flag.Unit) === 0) {
    return { payload };
  }
  const { header, data } = splitUnit(payload, false);
  return (flags & Flag.CodecConfig) !== 0 && header.sources > 1 ? { payload: data, place: header } : { payload: data };
}

/** A frame whose records come, until its proof does. */
interface Unproven {
  readonly epoch: bigint;
  readonly hasher: FrameHasher;
  /** The description before it, and the frame once all of its records came. */
  readonly media: Media[];
  /** True once a record of the frame itself came. */
  begun: boolean;
}

/** Adds the counts of two streams. */
function sumOf(counts: FrameRefusalCounts, more: FrameRefusalCounts): FrameRefusalCounts {
  const sum = Object.entries(counts).map(([reason, count]) => [reason, count + more[reason as FrameRefusal]]);
  return Object.fromEntries(sum) as FrameRefusalCounts;
}

/** One of the streams of a group. What is lost of one leaves the other as it is. */
class Half {
  readonly #member: Member;
  readonly #stream: number;
  readonly #isSound: boolean;
  readonly #assembler: Assembler;
  readonly verifier: FrameVerifier;
  #unproven: Unproven | undefined;
  /** The beginning of a description that is cut into several records. */
  #description: Bytes = new Uint8Array(0);

  constructor(member: Member, assembler: Assembler, { check, group }: MemberConfig, isSound: boolean) {
    this.#member = member;
    this.#stream = isSound ? SOUND_STREAM : group.stream;
    this.#isSound = isSound;
    this.#assembler = assembler;
    this.verifier = new FrameVerifier(check, this.#stream);
  }

  /** Something is missing. No picture depends on sound, and no sound on other sound. */
  lost(): Media[] {
    this.#unproven = undefined;
    return this.#lostAssembled();
  }

  #lostAssembled(): Media[] {
    this.#assembler.lostPicture();
    return this.#isSound ? [] : [{ type: "lost" }];
  }

  /** Takes a record that was opened. */
  async take(now: number, epoch: bigint, found: Opened, hash: Bytes | undefined): Promise<GroupOpened> {
    const media = found.followsGap ? this.lost() : [];
    try {
      const part = partOf(found);
      const opened = { ...found, payload: part.payload, followsGap: false };
      const more = await (hash === undefined
        ? this.#unsigned(now, epoch, opened, part) : this.#part(now, epoch, opened, part, hash));
      return { ...more, media: [...media, ...more.media] };
    } catch (thrown) {
      if (thrown instanceof ProtocolError && thrown.reason === "malformed") {
        return { refused: "malformed", media: [...media, ...this.lost()] };
      }
      throw thrown;
    }
  }

  async #unsigned(now: number, epoch: bigint, opened: Opened, part: Part): Promise<GroupOpened> {
    await this.#member.confirm(now, epoch);
    return { media: this.#assembled(now, opened, part) };
  }

  /** Takes a record's payload into the frame or the description that it is of. */
  #assembled(now: number, opened: Opened, { payload, place }: Part): Media[] {
    if (place === undefined) {
      return this.#assembler.take(opened, now);
    }
    const soFar = place.index === 0 ? payload : concat(this.#description, payload);
    if (soFar.length > MAX_DESCRIPTION) {
      throw malformed();
    }
    if (place.index + 1 < place.sources) {
      this.#description = soFar;
      return [];
    }
    this.#description = new Uint8Array(0);
    return this.#assembler.take({ ...opened, payload: soFar }, now);
  }

  /** A record of a frame, or its proof. */
  async #part(now: number, epoch: bigint, opened: Opened, part: Part, hash: Bytes): Promise<GroupOpened> {
    const { flags } = opened.header;
    if ((flags & Flag.Signed) !== 0) {
      return this.#prove(now, epoch, opened.payload);
    }
    const goesOn = part.place !== undefined && part.place.index > 0;
    const media = goesOn ? [] : this.#beginIfNew(epoch, flags);
    const taken = this.#assembled(now, opened, part);
    const unproven = this.#unproven;
    if (unproven?.epoch === epoch) {
      unproven.hasher.push(hash);
      unproven.media.push(...taken);
      unproven.begun ||= (flags & Flag.CodecConfig) === 0;
    }
    return { media };
  }

  /** Begins a frame with its first record: the description before it, or its own. */
  #beginIfNew(epoch: bigint, flags: number): Media[] {
    const before = this.#unproven;
    const followsDescription = before?.epoch === epoch && !before.begun;
    const begins = (flags & Flag.CodecConfig) !== 0 || ((flags & Flag.First) !== 0 && !followsDescription);
    if (!begins) {
      return [];
    }
    this.#unproven = { epoch, hasher: new FrameHasher(), media: [], begun: false };
    if (before === undefined) {
      return [];
    }
    // The one before has no proof, and of a picture what comes now depends on it.
    this.verifier.refuse("unsigned");
    return this.#lostAssembled();
  }

  /** Releases the frame whose records came, if this proves it. */
  async #prove(now: number, epoch: bigint, proof: Bytes): Promise<GroupOpened> {
    const unproven = this.#unproven;
    this.#unproven = undefined;
    if (unproven === undefined) {
      // Its frame was lost, and counted then.
      return { media: [] };
    }
    const statement = await this.#verify(unproven, proof);
    if (typeof statement === "string") {
      return { notTheCameras: statement, media: this.lost() };
    }
    if (epoch !== unproven.epoch || !this.#member.allows(epoch, statement.group)) {
      return { notTheCameras: this.verifier.refuse("epoch"), media: this.lost() };
    }
    await this.#member.confirm(now, epoch);
    return { statement, media: unproven.media };
  }

  async #verify({ hasher, epoch }: Unproven, proof: Bytes): Promise<Statement | FrameRefusal> {
    const digest = await hasher.finish();
    if (digest === undefined) {
      return this.verifier.refuse("records");
    }
    return this.verifier.verify({ digest, stream: this.#stream, epoch }, proof);
  }
}

/**
 * Opens the records of a group in the order in which the camera sealed them, and releases the frames that it signed.
 * One call at a time: the caller awaits each.
 */
export class GroupOpener {
  readonly #member: Member;
  readonly #name: GroupName;
  readonly #picture: Half;
  readonly #sound: Half;
  /** True if records in clear may come: the viewer has acknowledged a selection. Sound is always encrypted. */
  acceptsClear = false;

  /**
   * A member that has neither terms nor a sheet yet.
   * @param assembler the session's: it knows which frame came last, whoever it was sealed for
   * @param key its member key, which this takes over
   */
  constructor(config: MemberConfig, assembler: Assembler, key: NodeSecret) {
    this.#member = new Member(config, key);
    this.#name = config.group;
    this.#picture = new Half(this.#member, assembler, config, false);
    this.#sound = new Half(this.#member, new Assembler(), config, true);
  }

  /** Agrees on terms, or says why they are refused; nothing has changed then. */
  agree(terms: Terms): Promise<TermsRefusal | undefined> {
    return this.#member.agree(terms);
  }

  /** Signatures of the camera in the run of the last sheet: frames without it are refused. No key is there before. */
  get sign(): SignMode {
    return this.#member.sign ?? "frame";
  }

  /** Takes a sheet, or says why it is refused; nothing has changed then. */
  async takeSheet(sheet: Bytes): Promise<TakenSheet | SheetRefusal> {
    const { sign } = this.#member;
    const taken = await this.#member.take(sheet);
    if (sign !== undefined && sign !== this.sign) {
      this.#picture.lost();
      this.#sound.lost();
    }
    return taken;
  }

  /** Suite and epoch of the last sheet that was taken. */
  get keys(): { readonly suite: Suite; readonly epoch: bigint } | undefined {
    return this.#member.keys;
  }

  /** Frames of the picture whose proof fits. */
  get accepted(): number {
    return this.#picture.verifier.accepted;
  }

  /** Frames and packets of sound refused, by reason. */
  get refused(): FrameRefusalCounts {
    return sumOf(this.#picture.verifier.refused, this.#sound.verifier.refused);
  }

  get integritySpent(): boolean {
    return this.#member.integritySpent;
  }

  wipe(): void {
    this.#member.wipe();
  }

  /** True if the record cannot be opened now and perhaps can once a sheet has come. */
  waitsForKey(record: Bytes): Promise<boolean> {
    return this.#member.waitsForKey(record, this.#accept(this.#isSound(record)));
  }

  /** True if a record's header names the stream of sound. If it lies, its key does not open it. */
  #isSound(record: Bytes): boolean {
    const view = new DataView(record.buffer, record.byteOffset, record.byteLength);
    return record.length >= HEADER_LEN && hasSound(this.#name, view.getUint32(STREAM_AT));
  }

  #accept(isSound: boolean): Accept {
    const accept = signsFrames(this.sign) ? "signed" : "group";
    return this.acceptsClear && !isSound ? `${accept}-clear` : accept;
  }

  /** Opens a media record that arrived at this monotonic time. */
  async open(now: number, record: Bytes): Promise<GroupOpened> {
    this.#member.retire(now);
    const sound = this.#isSound(record);
    const half = sound ? this.#sound : this.#picture;
    const signed = signsFrames(this.sign);
    // The hash does not wait for the tag: what does not open is not used.
    const [found, hash] = await Promise.all([
      this.#member.open(record, this.#accept(sound)), signed ? recordHash(record) : undefined,
    ]);
    if (typeof found === "string") {
      // A copy takes nothing away from the stream; everything else that is refused is missing now.
      return { refused: found, media: found === "replay" ? [] : half.lost() };
    }
    return half.take(now, found.epoch, found.opened, hash);
  }
}
