//! Players' dialogues as they were recorded, and what no player should do.
