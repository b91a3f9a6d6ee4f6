// The one error type of the protocol: a reason word, a sentence, and whose fault it is.

/** Whose fault an error is. The peer is never told more than a coarse reason. */
export type Fault =
  /** The peer, or somebody on the path, sent something wrong. */
  | "peer"
  /** Both ends are right and do not fit together. */
  | "incompatible"
  /** The program that uses this library called it wrongly, or the text it passed on is wrong. */
  | "caller"
  /** This browser, or this library, failed. */
  | "own";

/** What each reason means: whose fault it is, and a sentence with what to do. */
const REASONS = {
  malformed: ["peer", "what arrived does not have the form of a message of this protocol; connect again"],
  version: ["incompatible", "the peer speaks another version of the protocol; update the older end"],
  role: ["incompatible", "both ends publish, or both watch; one of each is needed"],
  "no-common-suite": ["incompatible", "the ends have no suite in common; allow aes-256-gcm or aes-128-gcm at the peer"],
  "no-common-mechanism": [
    "incompatible",
    "the ends have no key mechanism in common; allow x25519-mlkem768, x25519 or p256 at the peer",
  ],
  "not-offered": ["peer", "the peer chose what this end did not offer; update both ends"],
  share: ["peer", "the peer's public key or ciphertext is not valid; connect again"],
  sealed: [
    "peer",
    "the sealed part of the handshake does not open: it was altered, or the peer lacks the secret of the ticket",
  ],
  "wrong-peer": [
    "peer",
    "the peer is not the one that the ticket names; a peer with a new identity needs a new ticket",
  ],
  "own-identity": ["peer", "the peer has this end's own identity; give each end an identity of its own"],
  signature: ["peer", "a signature of the peer is not valid"],
  wish: ["incompatible", "the peer asks for something that this version does not know; update the older end"],
  retry: ["peer", "the peer broke the rules for beginning the handshake anew"],
  identity: ["peer", "what the peer claims to be is no peer id"],
  psk: [
    "incompatible",
    "the other end does not know the invite or enrolment: it expired, was used up or was removed; ask for a new ticket",
  ],
  alert: ["peer", "the peer refused the handshake; its own log says why"],
  mac: ["peer", "what arrived is not addressed to this end: the sender does not know its peer id"],
  timeout: ["peer", "the peer did not finish the handshake in time; try again"],
  cleartext: ["peer", "a record is in clear although everything must be encrypted"],
  "outside-cell": ["peer", "a record came by itself although the peer sends cells"],
  "unknown-epoch": ["peer", "a record is of an epoch whose keys this end does not have"],
  replay: ["peer", "a record was received before, or is too old to know"],
  tag: ["peer", "a record is not authentic"],
  framing: ["peer", "what arrived is no record of sealcast; connect again"],
  "too-many-refusals": ["peer", "too many records in a row were refused, so the stream was altered; connect again"],
  "protocol-error": ["peer", "the peer broke the protocol in an authentic message; update both ends"],
  "peer-lost": ["peer", "nothing was heard from the peer for too long; connect again"],
  "key-limit": ["peer", "the keys reached their limit and the peer agreed on no new ones; connect again"],
  exhausted: ["own", "a key may seal no more records"],
  "not-split": ["peer", "the picture cannot be split, or a split image does not fit together"],
  ticket: ["caller", "this is no ticket"],
  camera: ["caller", "a camera's name has at most 64 bytes and no characters unfit to be shown"],
  "relay-address": ["caller", "this is no address of a relay"],
  selection: [
    "caller",
    "what to encrypt is all, none, rate:P with P from 0 to 100 percent and at most one decimal, keyframes, headers, " +
      "headers+keyframes, or level:N with N from 1 to 4",
  ],
  "identity-file": ["caller", "this is no identity file"],
  unsupported: ["caller", "this is not supported in a browser"],
  misuse: ["caller", "the protocol was used out of turn, which is a defect of the program"],
  storage: ["own", "the browser does not keep identities for this page; allow it to store data, or leave private mode"],
  library: ["own", "the cryptography of this browser failed; update the browser"],
} as const satisfies Record<string, readonly [Fault, string]>;

/** The reason of an error: the words of vectors/README.md, and some of this library's own. */
export type Reason = keyof typeof REASONS;

/** Why a record is not accepted (protocol.md, section 2). A refusal does not end a session by itself. */
export type Refusal = "malformed" | "cleartext" | "outside-cell" | "unknown-epoch" | "replay" | "tag";

/**
 * Everything that the protocol throws. Its text says what happened and what to do next, and contains no secret and
 * nothing of what a peer sent.
 */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  /** Whose fault it is. */
  readonly fault: Fault;
  /** What happened. */
  readonly reason: Reason;

  /** @param detail what exactly, instead of the general sentence; never a secret, never a peer's bytes */
  constructor(reason: Reason, detail?: string) {
    const [fault, text] = REASONS[reason];
    super(detail === undefined ? text : `${text} (${detail})`);
    this.fault = fault;
    this.reason = reason;
  }
}

/** The error for bytes that do not have the form that the protocol gives them. */
export function malformed(): ProtocolError {
  return new ProtocolError("malformed");
}

/** The error for a call that the state does not allow. */
export function misuse(detail: string): ProtocolError {
  return new ProtocolError("misuse", detail);
}

/** Turns what a library threw into the protocol's own error; one of ours stays as it is. */
export function asProtocolError(thrown: unknown, reason: Reason = "library"): ProtocolError {
  return thrown instanceof ProtocolError ? thrown : new ProtocolError(reason);
}
