// The worker of a page that publishes.

import { CarrierError } from "../carrier/carrier.ts";
import { connect, waysTo } from "../carrier/connect.ts";
import { browserEncoder } from "../media/browser-encoder.ts";
import { browserSoundEncoder } from "../sound/browser-encoder.ts";
import { type Bytes } from "../protocol/bytes.ts";
import { ProtocolError } from "../protocol/index.ts";
import { openRelay } from "../relay/open.ts";
import { IndexedDbCameraStore } from "../store/camera-store.ts";
import { IndexedDbStore } from "../store/indexed-db-store.ts";
import { texts } from "../text/worker.ts";
import { REAL_TIME, readClocks } from "./clock.ts";
import { chosen, type Choice } from "./publish-options.ts";
import { Publisher } from "./publisher.ts";
import { RelayPublisher } from "./relay-publisher.ts";
import { type PublishMessage, type Start } from "./role.ts";
import { isTestWorker, tellUnit } from "./tell-unit.ts";

const RANDOM_LEN = 32;

/** Begins to publish. */
export const startPublishing: Start<PublishMessage> = (message, post) => {
  const { options, pictures } = message;
  const failed = (cause: string, words: string): ReturnType<typeof startPublishing> => {
    pictures.cancel().catch(() => undefined);
    post({ type: "state", state: "failed", cause, words });
    return { command: () => undefined };
  };
  if (!globalThis.isSecureContext) {
    return failed("insecure", texts().publishing["insecure"] ?? "");
  }
  let choice: Choice;
  try {
    choice = chosen(options);
  } catch (thrown) {
    const words = thrown instanceof ProtocolError ? thrown.message : "The settings do not fit together";
    return failed("settings", `${words.charAt(0).toUpperCase()}${words.slice(1)}.`);
  }
  const common = {
    pictures, choice, post, time: REAL_TIME, makeEncoder: browserEncoder(readClocks),
    makeSoundEncoder: browserSoundEncoder(), openStore: () => IndexedDbStore.open(),
    random: () => crypto.getRandomValues(new Uint8Array(RANDOM_LEN)),
    ...(isTestWorker() && {
      soundUnit(frame: bigint, data: Bytes) {
        void tellUnit(post, frame, data, "sound-unit");
      },
    }),
  };
  if (message.type === "publish-relay") {
    const publisher = new RelayPublisher({
      ...common, relay: message.relay, openCameraStore: () => IndexedDbCameraStore.open(),
      openRelay: (address, signal) => openRelay(globalThis.origin, address, signal),
      ...(isTestWorker() && {
        unit(frame: bigint, data: Bytes) {
          void tellUnit(post, frame, data);
        },
      }),
    });
    void publisher.run();
    return publisher;
  }
  const publisher = new Publisher({
    ...common, ticket: message.ticket,
    // The worker's script may be a blob, whose address has no host; its origin is the page's.
    connect: ({ transport, certHashes }, signal) => {
      if (transport === "relay") {
        throw new CarrierError("this ticket is a camera's at a relay: this page can watch by it. To publish through " +
          "that relay, enter its address, with a name of your own, in the place of a ticket", "relay");
      }
      return connect(options.carrier, waysTo(globalThis.origin, certHashes), signal);
    },
  });
  void publisher.run();
  return publisher;
};
