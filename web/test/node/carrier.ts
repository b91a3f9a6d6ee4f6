// A session over a TCP socket of Node, for tests: the loop that a web application has in its worker.

import { type Socket, connect } from "node:net";

import { type Bytes, concat } from "../../src/protocol/bytes.ts";
import { type Now } from "../../src/protocol/clock/now.ts";
import { type Output, type SessionEvent } from "../../src/protocol/session/output.ts";
import { type Session } from "../../src/protocol/session/session.ts";
import { type Media } from "../../src/protocol/unit/assemble.ts";
import { MessageReader, lengthPrefix } from "../../src/protocol/wire/framing.ts";
import { Flag, Kind } from "../../src/protocol/wire/header.ts";

/** Both clocks of this machine. */
export function readClocks(): Now {
  const monotonic = performance.now();
  return { monotonic, wall: BigInt(Math.round((performance.timeOrigin + monotonic) * 1_000)) * 1_000n };
}

/** A socket to a listening end. */
export function dial(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true });
    socket.once("connect", () => {
      resolve(socket);
    });
    socket.once("error", reject);
  });
}

/** Drives one session over one socket. */
export class Carrier {
  readonly session: Session;
  readonly events: SessionEvent[] = [];
  readonly media: Media[] = [];
  /** Records that came, by what anybody on the path sees of them. */
  readonly came = { cells: 0, encrypted: 0, clear: 0 };
  /** Media records that left under the newest keys. */
  sealed = 0;
  /** Resolves when the session is over, or rejects with its error. */
  readonly over: Promise<void>;
  readonly #socket: Socket;
  readonly #reader = new MessageReader();
  readonly #waiting: { readonly done: () => boolean; readonly resolve: () => void }[] = [];
  #steps: Promise<void> = Promise.resolve();
  #outgoing: Bytes[] = [];
  /** The other end sends nothing more. */
  #ended = false;
  #timer: NodeJS.Timeout | undefined;
  #finish: (error?: Error) => void = () => undefined;

  constructor(session: Session, socket: Socket) {
    this.session = session;
    this.#socket = socket;
    this.over = new Promise((resolve, reject) => {
      this.#finish = (error) => {
        clearTimeout(this.#timer);
        if (error === undefined) {
          resolve();
        } else {
          reject(error);
        }
      };
    });
    // A test that fails earlier does not await it.
    this.over.catch(() => undefined);
    socket.on("data", (piece) => {
      // Node's pieces may be views of a pool, whose buffer is shared with nothing that outlives this copy.
      const bytes = Uint8Array.from(piece as unknown as Uint8Array);
      void this.step(() => this.#arrived(bytes));
    });
    socket.on("end", () => {
      this.#ended = true;
    });
    let broken = new Error("the connection broke");
    socket.on("error", (error) => {
      // A peer that said goodbye may be gone before it has taken what was sent meanwhile; "close" follows.
      broken = error;
    });
    socket.on("close", () => {
      // What came before the end may still be waiting to be opened.
      void this.#steps.then(() => {
        this.#finish(this.session.isOver ? undefined : broken);
      });
    });
    void this.step(() => Promise.resolve());
  }

  /** Runs a call of the session after those before it, and then sends and shows what comes of it. */
  step(body: () => Promise<void>): Promise<void> {
    const done = this.#steps.then(async () => {
      try {
        await body();
      } catch (error) {
        this.#drain();
        this.#finish(error instanceof Error ? error : new Error("a step threw no error"));
        this.#end();
        throw error;
      }
      this.#drain();
    });
    this.#steps = done.catch(() => undefined);
    return this.#steps;
  }

  async #arrived(piece: Bytes): Promise<void> {
    const { session } = this;
    this.#reader.push(piece);
    for (let next = this.#reader.next(session.messageLimit); next !== undefined; ) {
      this.#note(next);
      await session.message(readClocks(), next);
      this.#drain();
      next = this.#reader.next(session.messageLimit);
    }
    if (this.#reader.waiting > 0) {
      session.partOfMessage(readClocks());
    }
  }

  #note(message: Bytes): void {
    if (message[0] === Kind.Cell) {
      this.came.cells += 1;
    } else if (message[0] === Kind.Media) {
      this.came[((message[1] ?? 0) & Flag.Encrypted) === 0 ? "clear" : "encrypted"] += 1;
    }
  }

  #drain(): void {
    for (let output = this.session.poll(); output !== undefined; output = this.session.poll()) {
      this.#take(output);
    }
    this.session.carrierHolds(this.#socket.writableLength);
    clearTimeout(this.#timer);
    const { deadline, isOver } = this.session;
    if (deadline !== Infinity) {
      const wait = Math.max(0, deadline - readClocks().monotonic);
      this.#timer = setTimeout(() => void this.step(() => this.session.timeout(readClocks())), wait);
    } else if (isOver) {
      this.#end();
    }
    for (const waiting of this.#waiting.filter(({ done }) => done())) {
      waiting.resolve();
    }
  }

  #take(output: Output): void {
    switch (output.type) {
      case "transmit":
        this.sealed += output.message[0] === Kind.Media ? 1 : 0;
        this.#send(lengthPrefix(output.message), output.message);
        return;
      case "event":
        this.events.push(output.event);
        this.sealed = output.event.type === "rekeyed" ? 0 : this.sealed;
        return;
      case "media":
        this.media.push(output.media);
    }
  }

  /** Ends this direction, after what is being sent. */
  #end(): void {
    setImmediate(() => {
      this.#socket.end();
    });
  }

  /**
   * Sends after what has arrived was read, and in one call. A peer that is gone answers the first call with a reset,
   * and Node throws away what it has not read when the second one fails: such as the peer's goodbye.
   */
  #send(...messages: readonly Bytes[]): void {
    if (this.#outgoing.push(...messages) > messages.length) {
      return;
    }
    setImmediate(() => {
      const together = concat(...this.#outgoing);
      this.#outgoing = [];
      if (this.#socket.writable && !this.#ended) {
        this.#socket.write(together);
      }
    });
  }

  /** Resolves once `done` holds, and rejects if the session ends before. */
  until(done: () => boolean): Promise<void> {
    const reached = new Promise<void>((resolve) => {
      this.#waiting.push({ done, resolve });
      if (done()) {
        resolve();
      }
    });
    const early = this.over.then(() => {
      if (!done()) {
        throw new Error("the session ended before what a test waits for");
      }
    });
    return Promise.race([reached, early]);
  }

  /** Resolves once the carrier has taken all that was sent. */
  async flushed(): Promise<void> {
    await this.#steps;
    while (this.#outgoing.length > 0) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    while (this.#socket.writableLength > 0) {
      await new Promise((resolve) => this.#socket.once("drain", resolve));
    }
  }
}
