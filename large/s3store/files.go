package s3store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/itemize/itemize/migrate"
)

// Folder returns the files under a prefix of a bucket: an export that a migration reads, or import
// files that it writes.
func Folder(client *s3.Client, bucket, prefix string) migrate.Files {
	return &folder{client, bucket, prefix}
}

type folder struct {
	client         *s3.Client
	bucket, prefix string
}

func (f *folder) key(name string) *string {
	k := path.Join(f.prefix, name)
	return &k
}

// Open opens an object for reading (GetObject).
func (f *folder) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	out, err := f.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &f.bucket, Key: f.key(name)})
	if errors.As(err, new(*types.NoSuchKey)) {
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	if err != nil {
		return nil, fmt.Errorf("s3://%s/%s: %w", f.bucket, *f.key(name), err)
	}
	return out.Body, nil
}

// Put writes an object (PutObject).
func (f *folder) Put(ctx context.Context, name string, content []byte) error {
	_, err := f.client.PutObject(ctx,
		&s3.PutObjectInput{Bucket: &f.bucket, Key: f.key(name), Body: bytes.NewReader(content)})
	if err != nil {
		return fmt.Errorf("s3://%s/%s: %w", f.bucket, *f.key(name), err)
	}
	return nil
}
