// The pages of the clock and of the laboratory's reports have no serious fault of accessibility either.

import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { type Server, createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { Program, withFolder, within } from "../node/program.ts";
import { assert, same } from "../support/harness.ts";
import { inspect } from "./support/axe.ts";
import { BINARY, OPTIONS, withProfile } from "./support/browser.ts";

const LAB = join(dirname(BINARY), "sealcast-lab");
const SKIP_LAB = existsSync(LAB) ? OPTIONS.skip : "not run: there is no sealcast-lab beside the program";
const TOKEN = "a-token-of-this-test";

/** Runs one of the programs to its end. */
function run(home: string, program: string, ...args: string[]): void {
  const env = { PATH: process.env["PATH"], HOME: home, XDG_CONFIG_HOME: home, NO_COLOR: "1" };
  const { status, stderr } = spawnSync(program, args, { env, cwd: home, encoding: "utf8" });
  assert(status === 0, `${program} ${args.join(" ")} works: ${stderr}`);
}

function serving(body: string): Promise<Server> {
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(body);
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => {
    done(server);
  }));
}

void test("the page of the clock has no serious fault of accessibility", OPTIONS, async () => {
  await withFolder(async (folder) => {
    const file = join(folder, "token");
    await writeFile(file, `${TOKEN}\n`, { mode: 0o600 });
    const program = Program.start(BINARY, folder, [
      "clock", "--page", `http://127.0.0.1:0?token=@${file}`, "--events", "127.0.0.1:0", "--ticket-file", "t",
    ]);
    try {
      const address = /http:\/\/[\d.:]+/.exec(await program.line("open http"))?.[0];
      assert(address !== undefined, "the clock says where its page is");
      await withProfile(async (profile) => {
        const visit = await profile.visit(`${address}/?token=${TOKEN}`);
        await visit.page.locator("#clock").waitFor();
        same(await inspect(visit, "clock", 1), [], "faults");
      }, { demo: true, plain: true });
    } finally {
      program.stop();
      await within(program.exited, "the program's end");
    }
  });
});

void test("a report of the laboratory has no serious fault either", { ...OPTIONS, skip: SKIP_LAB }, async () => {
  await withFolder(async (folder) => {
    run(folder, BINARY, "demo", "--headless", "--seconds", "3s", "--log-dir", "logs");
    run(folder, LAB, "report", "logs", "--out", "out");
    const server = await serving(await readFile(join(folder, "out", "report.html"), "utf8"));
    try {
      await withProfile(async (profile) => {
        const visit = await profile.visit(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
        same(await inspect(visit, "report"), [], "faults");
      }, { demo: true, plain: true });
    } finally {
      server.close();
    }
  });
});
