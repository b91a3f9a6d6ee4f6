// A member's media: records of the group in, frames that the camera signed out (groups.md, section 10).

import { type Bytes, concat } from "../bytes.ts";
import { ProtocolError, type Refusal, malformed } from "../error.ts";
import { type Opened } from "../seal/opener.ts";
import { type Suite } from "../seal/suite.ts";
import { FrameHasher, recordHash } from "../sign/digest.ts";
import { type FrameRefusal, type FrameRefusalCounts, FrameVerifier } from "../sign/frame-verifier.ts";
import { signsFrames } from "../sign/mode.ts";
import { type Statement } from "../sign/statement.ts";
import { type Assembler, type Media } from "../unit/assemble.ts";
import { type UnitHeader, splitUnit } from "../unit/unit-header.ts";
import { type SignMode } from "../wire/group-message.ts";
import { type Accept, Flag } from "../wire/header.ts";
import { Member, type MemberConfig, type SheetRefusal, type TakenSheet } from "./member.ts";
import { type NodeSecret } from "./secret.ts";

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

/**
 * Opens the records of a group in the order in which the camera sealed them, and releases the frames that it signed.
 * One call at a time: the caller awaits each.
 */
export class GroupOpener {
  readonly #member: Member;
  readonly #sign: SignMode;
  readonly #stream: number;
  readonly #verifier: FrameVerifier;
  readonly #assembler: Assembler;
  /** True if records in clear may come: the viewer has acknowledged a selection. */
  acceptsClear = false;
  #unproven: Unproven | undefined;
  /** The beginning of a description that is cut into several records. */
  #description: Bytes = new Uint8Array(0);

  /**
   * A member that has no sheet yet.
   * @param assembler the session's: it knows which frame came last, whoever it was sealed for
   * @param sign what the camera signs: frames without it are refused
   * @param key its member key, which this takes over
   */
  constructor(config: MemberConfig, assembler: Assembler, sign: SignMode, key: NodeSecret) {
    this.#assembler = assembler;
    this.#member = new Member(config, key);
    this.#sign = sign;
    this.#stream = config.group.stream;
    this.#verifier = new FrameVerifier(config.check, config.group.stream);
  }

  /** Takes a sheet, or says why it is refused; nothing has changed then. */
  takeSheet(sheet: Bytes): Promise<TakenSheet | SheetRefusal> {
    return this.#member.take(sheet);
  }

  /** Suite and epoch of the last sheet that was taken. */
  get keys(): { readonly suite: Suite; readonly epoch: bigint } | undefined {
    return this.#member.keys;
  }

  /** Frames whose proof fits. */
  get accepted(): number {
    return this.#verifier.accepted;
  }

  /** Frames refused, by reason. */
  get refused(): FrameRefusalCounts {
    return this.#verifier.refused;
  }

  get integritySpent(): boolean {
    return this.#member.integritySpent;
  }

  wipe(): void {
    this.#member.wipe();
  }

  /** True if the record cannot be opened now and perhaps can once a sheet has come. */
  waitsForKey(record: Bytes): Promise<boolean> {
    return this.#member.waitsForKey(record, this.#accept);
  }

  get #accept(): Accept {
    const accept = this.#sign === "off" ? "group" : "signed";
    return this.acceptsClear ? `${accept}-clear` : accept;
  }

  /** Opens a media record that arrived at this monotonic time. */
  async open(now: number, record: Bytes): Promise<GroupOpened> {
    this.#member.retire(now);
    const signed = this.#sign !== "off";
    // The hash does not wait for the tag: what does not open is not used.
    const [found, hash] = await Promise.all([
      this.#member.open(record, this.#accept), signed ? recordHash(record) : undefined,
    ]);
    if (typeof found === "string") {
      // A copy takes nothing away from the stream; everything else that is refused is missing now.
      return { refused: found, media: found === "replay" ? [] : this.#lost() };
    }
    const media = found.opened.followsGap ? this.#lost() : [];
    try {
      const part = partOf(found.opened);
      const opened = { ...found.opened, payload: part.payload, followsGap: false };
      const more = await (hash === undefined
        ? this.#unsigned(now, found.epoch, opened, part) : this.#part(now, found.epoch, opened, part, hash));
      return { ...more, media: [...media, ...more.media] };
    } catch (thrown) {
      if (thrown instanceof ProtocolError && thrown.reason === "malformed") {
        return { refused: "malformed", media: [...media, ...this.#lost()] };
      }
      throw thrown;
    }
  }

  #lost(): Media[] {
    this.#unproven = undefined;
    this.#assembler.lostPicture();
    return [{ type: "lost" }];
  }

  async #unsigned(now: number, epoch: bigint, opened: Opened, part: Part): Promise<GroupOpened> {
    await this.#member.confirm(now, epoch);
    return { media: this.#take(now, opened, part) };
  }

  /** Takes a record's payload into the frame or the description that it is of. */
  #take(now: number, opened: Opened, { payload, place }: Part): Media[] {
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
    const taken = this.#take(now, opened, part);
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
    // The one before has no proof, and what comes now depends on it.
    this.#verifier.refuse("unsigned");
    this.#assembler.lostPicture();
    return [{ type: "lost" }];
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
      return { notTheCameras: statement, media: this.#lost() };
    }
    if (epoch !== unproven.epoch || !this.#member.allows(epoch, statement.group)) {
      return { notTheCameras: this.#verifier.refuse("epoch"), media: this.#lost() };
    }
    await this.#member.confirm(now, epoch);
    return { statement, media: unproven.media };
  }

  async #verify({ hasher, epoch }: Unproven, proof: Bytes): Promise<Statement | FrameRefusal> {
    const digest = await hasher.finish();
    if (digest === undefined) {
      return this.#verifier.refuse("records");
    }
    const frame = { digest, stream: this.#stream, epoch };
    return signsFrames(this.#sign) ? this.#verifier.verify(frame, proof) : this.#verifier.claim(frame, proof);
  }
}
