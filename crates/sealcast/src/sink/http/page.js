"use strict";
const picture = document.getElementById("picture");
const status = document.getElementById("status");
const age = document.getElementById("age");
const alarm = document.getElementById("alarm");

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
    // What the camera's answers prove, of a group's picture.
    const proven = health.age_ms === null ? "" : `at most ${health.age_ms} ms old`;
    const wrong = health.alarm ?? "";
    age.textContent = proven;
    // A screen reader says it when it changes.
    if (alarm.textContent !== wrong) alarm.textContent = wrong;
    document.body.classList.toggle("alarm", health.alarm !== null);
    if (!shown) picture.src = `stream.mjpeg?${Date.now()}`;
    shown = true;
  } catch {
    status.textContent = "the program does not answer";
    shown = false;
  }
}
setInterval(look, 500);
look();
