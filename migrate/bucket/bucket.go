// Package bucket has the files of an S3 bucket for migrations: exports that are read, and import files that are written.
package bucket

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
)

// Client is what is needed of S3: the SDK's client fits.
type Client interface {
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
}

// Files are the objects of a bucket under a prefix. They are migrate.Files.
type Files struct {
	client         Client
	bucket, prefix string
}

// New returns the objects of a bucket whose keys begin with a prefix, a folder of them.
func New(c Client, bucket, prefix string) *Files { return &Files{c, bucket, prefix} }

func (f *Files) key(name string) *string {
	k := path.Join(f.prefix, name)
	return &k
}

// Open opens an object for reading (GetObject).
func (f *Files) Open(ctx context.Context, name string) (io.ReadCloser, error) {
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
func (f *Files) Put(ctx context.Context, name string, content []byte) error {
	_, err := f.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &f.bucket, Key: f.key(name), Body: bytes.NewReader(content)})
	if err != nil {
		return fmt.Errorf("s3://%s/%s: %w", f.bucket, *f.key(name), err)
	}
	return nil
}
