// vectors/handshake.json: whole handshakes, and every message that an end must refuse.

import { type Bytes } from "../src/protocol/bytes.ts";
import { overrideFeatures } from "../src/protocol/crypto/features.ts";
import { Initiator } from "../src/protocol/keys/initiator.ts";
import { type Agreed } from "../src/protocol/keys/handshake.ts";
import { Responder } from "../src/protocol/keys/responder.ts";
import { parseWish } from "../src/protocol/keys/wish.ts";
import { assert, hex, reasonOf, same, test, toHex } from "./support/harness.ts";
import {
  type Encapsulated, type KeyPair, type Party, configOf, fixedMechanism, isKnown, peerId, randomOf,
} from "./support/parties.ts";
import { type Case, each, vectors } from "./support/vectors.ts";

interface Transcript extends Case {
  readonly initiator: string;
  readonly responder: string;
  readonly key_pairs: readonly KeyPair[];
  readonly encapsulation: Encapsulated;
  readonly suite: number;
  readonly mechanism: number;
  readonly messages: readonly { readonly from: string; readonly kind: string; readonly bytes: string }[];
  readonly epoch_0: string;
  readonly session_id: string;
  readonly binding: string;
  readonly enrolment: string;
  readonly psk_name: string | null;
  readonly identity_i: string;
  readonly identity_r: string;
  readonly wish_r: string;
  readonly wish_i: string;
}

interface Refused extends Case {
  readonly receiver: "initiator" | "responder";
  readonly config: string;
  readonly exchange: readonly { readonly direction: "in" | "out"; readonly bytes: string }[];
  readonly key_pairs?: readonly KeyPair[];
  readonly encapsulation?: Encapsulated;
  readonly message: string;
}

interface Handshakes {
  readonly configs: Readonly<Record<string, Party>>;
  readonly transcripts: readonly Transcript[];
  readonly refused: readonly Refused[];
}

const load = (): Promise<Handshakes> => vectors<Handshakes>("handshake");

function party(handshakes: Handshakes, name: string): Party {
  const found = handshakes.configs[name];
  assert(found !== undefined, `there is a configuration ${name}`);
  return found;
}

async function beginInitiator(config: Party, pairs: readonly KeyPair[]): Promise<Initiator> {
  const mechanisms = new Map(config.mechanisms.map((id) => [id, fixedMechanism(id, pairs)]));
  const handshake = await configOf(config, (id) => mechanisms.get(id) ?? fixedMechanism(id, []));
  return Initiator.begin(handshake, peerId(config.pinned_peer ?? ""), randomOf(config), config.share_mechanism);
}

async function beginResponder(config: Party, made?: Encapsulated): Promise<Responder> {
  const handshake = await configOf(config, (id) => fixedMechanism(id, [], made));
  return new Responder(handshake, randomOf(config), hex(config.cookie ?? ""));
}

function checkAgreed(agreed: Agreed | undefined, one: Transcript, peer: string, wish: string): void {
  assert(agreed !== undefined, "the handshake agreed");
  const { epoch0, sessionId, binding, enrolment, suite, mechanism } = agreed;
  const found = [epoch0, sessionId, binding, enrolment].map(toHex);
  same(found, [one.epoch_0, one.session_id, one.binding, one.enrolment], "secrets");
  same([suite.id, mechanism.id], [one.suite, one.mechanism], "choice");
  same(toHex(agreed.peer.id.bytes), peer, "peer");
  same(agreed.peer.wish, parseWish(hex(wish)), "wish");
  same(agreed.peer.pskName && toHex(agreed.peer.pskName), one.psk_name ?? undefined, "pre-shared key");
}

async function wholeHandshakes(): Promise<void> {
  const all = await load();
  await each(all.transcripts, { run: 31, skipped: 2 }, async (one) => {
    if (!isKnown(one.mechanism)) {
      return false;
    }
    const initiator = await beginInitiator(party(all, one.initiator), one.key_pairs);
    const responder = await beginResponder(party(all, one.responder), one.encapsulation);
    const [sent, agreed]: [Bytes[], (Agreed | undefined)[]] = [[initiator.hello], []];
    for (const [at, expected] of one.messages.entries()) {
      const message = sent[at];
      same(message && toHex(message), expected.bytes, `message ${at}`);
      if (message === undefined) {
        break;
      }
      if (expected.from === "initiator") {
        const step = await responder.handle(message);
        if ("send" in step) {
          sent.push(step.send);
        } else {
          agreed.push(step.agreed);
        }
      } else {
        const step = await initiator.handle(message);
        sent.push(step.send);
        if (step.agreed !== undefined) {
          agreed.push(step.agreed);
        }
      }
    }
    same(agreed.length, 2, "ends that agreed");
    checkAgreed(agreed[0], one, one.identity_r, one.wish_r);
    checkAgreed(agreed[1], one, one.identity_i, one.wish_i);
    return true;
  });
}

/** The mechanism that decides a case, if a browser peer lacks it. */
function lacksMechanism(all: Handshakes, one: Refused): boolean {
  return party(all, one.config).mechanisms.every((id) => !isKnown(id));
}

async function refuseAtInitiator(all: Handshakes, one: Refused): Promise<string> {
  const initiator = await beginInitiator(party(all, one.config), one.key_pairs ?? []);
  let expected = initiator.hello;
  for (const { direction, bytes } of one.exchange) {
    if (direction === "out") {
      same(toHex(expected), bytes, "what it sends");
    } else {
      expected = (await initiator.handle(hex(bytes))).send;
    }
  }
  return reasonOf(() => initiator.handle(hex(one.message)), "message");
}

async function refuseAtResponder(all: Handshakes, one: Refused): Promise<string> {
  const responder = await beginResponder(party(all, one.config), one.encapsulation);
  let expected: Bytes | undefined;
  for (const { direction, bytes } of one.exchange) {
    if (direction === "out") {
      same(expected && toHex(expected), bytes, "what it sends");
    } else {
      const step = await responder.handle(hex(bytes));
      expected = "send" in step ? step.send : undefined;
    }
  }
  return reasonOf(() => responder.handle(hex(one.message)), "message");
}

async function refusedMessages(): Promise<void> {
  const all = await load();
  await each(all.refused, { run: 1405, skipped: 29 }, async (one) => {
    if (lacksMechanism(all, one)) {
      return false;
    }
    const refuse = one.receiver === "initiator" ? refuseAtInitiator : refuseAtResponder;
    same(await refuse(all, one), one.expect, "reason");
    return true;
  });
}

/** Runs a test as in a browser whose WebCrypto lacks what some lack. */
async function withoutNative(body: () => Promise<void>): Promise<void> {
  overrideFeatures({ ed25519: false, x25519: false, mlkem768: false, mldsa65: false });
  try {
    await body();
  } finally {
    overrideFeatures();
  }
}

test("both ends of whole handshakes send and agree on what the vectors have", wholeHandshakes);
test("every message that an end must not accept is refused for the reason of the vectors", refusedMessages);
test("without native Ed25519, X25519 and ML-KEM whole handshakes are the same", () => withoutNative(wholeHandshakes));
test("without native Ed25519, X25519 and ML-KEM the same messages are refused", () => withoutNative(refusedMessages));
