//! What the stream costs: stage times, counters, CPU, memory, temperature.
