// The sealcast protocol for browsers: a table of contents.

export { type Bytes } from "./bytes.ts";
export { type ClockReading, clockReading } from "./clock/exchange.ts";
export { type Now } from "./clock/now.ts";
export { type Features, features } from "./crypto/features.ts";
export { type DecapsulationKey, type Encapsulation, type Mechanism } from "./crypto/mechanism.ts";
export { DEFAULT_MECHANISMS, DEFAULT_SUITES, mechanismNamed, suiteNamed } from "./crypto/policy.ts";
export { type Fault, ProtocolError, type Reason, type Refusal } from "./error.ts";
export { type HandshakeConfig, type Peer } from "./keys/handshake.ts";
export {
  type Identity, type StoredIdentity, generateIdentity, identityFromSeed, restoreIdentity, seedOfIdentityFile,
} from "./keys/identity.ts";
export { type Role } from "./keys/messages.ts";
export { HelloKeys, MAX_PSKS, PresharedKey } from "./keys/psk.ts";
export { wordsOf } from "./keys/words.ts";
export { type AgeState } from "./live/picture-age.ts";
export { type RefusalCounts } from "./seal/refusals.ts";
export { type Suite } from "./seal/suite.ts";
export { RekeyPolicy, type SessionConfig } from "./session/config.ts";
export { type GroupFacts, type GroupPolicy } from "./session/membership.ts";
export { type Facts, type Output, type SessionEvent } from "./session/output.ts";
export { type Handled } from "./session/peer-link.ts";
export { RELAY_TRACKS, type RelayTrack, type RelayedObject } from "./session/relayed.ts";
export { HANDSHAKE_TIMEOUT, type OutgoingFrame, Session } from "./session/session.ts";
export { type ShapePlan, constantRate } from "./session/shape-plan.ts";
export { type FrameRefusal, type FrameRefusalCounts } from "./sign/frame-verifier.ts";
export { type GopVerdict } from "./sign/gop-verifier.ts";
export { type SignMode } from "./sign/mode.ts";
export { type Frame, type Media } from "./unit/assemble.ts";
export { type Codec, type StreamInfo } from "./unit/info.ts";
export { type SoundCodec, type SoundInfo } from "./unit/sound-info.ts";
export { type Layout, MAX_FRAME, type Preamble, type StampKind } from "./unit/preamble.ts";
export { type Unsplit } from "./unit/planner.ts";
export { type UnitHeader, splitUnit, unitHeaderBytes } from "./unit/unit-header.ts";
export { type Unit } from "./unit/unit.ts";
export { type CellPlan } from "./wire/cell.ts";
export { CLOSE_REASONS, Close, type Control, closeReason, controlBytes, parseControl } from "./wire/control.ts";
export {
  LENGTH_PREFIX, MAX_CONTROL_RECORD, MAX_HANDSHAKE_MESSAGE, MAX_RECORD, MessageReader, lengthPrefix,
} from "./wire/framing.ts";
export { type Host, type HostKind } from "./wire/host.ts";
export { Invite } from "./wire/invite.ts";
export { PeerId } from "./wire/peer-id.ts";
export { ENCRYPT_ALL, type Selection, selectionName, selectionNamed } from "./wire/selection.ts";
export { MAX_TICKET, type Ticket, type TransportKind, pageLink, parseTicket, revealTicket } from "./wire/ticket.ts";
