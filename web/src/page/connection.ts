// One worker for one connection: it has identity, session and media, and ends with them.

import { type FromWorker, type ToWorker } from "../messages.ts";
import { texts } from "../text/page.ts";

/** Milliseconds for the goodbye to the other end, after which the worker is ended anyway. */
const GOODBYE = 1_500;
const WORKER = "/worker.js";

interface Policy {
  createScriptURL(url: string): string;
}
interface TrustedTypes {
  createPolicy(name: string, rules: Policy): Policy;
}

/**
 * The page's content policy lets a worker begin only through a policy of this name, which knows one address. Made once:
 * a second one of the name would be refused.
 */
const policy = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy("sealcast", {
  createScriptURL(url) {
    if (url !== WORKER) {
      throw new TypeError("the page has one worker");
    }
    return url;
  },
});

/** A running worker. */
export class Connection {
  readonly #worker: Worker;
  #listener: ((message: FromWorker) => void) | undefined;
  #ended = false;

  /**
   * Starts a worker with its first message; `transfer` is what that message gives away. By some names a worker tells
   * more: see `FromWorker`.
   */
  constructor(
    first: ToWorker, transfer: Transferable[], listener: (message: FromWorker) => void, name = "sealcast",
  ) {
    this.#listener = listener;
    this.#worker = new Worker(policy?.createScriptURL(WORKER) ?? WORKER, { type: "module", name });
    this.#worker.onmessage = (event: MessageEvent<FromWorker>) => {
      const { data } = event;
      this.#listener?.(data);
      if (data.type === "state" && ["ended", "refused", "failed"].includes(data.state)) {
        this.#end();
      }
    };
    const broken = (): void => {
      this.#listener?.({
        type: "state", state: "failed", cause: "worker",
        words: texts().live.brokeOff,
      });
      this.#end();
    };
    this.#worker.onerror = broken;
    this.#worker.onmessageerror = broken;
    this.#worker.postMessage(first, transfer);
  }

  /** `transfer` is what the message gives away. */
  send(message: ToWorker, transfer: Transferable[] = []): void {
    if (!this.#ended) {
      this.#worker.postMessage(message, transfer);
    }
  }

  /** Says goodbye to the other end. The listener hears nothing more. */
  close(): void {
    this.#listener = undefined;
    this.send({ type: "stop" });
    setTimeout(() => {
      this.#end();
    }, GOODBYE);
  }

  #end(): void {
    if (!this.#ended) {
      this.#ended = true;
      this.#listener = undefined;
      this.#worker.terminate();
    }
  }
}
