// Reads the machine-readable clock of the test card, as docs/test-card.md describes it.

/** Pixels as a canvas gives them: red, green, blue, alpha. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** What the strip says. */
export interface Strip {
  readonly frame: number;
  /** Microseconds since 1970. */
  readonly wallClock: bigint;
}

const COLUMNS = 36;
const ROWS = 4;
const MARKS = [0, 1, 34, 35];
const MIN_CELL = 4;
const MIN_CONTRAST = 40;

/** Full scale: a browser's pixels are 0 to 255, luma is 16 to 235. */
function luma({ width, data }: Pixels, x: number, y: number): number {
  const at = (y * width + x) * 4;
  return 0.299 * (data[at] ?? 0) + 0.587 * (data[at + 1] ?? 0) + 0.114 * (data[at + 2] ?? 0);
}

/** The mean of the inner half of each cell, by row. */
function cells(pixels: Pixels): number[][] | undefined {
  const { width, height } = pixels;
  const c = Math.min(Math.floor(width / COLUMNS), Math.floor(height / 20));
  const g = c >= 16 ? 16 : 2;
  const cell = Math.floor(c / g) * g;
  if (cell < MIN_CELL) {
    return undefined;
  }
  const left = Math.floor(Math.floor((width - COLUMNS * cell) / 2) / g) * g;
  const top = Math.floor((height - 5 * cell) / g) * g;
  const quarter = Math.floor(cell / 4);
  return Array.from({ length: ROWS }, (_, row) => Array.from({ length: COLUMNS }, (_, column) => {
    let sum = 0;
    let count = 0;
    for (let y = quarter; y < cell - quarter; y += 1) {
      for (let x = quarter; x < cell - quarter; x += 1) {
        sum += luma(pixels, left + column * cell + x, top + row * cell + y);
        count += 1;
      }
    }
    return sum / count;
  }));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The strip of a picture in its own size, or what is wrong with it. */
export function readStrip(pixels: Pixels): Strip | string {
  const grid = cells(pixels);
  if (grid === undefined) {
    return `a picture of ${pixels.width}x${pixels.height} has no strip`;
  }
  const marks = grid.flatMap((row, j) => MARKS.map((i) => ({ white: (i + j) % 2 === 0, level: row[i] ?? 0 })));
  const white = mean(marks.filter((mark) => mark.white).map(({ level }) => level));
  const black = mean(marks.filter((mark) => !mark.white).map(({ level }) => level));
  const threshold = (white + black) / 2;
  if (white - black < MIN_CONTRAST || marks.some((mark) => mark.white !== mark.level > threshold)) {
    return `there are no marks: white is ${white.toFixed(0)}, black is ${black.toFixed(0)}`;
  }
  const words = Buffer.alloc(4 * ROWS);
  grid.forEach((row, j) => {
    const bits = row.slice(2, 34).map((level) => (level > threshold ? "1" : "0")).join("");
    words.writeUInt32BE(Number.parseInt(bits, 2), 4 * j);
  });
  if (checksum(words.subarray(0, 12)) !== words.readUInt32BE(12)) {
    return "the checksum is wrong";
  }
  return { frame: words.readUInt32BE(0), wallClock: words.readBigUInt64BE(4) };
}

/** CRC-32 of Ethernet, ZIP and PNG. */
function checksum(bytes: Uint8Array): number {
  let crc = 0xffff_ffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = (crc >>> 1) ^ ((crc & 1) === 0 ? 0 : 0xedb8_8320);
    }
  }
  return (crc ^ 0xffff_ffff) >>> 0;
}
