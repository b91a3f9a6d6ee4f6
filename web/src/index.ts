// What a web application uses: the protocol, and stores for identities.

export {
  type AgeState, type Bytes, type CellPlan, type ClockReading, clockReading, Close, CLOSE_REASONS, closeReason,
  type Codec, constantRate, type Control, controlBytes, type DecapsulationKey, DEFAULT_MECHANISMS, DEFAULT_SUITES,
  type Encapsulation, ENCRYPT_ALL, type Facts, type Fault, type Features, features, type Frame, type FrameRefusal,
  type FrameRefusalCounts, generateIdentity, type GopVerdict, type GroupFacts, type GroupPolicy, type Handled,
  HANDSHAKE_TIMEOUT, type HandshakeConfig, HelloKeys, type Host, type HostKind, type Identity, identityFromSeed,
  Invite, type Layout, LENGTH_PREFIX, lengthPrefix, MAX_CONTROL_RECORD, MAX_FRAME, MAX_HANDSHAKE_MESSAGE, MAX_PSKS,
  MAX_RECORD, MAX_TICKET, type Mechanism, mechanismNamed, type Media, MessageReader, type Now, type OutgoingFrame,
  type Output, pageLink, parseControl, parseTicket, type Peer, PeerId, type Preamble, PresharedKey, ProtocolError,
  type Reason, type Refusal, type RefusalCounts, RekeyPolicy, RELAY_TRACKS, type RelayedObject, type RelayTrack,
  restoreIdentity, revealTicket, type Role, seedOfIdentityFile, type Selection, selectionName, selectionNamed,
  Session, type SessionConfig, type SessionEvent, type ShapePlan, type SignMode, type SoundCodec, type SoundInfo,
  splitUnit, type StampKind, type StoredIdentity, type StreamInfo, type Suite, suiteNamed, type Ticket,
  type TransportKind, type Unit, type UnitHeader, unitHeaderBytes, type Unsplit, wordsOf,
} from "./protocol/index.ts";
export { IndexedDbStore } from "./store/indexed-db-store.ts";
export { type KeyStore, ownIdentity } from "./store/key-store.ts";
export { MemoryStore } from "./store/memory-store.ts";
