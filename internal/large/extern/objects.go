package extern

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Objects are the objects of buckets, by their keys.
type Objects interface {
	// Put puts a new object, with metadata. A request that is signed after until is not sent. The error
	// is ErrThere if the key exists.
	Put(ctx context.Context, o Put) error
	// Reaches reports whether the objects of another are in its reach, so that it may copy them.
	Reaches(other Objects) bool
	// Copy puts a new object with the content of another one. The error is ErrNoObject if that does not
	// exist.
	Copy(ctx context.Context, o Put, bucket, key string) error
	// Get opens an object, or a range of it. The error is ErrNoObject where there is none.
	Get(ctx context.Context, bucket, key string, r Range) (io.ReadCloser, error)
	// Presign returns an address at which an object can be read for some time.
	Presign(ctx context.Context, bucket, key string, valid time.Duration) (string, error)
	// Delete deletes an object, and does nothing where there is none.
	Delete(ctx context.Context, bucket, key string) error
	// List yields the objects of a bucket whose keys ObjectKey makes, behind a key, and Uploads those
	// that are being uploaded in parts.
	List(ctx context.Context, bucket, behind string) iter.Seq2[Listed, error]
	Uploads(ctx context.Context, bucket string) iter.Seq2[Listed, error]
	// Abort ends an upload in parts, and deletes these.
	Abort(ctx context.Context, bucket string, upload Listed) error
	// Metadata returns what an object was put with. The error is ErrNoObject where there is none.
	Metadata(ctx context.Context, bucket, key string) (map[string]string, error)
}

// Put is an object that is to be put.
type Put struct {
	Bucket, Key string
	// Body is the content, and Size its length in bytes.
	Body     io.ReaderAt
	Size     int64
	Metadata map[string]string
	// Encoding is the Content-Encoding of a body that HTTP clients know to decompress, "" for none.
	Encoding string
	Until    time.Time
}

// Range is a part of an object: Size bytes from From on, or all where Size is 0.
type Range struct{ From, Size int64 }

// Listed is an object, or an upload, as it is listed.
type Listed struct {
	Key, Upload string
	// Since is when it was put, or begun.
	Since time.Time
	Size  int64
}

// Objects of more than Whole bytes go up in parts of at least UploadPart, of which there may be 10,000
// (S3 User Guide, "Amazon S3 multipart upload limits").
const (
	Whole      = 64 << 20
	UploadPart = 16 << 20
	mostParts  = 10_000
)

// UploadSize returns of how many bytes the parts of an upload are.
func UploadSize(n int64) int64 { return max(UploadPart, (n+mostParts-1)/mostParts) }

// puts is how many requests putting an object takes.
func puts(n int64) int {
	if n <= Whole {
		return 1
	}
	size := UploadSize(n)
	return int((n+size-1)/size) + 2
}

// The results of requests for objects.
var (
	ErrThere     = errors.New("an object with this key exists")
	ErrNoObject  = errors.New("an object with this key does not exist")
	errNoObjects = errors.New("the value is an object, but the mapper has no S3 client: pass " +
		"s3store.Objects(client) to New")
)

// ObjectPrefix is how the keys of objects begin, and ObjectKey returns that of a value's object.
const ObjectPrefix = "itemize/"

// ObjectKey is described at ObjectPrefix.
func ObjectKey(id string) string { return ObjectPrefix + id }

// bucket returns the real name of a bucket.
func (h *Locations) bucket(declared string) string {
	if name, ok := h.Buckets[declared]; ok {
		return name
	}
	return declared
}
