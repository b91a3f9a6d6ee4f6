// What opening records costs: processor time of a viewer's session for records of two lengths. `npm run bench`.

import { type Bytes } from "../src/protocol/bytes.ts";
import { Pair, frame } from "../test/support/pair.ts";

const RECORDS = 5_000;

/** The messages of a publisher with frames of this length, and the viewer for them. */
async function prepared(length: number): Promise<{ pair: Pair; messages: Bytes[] }> {
  const messages: Bytes[] = [];
  const pair = await Pair.begin({
    tamper: (message, from, index) => {
      if (from === "responder" && index > 1) {
        messages.push(message);
        return undefined;
      }
      return message;
    },
  });
  await pair.run();
  for (let number = 0; number < RECORDS; number += 1) {
    await pair.publisher.session.sealFrame(pair.now, frame(number, number === 0, length));
    await pair.run();
  }
  return { pair, messages };
}

for (const length of [1_200, 20_000]) {
  const { pair, messages } = await prepared(length);
  const { session } = pair.viewer;
  const [began, before] = [performance.now(), process.cpuUsage()];
  let frames = 0;
  for (const message of messages) {
    await session.message(pair.now, message);
    for (let output = session.poll(); output !== undefined; output = session.poll()) {
      frames += output.type === "media" ? 1 : 0;
    }
  }
  const { user, system } = process.cpuUsage(before);
  const [cpu, wall] = [(user + system) / frames, ((performance.now() - began) * 1_000) / frames];
  const line = `${length} bytes: ${cpu.toFixed(1)} µs of processor, ${wall.toFixed(1)} µs of time a record`;
  process.stdout.write(`${line}; 1000 a second take ${(cpu / 10).toFixed(1)} % of a core (${frames} records)\n`);
}
