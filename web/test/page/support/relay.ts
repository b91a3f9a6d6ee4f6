// The real relay for Media over QUIC, where there is one.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { assert } from "../../support/harness.ts";
import { SKIP } from "./browser.ts";

const PROGRAM = process.env["MOQ_RELAY"] ?? "";
const HOST = "127.0.0.1";

/** Why tests with a relay cannot run here; `false` if they can. */
export const SKIP_RELAY: string | false = missing() ?? SKIP;

function missing(): string | undefined {
  if (PROGRAM === "") {
    return "not run: set MOQ_RELAY to the path of a moq-relay 0.17, as `cargo xtask relay` does";
  }
  if (!existsSync(PROGRAM)) {
    return `not run: there is no relay at ${PROGRAM}`;
  }
  return spawnSync("sealcast-moq", ["--version"]).error === undefined
    ? undefined : "not run: the relay client sealcast-moq is not in PATH";
}

async function freePort(): Promise<number> {
  const socket = createSocket("udp4");
  await new Promise<void>((resolve) => socket.bind(0, HOST, resolve));
  const { port } = socket.address();
  await new Promise<void>((resolve) => {
    socket.close(resolve);
  });
  return port;
}

/** A relay on a port of this machine, with a certificate that browsers take by its hash. */
export class Relay {
  readonly #config: string;
  readonly #origin: string;
  readonly #hash: string | undefined;
  #process: ChildProcess | undefined;

  private constructor(config: string, origin: string, hash: string | undefined) {
    this.#config = config;
    this.#origin = origin;
    this.#hash = hash;
  }

  /** Starts one that browsers reach by a WebSocket alone: QUIC has another port. */
  static async overTcp(folder: string, { cert, key }: { cert: string; key: string }): Promise<Relay> {
    const [udp, tcp] = [await freePort(), await freePort()];
    const config = join(folder, "relay.toml");
    await writeFile(config, `[listen]\nbind = "${HOST}:${udp}"\n[listen.tls]\ncert = ["${cert}"]\nkey = ["${key}"]\n` +
      `[web.https]\nlisten = "${HOST}:${tcp}"\ncert = "${cert}"\nkey = "${key}"\n[auth]\npublic = "**"\n`);
    const relay = new Relay(config, `https://${HOST}:${tcp}`, undefined);
    relay.run();
    return relay;
  }

  /** Starts one. Its files are in this folder. */
  static async start(folder: string): Promise<Relay> {
    // It reads its certificate anew with every change beside it, so that has a folder of its own.
    const own = join(folder, "certificate");
    await mkdir(own);
    const [cert, key] = [join(own, "cert.pem"), join(own, "key.pem")];
    const { status, stderr } = spawnSync("openssl", [
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "10",
      "-subj", `/CN=${HOST}`, "-addext", `subjectAltName=IP:${HOST}`, "-keyout", key, "-out", cert,
    ], { encoding: "utf8" });
    assert(status === 0, `openssl makes a certificate: ${stderr}`);
    const hash = new X509Certificate(await readFile(cert)).fingerprint256.replaceAll(":", "").toLowerCase();
    const port = await freePort();
    const config = join(folder, "relay.toml");
    await writeFile(config, `[listen]\nbind = "${HOST}:${port}"\n[listen.tls]\ncert = ["${cert}"]\nkey = ["${key}"]\n` +
      '[auth]\npublic = "**"\n');
    const relay = new Relay(config, `https://${HOST}:${port}`, hash);
    relay.run();
    return relay;
  }

  /** The address of a broadcast, as `--relay` takes it. */
  url(name: string): string {
    return `${this.#origin}/${name}${this.#hash === undefined ? "" : `#sha256=${this.#hash}`}`;
  }

  /** Starts it, again on the same port; what it had is forgotten. */
  run(): void {
    this.#process = spawn(PROGRAM, [this.#config], { stdio: "ignore" });
  }

  /** Kills it, without a word to anybody. */
  async kill(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running?.exitCode === null) {
      running.kill("SIGKILL");
      await once(running, "exit");
    }
  }
}
