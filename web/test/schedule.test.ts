// vectors/schedule.json: expansions, pre-shared keys, MACs, the key schedule, traffic keys, rekeying, texts.

import { type Bytes, ascii } from "../src/protocol/bytes.ts";
import { expandInfo, expandLabel, extract } from "../src/protocol/crypto/primitives.ts";
import { type Direction, EpochSecret, type Purpose, trafficKey } from "../src/protocol/keys/epoch.ts";
import { identityFromSeed, seedOfIdentityFile } from "../src/protocol/keys/identity.ts";
import { HelloKeys, PresharedKey } from "../src/protocol/keys/psk.ts";
import { signRekey, signedRekey, verifyRekey } from "../src/protocol/keys/rekey-signature.ts";
import { handshakeResult, handshakeSecret } from "../src/protocol/keys/schedule.ts";
import { wordIndices, wordsOf } from "../src/protocol/keys/words.ts";
import { nonceOf } from "../src/protocol/seal/nonce.ts";
import { AES_128_GCM, AES_256_GCM } from "../src/protocol/seal/suite.ts";
import { decodeBase32, encodeBase32 } from "../src/protocol/wire/base32.ts";
import { Invite } from "../src/protocol/wire/invite.ts";
import { PeerId } from "../src/protocol/wire/peer-id.ts";
import { assert, hex, reasonOf, same, test, toHex } from "./support/harness.ts";
import { type Case, big, each, vectors } from "./support/vectors.ts";

type Fields<Names extends string> = Case & Readonly<Record<Names, string>>;
interface Rekey extends Fields<"binding" | "publisher_seed" | "publisher" | "viewer_seed" | "viewer" | "offer"> {
  readonly epoch: number | bigint;
  readonly answer: string | null;
}
interface Schedule {
  readonly expansions: readonly (Fields<"secret" | "label" | "context" | "info" | "out"> & { length: number })[];
  readonly psks: readonly (Fields<"psk" | "early"> & { invite: string | null; psk_name: string | null })[];
  readonly hello_macs: readonly (Fields<"peer_r" | "hello_head" | "binder" | "mac_key" | "mac"> & {
    psk: string | null;
    binder_key: string | null;
  })[];
  readonly handshake_keys: readonly Fields<
    "psk" | "early" | "ss" | "th1" | "th2" | "th3" | "salt" | "hs" | "reply_key" | "reply_iv" | "finish_key"
    | "finish_iv" | "epoch_0" | "session_id" | "binding" | "enrolment"
  >[];
  readonly traffic_keys: readonly (Fields<"epoch_secret" | "key" | "base"> & {
    suite: number;
    epoch: number | bigint;
    purpose: Purpose;
    direction: Direction;
    nonces: readonly { seq: number; nonce: string }[];
  })[];
  readonly rekeys: readonly (Rekey &
    Fields<"epoch_secret" | "signed_offer" | "signed_answer" | "ss" | "salt" | "next_epoch_secret">)[];
  readonly refused_rekeys: readonly Rekey[];
  readonly base32: readonly (Fields<"text"> & { kind: "peer-id" | "invite"; bytes?: string })[];
  readonly words: readonly (Fields<"peer_id" | "words"> & { readonly indices: readonly number[] })[];
  readonly identities: readonly (Fields<"file"> & { seed?: string; public_key?: string; peer_id?: string })[];
}

const load = (): Promise<Schedule> => vectors<Schedule>("schedule");
const EMPTY = new Uint8Array(0);

function peer(text: string): PeerId {
  const id = PeerId.fromBytes(hex(text));
  assert(id !== undefined, "the vector has a peer id");
  return id;
}

test("labelled expansions are those of the vectors", async () => {
  await each((await load()).expansions, { run: 8, skipped: 0 }, async (one) => {
    const { secret, context, length, info, out } = one;
    const label = new TextDecoder().decode(hex(one.label));
    same(toHex(expandInfo(label, hex(context), length)), info, "info");
    same(toHex(await expandLabel(hex(secret), label, hex(context), length)), out, "out");
    return true;
  });
});

test("pre-shared keys follow from invites and have the names of the vectors", async () => {
  await each((await load()).psks, { run: 5, skipped: 0 }, async ({ invite, psk, early, psk_name }) => {
    same(toHex(await extract(ascii("sealcast2 early"), hex(psk))), early, "early");
    const keys = [await PresharedKey.fromBytes(hex(psk))];
    if (invite !== null) {
      keys.push(await PresharedKey.fromInvite(new Invite(hex(invite))));
    }
    for (const key of keys) {
      same(await key.derive("handshake", EMPTY, 32), await expandLabel(hex(early), "handshake", EMPTY, 32), "salt");
      if (psk_name !== null) {
        same(toHex(await key.name()), psk_name, "name");
      }
    }
    return true;
  });
});

test("the last 32 bytes of a hello are those of the vectors, and are recognised", async () => {
  await each((await load()).hello_macs, { run: 5, skipped: 0 }, async ({ peer_r, psk, hello_head, binder, mac }) => {
    const known = psk === null ? [] : [await PresharedKey.fromBytes(hex(psk))];
    const keys = await HelloKeys.create(peer(peer_r), known);
    const whole = await keys.finish(hex(hello_head));
    same(toHex(whole), hello_head + binder + mac, "hello");
    assert(await keys.verifies(whole), "the MAC is verified");
    const found = await keys.find(hex(hello_head), hex(binder));
    same(found?.name === undefined, psk === null, "a key is found where there is one");
    return true;
  });
});

test("the handshake's keys follow from the pre-shared key, the secret and the hashes", async () => {
  await each((await load()).handshake_keys, { run: 4, skipped: 0 }, async (one) => {
    const hs = await handshakeSecret(await PresharedKey.fromBytes(hex(one.psk)), hex(one.ss));
    same(toHex(hs), one.hs, "hs");
    same(toHex(await expandLabel(hs, "reply key", hex(one.th1), 32)), one.reply_key, "reply key");
    same(toHex(await expandLabel(hs, "reply iv", hex(one.th1), 12)), one.reply_iv, "reply iv");
    same(toHex(await expandLabel(hs, "finish key", hex(one.th2), 32)), one.finish_key, "finish key");
    same(toHex(await expandLabel(hs, "finish iv", hex(one.th2), 12)), one.finish_iv, "finish iv");
    const { epoch0, sessionId, binding, enrolment } = await handshakeResult(hs, hex(one.th3));
    const all = [epoch0, sessionId, binding, enrolment].map(toHex);
    same(all, [one.epoch_0, one.session_id, one.binding, one.enrolment], "result");
    return true;
  });
});

test("traffic keys and nonces of both suites are those of the vectors", async () => {
  await each((await load()).traffic_keys, { run: 64, skipped: 64 }, async (one) => {
    const suite = [AES_128_GCM, AES_256_GCM].find(({ id }) => id === one.suite);
    if (suite === undefined) {
      return false;
    }
    const secret = hex(one.epoch_secret);
    const { key, base } = await trafficKey(secret, suite, big(one.epoch), one.purpose, one.direction);
    same([toHex(key), toHex(base)], [one.key, one.base], "key and base");
    for (const { seq, nonce } of one.nonces) {
      same(toHex(nonceOf(base, seq)), nonce, `nonce of ${seq}`);
    }
    return true;
  });
});

const head = (message: Bytes): Bytes => message.subarray(0, message.length - 64);

test("exchanges of new epochs are signed and derived as in the vectors", async () => {
  await each((await load()).rekeys, { run: 3, skipped: 0 }, async (one) => {
    const secret = new EpochSecret(big(one.epoch), hex(one.epoch_secret));
    const context = { binding: hex(one.binding), epoch: secret.number + 1n };
    const [offer, answer] = [hex(one.offer), hex(one.answer ?? "")];
    same(toHex(await signedRekey(context, head(offer))), one.signed_offer, "signed offer");
    same(toHex(await signedRekey(context, head(answer), offer)), one.signed_answer, "signed answer");
    const publisher = await identityFromSeed(hex(one.publisher_seed));
    const viewer = await identityFromSeed(hex(one.viewer_seed));
    same([toHex(publisher.peerId.bytes), toHex(viewer.peerId.bytes)], [one.publisher, one.viewer], "peer ids");
    same(toHex(await signRekey(publisher, context, head(offer))), one.offer, "offer");
    same(toHex(await signRekey(viewer, context, head(answer), offer)), one.answer, "answer");
    assert(await verifyRekey(publisher.peerId, context, offer), "the offer's signature fits");
    assert(await verifyRekey(viewer.peerId, context, answer, offer), "the answer's signature fits");
    const next = await secret.next(offer, answer, hex(one.ss));
    same([next.number, toHex(next.bytes)], [secret.number + 1n, one.next_epoch_secret], "next epoch");
    return true;
  });
});

test("messages of a new epoch without the sender's signature are refused", async () => {
  await each((await load()).refused_rekeys, { run: 29, skipped: 0 }, async (one) => {
    const context = { binding: hex(one.binding), epoch: big(one.epoch) + 1n };
    const offer = hex(one.offer);
    const verified =
      one.answer === null
        ? await verifyRekey(peer(one.publisher), context, offer)
        : await verifyRekey(peer(one.viewer), context, hex(one.answer), offer);
    assert(!verified, "the signature does not fit");
    return true;
  });
});

test("peer ids and invites have one spelling in base32", async () => {
  await each((await load()).base32, { run: 23, skipped: 0 }, ({ kind, text, expect, bytes }) => {
    const read = kind === "peer-id" ? PeerId.parse(text)?.bytes : Invite.parse(text)?.revealBytes();
    if (expect !== "ok") {
      same(read, undefined, "refused");
      return true;
    }
    same(toHex(read ?? EMPTY), bytes, "read");
    same(encodeBase32(hex(bytes ?? "")), text, "written");
    same(toHex(decodeBase32(text, (bytes ?? "").length / 2) ?? EMPTY), bytes, "decoded");
    return true;
  });
});

test("a peer id has the six words of the vectors", async () => {
  await each((await load()).words, { run: 3, skipped: 0 }, async ({ peer_id, indices, words }) => {
    same(await wordIndices(peer(peer_id)), indices, "indices");
    same((await wordsOf(peer(peer_id))).join(" "), words, "words");
    return true;
  });
});

test("identity files are read in their one form", async () => {
  await each((await load()).identities, { run: 21, skipped: 0 }, async (one) => {
    const { file, expect, seed, public_key, peer_id } = one;
    if (expect !== "ok") {
      same(await reasonOf(() => seedOfIdentityFile(file), "file"), "identity-file", "reason");
      return true;
    }
    const read = seedOfIdentityFile(file);
    same(toHex(read), seed, "seed");
    const identity = await identityFromSeed(read);
    same([toHex(identity.peerId.bytes), identity.peerId.toString()], [public_key, peer_id], "identity");
    return true;
  });
});
