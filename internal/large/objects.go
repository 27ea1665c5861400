package large

import (
	"context"
	"errors"
	"io"
	"time"
)

// Objects are the objects of buckets, by their keys.
type Objects interface {
	// Put puts an object that is not there yet, with metadata. A request that is signed after until is not sent. The
	// error is ErrThere where something has the key.
	Put(ctx context.Context, o Put) error
	// Get opens an object. The error is ErrNoObject where there is none.
	Get(ctx context.Context, bucket, key string) (io.ReadCloser, error)
	// Presign returns an address at which an object can be read for some time.
	Presign(ctx context.Context, bucket, key string, valid time.Duration) (string, error)
	// Delete deletes an object, and does nothing where there is none.
	Delete(ctx context.Context, bucket, key string) error
}

// Put is an object that is to be put.
type Put struct {
	Bucket, Key string
	Body        []byte
	Metadata    map[string]string
	// Encoding is the Content-Encoding of a body that HTTP clients know to decompress, "" for none.
	Encoding string
	Until    time.Time
}

// What becomes of requests about objects.
var (
	ErrThere     = errors.New("an object of this key is there")
	ErrNoObject  = errors.New("there is no object of this key")
	errNoObjects = errors.New("the value is an object, and the mapper has no client of S3: give it one (blob.S3)")
)

// ObjectKey returns the key of a value's object.
func ObjectKey(id string) string { return "itemize/" + id }

// bucket returns the real name of a bucket.
func (h *Homes) bucket(declared string) string {
	if name, ok := h.Buckets[declared]; ok {
		return name
	}
	return declared
}
