// Which carrier a page ends up with.

import { type Carrier, CarrierError } from "../src/carrier/carrier.ts";
import { type Ways, connect } from "../src/carrier/connect.ts";
import { same, test } from "./support/harness.ts";
import { VirtualTime, breathe } from "./support/virtual-time.ts";

/** One way, and what a test does with it. */
class Way {
  signal: AbortSignal | undefined;
  closed = 0;
  succeed: () => void = () => undefined;
  fail: () => void = () => undefined;

  constructor(private readonly kind: Carrier["kind"]) {}

  readonly open = (signal: AbortSignal): Promise<Carrier> => {
    this.signal = signal;
    return new Promise((resolve, reject) => {
      this.succeed = () => {
        const close = (): void => {
          this.closed += 1;
        };
        resolve({ kind: this.kind, backlog: 0, receive: () => undefined, send: () => undefined, close });
      };
      this.fail = () => {
        reject(new CarrierError("the server did not accept it"));
      };
    });
  };
}

interface Race {
  readonly transport: Way;
  readonly socket: Way;
  readonly time: VirtualTime;
  readonly stop: AbortController;
  readonly result: Promise<string>;
}

async function begin(choice: Parameters<typeof connect>[0], none?: string): Promise<Race> {
  const [transport, socket, time] = [new Way("webtransport"), new Way("websocket"), new VirtualTime()];
  const ways: Ways = { webtransport: none ?? transport.open, websocket: socket.open };
  const stop = new AbortController();
  const result = connect(choice, ways, stop.signal, time).then(
    ({ kind }) => kind as string, (error: unknown) => (error as CarrierError).message,
  );
  await breathe();
  return { transport, socket, time, stop, result };
}

test("WebTransport is alone for 300 ms, and wins if it comes", async () => {
  const { transport, socket, time, result } = await begin("auto");
  await time.pass(299);
  same([transport.signal?.aborted, socket.signal], [false, undefined], "alone");
  transport.succeed();
  same(await result, "webtransport", "winner");
  await time.pass(20_000);
  same([socket.signal, transport.closed], [undefined, 0], "nothing else is tried");
});

test("a WebSocket runs after 300 ms, or at once where WebTransport fails, and the loser is closed", async () => {
  const slow = await begin("auto");
  await slow.time.pass(300);
  slow.socket.succeed();
  same(await slow.result, "websocket", "winner");
  same(slow.transport.signal?.aborted, true, "the other is given up");
  slow.transport.succeed();
  await breathe();
  same(slow.transport.closed, 1, "and closed if it comes nevertheless");
  const failing = await begin("auto");
  failing.transport.fail();
  await breathe();
  failing.socket.succeed();
  same(await failing.result, "websocket", "at once");
  const none = await begin("auto", "this browser has none");
  none.socket.succeed();
  same(await none.result, "websocket", "without WebTransport");
});

test("an error says what was tried and why it failed", async () => {
  const both = await begin("auto");
  both.transport.fail();
  await breathe();
  both.socket.fail();
  const said = "WebTransport: the server did not accept it; WebSocket: the server did not accept it";
  same(await both.result, said, "both");
  const late = await begin("auto");
  await late.time.pass(12_000);
  same(await late.result, "WebTransport: no answer in 10 s; WebSocket: no answer in 10 s", "time is up");
  const alone = await begin("webtransport", "this browser has none");
  same(await alone.result, "WebTransport: this browser has none", "one alone");
  const socket = await begin("websocket");
  same(socket.transport.signal, undefined, "not tried");
  socket.socket.fail();
  same(await socket.result, "WebSocket: the server did not accept it", "the other alone");
});

test("an attempt that is not wanted any more ends, and what it opens is closed", async () => {
  const { transport, socket, stop, result } = await begin("auto");
  stop.abort();
  same((await result).startsWith("WebTransport: it was not wanted any more"), true, "error");
  transport.succeed();
  await breathe();
  same([transport.closed, socket.signal], [1, undefined], "closed");
});
