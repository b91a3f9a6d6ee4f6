"use strict";
// All times are in microseconds. Those of the server are by its wall clock, since 1970; a double holds them exactly.
const canvas = document.getElementById("clock");
const status = document.getElementById("status");
const pen = canvas.getContext("2d", { alpha: false });
// Neighbours in time differ by at least a third of the circle of hues. The probe knows the same order.
const COLOURS = ["#f00", "#0f0", "#00f", "#ff0", "#f0f", "#0ff"];
const PANEL = "#14181d";

// The strip of docs/test-card.md.
const COLUMNS = 36, ROWS = 4, MARKS = 2, MIN_CELL = 4, MACROBLOCK = 16;

function layoutOf(width, height) {
  const most = Math.min(Math.floor(width / COLUMNS), Math.floor(height / (4 * (ROWS + 1))));
  const grid = most >= MACROBLOCK ? MACROBLOCK : 2;
  const cell = Math.floor(most / grid) * grid;
  if (cell < MIN_CELL) return null;
  return {
    cell,
    x: Math.floor(Math.floor((width - COLUMNS * cell) / 2) / grid) * grid,
    y: Math.floor((height - (ROWS + 1) * cell) / grid) * grid,
  };
}

function crc32(words) {
  let crc = 0xffffffff;
  for (const word of words) {
    for (let shift = 24; shift >= 0; shift -= 8) {
      crc ^= (word >>> shift) & 0xff;
      for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    }
  }
  return ~crc >>> 0;
}

function drawStrip(layout, event, wall) {
  const words = [event >>> 0, Math.floor(wall / 2 ** 32) >>> 0, wall % 2 ** 32 >>> 0];
  words.push(crc32(words));
  const { x, y, cell } = layout;
  pen.fillStyle = "#000";
  pen.fillRect(x, y, COLUMNS * cell, ROWS * cell);
  pen.fillStyle = "#fff";
  for (let row = 0; row < ROWS; row++) {
    for (let column = 0; column < COLUMNS; column++) {
      const bit = column - MARKS;
      const white = bit >= 0 && bit < 32 ? (words[row] >>> (31 - bit)) & 1 : (column + row) % 2 === 0;
      if (white) pen.fillRect(x + column * cell, y + row * cell, cell, cell);
    }
  }
}

// What is the same from one event to the next.
function drawScene(layout, event) {
  const { width, height } = canvas;
  const strip = layout.y - layout.cell / 2;
  pen.fillStyle = event ? COLOURS[event % COLOURS.length] : PANEL;
  pen.fillRect(0, 0, width, strip * 0.6);
  pen.fillStyle = PANEL;
  pen.fillRect(0, strip * 0.6, width, strip * 0.4);
  pen.fillStyle = "#000";
  pen.fillRect(0, strip, width, height - strip);
  pen.fillStyle = "#fff";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  const digits = event ? String(event) : "-";
  pen.font = `bold ${Math.floor(Math.min(strip * 0.36, (width * 1.5) / digits.length))}px monospace`;
  pen.fillText(digits, width / 2, strip * 0.81);
}

// This page's clock never runs backwards; its resolution depends on the browser.
const now = () => performance.now() * 1000;

function measureResolution() {
  const steps = [];
  const end = now() + 100000;
  for (let last = now(); last < end && steps.length < 20; ) {
    const next = now();
    if (next > last) steps.push(next - last);
    last = next;
  }
  return steps.length ? Math.min(...steps) : 100000;
}

// Exchanges of four timestamps. The error of each is half its round trip, and grows as the two clocks may drift apart.
const WINDOW = 32, DRIFT = 100e-6;
const exchanges = [];
let upcoming = [];
let refused = "";

async function exchange() {
  const asked = now();
  const answer = await fetch("time", { cache: "no-store" });
  const answered = now();
  if (!answer.ok) {
    refused = answer.status === 403 ? "the program was started again: open the address that it printed" : "";
    throw new Error("no time");
  }
  refused = "";
  const told = await answer.json();
  exchanges.push({
    at: answered,
    offset: (told.received - asked + told.sent - answered) / 2,
    error: Math.max(0, (answered - asked - (told.sent - told.received)) / 2),
  });
  if (exchanges.length > WINDOW) exchanges.shift();
  upcoming = told.events;
}

function clock(at) {
  let best = null;
  for (const { at: then, offset, error } of exchanges) {
    const aged = error + Math.max(0, at - then) * DRIFT;
    if (!best || aged < best.error) best = { offset, error: aged };
  }
  return best;
}

async function keepTime() {
  for (let count = 0; ; count++) {
    try {
      await exchange();
    } catch {
      status.textContent = refused || "the program does not answer";
    }
    await new Promise((done) => setTimeout(done, count < 10 ? 50 : 500));
  }
}

// The interval of the display's refreshes: the median of the last ones.
const refreshes = [];
let lastFrame = null;

function refresh(stamp) {
  if (lastFrame !== null) refreshes.push((stamp - lastFrame) * 1000);
  if (refreshes.length > 61) refreshes.shift();
  lastFrame = stamp;
  const sorted = [...refreshes].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.floor(sorted.length / 2)] : 100000;
}

const resolution = measureResolution();
const display = crypto.getRandomValues(new Uint32Array(1))[0];
let shown = 0;
let drawn = null;
let layout = null;

function fit() {
  canvas.width = Math.round(innerWidth * devicePixelRatio);
  canvas.height = Math.round(innerHeight * devicePixelRatio);
  // A window that covers the screen but for its frame is filmed as the screen. Pictures have even sides.
  const filmed = (inner, whole) => (Math.abs(inner - whole) <= 4 ? whole : inner) & ~1;
  const whole = [screen.width, screen.height].map((side) => Math.round(side * devicePixelRatio));
  layout = layoutOf(filmed(canvas.width, whole[0]), filmed(canvas.height, whole[1]));
  if (layout) drawScene(layout, shown);
  else status.textContent = "this window is too small for the clock: it needs 160 by 80 pixels";
}

async function report(event) {
  try {
    const answer = await fetch("shown", { method: "POST", body: JSON.stringify({ display, ...event }) });
    if (answer.status === 409) status.textContent = "another page shows the events now: close it, or load this one again";
  } catch {
    // The event is not reported; the next exchange of time says why.
  }
}

// A picture drawn here is on the display at the next refresh, or later if the browser was late with that one.
function reportDrawn(interval, at) {
  const { event, wall, error, when } = drawn;
  const waited = Math.max(interval, at - when);
  const uncertainty = error + resolution + waited;
  const words = [error, resolution, waited].map((part) => (part / 1000).toFixed(2));
  status.textContent =
    `event ${event} at ± ${(uncertainty / 1000).toFixed(2)} ms: clock ${words[0]}, timer ${words[1]}, refresh ${words[2]}`;
  report({ event, shown: Math.round(wall), uncertainty: Math.ceil(uncertainty) });
  drawn = null;
}

function frame(stamp) {
  requestAnimationFrame(frame);
  const interval = refresh(stamp);
  const at = now();
  if (drawn) reportDrawn(interval, at);
  const time = clock(at);
  if (!layout || !time) return;
  const wall = at + time.offset;
  const due = upcoming.filter(([event, when]) => event > shown && when <= wall);
  if (due.length) {
    shown = due[due.length - 1][0];
    drawScene(layout, shown);
    drawn = { event: shown, wall, error: time.error, when: at };
  }
  drawStrip(layout, shown, wall);
}

addEventListener("resize", fit);
canvas.addEventListener("click", () => document.documentElement.requestFullscreen?.().catch(() => {}));
fit();
keepTime();
requestAnimationFrame(frame);
