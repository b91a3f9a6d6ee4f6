// vectors/groups.json: member keys, the ratchet, wraps, keys of media, and members that are given sheets and records.

import { Member } from "../src/protocol/group/member.ts";
import { ROOT, above, childrenOf, isBelowRoot, parentOf } from "../src/protocol/group/node.ts";
import { type Group, NodeSecret, soundOf } from "../src/protocol/group/secret.ts";
import { parseSheet } from "../src/protocol/group/sheet.ts";
import { identityFromSeed, signatureCheck } from "../src/protocol/keys/identity.ts";
import { AES_128_GCM, AES_256_GCM } from "../src/protocol/seal/suite.ts";
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
  readonly steps: readonly Step[];
}
interface MemberCase extends Case {
  readonly camera: string;
  readonly stream: number;
  readonly suites: readonly number[];
  readonly member_key: string;
  readonly sheets: readonly { readonly sheet: string; readonly expect: string; readonly epoch?: Long }[];
  readonly records: readonly { readonly record: string; readonly expect: string; readonly payload?: string }[];
}
interface Groups {
  readonly member_keys: readonly MemberKeyCase[];
  readonly node_secrets: readonly NodeCase[];
  readonly wraps: readonly WrapCase[];
  readonly media_keys: readonly MediaCase[];
  readonly leaders: readonly LeaderCase[];
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

async function memberOf(camera: PeerId, stream: number, suites: readonly number[], key: NodeSecret): Promise<Member> {
  const accepted = SUITES.filter(({ id }) => suites.includes(id));
  return new Member({ group: { camera, stream }, suites: accepted, check: await signatureCheck(camera) }, key);
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

test("sheets are taken or refused, by name, and records open, as the vectors say", async () => {
  await each((await load()).members, { run: 54, skipped: 1 }, async (one) => {
    if (one.name === "records in packets") {
      // They come in no order, with repair records among them, which they do not on a byte stream.
      return false;
    }
    const member = await memberOf(peer(one.camera), one.stream, one.suites, secretOf(one.member_key));
    for (const [at, { sheet, expect, epoch }] of one.sheets.entries()) {
      const taken = await member.take(hex(sheet));
      same(typeof taken === "string" ? taken : "ok", expect, `sheet ${at}`);
      same(typeof taken === "string" ? undefined : taken.epoch, epoch === undefined ? undefined : big(epoch), "epoch");
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
    const { peerId } = await identityFromSeed(hex(one.camera_seed));
    for (const [at, { admit, full, paths }] of one.steps.entries()) {
      // The vectors have a sheet with which they can begin.
      const begin = admit.filter(({ member }) => full !== null || paths.some((path) => path.member === member));
      for (const { member: name, shared } of begin) {
        const key = await NodeSecret.ofMember(hex(shared), { camera: peerId, stream: one.stream });
        const leaves = one.steps.findIndex(({ remove }, step) => step > at && remove.includes(name));
        const last = leaves < 0 ? one.steps.length : leaves;
        const found = await follow(one, at, await memberOf(peerId, one.stream, [1, 2], key));
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
  const sheet = hex((await load()).members[0]?.sheets[0]?.sheet ?? "");
  parseSheet(sheet);
  for (let length = 0; length < sheet.length; length += 7) {
    same(await reasonOf(() => parseSheet(sheet.slice(0, length)), `${length} bytes`), "malformed", "reason");
  }
});
