// A viewer's side of a group: it takes terms and key sheets, and opens records (groups.md, sections 6 and 8).

import { type Bytes, equal } from "../bytes.ts";
import { type Refusal } from "../error.ts";
import { type SignatureCheck } from "../keys/identity.ts";
import { type Suite } from "../seal/suite.ts";
import { type SignMode, covers } from "../sign/mode.ts";
import { type Accept, Kind, parseHeader } from "../wire/header.ts";
import { type Base, GroupEpochs, MAX_RATCHET, type OpenedInEpoch } from "./epochs.ts";
import { DEPTH, above, isLeaf } from "./node.ts";
import { type Group, type GroupName, type NodeSecret, hasSound } from "./secret.ts";
import { type Scope, type Sheet, parseSheet, renews } from "./sheet.ts";
import { type Terms, type TermsRefusal } from "./terms.ts";

/** Why a sheet is refused, in the order of the checks. A refused sheet changes nothing. */
export type SheetRefusal =
  | "malformed" | "wrong-camera" | "wrong-stream" | "signature" | "wrong-run" | "suite" | "stale" | "backwards"
  | "missed" | "no-slot" | "unopened";

/** What a sheet that was taken says. */
export interface TakenSheet {
  readonly scope: Scope;
  readonly epoch: bigint;
  /** Number of the first group of pictures of which nothing is sealed under an earlier epoch. */
  readonly effect: bigint;
}

/** Settings of a member. */
export interface MemberConfig {
  /** The camera that is pinned, and the stream of it that is watched. */
  readonly group: GroupName;
  /** The camera's name that was asked for; empty if none was. */
  readonly asked: string;
  /** Least signatures. */
  readonly least: SignMode;
  /** The suites that this end accepts. */
  readonly suites: readonly Suite[];
  /** The check of the camera's signatures. */
  readonly check: SignatureCheck;
}

/** Terms that were agreed on. */
type Agreed = Terms & { readonly sign: SignMode };

/** What a member knows since the last sheet. */
interface State extends Base {
  readonly effect: bigint;
  readonly leaf: number;
  /** Secrets of the inner nodes above the leaf, the root's last. */
  readonly path: readonly NodeSecret[];
}

/** A path that is being opened: the leaf, and secrets from the first node above it on. */
interface Path {
  readonly leaf: number;
  readonly secrets: NodeSecret[];
}

/** A viewer's side of a group. One call at a time: the caller awaits each. */
export class Member {
  readonly #config: MemberConfig;
  readonly #key: NodeSecret;
  /** Terms of the last sheet's run, and of the run that begins with its first sheet. */
  #terms: Agreed | undefined;
  #next: Agreed | undefined;
  #state: State | undefined;
  #epochs: GroupEpochs | undefined;

  /** A member that has neither terms nor a sheet yet. `key` is its member key, which this takes over. */
  constructor(config: MemberConfig, key: NodeSecret) {
    this.#config = config;
    this.#key = key;
  }

  /**
   * Agrees on terms, from whatever way they came, or says why they are refused. Those of another run than the last
   * sheet's hold from the first sheet of theirs on, and replace others that wait for this.
   */
  async agree(terms: Terms): Promise<TermsRefusal | undefined> {
    const { asked, least, suites, check } = this.#config;
    const wrong = this.#isOther(terms);
    if (wrong !== undefined) {
      return wrong;
    }
    if (asked !== "" && terms.name !== asked) {
      return "wrong-name";
    }
    if (!(await terms.verify(check))) {
      return "signature";
    }
    const { sign } = terms;
    if (!covers(sign, least)) {
      return "sign";
    }
    if (!suites.some(({ id }) => id === terms.suite)) {
      return "suite";
    }
    const known = this.#termsOf(terms.run);
    if (known !== undefined) {
      return equal(known.unsigned, terms.unsigned) ? undefined : "changed";
    }
    this.#next = { ...terms, sign };
    return undefined;
  }

  /** Signatures of the camera by the terms of the last sheet's run. */
  get sign(): SignMode | undefined {
    return this.#terms?.sign;
  }

  #termsOf(run: Bytes): Agreed | undefined {
    return [this.#terms, this.#next].find((terms) => terms !== undefined && equal(terms.run, run));
  }

  /** Says why this is not of the group that is watched, if it is not. */
  #isOther({ camera, stream }: Terms | Sheet): "wrong-camera" | "wrong-stream" | undefined {
    const { group } = this.#config;
    if (!equal(camera, group.camera.bytes)) {
      return "wrong-camera";
    }
    return stream === group.stream ? undefined : "wrong-stream";
  }

  /** Takes a sheet, from whatever way it came, or says why it is refused. */
  async take(bytes: Bytes): Promise<TakenSheet | SheetRefusal> {
    let sheet: Sheet;
    try {
      sheet = parseSheet(bytes);
    } catch {
      return "malformed";
    }
    const suite = await this.#check(sheet);
    if (typeof suite === "string") {
      return suite;
    }
    const group: Group = { ...this.#config.group, run: sheet.run.slice() };
    const path = await (sheet.scope === "update" ? this.#openUpdate(sheet, group) : this.#openFromLeaf(sheet, group));
    if (typeof path === "string") {
      return path;
    }
    const secret = path.secrets.at(-1);
    if (secret === undefined) {
      return "unopened";
    }
    const { scope, epoch, effect } = sheet;
    const state = { group, suite, epoch, effect, secret, leaf: path.leaf, path: path.secrets };
    if (this.#epochs === undefined) {
      this.#epochs = new GroupEpochs(state);
    } else {
      await this.#epochs.rebase(state);
    }
    wipeAll(this.#state?.path ?? []);
    this.#state = state;
    if (this.#next !== undefined && equal(this.#next.run, group.run)) {
      [this.#terms, this.#next] = [this.#next, undefined];
    }
    return { scope, epoch, effect };
  }

  /** Checks everything that needs no secret. Returns the suite. */
  async #check(sheet: Sheet): Promise<Suite | SheetRefusal> {
    const { suites, check } = this.#config;
    const wrong = this.#isOther(sheet);
    if (wrong !== undefined) {
      return wrong;
    }
    if (!(await sheet.verify(check))) {
      return "signature";
    }
    const terms = this.#termsOf(sheet.run);
    if (terms === undefined) {
      return "wrong-run";
    }
    const suite = suites.find(({ id }) => id === sheet.suite);
    if (suite?.id !== terms.suite) {
      return "suite";
    }
    const last = this.#state;
    if (last !== undefined && sheet.epoch <= last.epoch) {
      return "stale";
    }
    const sameRun = last !== undefined && equal(sheet.run, last.group.run);
    return sameRun && sheet.effect < last.effect ? "backwards" : suite;
  }

  /** Opens a full or a path sheet: finds the leaf whose wrap the member's key opens, and goes up from there. */
  async #openFromLeaf(sheet: Sheet, group: Group): Promise<Path | SheetRefusal> {
    const key = await this.#key.wrapKey(group);
    const known = this.#state?.leaf;
    const leaves = [...sheet.wraps.keys()].filter((node) => isLeaf(node) && node !== known);
    for (const leaf of known === undefined ? leaves : [known, ...leaves]) {
      const wrapped = sheet.wraps.get(leaf);
      const secret = wrapped && (await key.unwrap(sheet.epoch, leaf, wrapped));
      if (secret !== undefined) {
        return this.#climb(sheet, group, { leaf, secrets: [secret] });
      }
    }
    return "no-slot";
  }

  /** Opens an update: steps the secrets to its epoch, and takes the new ones of the nodes that were drawn anew. */
  async #openUpdate(sheet: Sheet, group: Group): Promise<Path | SheetRefusal> {
    const last = this.#state;
    if (last === undefined || !equal(last.group.run, group.run) || sheet.epoch - last.epoch > MAX_RATCHET) {
      return "missed";
    }
    const nodes = above(last.leaf);
    const lowest = nodes.findIndex((node) => renews(sheet, node));
    // The node below the lowest new one: its secret is known, if only after some steps.
    const below = nodes[lowest - 1] ?? last.leaf;
    const wrapped = lowest < 0 ? undefined : sheet.wraps.get(below);
    if (wrapped === undefined) {
      return "no-slot";
    }
    const secrets: NodeSecret[] = [];
    for (const [at, secret] of last.path.slice(0, lowest).entries()) {
      secrets.push(await secret.ratcheted(group, nodes[at] ?? below, last.epoch, sheet.epoch));
    }
    const key = await (secrets.at(-1) ?? this.#key).wrapKey(group);
    const opened = await key.unwrap(sheet.epoch, below, wrapped);
    if (opened === undefined) {
      wipeAll(secrets);
      return "unopened";
    }
    return this.#climb(sheet, group, { leaf: last.leaf, secrets: [...secrets, opened] });
  }

  /** Opens the wraps from the highest node whose secret is known up to the root. */
  async #climb(sheet: Sheet, group: Group, { leaf, secrets }: Path): Promise<Path | SheetRefusal> {
    const nodes = above(leaf);
    for (let at = secrets.length - 1; at < DEPTH - 1; at += 1) {
      const [node, secret] = [nodes[at], secrets[at]];
      const wrapped = node === undefined ? undefined : sheet.wraps.get(node);
      if (node === undefined || secret === undefined || wrapped === undefined) {
        // The form of a sheet is right only if the wraps up to the root are there.
        wipeAll(secrets);
        return "malformed";
      }
      const opened = await (await secret.wrapKey(group)).unwrap(sheet.epoch, node, wrapped);
      if (opened === undefined) {
        wipeAll(secrets);
        return "unopened";
      }
      secrets.push(opened);
    }
    return { leaf, secrets };
  }

  /**
   * Opens a media record of the group, of its stream or the sound beside it, or says why it is refused:
   * `unknown-epoch` if it is of another stream, or of an epoch that the last sheet does not lead to. Everybody in the
   * group could have sealed it.
   */
  async open(record: Bytes, accept: Accept): Promise<OpenedInEpoch | Refusal> {
    const header = parseHeader(record, accept);
    if (typeof header === "string") {
      return header;
    }
    const { group } = this.#config;
    const isCarried = header.stream === group.stream || hasSound(group, header.stream);
    const ours = header.kind === Kind.Media && isCarried;
    return ours && this.#epochs !== undefined ? this.#epochs.open(header, record) : "unknown-epoch";
  }

  /**
   * True if a record of the group does not open under any key that the last sheet leads to, and is of a later epoch:
   * its sheet may be under way.
   */
  async waitsForKey(record: Bytes, accept: Accept): Promise<boolean> {
    const header = parseHeader(record, accept);
    return typeof header !== "string" && (this.#epochs === undefined || this.#epochs.waitsForKey(header, record));
  }

  /** Says that a frame under this epoch is the camera's: it was verified, or frames are not signed. */
  async confirm(now: number, epoch: bigint): Promise<void> {
    await this.#epochs?.confirm(now, epoch);
  }

  /**
   * False if the camera has sealed nothing of this group of pictures under this epoch, as its last sheet says. `group`
   * must be known by the camera's signature.
   */
  allows(epoch: bigint, group: bigint): boolean {
    const state = this.#state;
    return state !== undefined && (epoch >= state.epoch || group < state.effect);
  }

  /** Suite and epoch of the last sheet that was taken. */
  get keys(): { readonly suite: Suite; readonly epoch: bigint } | undefined {
    return this.#state;
  }

  get integritySpent(): boolean {
    return this.#epochs?.integritySpent ?? false;
  }

  /** Drops the openers of earlier epochs whose time is over. */
  retire(now: number): void {
    this.#epochs?.retire(now);
  }

  /** Overwrites all secrets at the end. */
  wipe(): void {
    this.#key.wipe();
    wipeAll(this.#state?.path ?? []);
  }
}

function wipeAll(secrets: readonly NodeSecret[]): void {
  for (const secret of secrets) {
    secret.wipe();
  }
}
