//! Cameras as they really answer, and what no camera should do.
