// What the demo lets its user choose, and what each choice does.

/** A choice: its value as the program knows it, its name, and its effect in one sentence. */
export interface Choice {
  readonly value: string;
  readonly name: string;
  readonly effect: string;
}

/** What is encrypted; docs/selection.md has the figures. */
export const SELECTIONS: readonly Choice[] = [
  {
    value: "all", name: "everything",
    effect: "Somebody on the way learns sizes and times, and has no picture.",
  },
  {
    value: "level:3", name: "level 3: headers and intra macroblocks",
    effect: "Motion and differences go in clear. No attacker of ours made a picture of it, but it is more work than " +
      "encrypting everything.",
  },
  {
    value: "level:2", name: "level 2: headers and the begin of intra pictures",
    effect: "The rest goes in clear: an attacker who guesses the headers may see outlines of what moves.",
  },
  {
    value: "headers", name: "headers only",
    effect: "Headers are easy to guess: an attacker may see outlines of what moves.",
  },
  {
    value: "keyframes", name: "keyframes only",
    effect: "All pictures between them go in clear: what moves shows, and after a while most of the scene.",
  },
  {
    value: "rate:50", name: "half of the frames, at random",
    effect: "The other half goes in clear and shows nearly everything.",
  },
  {
    value: "none", name: "nothing",
    effect: "Everybody on the way watches. What is altered is refused all the same.",
  },
];

/** Suites that a browser has too. */
export const SUITES: readonly Choice[] = [
  {
    value: "aes-256-gcm", name: "AES-256-GCM",
    effect: "AES with keys of 256 bits encrypts and authenticates each record.",
  },
  {
    value: "aes-128-gcm", name: "AES-128-GCM",
    effect: "AES with keys of 128 bits encrypts and authenticates each record, with somewhat less work.",
  },
];

/** Shapes of the traffic; docs/shaping.md has what they hide and cost. */
export const SHAPES: readonly Choice[] = [
  {
    value: "off", name: "as the camera makes it",
    effect: "Each record is as long as its frame, so sizes and times tell when something moves.",
  },
  {
    value: "pad:padme", name: "padded",
    effect: "Lengths are rounded up, by 12 % at most: exact sizes are hidden, movement is not.",
  },
  {
    value: "constant:2mbit", name: "constant, 2 Mbit/s",
    effect: "Equal records at fixed times: somebody on the way learns only that there is a stream. Frames take longer.",
  },
  {
    value: "constant:4mbit", name: "constant, 4 Mbit/s",
    effect: "Equal records at fixed times: somebody on the way learns only that there is a stream. Frames take " +
      "longer, but less than at 2 Mbit/s.",
  },
];

/** The steps of a frame in the program, and from when until when each lasts. */
export const STEPS: Readonly<Record<string, string>> = {
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
  present: "passing the picture on",
};
