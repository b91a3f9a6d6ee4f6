// A publisher in TypeScript that serves the page itself. It sends whatever a test wants.

import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";

import { type Carrier, type CarrierEvents } from "../../../src/carrier/carrier.ts";
import { SUBPROTOCOL } from "../../../src/carrier/websocket.ts";
import { type Bytes } from "../../../src/protocol/bytes.ts";
import { DEFAULT_MECHANISMS, DEFAULT_SUITES } from "../../../src/protocol/crypto/policy.ts";
import { generateIdentity } from "../../../src/protocol/keys/identity.ts";
import { HelloKeys } from "../../../src/protocol/keys/psk.ts";
import { Session } from "../../../src/protocol/session/session.ts";
import { type StreamInfo } from "../../../src/protocol/unit/info.ts";
import { type SoundInfo } from "../../../src/protocol/unit/sound-info.ts";
import { Close } from "../../../src/protocol/wire/control.ts";
import { readClocks } from "../../../src/worker/clock.ts";
import { SessionDriver } from "../../../src/worker/driver.ts";
import { BUILT, EMBEDDED, FILES, FROM_DIST } from "./built-page.ts";
import { FrameReader, Opcode, serverFrame, upgradeAnswer } from "./websocket.ts";

const HOST = "127.0.0.1";
const PIECE = 32_768;
const STREAM = 1;
const SOUND = 2;
/** Nanoseconds of media time between two frames of which a test says nothing. */
const INTERVAL = 40_000_000n;
/** The program's content policy and headers, without which the page is another one. */
const HEADERS = {
  "content-security-policy": "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; " +
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp",
  "cross-origin-resource-policy": "same-origin", "referrer-policy": "no-referrer", "cache-control": "no-store",
};

/** A WebSocket of the server as a carrier, of one publisher or of several: all of them hear what comes. */
class ServerCarrier implements Carrier {
  readonly kind = "websocket";
  readonly #socket: Socket;
  /** True where the socket is this carrier's to close: one who is not addressed says nothing, and leaves it. */
  #own: boolean;

  constructor(socket: Socket, alone: boolean) {
    this.#socket = socket;
    this.#own = alone;
  }

  receive(events: CarrierEvents): void {
    const frames = new FrameReader();
    this.#socket.on("data", (piece) => {
      frames.push(piece);
      for (let frame = frames.next(); frame !== undefined; frame = frames.next()) {
        if (frame.opcode === Opcode.Binary || frame.opcode === Opcode.Continuation) {
          void events.bytes(Uint8Array.from(frame.payload));
        } else if (frame.opcode === Opcode.Close) {
          this.close();
        }
      }
    });
    this.#socket.on("error", () => undefined);
    this.#socket.on("close", () => {
      events.closed(true);
    });
  }

  send(piece: Bytes): void {
    this.#own = true;
    for (let at = 0; at < piece.length; at += PIECE) {
      this.#socket.write(serverFrame(Opcode.Binary, piece.subarray(at, at + PIECE)));
    }
  }

  get backlog(): number {
    return this.#socket.writableLength;
  }

  close(): void {
    if (this.#own && this.#socket.writable) {
      this.#socket.end(serverFrame(Opcode.Close, Buffer.alloc(0)));
    }
  }
}

/** One viewer, to whom anything can be sent. */
export class Viewer {
  /** The camera that it wants; empty for any. */
  readonly camera: string;
  readonly #driver: SessionDriver;
  #frame = 0n;
  #packet = 0n;

  constructor(driver: SessionDriver, camera: string) {
    this.#driver = driver;
    this.camera = camera;
  }

  /** True once nobody watches any more. */
  get isOver(): boolean {
    return this.#driver.isOver;
  }

  /** Which cameras there are, or whether this one is on. */
  tellOfCameras(message: Parameters<Session["tellOfCameras"]>[1]): Promise<void> {
    return this.#driver.step((session, now) => session.tellOfCameras(now, message));
  }

  /** A codec configuration. */
  describe(info: Omit<StreamInfo, "rate">): Promise<void> {
    const rate = { numerator: 25, denominator: 1 };
    return this.#driver.step((session, now) => session.sealInfo(now, STREAM, { ...info, rate }));
  }

  /** The description of sound. */
  describeSound(info: SoundInfo): Promise<void> {
    return this.#driver.step((session, now) => session.sealSoundInfo(now, info));
  }

  /** A frame with these bytes, which may be anything. */
  frame(data: Uint8Array, keyframe: boolean, mediaTime = this.#frame * INTERVAL): Promise<void> {
    return this.#send(STREAM, data, keyframe, this.#frame++, mediaTime);
  }

  /** A packet of sound. */
  sound(data: Uint8Array, mediaTime: bigint): Promise<void> {
    return this.#send(SOUND, data, true, this.#packet++, mediaTime);
  }

  #send(stream: number, data: Uint8Array, keyframe: boolean, frame: bigint, mediaTime: bigint): Promise<void> {
    return this.#driver.step((session, now) => session.sealFrame(now, {
      stream, keyframe, data: Uint8Array.from(data),
      stamps: {
        frame, mediaTime, captured: now.wall, encoded: now.wall, previousSeal: 0, previousSend: 0,
        capture: 0, stamp: "arrival",
      },
    }));
  }
}

/** Serves the page and publishes to everybody who has a link: one publisher, or several at one address. */
export class PagePublisher {
  readonly link: string;
  readonly links: readonly string[];
  readonly #server: Server;
  readonly #sockets: Set<Socket>;

  private constructor(server: Server, sockets: Set<Socket>, links: readonly string[]) {
    this.#server = server;
    this.#sockets = sockets;
    this.links = links;
    this.link = links[0] ?? "";
  }

  /**
   * `publish` sends to one viewer; it ends when the viewer is gone. `lacks` says why a camera of this name is not
   * offered, if it is not. Of several publishers `publish` is told which it is.
   */
  static async start(
    publish: (viewer: Viewer, at: number) => Promise<void>,
    lacks: (camera: string) => string | undefined = () => undefined, count = 1,
  ): Promise<PagePublisher> {
    const identities = await Promise.all(Array.from({ length: count }, () => generateIdentity()));
    const handshakes = await Promise.all(identities.map(async (identity) => ({
      role: "publisher", identity, helloKeys: await HelloKeys.create(identity.peerId, []), suites: DEFAULT_SUITES,
      mechanisms: DEFAULT_MECHANISMS,
    } as const)));
    const server = createServer((request, response) => void serve(request, response));
    const sockets = new Set<Socket>();
    server.on("connection", (socket: Socket) => sockets.add(socket));
    server.on("upgrade", (request: IncomingMessage, socket: Socket) => {
      socket.write(upgradeAnswer(request.headers["sec-websocket-key"] ?? "", SUBPROTOCOL));
      handshakes.forEach((handshake, at) => {
        const random = crypto.getRandomValues(new Uint8Array(32));
        const session = Session.respond({ handshake, side: "responder" }, random, readClocks());
        const driver: SessionDriver = new SessionDriver(session, new ServerCarrier(socket, count === 1), {
          event(event) {
            if (event.type === "peer-proved") {
              const camera = event.peer.wish?.camera ?? "";
              const why = lacks(camera);
              if (why !== undefined) {
                void driver.close(Close.NotOffered, why);
                return;
              }
              void driver.step((one, now) => one.admit(now)).then(() => publish(new Viewer(driver, camera), at))
                // The viewer may leave at any time; a test sees at the page what is missing then.
                .catch(() => undefined);
            }
          },
          media: () => undefined,
          over: () => undefined,
        });
      });
    });
    await new Promise<void>((done) => server.listen(0, HOST, done));
    const { port } = server.address() as AddressInfo;
    const address = `${HOST}:${port}`;
    const links = identities.map(({ peerId }) =>
      `http://${address}/#sealcast://${address}/${peerId.toString()}?transport=http`);
    return new PagePublisher(server, sockets, links);
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) {
      socket.destroy();
    }
  }
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const file = FILES.get((request.url ?? "").replace(/\?.*/, ""));
  if (file === undefined) {
    response.writeHead(404).end();
    return;
  }
  const body = await readFile(join(FROM_DIST ? BUILT : EMBEDDED, file.name));
  response.writeHead(200, { ...HEADERS, "content-type": file.type }).end(body);
}
