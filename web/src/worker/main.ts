// The worker's entry: the page's first message says whether it watches or publishes.

import { type FromWorker, type ToWorker } from "../messages.ts";
import { speak } from "../text/worker.ts";
import { startPublishing } from "./publish.ts";
import { type Commands } from "./role.ts";
import { startWatching } from "./watch.ts";

let role: Commands | undefined;

function post(message: FromWorker): void {
  postMessage(message);
}

addEventListener("message", ({ data }: MessageEvent<ToWorker>) => {
  if (role !== undefined) {
    role.command(data);
  } else if (data.type === "watch") {
    speak(data.language);
    role = startWatching(data, post);
  } else if (data.type === "publish" || data.type === "publish-relay") {
    speak(data.language);
    role = startPublishing(data, post);
  }
});
