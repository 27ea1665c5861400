package s3store

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/save/write"
	"github.com/itemize/itemize/mapper"
)

// Option is an option of [Objects]: [Buckets].
type Option interface{ apply(*objects) }

type optionFunc func(*objects)

func (f optionFunc) apply(o *objects) { f(o) }

// Buckets renames the buckets in tags (s3=NAME): rename gets each name and returns the real one.
func Buckets(rename func(declared string) string) Option {
	return optionFunc(func(o *objects) { o.rename = rename })
}

// Objects returns the option of a mapper that stores large values as objects in S3 (tag s3=BUCKET),
// with this client.
func Objects(client *s3.Client, options ...Option) mapper.Option {
	o := &objects{client: client}
	for _, set := range options {
		if set != nil {
			set.apply(o)
		}
	}
	if client == nil {
		return door.Mapper.StoreObjects(nil, nil).(mapper.Option)
	}
	return door.Mapper.StoreObjects(o, o.rename).(mapper.Option)
}

// objects accesses the objects in S3.
type objects struct {
	client *s3.Client
	rename func(string) string
}

// Put puts an object: with PutObject, If-None-Match and the SHA-256 of the stored bytes, or in parts.
func (o *objects) Put(ctx context.Context, p extern.Put) error {
	if p.Size > extern.Whole {
		return o.upload(ctx, &p)
	}
	body := io.NewSectionReader(p.Body, 0, p.Size)
	sum := sha256.New()
	if _, err := io.Copy(sum, body); err != nil {
		return err
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := o.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &p.Bucket, Key: &p.Key, Body: body, ContentLength: &p.Size, IfNoneMatch: aws.String("*"),
		Metadata:        p.Metadata,
		ChecksumSHA256:  aws.String(base64.StdEncoding.EncodeToString(sum.Sum(nil))),
		ContentEncoding: optional(p.Encoding),
	}, before(p.Until))
	return there(err, "putting", &p)
}

// optional returns nil for an empty string.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// there adds the operation to an error. If the key exists already, the error is extern.ErrThere.
func there(err error, what string, p *extern.Put) error {
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) && response.HTTPStatusCode() == http.StatusPreconditionFailed {
		return extern.ErrThere
	}
	return named(err, what, p.Bucket, p.Key)
}

func named(err error, what, bucket, key string) error {
	var api smithy.APIError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &api) && api.ErrorCode() == "NoSuchBucket":
		return fmt.Errorf("the bucket %s does not exist: create it, or set the real name (s3store.Buckets, itemize "+
			"gc -bucket): %w", bucket, err)
	}
	return fmt.Errorf("%s s3://%s/%s: %w", what, bucket, key, err)
}

// Get opens an object or a range of it (GetObject).
func (o *objects) Get(ctx context.Context, bucket, key string, r extern.Range) (io.ReadCloser, error) {
	in := &s3.GetObjectInput{Bucket: &bucket, Key: &key}
	if r.Size > 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-%d", r.From, r.From+r.Size-1))
	}
	out, err := o.client.GetObject(ctx, in)
	if errors.As(err, new(*types.NoSuchKey)) {
		return nil, extern.ErrNoObject
	}
	if err != nil {
		return nil, named(err, "reading", bucket, key)
	}
	return out.Body, nil
}

// longest is the maximum time for which an address is valid (S3 User Guide, "Download and upload
// objects with presigned URLs").
const longest = 7 * 24 * time.Hour

// Presign returns an address of an object (a presigned GetObject).
func (o *objects) Presign(ctx context.Context, bucket, key string, valid time.Duration) (string, error) {
	if valid <= 0 || valid > longest {
		return "", fmt.Errorf("an address is valid for at most %v, not %v: ask for a shorter time", longest, valid)
	}
	r, err := s3.NewPresignClient(o.client, s3.WithPresignExpires(valid)).PresignGetObject(ctx,
		&s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		return "", err
	}
	return r.URL, nil
}

// Delete deletes an object (DeleteObject).
func (o *objects) Delete(ctx context.Context, bucket, key string) error {
	_, err := o.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: &key})
	return named(err, "deleting", bucket, key)
}

// before stops requests that were signed before a time from being sent after it.
func before(until time.Time) func(*s3.Options) {
	return func(o *s3.Options) {
		if o.HTTPClient != nil && !until.IsZero() {
			o.HTTPClient = inTime{o.HTTPClient, until}
		}
	}
}

type inTime struct {
	s3.HTTPClient
	until time.Time
}

// Do sends a request.
func (c inTime) Do(r *http.Request) (*http.Response, error) {
	if err := write.InTime(r, c.until); err != nil {
		return nil, err
	}
	return c.HTTPClient.Do(r)
}
