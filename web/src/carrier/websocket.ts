// A carrier over a WebSocket: the byte stream in binary messages.

import { type Bytes } from "../protocol/bytes.ts";
import { type Carrier, CarrierError, type CarrierEvents } from "./carrier.ts";

/** Where pages and sessions are on one port. */
export const CARRIER_PATH = "/sealcast";
export const SUBPROTOCOL = "sealcast.3";
/** Bytes of a message at most; where one ends means nothing. */
export const MAX_MESSAGE = 65_536;

/** Opens a WebSocket to the host of an origin, such as `http://127.0.0.1:9555`. @throws CarrierError */
export function openWebSocket(origin: string, signal: AbortSignal): Promise<Carrier> {
  const url = new URL(CARRIER_PATH, origin);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = new WebSocket(url, SUBPROTOCOL);
    socket.binaryType = "arraybuffer";
    const abort = (): void => {
      socket.close();
      reject(new CarrierError("it was not wanted any more"));
    };
    signal.addEventListener("abort", abort, { once: true });
    socket.onopen = () => {
      signal.removeEventListener("abort", abort);
      resolve(new WebSocketCarrier(socket));
    };
    // A browser does not say why: a page shall not find out what listens where.
    socket.onclose = () => {
      signal.removeEventListener("abort", abort);
      reject(new CarrierError("the server did not accept it"));
    };
  });
}

class WebSocketCarrier implements Carrier {
  readonly kind = "websocket";
  readonly #socket: WebSocket;

  constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  receive(events: CarrierEvents): void {
    const socket = this.#socket;
    socket.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (data instanceof ArrayBuffer) {
        void events.bytes(new Uint8Array(data));
      } else {
        // Texts are none of ours.
        socket.close();
      }
    };
    if (socket.readyState === WebSocket.CLOSED) {
      events.closed(false);
      return;
    }
    socket.onclose = ({ wasClean }) => {
      socket.onclose = null;
      events.closed(wasClean);
    };
  }

  send(piece: Bytes): void {
    for (let at = 0; at < piece.length; at += MAX_MESSAGE) {
      this.#socket.send(piece.subarray(at, at + MAX_MESSAGE));
    }
  }

  get backlog(): number {
    return this.#socket.bufferedAmount;
  }

  close(): void {
    this.#socket.close();
  }
}
