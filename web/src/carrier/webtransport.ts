// A carrier over WebTransport: one bidirectional stream for everything.
//
// Safari delivers no further incoming streams after some 7000 of them, and ends a session whose datagrams are touched:
// so there is one stream, which lasts, and no datagrams.

import { type Bytes } from "../protocol/bytes.ts";
import { type Carrier, CarrierError, type CarrierEvents } from "./carrier.ts";
import { CARRIER_PATH } from "./websocket.ts";

/** Milliseconds in which what was written last may still leave when a carrier is closed. */
const FAREWELL = 1_000;

/** True if the browser has WebTransport. */
export function hasWebTransport(): boolean {
  return typeof WebTransport === "function";
}

/**
 * Opens WebTransport to the host and port of an origin, by https whatever the page has.
 * @param hashes SHA-256 of the certificates of which the server has one; if there are none, the browser judges it
 * @throws CarrierError
 */
export async function openWebTransport(
  origin: string, hashes: readonly Bytes[], signal: AbortSignal,
): Promise<Carrier> {
  signal.throwIfAborted();
  const { hostname, port } = new URL(origin);
  // The port that a page's address leaves out is its scheme's, which need not be that of https.
  const ownPort = port === "" ? (new URL(origin).protocol === "http:" ? "80" : "443") : port;
  // Chrome waits in vain where it is given hashes and the certificate is an authority's, so there are none then.
  const trust = hashes.length === 0
    ? {} : { serverCertificateHashes: hashes.map((value) => ({ algorithm: "sha-256", value })) };
  const url = `https://${hostname}:${ownPort}${CARRIER_PATH}`;
  const transport = new WebTransport(url, { allowPooling: false, congestionControl: "low-latency", ...trust });
  // Both reject when the session fails, also where nobody waits for them.
  transport.closed.catch(() => undefined);
  transport.ready.catch(() => undefined);
  const abort = (): void => {
    transport.close();
  };
  signal.addEventListener("abort", abort, { once: true });
  try {
    await transport.ready;
    const stream = await transport.createBidirectionalStream();
    signal.throwIfAborted();
    return new WebTransportCarrier(transport, stream);
  } catch {
    transport.close();
    throw new CarrierError(signal.aborted ? "it was not wanted any more" : "the server did not accept it");
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

class WebTransportCarrier implements Carrier {
  readonly kind = "webtransport";
  readonly #transport: WebTransport;
  readonly #writer: WritableStreamDefaultWriter<Bytes>;
  readonly #reader: ReadableStreamDefaultReader<Bytes>;
  #backlog = 0;
  #closing = false;

  constructor(transport: WebTransport, stream: WebTransportBidirectionalStream) {
    this.#transport = transport;
    this.#writer = (stream.writable as WritableStream<Bytes>).getWriter();
    this.#reader = (stream.readable as ReadableStream<Bytes>).getReader();
    this.#writer.closed.catch(() => undefined);
  }

  receive(events: CarrierEvents): void {
    void this.#read(events).then(
      () => {
        events.closed(true);
      },
      () => {
        events.closed(false);
      },
    );
  }

  async #read(events: CarrierEvents): Promise<void> {
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) {
        return;
      }
      // While nobody reads, flow control holds the publisher back.
      await events.bytes(value);
    }
  }

  send(piece: Bytes): void {
    if (this.#closing) {
      return;
    }
    this.#backlog += piece.length;
    const taken = (): void => {
      this.#backlog -= piece.length;
    };
    // Where writing fails, reading ends as well, which tells.
    this.#writer.write(piece).then(taken, taken);
  }

  get backlog(): number {
    return this.#backlog;
  }

  close(): void {
    if (this.#closing) {
      return;
    }
    this.#closing = true;
    const end = (): void => {
      clearTimeout(timer);
      this.#transport.close();
    };
    const timer = setTimeout(end, FAREWELL);
    this.#writer.close().then(end, end);
  }
}
