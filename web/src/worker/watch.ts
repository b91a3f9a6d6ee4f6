// The worker of a page that watches.

import { connect, waysTo } from "../carrier/connect.ts";
import { browserCodec, browserSupports } from "../media/codecs.ts";
import { browserImage } from "../media/images.ts";
import { Player, type PlayerEvents } from "../media/player.ts";
import { canvasSurface } from "../media/screen.ts";
import { type Way } from "../media/stages.ts";
import { type Bytes } from "../protocol/bytes.ts";
import { meet } from "../relay/meet.ts";
import { openRelay } from "../relay/open.ts";
import { type OpenRelay } from "../relay/relay.ts";
import { browserDecodes, browserSoundCodec } from "../sound/browser-decoder.ts";
import { type Pcm } from "../sound/pcm.ts";
import { IndexedDbStore } from "../store/indexed-db-store.ts";
import { texts } from "../text/worker.ts";
import { REAL_TIME } from "./clock.ts";
import { Measured } from "./measured.ts";
import { type Start, type WatchMessage } from "./role.ts";
import { isTestWorker, tellUnit } from "./tell-unit.ts";
import { Viewer } from "./viewer.ts";

/** The name of a worker that tells the way of each frame. It hashes nothing, which would count as the worker's time. */
const MEASURED_WORKER = "measure";
const RANDOM_LEN = 32;

/** The origin of the page: the worker's script may be a blob, whose address has no host. */
function pageOrigin(): string {
  return globalThis.origin;
}

function random(): Bytes {
  return crypto.getRandomValues(new Uint8Array(RANDOM_LEN));
}

/** Begins to watch. */
export const startWatching: Start<WatchMessage> = ({ ticket, camera, canvas, options }, post) => {
  const failed = (cause: string, words: string): ReturnType<typeof startWatching> => {
    post({ type: "state", state: "failed", cause, words });
    return { command: () => undefined };
  };
  if (!globalThis.isSecureContext) {
    return failed("insecure", texts().watching.insecure);
  }
  let surface;
  try {
    surface = canvasSurface(canvas);
  } catch {
    return failed("canvas", texts().watching.canvas);
  }
  const { name } = globalThis as { readonly name?: unknown };
  const testing = isTestWorker();
  const measured = name === MEASURED_WORKER ? new Measured(post, REAL_TIME) : undefined;
  const events: PlayerEvents = {
    needsKeyframe(stream) {
      viewer.needsKeyframe(stream);
    },
    news(words, bad) {
      viewer.news(words, bad);
    },
    unable(words) {
      viewer.unable(words);
    },
    size(width, height) {
      post({ type: "size", width, height });
    },
    clock: (now) => viewer.clock(now),
    offer(sound) {
      post({ type: "sound", sound });
    },
    ...(testing && {
      pcm(pcm: Pcm) {
        post({ type: "pcm", pcm });
      },
      unit(frame: bigint, data: Bytes) {
        void tellUnit(post, frame, data);
      },
    }),
    ...(measured !== undefined && {
      way(frame: bigint, way: Way) {
        measured.way(frame, way);
      },
    }),
  };
  const sound = { codec: browserSoundCodec(), decodes: browserDecodes };
  const video = { codec: browserCodec(), supports: browserSupports };
  const parts = { surface, ...video, image: browserImage, sound, time: REAL_TIME };
  const player = new Player(parts, events, options.jitter);
  const open: OpenRelay = (address, signal) => openRelay(pageOrigin(), address, signal);
  const viewer = new Viewer({
    ticket, camera,
    openStore: () => IndexedDbStore.open(),
    connect: (to, signal) => to.transport === "relay" ? meet(to, { openRelay: open, time: REAL_TIME, random }, signal)
      : connect(options.carrier, waysTo(pageOrigin(), to.certHashes), signal),
    time: REAL_TIME,
    random,
    post,
    ...(measured !== undefined && {
      opened(milliseconds: number) {
        measured.opened(milliseconds);
      },
    }),
  }, player);
  void viewer.run();
  return viewer;
};
