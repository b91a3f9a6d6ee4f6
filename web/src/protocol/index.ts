// The sealcast protocol for browsers: everything that the rest of the page knows of it.

export { type Bytes } from "./bytes.ts";
export { type ClockReading, clockReading } from "./clock/exchange.ts";
export { type Now } from "./clock/now.ts";
export { type Features, features } from "./crypto/features.ts";
export { type DecapsulationKey, type Encapsulation, type Mechanism } from "./crypto/mechanism.ts";
export { DEFAULT_MECHANISMS, DEFAULT_SUITES, mechanismNamed, suiteNamed } from "./crypto/policy.ts";
export { sha256 } from "./crypto/primitives.ts";
export { type Fault, malformed, misuse, ProtocolError, type Reason, type Refusal } from "./error.ts";
export { KeyTrack } from "./group/key-track.ts";
export { type Announcement } from "./group/leader.ts";
export { GROUPS_PER_EPOCH, GroupSealer, type Sealing } from "./group/sealer.ts";
export { EnrolledSecret, type GroupName, type NodeSecret } from "./group/secret.ts";
export { RUN_LEN } from "./group/sheet.ts";
export { type HandshakeConfig, type Peer } from "./keys/handshake.ts";
export {
  generateIdentity, type Identity, identityFromSeed, restoreIdentity, seedOfIdentityFile, type StoredIdentity,
} from "./keys/identity.ts";
export { type Role } from "./keys/messages.ts";
export { HelloKeys, MAX_PSKS, PresharedKey } from "./keys/psk.ts";
export { wordsOf } from "./keys/words.ts";
export { type AgeState } from "./live/picture-age.ts";
export { type RefusalCounts } from "./seal/refusals.ts";
export { type Suite } from "./seal/suite.ts";
export { RekeyPolicy, type SessionConfig } from "./session/config.ts";
export { PING_INTERVAL } from "./session/liveness.ts";
export { type GroupFacts, type GroupPolicy } from "./session/membership.ts";
export { type Facts, type Output, type SessionEvent } from "./session/output.ts";
export { type Handled } from "./session/peer-link.ts";
export { RELAY_TRACKS, type RelayedObject, type RelayTrack } from "./session/relayed.ts";
export { HANDSHAKE_TIMEOUT, type OutgoingFrame, Session } from "./session/session.ts";
export { constantRate, type ShapePlan } from "./session/shape-plan.ts";
export { type FrameRefusal, type FrameRefusalCounts } from "./sign/frame-verifier.ts";
export { type GopVerdict } from "./sign/gop-verifier.ts";
export { isSignMode, type SignMode } from "./sign/mode.ts";
export { isSlice, NalType, nalType, nalUnits } from "./unit/annexb.ts";
export { type Frame, type Media } from "./unit/assemble.ts";
export { BitReader, Rbsp } from "./unit/h264/bits.ts";
export { parseSps, type Sps } from "./unit/h264/parameter-sets.ts";
export { type Codec, type StreamInfo } from "./unit/info.ts";
export { type Unsplit } from "./unit/planner.ts";
export { type Layout, MAX_FRAME, type Preamble, type StampKind } from "./unit/preamble.ts";
export { SOUND_STREAM, type SoundCodec, type SoundInfo } from "./unit/sound-info.ts";
export { splitUnit, type UnitHeader, unitHeaderBytes } from "./unit/unit-header.ts";
export { type Unit } from "./unit/unit.ts";
export { type CellPlan } from "./wire/cell.ts";
export {
  Close, CLOSE_REASONS, closeReason, type Control, controlBytes, type Orientation, parseControl,
} from "./wire/control.ts";
export {
  LENGTH_PREFIX, lengthPrefix, MAX_CONTROL_RECORD, MAX_HANDSHAKE_MESSAGE, MAX_RECORD, MessageReader,
} from "./wire/framing.ts";
export { CHALLENGE_LEN, type GroupMessage, type MediaFrom } from "./wire/group-message.ts";
export { type Host, type HostKind, parseIpv6, parseName } from "./wire/host.ts";
export { Invite, INVITE_LEN } from "./wire/invite.ts";
export { PeerId } from "./wire/peer-id.ts";
export { ENCRYPT_ALL, type Selection, selectionName, selectionNamed } from "./wire/selection.ts";
export {
  MAX_CERT_HASHES, MAX_TICKET, pageLink, parseTicket, revealTicket, type Ticket, type TransportKind,
} from "./wire/ticket.ts";
export { plain } from "./words.ts";
