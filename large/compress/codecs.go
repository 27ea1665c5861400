package compress

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/mapper"
)

// Zstd is the codec of compress=zstd (RFC 8878). It writes windows of 4 MB, and reads up to 8 MB.
func Zstd() mapper.Option { return option(zstdFrames) }

// Snappy is the codec of compress=snappy (google/snappy framing_format.txt).
func Snappy() mapper.Option { return option(snappyFrames) }

// LZ4 is the codec of compress=lz4 (lz4_Frame_format.md).
func LZ4() mapper.Option { return option(lz4Frames) }

// LZO is the codec of compress=lzo: files of lzop with blocks of LZO1X-1.
func LZO() mapper.Option { return option(lzoFrames) }

func option(c compression.Codec) mapper.Option { return door.Mapper.Compress(c).(mapper.Option) }

var zstdFrames = compression.Codec{
	Name: compression.Zstd,
	Write: func(w io.Writer) (io.WriteCloser, error) {
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(compression.Window/2),
			zstd.WithLowerEncoderMem(true))
	},
	Read: func(r *bufio.Reader) (io.Reader, error) {
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(compression.Window), zstd.WithDecoderMaxMemory(1<<62))
		return zstdReader{z}, explain(err)
	},
}

// zstdReader explains errors of frames that it does not support.
type zstdReader struct{ z *zstd.Decoder }

func (r zstdReader) Read(b []byte) (int, error) {
	n, err := r.z.Read(b)
	return n, explain(err)
}

func (r zstdReader) Close() error {
	r.z.Close()
	return nil
}

func explain(err error) error {
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return fmt.Errorf("%w: %w", compression.ErrMemory, err)
	}
	return err
}

// snappyBlock is the largest block of a snappy frame, in bytes (google/snappy framing_format.txt).
const snappyBlock = 64 << 10

var snappyFrames = compression.Codec{
	Name:  compression.Snappy,
	Write: func(w io.Writer) (io.WriteCloser, error) { return snappy.NewBufferedWriter(w), nil },
	Read: func(r *bufio.Reader) (io.Reader, error) {
		return s2.NewReader(r, s2.ReaderMaxBlockSize(snappyBlock)), nil
	},
}

var lz4Frames = compression.Codec{
	Name: compression.LZ4,
	Write: func(w io.Writer) (io.WriteCloser, error) {
		z := lz4.NewWriter(w)
		return z, z.Apply(lz4.BlockSizeOption(lz4.Block256Kb))
	},
	Read: func(r *bufio.Reader) (io.Reader, error) { return lz4.NewReader(r), nil },
}

var lzoFrames = compression.Codec{
	Name:  compression.LZO,
	Write: func(w io.Writer) (io.WriteCloser, error) { return newLZOWriter(w), nil },
	Read:  func(r *bufio.Reader) (io.Reader, error) { return newLZOReader(r), nil },
}
