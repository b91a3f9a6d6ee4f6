// vectors/groups.json: member keys, the ratchet, wraps, keys of media, terms, and members that get them and sheets.

import { type Bytes } from "../src/protocol/bytes.ts";
import { asProtocolError } from "../src/protocol/error.ts";
import { Member } from "../src/protocol/group/member.ts";
import { ROOT, above, childrenOf, isBelowRoot, parentOf } from "../src/protocol/group/node.ts";
import { type Group, NodeSecret, soundOf } from "../src/protocol/group/secret.ts";
import { parseSheet } from "../src/protocol/group/sheet.ts";
import { type Terms, parseTerms, termsBytes } from "../src/protocol/group/terms.ts";
import { identityFromSeed, signatureCheck } from "../src/protocol/keys/identity.ts";
import { AES_128_GCM, AES_256_GCM } from "../src/protocol/seal/suite.ts";
import { SIGN_NUMBERS } from "../src/protocol/sign/mode.ts";
import { parseHeader } from "../src/protocol/wire/header.ts";
import { PeerId } from "../src/protocol/wire/peer-id.ts";
import { assert, hex, reasonOf, same, test, toHex } from "./support/harness.ts";
import { type Case, big, each, vectors } from "./support/vectors.ts";

type Long = number | bigint;
interface GroupOfVectors {
  readonly camera: string;
  readonly stream: number;
  readonly run: string;
}
interface MemberKeyCase extends Case {
  readonly shared: string;
  readonly camera: string;
  readonly stream: number;
  readonly member_key: string;
}
interface NodeCase extends Case {
  readonly group: GroupOfVectors;
  readonly epoch: Long;
  readonly node: number;
  readonly secrets: readonly string[];
}
interface WrapCase extends Case {
  readonly group: GroupOfVectors;
  readonly epoch: Long;
  readonly node: number;
  readonly secret: string;
  readonly parent: number;
  readonly parent_secret: string;
  readonly wrapped: string;
}
interface MediaCase extends Case {
  readonly use: string;
  readonly group: GroupOfVectors;
  readonly suite: number;
  readonly epoch: Long;
  readonly group_secret: string;
  readonly record: string;
}
interface Step {
  readonly admit: readonly { readonly member: number; readonly shared: string }[];
  readonly remove: readonly number[];
  readonly epoch: Long;
  readonly sheet: string | null;
  readonly full: string | null;
  readonly paths: readonly { readonly member: number; readonly sheet: string }[];
  readonly record: string;
}
interface LeaderCase extends Case {
  readonly camera_seed: string;
  readonly stream: number;
  readonly suite: number;
  readonly run: string;
  readonly steps: readonly Step[];
}
interface TermsCase extends Case {
  readonly camera: string;
  readonly stream: number;
  readonly suites: readonly number[];
  readonly asked: string;
  readonly terms: string;
  readonly sign?: number;
  readonly suite?: number;
  readonly run?: string;
  readonly name_of_camera?: string;
}
/** Terms or a sheet. */
interface Told {
  readonly expect: string;
  readonly terms?: string;
  readonly sheet?: string;
  readonly epoch?: Long;
  readonly effect?: Long;
}
interface MemberCase extends Case {
  readonly camera: string;
  readonly stream: number;
  readonly suites: readonly number[];
  readonly member_key: string;
  readonly told: readonly Told[];
  readonly records: readonly { readonly record: string; readonly expect: string; readonly payload?: string }[];
}
interface Groups {
  readonly member_keys: readonly MemberKeyCase[];
  readonly node_secrets: readonly NodeCase[];
  readonly wraps: readonly WrapCase[];
  readonly media_keys: readonly MediaCase[];
  readonly leaders: readonly LeaderCase[];
  readonly terms: readonly TermsCase[];
  readonly members: readonly MemberCase[];
}

const SUITES = [AES_128_GCM, AES_256_GCM];
const load = (): Promise<Groups> => vectors<Groups>("groups");

function peer(camera: string): PeerId {
  const id = PeerId.fromBytes(hex(camera));
  assert(id !== undefined, "the camera has a peer id");
  return id;
}

function groupOf({ camera, stream, run }: GroupOfVectors): Group {
  return { camera: peer(camera), stream, run: hex(run) };
}

function secretOf(text: string): NodeSecret {
  return new NodeSecret(hex(text));
}

/** A member of a group of vectors, which asked for the camera of this name if it has one. */
async function memberOf(
  camera: PeerId, stream: number, suites: readonly number[], key: NodeSecret, asked = "",
): Promise<Member> {
  const accepted = SUITES.filter(({ id }) => suites.includes(id));
  const check = await signatureCheck(camera);
  return new Member({ group: { camera, stream }, asked, least: "off", suites: accepted, check }, key);
}

/** Gives a member terms. Returns why they are refused, or `ok`. */
async function agree(member: Member, bytes: Bytes): Promise<string> {
  let terms: Terms;
  try {
    terms = parseTerms(bytes);
  } catch (thrown) {
    return asProtocolError(thrown).reason;
  }
  return (await member.agree(terms)) ?? "ok";
}

test("numbers of nodes that there are lead to the root, and others are none", () => {
  for (const leaf of [0, 1, 4, 255, 256, 16_383]) {
    const nodes = above(leaf);
    same([nodes.length, nodes.at(-1)], [7, ROOT], "seven levels below the root");
    assert(nodes.every((node) => childrenOf(node).every((child) => parentOf(child) === node)), "children have parents");
  }
  for (const node of [0, 0x3fff, 0x0100_0fff, 0x0600_0003]) {
    assert(isBelowRoot(node), `${node} is a node`);
  }
  for (const node of [0x4000, 0x0100_1000, 0x0600_0004, ROOT, ROOT + 1, 0x0800_0000, 0xffff_ffff]) {
    assert(!isBelowRoot(node), `${node} is none`);
  }
});

test("member keys follow from what a viewer shares with its camera", async () => {
  await each((await load()).member_keys, { run: 4, skipped: 0 }, async ({ shared, camera, stream, member_key }) => {
    const key = await NodeSecret.ofMember(hex(shared), { camera: peer(camera), stream });
    return key.equals(secretOf(member_key));
  });
});

test("node secrets take the steps of the ratchet that the vectors have", async () => {
  await each((await load()).node_secrets, { run: 4, skipped: 0 }, async ({ group, epoch, node, secrets }) => {
    const first = secretOf(secrets[0] ?? "");
    for (const [steps, secret] of secrets.entries()) {
      const stepped = await first.ratcheted(groupOf(group), node, big(epoch), big(epoch) + BigInt(steps));
      assert(stepped.equals(secretOf(secret)), `after ${steps} steps`);
    }
    return secrets.length > 1;
  });
});

test("wraps give a parent's secret to who knows a node's, and to nobody else", async () => {
  await each((await load()).wraps, { run: 4, skipped: 0 }, async (one) => {
    const key = await secretOf(one.secret).wrapKey(groupOf(one.group));
    const opened = await key.unwrap(big(one.epoch), one.node, hex(one.wrapped));
    assert(opened?.equals(secretOf(one.parent_secret)) === true, "the parent's secret");
    same(await key.unwrap(big(one.epoch) + 1n, one.node, hex(one.wrapped)), undefined, "in another epoch");
    const other = await secretOf(one.parent_secret).wrapKey(groupOf(one.group));
    same(await other.unwrap(big(one.epoch), one.node, hex(one.wrapped)), undefined, "with another secret");
    return parentOf(one.node) === one.parent;
  });
});

test("records of a group open under the key of their epoch", async () => {
  await each((await load()).media_keys, { run: 6, skipped: 18 }, async (one) => {
    const suite = SUITES.find(({ id }) => id === one.suite);
    // A byte stream has no repair records.
    if (suite === undefined || one.use.endsWith("repair")) {
      return false;
    }
    const named = groupOf(one.group);
    const group = one.use === "sound media" ? soundOf(named) : named;
    const opener = await secretOf(one.group_secret).opener(group, big(one.epoch), suite);
    const header = parseHeader(hex(one.record), "encrypted");
    assert(typeof header !== "string", "the header has its form");
    const opened = await opener.open(header, hex(one.record));
    assert(typeof opened !== "string", "the record opens");
    same([header.seq, opened.payload.length], [5, 5], "number and payload");
    return true;
  });
});

test("terms are agreed on or refused, by name, as the vectors say", async () => {
  await each((await load()).terms, { run: 42, skipped: 0 }, async (one) => {
    const key = new NodeSecret(new Uint8Array(32));
    const member = await memberOf(peer(one.camera), one.stream, one.suites, key, one.asked);
    same(await agree(member, hex(one.terms)), one.expect, "terms");
    if (one.expect === "ok") {
      const { sign, suite, run, name, stream } = parseTerms(hex(one.terms));
      same([SIGN_NUMBERS.indexOf(sign), suite, toHex(run), name, stream],
        [one.sign, one.suite, one.run, one.name_of_camera, one.stream], "what they state");
    }
    return true;
  });
});

test("terms are made as in the vectors", async () => {
  const { leaders, terms } = await load();
  const camera = await identityFromSeed(hex(leaders[0]?.camera_seed ?? ""));
  const good = terms.filter(({ expect }) => expect === "ok");
  await each(good, { run: 8, skipped: 0 }, async (one) => {
    const { sign, suite, name, stream, run } = parseTerms(hex(one.terms));
    const group = { camera: camera.peerId, stream, run };
    return toHex(await termsBytes(group, { sign, suite, name }, camera)) === one.terms;
  });
});

/** Tells a member something. Returns why it is refused, or `ok`, and what a sheet says. */
async function tell(member: Member, { terms, sheet }: Told): Promise<unknown[]> {
  if (terms !== undefined) {
    return [await agree(member, hex(terms)), undefined, undefined];
  }
  const taken = await member.take(hex(sheet ?? ""));
  return typeof taken === "string" ? [taken, undefined, undefined] : ["ok", taken.epoch, taken.effect];
}

test("terms and sheets are taken or refused, by name, and records open, as the vectors say", async () => {
  const long = (number: Long | undefined): bigint | undefined => number === undefined ? undefined : big(number);
  await each((await load()).members, { run: 63, skipped: 1 }, async (one) => {
    if (one.name === "records in packets") {
      // They come in no order, with repair records among them, which they do not on a byte stream.
      return false;
    }
    const member = await memberOf(peer(one.camera), one.stream, one.suites, secretOf(one.member_key));
    for (const [at, told] of one.told.entries()) {
      same(await tell(member, told), [told.expect, long(told.epoch), long(told.effect)], `step ${at}`);
    }
    for (const [at, { record, expect, payload }] of one.records.entries()) {
      const opened = await member.open(hex(record), "encrypted");
      same(typeof opened === "string" ? opened : "ok", expect, `record ${at}`);
      same(typeof opened === "string" ? undefined : toHex(opened.opened.payload), payload, `payload of record ${at}`);
    }
    return true;
  });
});

/** Follows a leader with everything that it says, as a member that joins in a step. */
async function follow(one: LeaderCase, joins: number, member: Member): Promise<{ opened: number; refused: number }> {
  let [opened, refused] = [0, 0];
  for (const { sheet, full, paths, record } of one.steps.slice(joins)) {
    for (const given of [...paths.map((path) => path.sheet), sheet, full]) {
      // What is for others is refused, and changes nothing.
      await (given === null ? undefined : member.take(hex(given)));
    }
    const result = await member.open(hex(record), "encrypted");
    [opened, refused] = typeof result === "string" ? [opened, refused + 1] : [opened + 1, refused];
  }
  return { opened, refused };
}

test("a member opens what is sealed while it is one, and nothing afterwards", async () => {
  let [followed, removed] = [0, 0];
  await each((await load()).leaders, { run: 2, skipped: 1 }, async (one) => {
    if (!SUITES.some(({ id }) => id === one.suite)) {
      return false;
    }
    const camera = await identityFromSeed(hex(one.camera_seed));
    const { peerId } = camera;
    const group = { camera: peerId, stream: one.stream, run: hex(one.run) };
    const terms = await termsBytes(group, { sign: "frame", suite: one.suite, name: "" }, camera);
    for (const [at, { admit, full, paths }] of one.steps.entries()) {
      // The vectors have a sheet with which they can begin.
      const begin = admit.filter(({ member }) => full !== null || paths.some((path) => path.member === member));
      for (const { member: name, shared } of begin) {
        const key = await NodeSecret.ofMember(hex(shared), { camera: peerId, stream: one.stream });
        const leaves = one.steps.findIndex(({ remove }, step) => step > at && remove.includes(name));
        const last = leaves < 0 ? one.steps.length : leaves;
        const member = await memberOf(peerId, one.stream, [1, 2], key);
        same(await agree(member, terms), "ok", "the terms");
        const found = await follow(one, at, member);
        same(found, { opened: last - at, refused: one.steps.length - last }, `records for member ${name}`);
        followed += 1;
        removed += leaves < 0 ? 0 : 1;
      }
    }
    return true;
  });
  assert(followed > removed && removed > 1, `${removed} of ${followed} members were removed`);
});

test("a sheet that is cut anywhere is malformed", async () => {
  const [told] = (await load()).members.flatMap((one) => one.told.filter(({ sheet }) => sheet !== undefined));
  const sheet = hex(told?.sheet ?? "");
  parseSheet(sheet);
  for (let length = 0; length < sheet.length; length += 7) {
    same(await reasonOf(() => parseSheet(sheet.slice(0, length)), `${length} bytes`), "malformed", "reason");
  }
});
