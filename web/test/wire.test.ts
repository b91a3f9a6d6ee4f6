// vectors/control.json, tickets.json, splits.json, the units of datagrams.json: what is parsed, and what is refused.

import { type Bytes } from "../src/protocol/bytes.ts";
import { parseInfo, infoBytes } from "../src/protocol/unit/info.ts";
import { parseSoundInfo, soundInfoBytes } from "../src/protocol/unit/sound-info.ts";
import { joinImage, splitImage } from "../src/protocol/unit/jpeg-split/split.ts";
import { preambleBytes, splitPreamble } from "../src/protocol/unit/preamble.ts";
import { splitUnit, unitHeaderBytes } from "../src/protocol/unit/unit-header.ts";
import { type Control, controlBytes, parseControl } from "../src/protocol/wire/control.ts";
import { selectionToWire } from "../src/protocol/wire/selection.ts";
import { pageLink, parseTicket, revealTicket } from "../src/protocol/wire/ticket.ts";
import { assert, hex, reasonOf, same, sequence, test, toHex } from "./support/harness.ts";
import { type Case, each, vectors } from "./support/vectors.ts";

interface BytesCase extends Case {
  readonly bytes: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}
interface Message extends BytesCase {
  readonly message?: string;
}
interface ControlFile {
  readonly messages: readonly Message[];
  readonly group_messages: readonly Message[];
  readonly codec_configurations: readonly BytesCase[];
  readonly sound_configurations: readonly BytesCase[];
  readonly preambles: readonly (BytesCase & { readonly frame_bytes?: string })[];
}
interface TicketCase extends Case {
  readonly ticket: string;
  readonly host?: string;
  readonly host_kind?: string;
  readonly port?: number;
  readonly peer_id?: string;
  readonly transport?: string;
  readonly transport_written?: boolean;
  readonly latency?: number | null;
  readonly cert_hashes?: readonly string[];
  readonly broadcast?: string | null;
  readonly addresses?: readonly unknown[];
  readonly invite?: string | null;
  readonly page_link?: string | null;
}
interface Split extends Case {
  readonly image: string;
  readonly last: number;
  readonly first?: string;
  readonly others?: string;
}
interface Unit extends BytesCase {
  readonly repair: boolean;
}

/** A message's fields by the names of the vectors. */
function fieldsOf(message: Control): Record<string, unknown> {
  const { type, ...fields } = message;
  switch (message.type) {
    case "selection": {
      const [mode, argument] = selectionToWire(message.selection);
      return { number: message.number, mode, argument };
    }
    case "join":
      return { ...fields, media: ["session", "relay", "relay-enrolled", "sealed"].indexOf(message.media) };
    case "addresses":
      return { addresses: message.addresses.map(toHex) };
    case "gateway":
      return { message: toHex(message.message) };
    case "shape":
      return {
        publisher: [message.publisher.tick, message.publisher.cells, message.publisher.size],
        viewer: [message.viewer.tick, message.viewer.cells, message.viewer.size],
      };
    default:
      assert(type === message.type, "the type is no field");
      return Object.fromEntries(
        Object.entries(fields).map(([name, value]) => [name, value instanceof Uint8Array ? toHex(value) : value]),
      );
  }
}

/** Compares numbers whether they are long or not. */
function plain(value: unknown): unknown {
  if (typeof value === "number") {
    return BigInt(value);
  }
  if (Array.isArray(value)) {
    return value.map(plain);
  }
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([name, field]) => [name, plain(field)]))
    : value;
}

/** Messages of carriers that lose some. On the page's byte streams nobody sends them. */
const OF_DATAGRAMS = [27, 28, 29, 31, 32];
/** What archive's nodes are told. Pages are none. */
const OF_ARCHIVES = [33, 34];
/** Which data channels there are. A page asks for none, and ignores the message. */
const OF_DATA = 40;

async function checkMessages(messages: readonly Message[], run: number, skipped: number): Promise<void> {
  await each(messages, { run, skipped }, async ({ expect, message, fields, bytes }) => {
    if (hex(bytes)[0] === OF_DATA) {
      same(parseControl(hex(bytes)).type, "unknown", "type");
      return false;
    }
    if ([...OF_DATAGRAMS, ...OF_ARCHIVES].includes(hex(bytes)[0] ?? 0)) {
      return false;
    }
    if (expect === "malformed") {
      same(await reasonOf(() => parseControl(hex(bytes)), "message"), "malformed", "reason");
      return true;
    }
    const parsed = parseControl(hex(bytes));
    if (expect === "ignored") {
      same(parsed.type, "unknown", "type");
      return true;
    }
    same(parsed.type, message, "type");
    same(plain(fieldsOf(parsed)), plain(fields), "fields");
    same(toHex(controlBytes(parsed)), bytes, "bytes");
    return true;
  });
}

test("control messages are parsed and made as in the vectors", async () => {
  await checkMessages((await vectors<ControlFile>("control")).messages, 236, 21);
});

test("control messages of groups are parsed and made as in the vectors", async () => {
  await checkMessages((await vectors<ControlFile>("control")).group_messages, 19, 26);
});

test("codec configurations are parsed and made as in the vectors", async () => {
  const { codec_configurations } = await vectors<ControlFile>("control");
  await each(codec_configurations, { run: 26, skipped: 0 }, async ({ expect, fields, bytes }) => {
    if (expect !== "ok") {
      same(await reasonOf(() => parseInfo(hex(bytes)), "configuration"), "malformed", "reason");
      return true;
    }
    const info = parseInfo(hex(bytes));
    const found = {
      codec: ["h264", "mjpeg", "h265", "av1"].indexOf(info.codec) + 1,
      width: info.width,
      height: info.height,
      rate_numerator: info.rate.numerator,
      rate_denominator: info.rate.denominator,
      parameters: toHex(info.parameters),
    };
    same(plain(found), plain(fields), "fields");
    same(toHex(infoBytes(info)), bytes, "bytes");
    return true;
  });
});

test("codec configurations of sound are parsed and made as in the vectors", async () => {
  const { sound_configurations } = await vectors<ControlFile>("control");
  await each(sound_configurations, { run: 30, skipped: 0 }, async ({ expect, fields, bytes }) => {
    if (expect !== "ok") {
      same(await reasonOf(() => parseSoundInfo(hex(bytes)), "configuration"), "malformed", "reason");
      return true;
    }
    const info = parseSoundInfo(hex(bytes));
    const found = {
      codec: 16 + ["aac", "opus", "ulaw", "alaw"].indexOf(info.codec),
      channels: info.channels,
      samples_per_second: info.samplesPerSecond,
      samples_per_frame: info.samplesPerFrame,
      parameters: toHex(info.parameters),
    };
    same(plain(found), plain(fields), "fields");
    same(toHex(soundInfoBytes(info)), bytes, "bytes");
    return true;
  });
});

const STAMPS = ["exposure-start", "frame-end", "arrival"];

test("preambles are parsed and made as in the vectors", async () => {
  const { preambles } = await vectors<ControlFile>("control");
  await each(preambles, { run: 25, skipped: 0 }, async ({ expect, fields, bytes, frame_bytes }) => {
    if (expect !== "ok") {
      same(await reasonOf(() => splitPreamble(hex(bytes)), "preamble"), "malformed", "reason");
      return true;
    }
    const { preamble, data } = splitPreamble(hex(bytes));
    const found = {
      frame: preamble.frame,
      media_time: preamble.mediaTime,
      captured: preamble.captured,
      encoded: preamble.encoded,
      previous_seal: preamble.previousSeal,
      previous_send: preamble.previousSend,
      capture: preamble.capture,
      padding: preamble.padding,
      stamp: STAMPS.indexOf(preamble.stamp) + 1,
      layout: preamble.layout === "source" ? 0 : 1,
      kept: preamble.kept ? 1 : 0,
    };
    same(plain(found), plain(fields), "fields");
    same([toHex(data), toHex(preambleBytes(preamble)) + toHex(data)], [frame_bytes, bytes], "bytes");
    return true;
  });
});

test("tickets are read and written in their one spelling", async () => {
  const { tickets } = await vectors<{ tickets: readonly TicketCase[] }>("tickets");
  await each(tickets, { run: 286, skipped: 0 }, async (one) => {
    if (one.expect !== "ok") {
      same(await reasonOf(() => parseTicket(one.ticket), "ticket"), "ticket", "reason");
      return true;
    }
    const ticket = parseTicket(one.ticket);
    same([ticket.host.name, ticket.host.kind, ticket.port], [one.host, one.host_kind, one.port], "address");
    same([toHex(ticket.peer.bytes), ticket.transport], [one.peer_id, one.transport], "peer and transport");
    same(ticket.latency ?? null, one.latency, "latency");
    same(ticket.certHashes.map(toHex), one.cert_hashes, "certificate hashes");
    same(ticket.broadcast ?? null, one.broadcast, "broadcast");
    const others = ticket.others.map(({ host, port }) => ({ host: host.name, host_kind: host.kind, port }));
    same(others, one.addresses, "further addresses");
    same(ticket.invite ? toHex(ticket.invite.revealBytes()) : null, one.invite, "invite");
    const short = one.transport === "tcp" && others.length === 0;
    const written = short ? one.ticket.replace("?transport=tcp", "") : one.ticket;
    same([revealTicket(ticket), pageLink(ticket) ?? null], [written, one.page_link], "text and link");
    return true;
  });
});

test("the error for a ticket has no part of it", () => {
  const secret = "sealcast://127.0.0.1:9553/aaaa#quitesecretquitesecret";
  try {
    parseTicket(secret);
  } catch (thrown) {
    const text = String(thrown);
    assert(!text.includes("quitesecret") && !text.includes("aaaa"), text);
    return;
  }
  throw new Error("the ticket was accepted");
});

const images = (): Promise<readonly Split[]> => vectors("splits");

test("images are split as in the vectors, and joined again bit for bit", async () => {
  await each(await images(), { run: 24, skipped: 0 }, async ({ expect, image, last, first, others }) => {
    if (expect !== "ok") {
      same(await reasonOf(() => splitImage(hex(image), last), "image"), "not-split", "reason");
      return true;
    }
    const split = splitImage(hex(image), last);
    same(toHex(split.data), `${first ?? ""}${others ?? ""}`, "split");
    same(split.first, (first ?? "").length / 2, "length of the first part");
    same(toHex(joinImage(split.data)), image, "joined");
    return true;
  });
});

test("a split image that was altered is joined to something or refused, and nothing else", async () => {
  const next = sequence(3);
  let refused = 0;
  for (const { image, last, expect } of await images()) {
    if (expect !== "ok") {
      continue;
    }
    const { data } = splitImage(hex(image), last);
    for (let trial = 0; trial < 40; trial += 1) {
      const altered = data.slice(0, trial % 2 === 0 ? data.length : next() % data.length);
      const at = next() % Math.max(1, altered.length);
      altered[at] = (altered[at] ?? 0) ^ (1 << (next() & 7));
      refused += await refusedOrDone(() => joinImage(altered));
    }
  }
  assert(refused > 300, `most are refused, not ${refused} (seed 3)`);
});

async function refusedOrDone(body: () => unknown): Promise<number> {
  let done = false;
  const reason = await reasonOf(() => {
    body();
    done = true;
  }, "altered").catch((error: unknown) => {
    if (!done) {
      throw error;
    }
    return undefined;
  });
  return reason === undefined ? 0 : 1;
}

test("unit headers are parsed and made as in the vectors", async () => {
  const { units } = await vectors<{ units: readonly Unit[] }>("datagrams");
  await each(units, { run: 16, skipped: 0 }, async ({ expect, repair, fields, bytes }) => {
    if (expect !== "ok") {
      same(await reasonOf(() => splitUnit(hex(bytes), repair), "unit"), "malformed", "reason");
      return true;
    }
    const { header, data } = splitUnit(hex(bytes), repair);
    same(plain(header), plain(fields), "fields");
    same(toHex(unitHeaderBytes(header)) + toHex(data), bytes, "bytes");
    return true;
  });
});

test("control messages that were altered or cut are parsed or refused, and nothing else", async () => {
  const { messages, group_messages } = await vectors<ControlFile>("control");
  const next = sequence(5);
  let refused = 0;
  for (const { bytes, expect } of [...messages, ...group_messages]) {
    const whole: Bytes = hex(bytes);
    for (let trial = 0; trial < 60; trial += 1) {
      const altered = whole.slice(0, trial % 2 === 0 ? whole.length : next() % (whole.length + 1));
      const at = next() % Math.max(1, altered.length);
      altered[at] = (altered[at] ?? 0) ^ (1 << (next() & 7));
      refused += await refusedOrDone(() => parseControl(altered));
    }
    assert(expect.length > 0, "each has an expectation");
  }
  assert(refused > 1_000, `many are refused, not ${refused} (seed 5)`);
});
