// Pictures of the size that was chosen.

/** A rectangle in pixels. */
export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Where a picture of this size stands in a frame of another, as large as possible, in the middle and not stretched. */
export function letterbox(width: number, height: number, intoWidth: number, intoHeight: number): Rectangle {
  const scale = Math.min(intoWidth / width, intoHeight / height);
  const [fitWidth, fitHeight] = [Math.round(width * scale), Math.round(height * scale)];
  return {
    x: Math.floor((intoWidth - fitWidth) / 2),
    y: Math.floor((intoHeight - fitHeight) / 2),
    width: fitWidth,
    height: fitHeight,
  };
}

/** Gives all pictures one size. */
export class Letterbox {
  readonly #width: number;
  readonly #height: number;
  #canvas: OffscreenCanvas | undefined;
  #size = "";

  constructor(width: number, height: number) {
    this.#width = width;
    this.#height = height;
  }

  /** The picture in this size, which is the caller's to close; the one that was given is not any more. */
  fit(picture: VideoFrame): VideoFrame {
    const { displayWidth, displayHeight, visibleRect } = picture;
    const fits = displayWidth === this.#width && displayHeight === this.#height;
    if (fits && visibleRect?.width === this.#width && visibleRect.height === this.#height) {
      return picture;
    }
    try {
      return new VideoFrame(this.draw(picture), { timestamp: picture.timestamp });
    } finally {
      picture.close();
    }
  }

  /** A canvas of this size with the picture on it, which the next call draws over. The picture stays the caller's. */
  draw(picture: VideoFrame): OffscreenCanvas {
    this.#canvas ??= new OffscreenCanvas(this.#width, this.#height);
    const context = this.#canvas.getContext("2d", { alpha: false });
    if (context === null) {
      throw new Error("this browser does not draw in a worker");
    }
    const { displayWidth, displayHeight } = picture;
    const size = `${displayWidth}x${displayHeight}`;
    if (size !== this.#size) {
      // A phone that is turned leaves the borders of the picture before.
      context.fillRect(0, 0, this.#width, this.#height);
      this.#size = size;
    }
    const place = letterbox(displayWidth, displayHeight, this.#width, this.#height);
    context.drawImage(picture, place.x, place.y, place.width, place.height);
    return this.#canvas;
  }
}
