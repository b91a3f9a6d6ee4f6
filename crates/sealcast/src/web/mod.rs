//! The HTTP pages: the viewer's picture, the demo, the metrics.
