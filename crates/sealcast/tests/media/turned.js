// Tells the size of each image of the page, and the order of the greys of its quarters.
addEventListener("load", () => {
  for (const [number, image] of [...document.images].entries()) {
    const { naturalWidth: width, naturalHeight: height } = image;
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width, height });
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const grey = (x, y) => context.getImageData(width * x, height * y, 1, 1).data[0];
    const greys = [grey(0.25, 0.25), grey(0.75, 0.25), grey(0.25, 0.75), grey(0.75, 0.75)];
    const order = [...greys].sort((a, b) => a - b);
    const line = document.createElement("p");
    line.textContent = `${number}: ${width}x${height} [${greys.map((one) => order.indexOf(one)).join(", ")}]`;
    document.body.append(line);
  }
  document.body.append("the end");
});
