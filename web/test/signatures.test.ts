// vectors/signatures.json: proofs, the order of refusals, certificates, groups of pictures, challenges and answers.

import { type Bytes, ascii } from "../src/protocol/bytes.ts";
import { mldsaCheck } from "../src/protocol/crypto/mldsa.ts";
import { features, overrideFeatures } from "../src/protocol/crypto/features.ts";
import { sha256 } from "../src/protocol/crypto/primitives.ts";
import { identityFromSeed, signatureCheck } from "../src/protocol/keys/identity.ts";
import { answerRoot, nameOf, parseAnswer } from "../src/protocol/live/answer.ts";
import { acceptCertificate } from "../src/protocol/sign/certificate.ts";
import { type FrameDigest, FrameHasher, MAX_FRAME_RECORDS, recordHash } from "../src/protocol/sign/digest.ts";
import { FrameVerifier } from "../src/protocol/sign/frame-verifier.ts";
import { GopVerifier, PROOF_DELAY, PROOF_PATIENCE } from "../src/protocol/sign/gop-verifier.ts";
import { SIGN_NUMBERS, type SignMode, type StatedSign, covers } from "../src/protocol/sign/mode.ts";
import {
  type Statement, checkOf, parseProof, proofBytes, signedStatement, statementBytes, statementLeaf,
} from "../src/protocol/sign/statement.ts";
import { PeerId } from "../src/protocol/wire/peer-id.ts";
import { Writer } from "../src/protocol/wire/writer.ts";
import { assert, hex, reasonOf, same, test, toHex } from "./support/harness.ts";
import { type Case, big, each, vectors } from "./support/vectors.ts";

type Long = number | bigint;
interface FrameOfVectors {
  readonly records: readonly string[];
  readonly epoch: Long;
  readonly group: Long;
  readonly frame: Long;
  readonly index: number;
  readonly liveness: string | null;
}
interface SignerCase extends Case {
  readonly seed: string;
  readonly stream: number;
  readonly frames: readonly (FrameOfVectors & {
    readonly digest: string; readonly statement: string; readonly leaf: string; readonly proof: string;
  })[];
}
interface ProofCase extends Case {
  readonly bytes: string;
  readonly index?: number;
  readonly frame?: Long;
  readonly liveness?: string | null;
  readonly signature?: string | null;
  readonly tag?: string | null;
}
interface SequenceCase extends Case {
  readonly camera: string;
  readonly stream: number;
  readonly steps: readonly {
    readonly expect: string; readonly stream: number; readonly epoch: Long; readonly records: readonly string[];
    readonly proof: string | null;
  }[];
}
interface CertificateCase extends Case {
  readonly bytes: string;
  readonly camera: string;
  readonly pinned: string | null;
}
interface KeyCase extends Case {
  readonly identity_seed: string;
  readonly key_id: string;
  readonly certificate: string;
}
interface GopCase extends Case {
  readonly camera: string;
  readonly certificate: string;
  readonly stream: number;
  readonly message: string;
  readonly outcome: string | null;
  readonly indexes: readonly number[];
  readonly taken: readonly FrameOfVectors[];
}
interface ChallengeCase extends Case {
  readonly challenges: readonly string[];
  readonly root: string;
  readonly answers: readonly string[];
}
interface Signatures {
  readonly signers: readonly SignerCase[];
  readonly proofs: readonly ProofCase[];
  readonly sequences: readonly SequenceCase[];
  readonly keys: readonly KeyCase[];
  readonly certificates: readonly CertificateCase[];
  readonly gops: readonly GopCase[];
  readonly challenges: readonly ChallengeCase[];
  readonly refused_answers: readonly (Case & { readonly bytes: string })[];
}

const load = (): Promise<Signatures> => vectors<Signatures>("signatures");

function peer(camera: string): PeerId {
  const id = PeerId.fromBytes(hex(camera));
  assert(id !== undefined, "the camera has a peer id");
  return id;
}

async function digestOf(records: readonly string[]): Promise<FrameDigest> {
  const hasher = new FrameHasher();
  for (const record of records) {
    hasher.push(await recordHash(hex(record)));
  }
  const digest = await hasher.finish();
  assert(digest !== undefined, "the frame has records");
  return digest;
}

async function statementOf({ records, epoch, group, frame, index, liveness }: FrameOfVectors, stream: number):
Promise<Statement> {
  return {
    stream, index, epoch: big(epoch), group: big(group), frame: big(frame), digest: await digestOf(records),
    ...(liveness !== null && { liveness: hex(liveness) }),
  };
}

test("statements, leaves and proofs of frames are those of the vectors, and the camera's signatures fit", async () => {
  let [frames, signed] = [0, 0];
  await each((await load()).signers, { run: 2, skipped: 0 }, async (one) => {
    const identity = await identityFromSeed(hex(one.seed));
    const check = await signatureCheck(identity.peerId);
    for (const frame of one.frames) {
      const proof = parseProof(hex(frame.proof));
      const statement = await statementOf({ ...frame, index: proof.index, group: proof.group }, one.stream);
      same(toHex(statement.digest.digest), frame.digest, "digest");
      same(toHex(statementBytes(statement)), frame.statement, "statement");
      same(toHex(await statementLeaf(statement)), frame.leaf, "leaf");
      const { digest, index, epoch, group, frame: number, liveness } = statement;
      const signature = await identity.sign(signedStatement(statement));
      const made = proofBytes({
        index, epoch, group, frame: number, records: digest.records, check: checkOf(digest),
        ...(liveness && { liveness }), signature,
      });
      same(toHex(made), frame.proof, "proof");
      signed += proof.signature && (await check(signedStatement(statement), proof.signature)) ? 1 : 0;
      frames += 1;
    }
    return true;
  });
  same([frames, signed], [9, 9], "each frame is signed");
});

test("a frame may have very many records, and not more than there can be", async () => {
  const [hash, hasher] = [new Uint8Array(32).fill(9), new FrameHasher()];
  same(await new FrameHasher().finish(), undefined, "no record");
  for (let record = 0; record < MAX_FRAME_RECORDS; record += 1) {
    hasher.push(hash);
  }
  const digest = await hasher.finish();
  const content = new Writer().bytes(ascii("sealcast2 records\0"));
  for (let record = 0; record < MAX_FRAME_RECORDS; record += 1) {
    content.bytes(hash);
  }
  same(digest?.digest, await sha256(content.u32(MAX_FRAME_RECORDS).done()), "digest of the most records");
  const more = new FrameHasher();
  for (let record = 0; record <= MAX_FRAME_RECORDS; record += 1) {
    more.push(hash);
  }
  same(await more.finish(), undefined, "one more");
});

test("proofs are parsed, and those of another form are malformed", async () => {
  await each((await load()).proofs, { run: 15, skipped: 0 }, async (one) => {
    if (one.expect !== "ok") {
      same(await reasonOf(() => parseProof(hex(one.bytes)), one.name), one.expect, "reason");
      return true;
    }
    const proof = parseProof(hex(one.bytes));
    same([proof.index, proof.frame], [one.index, big(one.frame ?? -1)], "numbers");
    same(proof.liveness && toHex(proof.liveness), one.liveness ?? undefined, "liveness");
    same(proof.signature && toHex(proof.signature), one.signature ?? undefined, "signature");
    same(toHex(proofBytes(proof)), one.bytes, "written again");
    return true;
  });
});

test("frames are refused for the first reason of the vectors, and a refusal changes nothing", async () => {
  const reasons = new Set<string>();
  await each((await load()).sequences, { run: 5, skipped: 0 }, async (one) => {
    const verifier = new FrameVerifier(await signatureCheck(peer(one.camera)), one.stream);
    for (const [at, step] of one.steps.entries()) {
      const frame = { digest: await digestOf(step.records), stream: step.stream, epoch: big(step.epoch) };
      const verified = await verifier.verify(frame, step.proof === null ? undefined : hex(step.proof));
      const found = typeof verified === "string" ? verified : "ok";
      same(found, step.expect, `step ${at}`);
      reasons.add(found);
    }
    const expected = one.steps.filter(({ expect }) => expect === "ok").length;
    const refused = Object.values(verifier.refused).reduce((sum, count) => sum + count, 0);
    same([verifier.accepted, refused], [expected, one.steps.length - expected], "counts");
    return true;
  });
  same(reasons.size, 10, "all reasons, and none");
});

test("a certificate is as good as the camera's signature, or the id that is pinned", async () => {
  const { keys, certificates } = await load();
  await each(certificates, { run: 9, skipped: 0 }, async ({ bytes, camera, pinned, expect }) => {
    const pin = pinned === null ? undefined : hex(pinned);
    const key = await acceptCertificate(hex(bytes), peer(camera), await signatureCheck(peer(camera)), pin);
    same(typeof key === "string" ? key : "ok", expect, "outcome");
    return true;
  });
  await each(keys, { run: 1, skipped: 0 }, async ({ identity_seed, key_id, certificate }) => {
    const { peerId } = await identityFromSeed(hex(identity_seed));
    const key = await acceptCertificate(hex(certificate), peerId, await signatureCheck(peerId));
    return typeof key !== "string" && toHex(key.id) === key_id;
  });
});

async function judgeGops(): Promise<void> {
  await each((await load()).gops, { run: 20, skipped: 0 }, async (one) => {
    const camera = peer(one.camera);
    const key = await acceptCertificate(hex(one.certificate), camera, await signatureCheck(camera));
    assert(typeof key !== "string", "the certificate is accepted");
    const verifier = new GopVerifier(one.stream).certified(key);
    for (const frame of one.taken) {
      same(await verifier.took(0, await statementOf(frame, one.stream)), "waiting", "before the signature");
    }
    const verdict = await verifier.verify(hex(one.message));
    same(typeof verdict === "string" ? verdict : "ok", one.expect, "expect");
    if (typeof verdict !== "string") {
      same([verdict.outcome, verdict.indexes], [one.outcome, one.indexes], "outcome");
      same(await verifier.verify(hex(one.message)), "repeated", "a second time");
    }
    return true;
  });
}

test("groups of pictures are proven, incomplete or forged as the vectors say", judgeGops);

test("they are with the substitute of ML-DSA as well", async () => {
  overrideFeatures({ ...(await features()), ed25519: false, mldsa65: false });
  try {
    await judgeGops();
  } finally {
    overrideFeatures();
  }
});

test("a signature of another length fits no key", async () => {
  const certificate = hex((await load()).keys[0]?.certificate ?? "");
  const check = await mldsaCheck(certificate.slice(1, 1 + 1952));
  for (const length of [0, 3308, 3310]) {
    const fits = await check(new Uint8Array(1), new Uint8Array(length)).catch(() => false);
    same(fits, false, `${length} bytes`);
  }
});

test("a frame that comes after the signature of its group is judged at once", async () => {
  const found = (await load()).gops.find(({ outcome }) => outcome === "proven");
  assert(found !== undefined, "there is a proven group");
  const camera = peer(found.camera);
  const key = await acceptCertificate(hex(found.certificate), camera, await signatureCheck(camera));
  assert(typeof key !== "string", "the certificate is accepted");
  const verifier = new GopVerifier(found.stream).certified(key);
  const [first, second] = found.taken;
  assert(first !== undefined && second !== undefined, "it has frames");
  const verdict = await verifier.verify(hex(found.message));
  assert(typeof verdict !== "string" && verdict.outcome === "incomplete" && verdict.follows, "no frame was taken");
  same(await verifier.took(0, await statementOf(first, found.stream)), "proven", "the camera's frame");
  same(await verifier.took(0, await statementOf({ ...second, frame: 999 }, found.stream)), "forged", "another frame");
});

test("signatures are missing a second after two complete groups without, ten after one, until one comes", async () => {
  const found = (await load()).gops.find(({ outcome }) => outcome === "proven");
  assert(found !== undefined, "there is a proven group");
  const camera = peer(found.camera);
  const key = await acceptCertificate(hex(found.certificate), camera, await signatureCheck(camera));
  assert(typeof key !== "string", "the certificate is accepted");
  const verifier = new GopVerifier(found.stream);
  const [frame] = found.taken;
  assert(frame !== undefined, "it has frames");
  // Older groups than the one whose signature there is.
  const take = async (now: number, before: bigint): Promise<void> => {
    await verifier.took(now, await statementOf({ ...frame, group: big(frame.group) - before }, found.stream));
  };
  await take(0, 4n);
  same(verifier.missingAt, Infinity, "no group is complete");
  await take(1_000, 3n);
  same(verifier.missingAt, 1_000 + PROOF_PATIENCE, "one");
  await take(2_000, 2n);
  same(verifier.missingAt, 2_000 + PROOF_DELAY, "two");
  await take(20_000, 0n);
  same([verifier.unproven, verifier.missingAt], [2, 2_000 + PROOF_DELAY], "they are given up, and still missing");
  same(await verifier.verify(hex(found.message)), "key", "before the certificate");
  assert(typeof (await verifier.certified(key).verify(hex(found.message))) !== "string", "the camera's");
  same(verifier.missingAt, Infinity, "the newest one came");
});

test("answers lead from challenges to the root, and each to its own alone", async () => {
  let answers = 0;
  await each((await load()).challenges, { run: 6, skipped: 0 }, async ({ challenges, root, answers: given }) => {
    for (const [at, bytes] of given.entries()) {
      const [answer, challenge]: [ReturnType<typeof parseAnswer>, Bytes] =
        [parseAnswer(hex(bytes)), hex(challenges[at] ?? "")];
      same([toHex(answer.name), answer.index], [toHex(nameOf(challenge)), at], "name and place");
      same(toHex(await answerRoot(answer, challenge)), root, "root");
      const other = challenge.slice();
      other[15] = (other[15] ?? 0) ^ 1;
      assert(toHex(await answerRoot(answer, other)) !== root, "another challenge leads elsewhere");
      answers += 1;
    }
    return given.length === challenges.length;
  });
  assert(answers > 6, `${answers} answers`);
});

test("answers of another form are malformed", async () => {
  await each((await load()).refused_answers, { run: 8, skipped: 0 }, async ({ bytes, expect }) =>
    (await reasonOf(() => parseAnswer(hex(bytes)), "answer")) === expect);
});

test("what is signed covers what is required, or does not", () => {
  const which = (least: SignMode): StatedSign[] => SIGN_NUMBERS.filter((mode) => covers(mode, least));
  same(which("off"), ["off", "frame", "both"], "nothing is required");
  same(which("frame"), ["frame", "both"], "frames are required");
  same(which("both"), ["both"], "both are required");
});
