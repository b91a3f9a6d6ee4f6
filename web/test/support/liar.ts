// A peer with authentic keys that does not keep to the protocol: it seals whatever a test wants.

import { type Bytes } from "../../src/protocol/bytes.ts";
import { type Now } from "../../src/protocol/clock/now.ts";
import { X25519 } from "../../src/protocol/crypto/curves.ts";
import { DEFAULT_SUITES } from "../../src/protocol/crypto/policy.ts";
import { EpochSecret, type Purpose, openerFor, sealerFor } from "../../src/protocol/keys/epoch.ts";
import { type Agreed, type HandshakeConfig } from "../../src/protocol/keys/handshake.ts";
import { type Identity, identityFromSeed } from "../../src/protocol/keys/identity.ts";
import { Initiator } from "../../src/protocol/keys/initiator.ts";
import { type Role } from "../../src/protocol/keys/messages.ts";
import { HelloKeys } from "../../src/protocol/keys/psk.ts";
import { Responder } from "../../src/protocol/keys/responder.ts";
import { openRecord } from "../../src/protocol/seal/open-record.ts";
import { type Sealer, WIDEST_LIMITS } from "../../src/protocol/seal/sealer.ts";
import { type GroupPolicy } from "../../src/protocol/session/membership.ts";
import { type Output } from "../../src/protocol/session/output.ts";
import { Session } from "../../src/protocol/session/session.ts";
import { CONTROL_FLAGS } from "../../src/protocol/wire/header.ts";
import { assert } from "./harness.ts";

const NOW: Now = { monotonic: 1_000, wall: 1_790_000_000_000_000_000n };

/** An established session, and the peer that lies to it. */
export interface Deceived {
  readonly victim: Session;
  readonly now: Now;
  /** A record of the liar. */
  seal(purpose: Purpose, flags: number, stream: number, payload: Bytes): Promise<Bytes>;
  /** A control record of the liar. */
  control(payload: Bytes): Promise<Bytes>;
  /** What the victim has to say. */
  drain(): Output[];
  /** The payload of the next control record that the victim sends. */
  heard(): Promise<Bytes>;
  /** The liar's own identity, and the name of the session in signatures. */
  readonly identity: Identity;
  readonly binding: Bytes;
  /** What both ends derive the keys of a group's member from. */
  readonly exporter: Bytes;
}

async function config(role: Role, identity: Identity, responder: Identity): Promise<HandshakeConfig> {
  const helloKeys = await HelloKeys.create(responder.peerId, []);
  return { role, identity, helloKeys, suites: DEFAULT_SUITES, mechanisms: [X25519] };
}

function drain(session: Session): Output[] {
  const outputs: Output[] = [];
  for (let output = session.poll(); output !== undefined; output = session.poll()) {
    outputs.push(output);
  }
  return outputs;
}

function sent(session: Session): Bytes {
  const message = drain(session).find((output) => output.type === "transmit");
  assert(message !== undefined, "the victim says something");
  return message.message;
}

async function deceived(
  victim: Session, agreed: Agreed, direction: "i" | "r", identity: Identity,
): Promise<Deceived> {
  const secret = new EpochSecret(0n, agreed.epoch0);
  const sealers = new Map<Purpose, Sealer>();
  for (const purpose of ["control", "media", "cell"] as const) {
    sealers.set(purpose, await sealerFor(secret, agreed.suite, purpose, direction, WIDEST_LIMITS));
  }
  const seal: Deceived["seal"] = async (purpose, flags, stream, payload) => {
    const sealer = sealers.get(purpose);
    assert(sealer !== undefined, "there is a sealer for each purpose");
    return sealer.seal({ flags, stream, timestamp: NOW.wall }, [payload]);
  };
  const control: Deceived["control"] = (payload) => seal("control", CONTROL_FLAGS, 0, payload);
  const opener = await openerFor(secret, agreed.suite, "control", direction === "i" ? "r" : "i");
  const heard = async (): Promise<Bytes> => {
    const opened = await openRecord(sent(victim), "encrypted", () => opener);
    assert(typeof opened !== "string", "the victim's record opens");
    return opened.payload;
  };
  const { binding, exporter } = agreed;
  return { victim, now: NOW, seal, control, drain: () => drain(victim), heard, identity, binding, exporter };
}

/** A viewer that watches a camera of a lying publisher, and joins its group if it has this policy. */
export async function deceivedViewer(group?: GroupPolicy, camera = ""): Promise<Deceived> {
  const [own, other] = [await identityFromSeed(new Uint8Array(32).fill(1)), await identityFromSeed(new Uint8Array(32))];
  const handshake = { ...(await config("viewer", own, other)), wish: { media: "frames", camera } } as const;
  const random = new Uint8Array(32);
  const joins = group === undefined ? {} : { group };
  const victim = await Session.initiate({ handshake, side: "initiator", pinned: other.peerId, ...joins }, random, NOW);
  const liar = new Responder(await config("publisher", other, other), random);
  const reply = await liar.handle(sent(victim));
  assert("send" in reply, "it replies");
  await victim.message(NOW, reply.send);
  const done = await liar.handle(sent(victim));
  assert("agreed" in done, "it agrees");
  const pair = await deceived(victim, done.agreed, "r", other);
  await victim.message(NOW, await pair.control(Uint8Array.of(1)));
  assert(victim.isEstablished, "the session is established");
  pair.drain();
  return pair;
}

/** A publisher that a lying viewer watches, and that has a group on these terms. */
export async function deceivedPublisher(terms?: Bytes): Promise<Deceived> {
  const [own, other] = [await identityFromSeed(new Uint8Array(32).fill(1)), await identityFromSeed(new Uint8Array(32))];
  const victim = Session.respond(
    { handshake: await config("publisher", own, own), side: "responder", ...(terms && { terms }) },
    new Uint8Array(32), NOW,
  );
  const liar = await Initiator.begin(await config("viewer", other, own), own.peerId, new Uint8Array(32));
  await victim.message(NOW, liar.hello);
  const { send, agreed } = await liar.handle(sent(victim));
  assert(agreed !== undefined, "it agrees");
  await victim.message(NOW, send);
  await victim.admit(NOW);
  const pair = await deceived(victim, agreed, "i", other);
  pair.drain();
  return pair;
}
