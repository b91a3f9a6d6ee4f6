// An authority of a test, and its certificates.

import { spawnSync } from "node:child_process";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { assert } from "../../support/harness.ts";

function run(folder: string, name: string, ...args: string[]): void {
  const { status, stderr, error } = spawnSync(name, args, { cwd: folder, encoding: "utf8" });
  assert(status === 0, `${name} ${args.join(" ")} works: ${error?.message ?? stderr}`);
}

/** An authority that a browser with this home trusts, and its certificate for this machine with the key. */
export async function authority(home: string): Promise<{ cert: string; key: string }> {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"];
  const named = ["-subj", "/CN=Authority of a test"];
  run(home, "openssl", "req", "-x509", ...key, "-keyout", "ca.key", "-out", "ca.pem", ...named);
  run(home, "openssl", "req", ...key, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=camera");
  await writeFile(join(home, "names"), "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n");
  const signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30", "-extfile", "names"];
  run(home, "openssl", "x509", "-req", "-in", "request.pem", "-out", "cert.pem", ...signed);
  await chmod(join(home, "key.pem"), 0o600);
  const database = join(home, ".pki", "nssdb");
  await mkdir(database, { recursive: true });
  run(home, "certutil", "-N", "-d", `sql:${database}`, "--empty-password");
  run(home, "certutil", "-A", "-d", `sql:${database}`, "-t", "C,,", "-n", "authority", "-i", "ca.pem");
  return { cert: join(home, "cert.pem"), key: join(home, "key.pem") };
}
