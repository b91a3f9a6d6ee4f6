// Finds a carrier: WebTransport where the browser has it, raced by a WebSocket, because many networks pass no QUIC.

import { type CarrierChoice } from "../messages.ts";
import { type Bytes } from "../protocol/bytes.ts";
import { REAL_TIME, type Time } from "../worker/clock.ts";
import { type Carrier, CarrierError } from "./carrier.ts";
import { openWebSocket } from "./websocket.ts";
import { hasWebTransport, openWebTransport } from "./webtransport.ts";

/**
 * Milliseconds that WebTransport has alone. Where UDP gets through, it stands after two round trips and a WebSocket
 * after three, so it wins by itself however long the path is; where it does not, nobody waits long.
 */
export const HEAD_START = 300;
/** Milliseconds that each way has. */
export const CONNECT_TIMEOUT = 10_000;

/** Opens one kind of carrier. It rejects with a `CarrierError`, and gives up when the signal says so. */
export type Open = (signal: AbortSignal) => Promise<Carrier>;

/** The ways there are; `webtransport` is a sentence where it cannot be tried. */
export interface Ways {
  readonly webtransport: Open | string;
  readonly websocket: Open;
}

/**
 * The ways to the server of a page. Host and port are always the page's own: the page may be behind a forwarded port,
 * of which the ticket knows nothing.
 * @param origin the page's origin, such as `https://camera.example`
 * @param hashes SHA-256 of the server's certificates, from the ticket
 */
export function waysTo(origin: string, hashes: readonly Bytes[]): Ways {
  const secure = new URL(origin).protocol === "https:";
  const websocket: Open = (signal) => openWebSocket(origin, signal);
  if (!hasWebTransport()) {
    return { webtransport: "this browser has none", websocket };
  }
  if (!secure && hashes.length === 0) {
    return { webtransport: "the link names no certificate for it", websocket };
  }
  return { webtransport: (signal) => openWebTransport(origin, hashes, signal), websocket };
}

interface Attempt {
  readonly carrier: Promise<Carrier>;
  /** Gives up; a carrier that is open nevertheless is closed. */
  cancel(): void;
}

/** Tries one way, for a limited time. */
function attempt(name: string, open: Open | string, outer: AbortSignal, time: Time): Attempt {
  const inner = new AbortController();
  const abort = (): void => {
    inner.abort();
  };
  outer.addEventListener("abort", abort, { once: true });
  let late = false;
  const cancelTimer = time.after(CONNECT_TIMEOUT, () => {
    late = true;
    inner.abort();
  });
  const run = async (): Promise<Carrier> => {
    try {
      if (typeof open === "string") {
        throw new CarrierError(open);
      }
      if (outer.aborted) {
        throw unwanted();
      }
      return await unlessAborted(open(inner.signal), inner.signal);
    } catch (thrown) {
      const why = late ? `no answer in ${CONNECT_TIMEOUT / 1_000} s` : wordsOf(thrown);
      throw new CarrierError(`${name}: ${why}`);
    } finally {
      cancelTimer();
      outer.removeEventListener("abort", abort);
    }
  };
  const carrier = run();
  carrier.catch(() => undefined);
  return {
    carrier,
    cancel() {
      abort();
      closeLater(carrier);
    },
  };
}

function unwanted(): CarrierError {
  return new CarrierError("it was not wanted any more");
}

function wordsOf(thrown: unknown): string {
  return thrown instanceof CarrierError ? thrown.message : "it failed in this browser";
}

/** Closes what is opened although nobody wants it any more. */
function closeLater(opening: Promise<Carrier>): void {
  opening.then((carrier) => {
    carrier.close();
  }, () => undefined);
}

/** What is opened, or an error as soon as the signal comes: not every way of opening notices it. */
function unlessAborted(opening: Promise<Carrier>, signal: AbortSignal): Promise<Carrier> {
  return new Promise((resolve, reject) => {
    opening.then(resolve, reject);
    signal.addEventListener("abort", () => {
      closeLater(opening);
      reject(unwanted());
    }, { once: true });
  });
}

/** Ends after the head start, or as soon as `first` fails. */
function headStart(first: Promise<unknown>, time: Time): Promise<undefined> {
  return new Promise((resolve) => {
    const end = (): void => {
      resolve(undefined);
    };
    const cancel = time.after(HEAD_START, end);
    first.then(cancel, () => {
      cancel();
      end();
    });
  });
}

/**
 * Opens a carrier. The signal ends the attempt.
 * @throws CarrierError that says what was tried, and why it failed
 */
export async function connect(
  choice: CarrierChoice, ways: Ways, signal: AbortSignal, time: Time = REAL_TIME,
): Promise<Carrier> {
  const viaSocket = (): Attempt => attempt("WebSocket", ways.websocket, signal, time);
  if (choice === "websocket") {
    return viaSocket().carrier;
  }
  const transport = attempt("WebTransport", ways.webtransport, signal, time);
  if (choice === "webtransport") {
    return transport.carrier;
  }
  const alone = transport.carrier.catch(() => undefined);
  const first = await Promise.race([alone, headStart(transport.carrier, time)]);
  if (first !== undefined) {
    return first;
  }
  const socket = viaSocket();
  const won = (one: Attempt, other: Attempt): Promise<Carrier> => one.carrier.then((carrier) => {
    other.cancel();
    return carrier;
  });
  try {
    return await Promise.any([won(transport, socket), won(socket, transport)]);
  } catch (thrown) {
    const errors: readonly unknown[] = thrown instanceof AggregateError ? thrown.errors : [thrown];
    throw new CarrierError(errors.map(wordsOf).join("; "));
  }
}
