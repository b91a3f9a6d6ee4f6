// The seam of key encapsulation (keys.md, section 4; protocol.md, "Mechanisms").

import { type Bytes } from "../bytes.ts";

/** The private half of a share. It is used once. */
export interface DecapsulationKey {
  /** The public key that goes into a hello or an offer. */
  readonly share: Bytes;
  /**
   * The shared secret of what the responder returned.
   * @throws ProtocolError `share` if the ciphertext is not valid
   */
  decapsulate(ciphertext: Bytes): Promise<Bytes>;
}

/** What a responder makes of a share. */
export interface Encapsulation {
  readonly ciphertext: Bytes;
  readonly secret: Bytes;
}

/**
 * A mechanism, as a value, so that tests can pass in one that repeats. This is where randomness enters: WebCrypto draws
 * that of its keys itself.
 */
export interface Mechanism {
  /** Its identifier on the wire. */
  readonly id: number;
  /** Its name in logs. */
  readonly name: string;
  /** A fresh key pair. */
  generate(): Promise<DecapsulationKey>;
  /**
   * The ciphertext and the secret for a share.
   * @throws ProtocolError `share` if the share is not valid
   */
  encapsulate(share: Bytes): Promise<Encapsulation>;
}
