"use strict";
const $ = (id) => document.getElementById(id);
const say = (id, text) => { const at = $(id); if (at.textContent !== text) at.textContent = text; };

const steps = {
  capture: "from the beginning of the picture until it is complete",
  encode: "from the picture to the coded frame",
  queue: "waiting to be sealed",
  seal: "encrypting and authenticating all records of the frame",
  send: "handing the records to the operating system",
  network: "until the last byte has arrived",
  reassembly: "waiting for earlier frames",
  open: "verifying and decrypting the records of the frame that came last",
  wait: "waiting for the viewer's thread",
  decode: "from the frame to the picture",
  present: "passing the picture to this page",
};
const counts = ["captured", "sealed", "sent", "received", "opened", "decoded", "refused", "dropped"];

function time(us) {
  const size = Math.abs(us);
  if (size >= 1e6) return `${(us / 1e6).toFixed(2)} s`;
  if (size >= 1e4) return `${(us / 1e3).toFixed(1)} ms`;
  if (size >= 1e3) return `${(us / 1e3).toFixed(2)} ms`;
  return `${us.toFixed(size >= 100 ? 0 : 1)} µs`;
}
const whole = (n) => Math.round(n).toLocaleString("en").replaceAll(",", "\u202f");
function bytes(n) {
  if (n >= 1e6) return `${(n / 1e6).toFixed(1)} MB`;
  return n >= 1e4 ? `${(n / 1e3).toFixed(1)} kB` : `${whole(n)} bytes`;
}

// Position of a time on the logarithmic scale from 1 µs to 1 s, in percent.
const place = (us) => Math.min(100, Math.max(0, Math.log10(Math.max(us, 1)) / 6 * 100));

function row(name, title, spread, kind) {
  const tr = document.createElement("tr");
  tr.className = kind;
  tr.title = title;
  for (const text of [name, time(spread.p50_us), time(spread.p99_us), time(spread.max_us), whole(spread.samples)]) {
    tr.insertCell().textContent = text;
  }
  const cell = tr.insertCell();
  cell.className = "scale";
  const strip = cell.appendChild(document.createElement("div"));
  strip.className = "strip";
  const bar = strip.appendChild(document.createElement("i"));
  bar.style.left = `${place(spread.p50_us)}%`;
  bar.style.width = `${place(spread.p99_us) - place(spread.p50_us)}%`;
  strip.appendChild(document.createElement("u")).style.left = `${place(spread.max_us)}%`;
  return tr;
}

function showStages(stats) {
  const crypto = { seal: "crypto", open: "crypto" };
  const rows = stats.stages.map((s) => row(s.stage, steps[s.stage], s, crypto[s.stage] || ""));
  if (stats.end_to_end) {
    rows.push(row("picture to picture", "from the beginning of the picture until it is passed to this page", stats.end_to_end, "total"));
  }
  $("stages").replaceChildren(...rows);
}

function showPrice(price) {
  if (!price) return;
  const d = price.difference;
  const none = d.low_us <= 0 && d.high_us >= 0;
  say("price", `${d.median_us < 0 ? "−" : "+"}${time(Math.abs(d.median_us))}`);
  say("interval", `95 % confidence: ${time(d.low_us)} to ${time(d.high_us)}, from ${whole(price.pairs)} pairs` +
    (none ? ". The interval includes zero: no difference found." : "."));
  const full = Math.max(price.unsealed_us, price.sealed_us);
  for (const id of ["unsealed", "sealed"]) {
    $(`${id}-bar`).style.width = `${price[`${id}_us`] / full * 100}%`;
    say(id, time(price[`${id}_us`]));
  }
  $("pair").hidden = false;
  const part = d.median_us / price.frame_interval_us * 100;
  say("share", `That is ${part.toPrecision(2)} % of the ${time(price.frame_interval_us)} from frame to frame.`);
  // The cost of sealing is measured even before a viewer connects; until then no frame has been sent.
  if (price.frame_bytes === 0) return;
  const more = price.added_bytes / price.frame_bytes * 100;
  say("added", `On the wire it adds ${bytes(price.added_bytes)} to a frame of ${bytes(price.frame_bytes)}: ` +
    `${more.toPrecision(2)} %.`);
}

function list(id, pairs) {
  $(id).replaceChildren(...pairs.flatMap(([name, value, bad]) => {
    const dt = document.createElement("dt");
    const dd = document.createElement("dd");
    dt.textContent = name;
    dd.textContent = value;
    if (bad) dd.className = "bad";
    return [dt, dd];
  }));
}

function showSession({ session, machine }) {
  const known = (value, text) => value === null ? "not measurable here" : text(value);
  list("session", [
    ["suite", session.suite],
    ["key exchange", session.mechanism],
    ["epoch", `${session.epoch}, after ${session.rekeys} ${session.rekeys === 1 ? "rekey" : "rekeys"}`],
    ["handshake", session.handshake_us === null ? "none yet" : time(session.handshake_us)],
    ["processor", known(machine.cpu_percent, (v) => `${v.toFixed(1)} % of a core`)],
    ["memory", known(machine.memory_bytes, bytes)],
    ["temperature", known(machine.temperature_celsius, (v) => `${v.toFixed(1)} °C`)],
    ["H.264 codec", known(machine.codec_assembly, (v) => v ? "with assembly" : "without assembly: 2.5 times slower")],
  ]);
}

const form = $("selection");
form.addEventListener("change", async () => {
  const wanted = new FormData(form).get("selection");
  const answer = await fetch("selection", { method: "PUT", body: wanted }).catch(() => null);
  say("choice", !answer ? "the demo does not answer" : answer.ok ? "" : await answer.text());
});

function showEavesdropper({ selection, known_percent: known }) {
  for (const choice of form.elements.selection) choice.checked = choice.value === selection;
  say("known", known < 0.05 ? "nothing is in clear, so there is none" : `made of the ${known.toFixed(0)} % of bytes in clear`);
}

function show(stats) {
  say("source", stats.source);
  say("transport", stats.transport);
  const seconds = Math.floor(stats.running_seconds);
  const clock = [seconds / 3600, seconds / 60 % 60, seconds % 60].map((n) => String(Math.floor(n)).padStart(2, "0"));
  $("status").className = "live";
  say("status", `live for ${clock.join(":")}`);
  showStages(stats);
  showPrice(stats.price);
  const shown = (name) => name === "refused" && stats.frames[name] > 0;
  list("frames", counts.map((name) => [name, whole(stats.frames[name]), shown(name)]));
  showSession(stats);
  showEavesdropper(stats.eavesdropper);
  const apart = stats.clock_uncertainty_us;
  say("clock", apart === null ? "" : apart === 0 ? "Both ends read the same clock." :
    `The clocks of the two ends may differ by ${time(apart)}, and the network time is as uncertain.`);
}

const events = new EventSource("events");
let lost = false;
events.onmessage = (event) => {
  if (lost) {
    // The MJPEG streams ended with the connection; request new ones.
    for (const image of document.images) image.src = `${image.getAttribute("src").split("?")[0]}?${Date.now()}`;
    lost = false;
  }
  show(JSON.parse(event.data));
};
events.onerror = () => {
  lost = true;
  $("status").className = "lost";
  say("status", "the demo does not answer: it has ended, or is starting");
};
