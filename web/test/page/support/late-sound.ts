/** Recordings of sound that begins when a browser has opened its microphone. */

import { assert } from "../../support/harness.ts";

/** How often a busy machine may have the sound begin too late. */
const TRIES = 5;

/** The words of a file that has no track for sound which begins after the picture's first second. */
const TOO_LATE = "sound is left out from here on: it began or changed too late";

/** True if the log of a program that recorded says that the sound began too late. */
export function beganTooLate(log: string): boolean {
  return log.includes(TOO_LATE);
}

/** Records until the sound begins in time. `records` returns false if it did not. */
export async function untilInTime(records: () => Promise<boolean>): Promise<void> {
  let tries = 1;
  while (!await records()) {
    assert(tries < TRIES, `the sound began too late ${tries} times`);
    tries += 1;
  }
}
