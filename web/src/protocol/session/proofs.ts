// Signatures of groups of pictures, verified beside the frames.

import { type Bytes } from "../bytes.ts";
import { ProtocolError, asProtocolError } from "../error.ts";
import { type GopRefusal, type GopVerifiers } from "../sign/gop-verifier.ts";
import { type Statement } from "../sign/statement.ts";
import { type Outbox } from "./output.ts";

/** Frames and signatures that may wait; with more, the session waits for them. */
const MAX_WAITING = 512;

/**
 * Works one after the other on what frames and signatures of groups say, while the session goes on: a signature takes
 * milliseconds where the browser has no ML-DSA. What comes of it is handed out with what comes of a later call.
 */
export class Proofs {
  readonly #out: Outbox;
  readonly #refused: ((reason: GopRefusal) => void) | undefined;
  #work: Promise<void> = Promise.resolve();
  #waiting = 0;
  #failed: ProtocolError | undefined;

  /** `refused` takes signatures that are refused, of a relay; without it they are the camera's fault. */
  constructor(out: Outbox, refused?: (reason: GopRefusal) => void) {
    this.#out = out;
    this.#refused = refused;
  }

  /** A frame was released at this monotonic time. */
  took(gops: GopVerifiers, now: number, statement: Statement): Promise<void> {
    return this.#add(async () => {
      if ((await gops.took(now, statement)) === "forged") {
        const { group, index } = statement;
        this.#out.event({ type: "proven", verdict: { group, outcome: "forged", indexes: [index], follows: true } });
      }
    });
  }

  /** The signature of a group came. */
  verify(gops: GopVerifiers, signature: Bytes): Promise<void> {
    return this.#add(async () => {
      const verdict = await gops.verify(signature);
      if (typeof verdict === "string" && this.#refused !== undefined) {
        this.#refused(verdict);
        return;
      }
      if (typeof verdict === "string") {
        throw new ProtocolError("protocol-error", `the signature of a group of pictures is refused: ${verdict}`);
      }
      this.#out.event({ type: "proven", verdict });
    });
  }

  async #add(body: () => Promise<void>): Promise<void> {
    this.check();
    this.#waiting += 1;
    this.#work = this.#work.then(async () => {
      try {
        await body();
      } catch (thrown) {
        this.#failed ??= asProtocolError(thrown);
      }
      this.#waiting -= 1;
    });
    if (this.#waiting > MAX_WAITING) {
      await this.#work;
    }
  }

  /** @throws ProtocolError `protocol-error` if a signature was refused: the camera made it wrong */
  check(): void {
    if (this.#failed !== undefined) {
      throw this.#failed;
    }
  }
}
