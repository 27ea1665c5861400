package compress

import "github.com/itemize/itemize/internal/large/compression"

// Codecs are all codecs that need an option.
var Codecs = compression.Codecs{snappyFrames, zstdFrames, lz4Frames, lzoFrames}
