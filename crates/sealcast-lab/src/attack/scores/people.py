"""Finds people by OpenCV's histograms of oriented gradients (Dalal and Triggs, 2005) and its own model.

Reads pictures on standard input, each a line with width and height and then its luma. Writes a line for each: the
places found, four numbers each.
"""

import sys

import cv2
import numpy

# The model knows people of 128 pixels in height, who have some 30 in a picture of 320 pixels in width.
ENLARGED_WIDTH = 1280
LEAST_WEIGHT = 0.5

cv2.setNumThreads(1)
detector = cv2.HOGDescriptor()
detector.setSVMDetector(cv2.HOGDescriptor_getDefaultPeopleDetector())
print("ready", flush=True)
for line in sys.stdin.buffer:
    width, height = map(int, line.split())
    luma = numpy.frombuffer(sys.stdin.buffer.read(width * height), numpy.uint8).reshape(height, width)
    scale = max(ENLARGED_WIDTH / width, 1)
    enlarged = cv2.resize(luma, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)
    places, weights = detector.detectMultiScale(enlarged, winStride=(8, 8), padding=(8, 8), scale=1.05)
    found = [place for place, weight in zip(places, numpy.ravel(weights)) if weight > LEAST_WEIGHT]
    edges = [(x / scale, y / scale, (x + w) / scale, (y + h) / scale) for x, y, w, h in found]
    print(" ".join(f"{edge:.1f}" for place in edges for edge in place), flush=True)
