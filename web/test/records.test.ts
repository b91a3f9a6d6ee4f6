// vectors/records.json: sealing, opening, refusals, the replay window, framing, and when a connection ends.

import {
  type Direction, EpochSecret, type Purpose, openerFor, sealerFor, wireNumber,
} from "../src/protocol/keys/epoch.ts";
import { type FindOpener, openRecord } from "../src/protocol/seal/open-record.ts";
import { type Opened, type Opener } from "../src/protocol/seal/opener.ts";
import { Refusals } from "../src/protocol/seal/refusals.ts";
import { ReplayWindow } from "../src/protocol/seal/replay.ts";
import { type SealLimits, WIDEST_LIMITS } from "../src/protocol/seal/sealer.ts";
import { AES_128_GCM, AES_256_GCM, type Suite } from "../src/protocol/seal/suite.ts";
import {
  MAX_HANDSHAKE_MESSAGE, MAX_RECORD, MessageReader, lengthPrefix,
} from "../src/protocol/wire/framing.ts";
import { Kind } from "../src/protocol/wire/header.ts";
import { concat } from "../src/protocol/bytes.ts";
import { assert, hex, reasonOf, same, sequence, test, toHex } from "./support/harness.ts";
import { type Case, big, each, vectors } from "./support/vectors.ts";

interface KeySet {
  readonly suite: number;
  readonly direction: Direction;
  readonly clear: boolean;
  readonly epochs: readonly { readonly epoch: number | bigint; readonly secret: string }[];
}
interface SealedCase extends Case {
  readonly key_set: string;
  readonly suite: number;
  readonly direction: Direction;
  readonly purpose: Purpose;
  readonly epoch: number | bigint;
  readonly epoch_secret: string;
  readonly flags: number;
  readonly stream: number;
  readonly seq: number;
  readonly timestamp: number | bigint;
  readonly payload: string;
  readonly record: string;
}
interface Steps extends Case {
  readonly key_set: string;
  readonly steps: readonly { readonly record: string; readonly expect: string }[];
}
interface Framing extends Case {
  readonly stream: string;
  readonly limit: "established" | "handshake";
  readonly messages?: readonly string[];
}
interface Records {
  readonly key_sets: Readonly<Record<string, KeySet>>;
  readonly sealed: readonly SealedCase[];
  readonly refused: readonly (Case & { readonly key_set: string; readonly record: string })[];
  readonly sequences: readonly Steps[];
  readonly framing: readonly Framing[];
  readonly connections: readonly (Steps & { readonly ends_after: number | null })[];
}

const load = (): Promise<Records> => vectors<Records>("records");
const SUITES: readonly Suite[] = [AES_128_GCM, AES_256_GCM];
const PURPOSES: readonly [Purpose, Kind][] = [["control", Kind.Control], ["media", Kind.Media], ["cell", Kind.Cell]];

/** True for a data record. A page asks for no data channel, so it is sent none, and takes one for malformed. */
const isData = (record: string): boolean => record.startsWith("13");

/** Opens records with the keys of a set; replay windows are empty. `undefined` for a suite that no browser peer has. */
async function openerOf(set: KeySet | undefined): Promise<((record: string) => Promise<Opened | string>) | undefined> {
  const suite = SUITES.find(({ id }) => id === set?.suite);
  if (set === undefined || suite === undefined) {
    return undefined;
  }
  const openers = new Map<string, Opener>();
  for (const { epoch, secret } of set.epochs) {
    const of = new EpochSecret(big(epoch), hex(secret));
    for (const [purpose, kind] of PURPOSES) {
      openers.set(`${kind} ${wireNumber(of.number)}`, await openerFor(of, suite, purpose, set.direction));
    }
  }
  const find: FindOpener = (kind, epoch) => openers.get(`${kind} ${epoch}`);
  return (record) => openRecord(hex(record), set.clear ? "clear" : "encrypted", find);
}

test("records are sealed and opened as in the vectors", async () => {
  const all = await load();
  let sealed = 0;
  await each(all.sealed, { run: 84, skipped: 92 }, async (one) => {
    const suite = SUITES.find(({ id }) => id === one.suite);
    const open = await openerOf(all.key_sets[one.key_set]);
    if (suite === undefined || open === undefined || isData(one.record)) {
      return false;
    }
    const opened = await open(one.record);
    assert(typeof opened !== "string", "it opens");
    const { header } = opened;
    same(toHex(opened.payload), one.payload, "payload");
    same([header.flags, header.stream, header.seq], [one.flags, one.stream, one.seq], "header");
    same(header.timestamp, big(one.timestamp), "timestamp");
    if (one.seq <= 64) {
      const epoch = new EpochSecret(big(one.epoch), hex(one.epoch_secret));
      const sealer = await sealerFor(epoch, suite, one.purpose, one.direction, WIDEST_LIMITS);
      const meta = { flags: one.flags, stream: one.stream, timestamp: big(one.timestamp) };
      for (let before = 0; before < one.seq; before += 1) {
        await sealer.seal({ ...meta, flags: 1 }, []);
      }
      const payload = hex(one.payload);
      const parts = [payload.subarray(0, 3), payload.subarray(3)];
      same(toHex(await sealer.seal(meta, parts)), one.record, "record");
      sealed += 1;
    }
    return true;
  });
  // The others have numbers that only very many records before them would reach.
  same(sealed, 68, "records sealed");
});

test("records that must not be opened are refused for the reason of the vectors", async () => {
  const all = await load();
  await each(all.refused, { run: 393, skipped: 157 }, async (one) => {
    const open = await openerOf(all.key_sets[one.key_set]);
    if (open === undefined || isData(one.record)) {
      return false;
    }
    same(await open(one.record), one.expect, "reason");
    return true;
  });
});

test("records that come again or late are judged by the replay window", async () => {
  const all = await load();
  await each(all.sequences, { run: 19, skipped: 2 }, async (one) => {
    const open = await openerOf(all.key_sets[one.key_set]);
    if (open === undefined) {
      return false;
    }
    for (const [at, { record, expect }] of one.steps.entries()) {
      const opened = await open(record);
      same(typeof opened === "string" ? opened : "ok", expect, `step ${at}`);
    }
    return true;
  });
});

test("connections end where the vectors say", async () => {
  const all = await load();
  await each(all.connections, { run: 5, skipped: 0 }, async (one) => {
    const open = await openerOf(all.key_sets[one.key_set]);
    if (open === undefined) {
      return false;
    }
    const refusals = new Refusals();
    let ends: number | null = null;
    for (const [at, { record, expect }] of one.steps.entries()) {
      const opened = await open(record);
      same(typeof opened === "string" ? opened : "ok", expect, `step ${at}`);
      if (typeof opened !== "string") {
        refusals.opened();
      } else if (refusals.refused(opened as Parameters<Refusals["refused"]>[0]) !== undefined) {
        ends = at;
        break;
      }
    }
    same(ends, one.ends_after, "the step after which it ends");
    return true;
  });
});

/** The messages of a stream that arrives in pieces of `size` bytes, and how it ends. */
async function frames(stream: string, limit: number, size: number): Promise<{ messages: string[]; ended: string }> {
  const [bytes, reader, messages] = [hex(stream), new MessageReader(), [] as string[]];
  const read = (): void => {
    for (let at = 0; at < bytes.length; at += size) {
      reader.push(bytes.slice(at, at + size));
      for (let message = reader.next(limit); message !== undefined; message = reader.next(limit)) {
        messages.push(toHex(message));
      }
    }
  };
  const bad = await reasonOf(() => {
    read();
    throw Object.assign(new Error("read to the end"), { whole: true });
  }, "stream").catch(() => undefined);
  return { messages, ended: bad ?? (reader.waiting === 0 ? "ok" : "incomplete") };
}

test("messages are found in a byte stream whatever its pieces are", async () => {
  await each((await load()).framing, { run: 13, skipped: 0 }, async (one) => {
    const limit = one.limit === "handshake" ? MAX_HANDSHAKE_MESSAGE : MAX_RECORD;
    for (const size of [1, 3, 1_000, 1 << 24]) {
      const { messages, ended } = await frames(one.stream, limit, size);
      same(ended, one.expect, `pieces of ${size}`);
      same(messages, one.messages ?? messages, `messages in pieces of ${size}`);
    }
    return true;
  });
});

test("a message that spans many pieces is put together, and others are lent", () => {
  const [reader, next] = [new MessageReader(), sequence(7)];
  const messages = [1, 70_000, 3, 300_000, 64, 1_000_000].map((length) => new Uint8Array(length).fill(next() & 0xff));
  const stream = concat(...messages.flatMap((message) => [lengthPrefix(message), message]));
  let found = 0;
  for (let at = 0; at < stream.length; ) {
    const to = at + 1 + (next() % 50_000);
    reader.push(stream.subarray(at, to));
    at = to;
    for (let message = reader.next(MAX_RECORD); message !== undefined; message = reader.next(MAX_RECORD)) {
      const expected = messages[found];
      assert(expected !== undefined && message.length === expected.length, `length of message ${found}`);
      assert(message.every((byte) => byte === expected[0]), `bytes of message ${found}`);
      found += 1;
    }
  }
  same([found, reader.waiting], [messages.length, 0], "messages");
});

test("a key seals no more than its limits allow", async () => {
  const epoch = (): EpochSecret => new EpochSecret(0n, new Uint8Array(32).fill(1));
  const limited = async (limits: SealLimits, lengths: readonly number[]): Promise<string> => {
    const sealer = await sealerFor(epoch(), AES_256_GCM, "media", "i", limits);
    return reasonOf(async () => {
      for (const length of lengths) {
        await sealer.seal({ flags: 1, stream: 1, timestamp: 0n }, [new Uint8Array(length)]);
      }
    }, "sealing");
  };
  same(await limited({ records: 2, blocks: 1_000 }, [0, 0, 0]), "exhausted", "records");
  same(await limited({ records: 1_000, blocks: 12 }, [17, 17, 17]), "exhausted", "blocks");
});

test("the replay window accepts each number once and agrees with a list of all numbers", () => {
  const [window, seen, next] = [new ReplayWindow(), new Set<number>(), sequence(11)];
  let top = -1;
  for (let step = 0; step < 30_000; step += 1) {
    const far = next() % 100 === 0 ? next() % 9_000 : next() % 40;
    const seq = Math.max(0, next() % 2 === 0 ? top + far : top - (next() % 5_000));
    const expected = !seen.has(seq) && (seq > top || top - seq < 4_096);
    same(window.accepts(seq), expected, `seed 11, step ${step}, number ${seq}, top ${top}`);
    same(window.skips(seq), seq > top + 1, `gap before ${seq} after ${top}`);
    if (expected) {
      window.mark(seq);
      seen.add(seq);
      top = Math.max(top, seq);
    }
  }
  assert(seen.size > 10_000, "many numbers were accepted");
});
