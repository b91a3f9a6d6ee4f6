"use strict";
const picture = document.getElementById("picture");
const status = document.getElementById("status");

// The MJPEG stream ends when the program does. Once the program answers again, request a new one.
let shown = true;
async function look() {
  try {
    const answer = await fetch("health");
    if (answer.status === 403) {
      status.textContent = "the program was started again: open the address that it printed";
      return;
    }
    const health = await answer.json();
    const lost = health.undecoded ? `, ${health.undecoded} not decoded` : "";
    const words = { waiting: "waiting for the stream", playing: "live", ended: "the stream is over" };
    const stream = health.stream || "no picture yet";
    status.textContent = `${words[health.status]}: ${stream}, ${health.frames} frames${lost}`;
    if (!shown) picture.src = `stream.mjpeg?${Date.now()}`;
    shown = true;
  } catch {
    status.textContent = "the program does not answer";
    shown = false;
  }
}
setInterval(look, 1000);
look();
