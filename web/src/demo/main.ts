// The demo's page: three pictures and figures that the program makes, and one picture that the page opens itself.

import { byId, say } from "../page/dom.ts";
import { needs } from "../page/needs.ts";
import { Controls } from "./controls.ts";
import { showLoss, showStats } from "./stats-view.ts";
import { listen } from "./stats.ts";
import { Still } from "./still.ts";
import { Viewing } from "./viewing.ts";

/** Shows the picture of the program's own viewer instead, and says why. */
function showFallback(why: string): void {
  const fallback = byId("fallback", HTMLImageElement);
  fallback.src = "/viewer.mjpeg";
  fallback.hidden = false;
  // Of a session that the page does not have there is nothing to tell.
  for (const id of ["view", "yours-controls", "who", "flip-card", "events-card", "chart-card", "stream-card"]) {
    byId(id, HTMLElement).hidden = true;
  }
  say(byId("yours-title", HTMLElement), "The viewer's picture");
  say(byId("keys", HTMLElement), "opened by the program's own viewer");
  say(byId("who-title", HTMLElement), "Not opened in this page");
  const note = byId("no-page", HTMLElement);
  say(note, `The fourth picture is that of the program's own viewer. ${why}`);
  note.hidden = false;
}

function start(): void {
  for (const name of ["camera", "wire", "attack"]) {
    new Still(byId(name, HTMLImageElement), `/${name}.jpg`);
  }
  const missing = needs().filter(({ present }) => !present);
  const viewing = missing.length > 0 ? undefined : new Viewing(showFallback);
  const controls = new Controls(viewing ?? { restarting: () => undefined, restarted: () => undefined });
  listen({
    stats(stats) {
      showStats(stats);
      const { selection, shape } = stats.eavesdropper;
      controls.show({ selection, shape, suite: viewing?.suite ?? stats.session.suite });
    },
    lost: showLoss,
  });
  if (viewing === undefined) {
    const names = missing.map(({ name }) => name).join(", ");
    showFallback(`To open it here the browser would need what it lacks, or does not give to this address: ${names}.`);
  } else {
    void viewing.begin();
  }
}

start();
