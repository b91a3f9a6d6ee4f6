// The hash of the page's own files, which the program that serves them prints as well.

/** The files in the order in which they are hashed. */
export const FILES = ["/", "/page.css", "/page.js", "/worker.js", "/relay.js", "/sound.js", "/icon.svg"] as const;

/** SHA-256 of all files, each behind its length as 32 bits, big-endian; in hexadecimal. */
export async function bundleHash(files: readonly Uint8Array[]): Promise<string> {
  const all = new Uint8Array(files.reduce((sum, file) => sum + 4 + file.length, 0));
  const view = new DataView(all.buffer);
  let at = 0;
  for (const file of files) {
    view.setUint32(at, file.length);
    all.set(file, at + 4);
    at += 4 + file.length;
  }
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", all));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
