package compress

import "github.com/itemize/itemize/internal/large/compression"

// Codings are all codecs that need an option.
var Codings = compression.Codings{snappyFrames, zstdFrames, lz4Frames, lzoFrames}
