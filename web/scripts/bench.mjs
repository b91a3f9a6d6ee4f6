// `npm run bench`: what opening records costs on this machine.

import { spawnSync } from "node:child_process";
import { build } from "esbuild";

import { ROOT } from "./bundle.mjs";

await build({
  absWorkingDir: ROOT, entryPoints: ["bench/records.ts"], outfile: "dist/bench/records.mjs", bundle: true,
  format: "esm", target: "es2022", platform: "node", logLevel: "warning",
});
process.exit(spawnSync(process.execPath, ["dist/bench/records.mjs"], { cwd: ROOT, stdio: "inherit" }).status ?? 1);
