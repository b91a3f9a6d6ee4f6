// The browser's own decoders of sound.

import { type Bytes } from "../src/protocol/bytes.ts";
import { type SoundInfo } from "../src/protocol/unit/sound-info.ts";
import { browserDecodes, browserSoundCodec } from "../src/sound/browser-decoder.ts";
import { soundConfig } from "../src/sound/config.ts";
import { SoundDecoder } from "../src/sound/decoder.ts";
import { type Pcm } from "../src/sound/pcm.ts";
import { REAL_TIME } from "../src/worker/clock.ts";
import { assert, hex, same, testWhere } from "./support/harness.ts";
import { toneAt } from "./support/tone.ts";
import { until } from "./support/virtual-time.ts";

/** The tone of `toneAt` from media time 0 on, as ffmpeg codes it, and when the first packet is (ms). */
const STREAMS = [
  {
    name: "AAC", first: -21.333, length: 1_024,
    info: { codec: "aac", channels: 1, samplesPerSecond: 48_000, samplesPerFrame: 1_024, parameters: hex("1188") },
    packets: [
      "3gIATGF2YzU5LjM3LjEwMAACiJ1RmMS9JYdC68Z8ycarV5IuSSR4RP/Wxksb/u/4c62nKvAx35i8puF/C/VTI2E1c1czt8suXLx4" +
        "1VfKbLl48ePH" +
        "LNNFFx48YpssUUXhvZ3YPj3YPUXVPL3WPVXAeauA83c=",
      "AUSQ2sldVkuLJcQU4b/fjjhta/8eP3861xr/8PH7+da41//av8eda40Nqdm3XMY8NZbLPcKL3+ygYN0D6UK+lA+n01mA+n0+lAH0" +
        "+n0oAzLxA5ao" +
        "vzNUkQhiZ8omfKJny+URMHy+URMHy+XGICy56zgSEhISEhISE8A=",
      "AUruivpmT9P6fr1xxxw8zU01drbl2uwf4Ml9z4+Mxk+8IHxmAz6AMmYDP7gP/Bhn0AD4AHA=",
      "ARQuizpHPf/H/8X/l/v/tEuSSSSSI6IgiiiWvQY0UUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUURRRRRRcA=",
      "ARYuivpm+f+n/1/2/9v8xa5ckkkjnkkg+n03IQoioo10UUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUcA==",
      "ARguivpm+/7//X+f/0/mlySSSSSOa0kHynnSdjZ5555555555555555555551Tzzzzzzzzzzzzz8",
      "ARQui1o3fP+v/1/n/9P8YuSSSSSSQ50Dzzx0qjgeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee4",
      "ARQui3om+/+n/1/3/8v9LSXJJJJJJDngX09KEMIqKKKKDUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUcA=",
    ],
  },
  {
    name: "Opus", first: -6.5, length: 960,
    info: {
      codec: "opus", channels: 1, samplesPerSecond: 48_000, samplesPerFrame: 960,
      parameters: hex("0101380180bb0000000000"),
    },
    packets: [
      "eIOcilZZmogAAhivFOVgEuVbOyO3wAwePq8wfh6q9yqa6A/N3K+ks6O13oWN4vEooZDqk4EAvtFO7/udTocJXSU=",
      "eLFJn1fjKbyZD4RzVFQn+4UL2JU5pyLZDNjV3rr7+z1ax0R6gtDhrKB7PtBgeb5tGuUW9iMk6vwC",
      "eKUbOWk+tPRe1CekNP0re9RPPgDA/7hlFx0FK9effg4tm5oIZ7DeRq6+Xt4HKeJ7E0LPB96biISXRkA=",
      "eKUbOXhciFc2KZ6/M55XV2Zn0UnfA3+Jk6Y586ZS1PR4Yt87wU9a9C8qzT2u91Oj+xt1vJmmDtKOCRsbD5Y=",
      "eKUbN7wXwCUNRuIy0cbyYE2uRCdjW+3MpD36sYePvwx03nGaKAGLrMTqEcc4fh+xvWnNp07AcudKIXsD/w==",
      "eKUbOXhch+aEeKN9Mrkjvs/ioN4P093inm9bXtdcknt9NlOeVgIybneyTwWSvElG/0pGz0gEoDxlR1p1cg==",
      "eKUcDBBZ0mD/+/dpYrPArlyJ1+/RCSU9turNFzIOKyntD5XKCQacmcwNLsd0/GvicHZi",
      "eKUbOWVe3pOkht54GPwULyF6Hp9ccm+ZIZgMZFBrsosfZdvuRKw7+64xlgF4hIQwbMT+IAA=",
    ],
  },
] as const satisfies readonly {
  readonly name: string; readonly first: number; readonly length: number; readonly info: SoundInfo;
  readonly packets: readonly string[];
}[];

/** Where media time 0 of the tone is in the stream (ms). */
const ORIGIN = 1_000;

/** How alike the samples and the tone at their media time are, -1 to 1. */
function alike(pieces: readonly Pcm[]): number {
  let [ours, theirs, both] = [0, 0, 0];
  for (const { at, rate, planes } of pieces) {
    planes[0]?.forEach((value, sample) => {
      const wanted = toneAt(at - ORIGIN + (sample * 1_000) / rate);
      ours += value * value;
      theirs += wanted * wanted;
      both += value * wanted;
    });
  }
  return both / Math.sqrt(ours * theirs);
}

const CODEC = browserSoundCodec();

for (const { name, first, length, info, packets } of STREAMS) {
  const lacks = "there is no AudioDecoder";
  testWhere(CODEC !== undefined, lacks, `${name} comes out of the browser's decoder at its media time`, async () => {
    const config = soundConfig(info);
    assert(config !== undefined && (await browserDecodes(config)), "the browser decodes it");
    const came: Pcm[] = [];
    let dropped = 0;
    const decoder = new SoundDecoder(info, CODEC, {
      sound: (pcm) => came.push(pcm),
      dropped() {
        dropped += 1;
      },
      unable: () => undefined,
    }, REAL_TIME);
    for (const [number, packet] of packets.entries()) {
      const data: Bytes = Uint8Array.from(atob(packet), (character) => character.charCodeAt(0));
      const media = ORIGIN + first + (number * length) / 48;
      decoder.feed(data, BigInt(Math.round(media * 1e6)));
    }
    await until(() => came.length === packets.length, `${name} comes out`);
    decoder.close();
    same(dropped, 0, "dropped packets");
    const likeness = alike(came.slice(2));
    assert(likeness > 0.9, `the tone is where it was: ${likeness}`);
  });
}
