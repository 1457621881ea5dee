package stat

// Blocks is the number of contiguous blocks into which a run is cut.
const Blocks = 16
