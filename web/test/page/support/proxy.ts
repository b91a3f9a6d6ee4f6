// Somebody on the path between browser and program: passes everything on, or tampers with what the program sends.

import { type RemoteInfo, type Socket as UdpSocket, createSocket } from "node:dgram";
import { type AddressInfo, type Server, type Socket, connect, createServer } from "node:net";

import { sequence } from "../../support/harness.ts";
import { FrameReader, Opcode, serverFrame } from "./websocket.ts";

/** What becomes of a message of the program on a WebSocket: the messages that the browser gets in its place. */
export type Tamper = (message: Buffer, at: Place) => readonly Buffer[];

/** Which message it is. */
export interface Place {
  /** Counts WebSockets from 0. */
  readonly socket: number;
  /** Counts media records with a frame on this WebSocket from 0; `undefined` for all other messages. */
  readonly frame: number | undefined;
}

/** What somebody on the path does. */
export interface Interference {
  readonly tamper?: Tamper;
  /** Loses, or flips a bit of, this share of the datagrams each way, chosen by a generator with this seed. */
  readonly datagrams?: { readonly harm: "lose" | "flip"; readonly share: number; readonly seed: number };
}

const LENGTH_PREFIX = 4;
const MEDIA = 0x10;
const CODEC_CONFIG = 0x20;
/** Bytes of a WebSocket message, fewer than the 65 536 that are allowed. */
const PIECE = 32_768;
const HOST = "127.0.0.1";

/** Sockets that were open and are closed with the proxy. */
type Closer = () => void;

/** A proxy on one port number, for TCP and for UDP. */
export class Proxy {
  readonly port: number;
  /** Datagrams that came, and those of them that were lost or altered. */
  readonly datagrams = { came: 0, harmed: 0 };
  readonly #tcp: Server;
  readonly #udp: UdpSocket;
  readonly #closers = new Set<Closer>();

  private constructor(port: number, tcp: Server, udp: UdpSocket) {
    this.port = port;
    this.#tcp = tcp;
    this.#udp = udp;
  }

  /** Stands in front of this port of this machine. */
  static async before(target: number, interference: Interference = {}): Promise<Proxy> {
    for (;;) {
      const tcp = createServer({ noDelay: true });
      await new Promise<void>((done) => tcp.listen(0, HOST, done));
      const { port } = tcp.address() as AddressInfo;
      const udp = createSocket({ type: "udp4", recvBufferSize: 1 << 20, sendBufferSize: 1 << 20 });
      const bound = await new Promise<boolean>((done) => {
        udp.once("error", () => {
          done(false);
        });
        udp.bind(port, HOST, () => {
          done(true);
        });
      });
      if (bound) {
        const proxy = new Proxy(port, tcp, udp);
        proxy.#serveTcp(target, interference.tamper);
        proxy.#serveUdp(target, interference.datagrams);
        return proxy;
      }
      // The same number is taken for UDP: another one.
      tcp.close();
    }
  }

  close(): void {
    this.#tcp.close();
    this.#udp.close();
    for (const close of this.#closers) {
      close();
    }
  }

  #serveTcp(target: number, tamper: Tamper | undefined): void {
    let sockets = 0;
    this.#tcp.on("connection", (browser) => {
      const program = connect({ host: HOST, port: target, noDelay: true });
      this.#join(browser, program);
      browser.pipe(program);
      if (tamper === undefined) {
        program.pipe(browser);
        return;
      }
      const onPath = new OnPath(tamper, () => sockets++);
      program.on("data", (piece) => {
        browser.write(onPath.take(piece));
      });
      program.on("end", () => browser.end());
    });
  }

  /** Two sockets that end together. */
  #join(one: Socket, other: Socket): void {
    const end = (): void => {
      one.destroy();
      other.destroy();
      this.#closers.delete(end);
    };
    this.#closers.add(end);
    for (const socket of [one, other]) {
      socket.on("error", end);
      socket.on("close", end);
    }
  }

  #serveUdp(target: number, harm: Interference["datagrams"]): void {
    const random = sequence(harm?.seed ?? 0);
    /** What goes on of a datagram: nothing if it is lost. */
    const passed = (datagram: Buffer): Buffer | undefined => {
      this.datagrams.came += 1;
      if (harm === undefined || random() >= harm.share * 2 ** 32) {
        return datagram;
      }
      this.datagrams.harmed += 1;
      if (harm.harm === "lose") {
        return undefined;
      }
      const at = random() % datagram.length;
      datagram[at] = (datagram[at] ?? 0) ^ (1 << (random() % 8));
      return datagram;
    };
    const ways = new Map<number, UdpSocket>();
    const wayOf = (from: RemoteInfo): UdpSocket => {
      const known = ways.get(from.port);
      if (known !== undefined) {
        return known;
      }
      const way = createSocket({ type: "udp4", recvBufferSize: 1 << 20, sendBufferSize: 1 << 20 });
      way.on("message", (datagram) => {
        const on = passed(datagram);
        if (on !== undefined) {
          this.#udp.send(on, from.port, HOST);
        }
      });
      // Nobody listens there any more.
      way.on("error", () => undefined);
      this.#closers.add(() => {
        way.close();
      });
      ways.set(from.port, way);
      return way;
    };
    this.#udp.on("message", (datagram, from) => {
      const on = passed(datagram);
      if (on !== undefined) {
        wayOf(from).send(on, target, HOST);
      }
    });
  }
}

/** One connection, from the program to the browser. */
class OnPath {
  readonly #tamper: Tamper;
  readonly #number: () => number;
  readonly #frames = new FrameReader();
  #head: Buffer = Buffer.alloc(0);
  /** Number of the WebSocket, once the connection has become one. */
  #socket: number | undefined;
  #messages: Buffer = Buffer.alloc(0);
  #media = 0;

  constructor(tamper: Tamper, number: () => number) {
    this.#tamper = tamper;
    this.#number = number;
  }

  /** What goes on to the browser for a piece of the program's. */
  take(piece: Buffer): Buffer {
    if (this.#socket !== undefined) {
      this.#frames.push(piece);
      return this.#pass(this.#socket);
    }
    this.#head = Buffer.concat([this.#head, piece]).subarray(-4_096);
    const upgraded = this.#head.indexOf("HTTP/1.1 101", 0, "latin1");
    const end = upgraded < 0 ? -1 : this.#head.indexOf("\r\n\r\n", upgraded, "latin1");
    if (end < 0) {
      return piece;
    }
    const after = this.#head.subarray(end + 4);
    this.#socket = this.#number();
    this.#frames.push(after);
    return Buffer.concat([piece.subarray(0, piece.length - after.length), this.#pass(this.#socket)]);
  }

  #pass(socket: number): Buffer {
    const out: Buffer[] = [];
    for (let frame = this.#frames.next(); frame !== undefined; frame = this.#frames.next()) {
      if (frame.opcode === Opcode.Binary || frame.opcode === Opcode.Continuation) {
        out.push(...this.#bytes(socket, frame.payload));
      } else {
        out.push(frame.raw);
      }
    }
    return Buffer.concat(out);
  }

  /** A piece of the byte stream that the WebSocket carries. */
  #bytes(socket: number, piece: Buffer): Buffer[] {
    this.#messages = Buffer.concat([this.#messages, piece]);
    const out: Buffer[] = [];
    while (this.#messages.length >= LENGTH_PREFIX) {
      const end = LENGTH_PREFIX + this.#messages.readUInt32BE(0);
      if (this.#messages.length < end) {
        break;
      }
      const message = Buffer.from(this.#messages.subarray(LENGTH_PREFIX, end));
      this.#messages = this.#messages.subarray(end);
      const isFrame = message[0] === MEDIA && ((message[1] ?? 0) & CODEC_CONFIG) === 0;
      const frame = isFrame ? this.#media++ : undefined;
      out.push(...this.#tamper(message, { socket, frame }).flatMap(framed));
    }
    return out;
  }
}

/** A message behind its length, in WebSocket messages. */
function framed(message: Buffer): Buffer[] {
  const length = Buffer.alloc(LENGTH_PREFIX);
  length.writeUInt32BE(message.length);
  const bytes = Buffer.concat([length, message]);
  const count = Math.ceil(bytes.length / PIECE);
  return Array.from({ length: count }, (_, at) =>
    serverFrame(Opcode.Binary, bytes.subarray(at * PIECE, (at + 1) * PIECE)));
}
