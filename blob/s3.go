package blob

import (
	"bytes"
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
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/itemize/itemize/internal/large"
	"github.com/itemize/itemize/internal/write"
	"github.com/itemize/itemize/mapper"
)

// Client is what is needed of S3: the SDK's client fits. It should pass the options that it is given on to the SDK, as that
// does: what is signed after the deadline of a save's record must not be sent.
type Client interface {
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	DeleteObject(context.Context, *s3.DeleteObjectInput, ...func(*s3.Options)) (*s3.DeleteObjectOutput, error)
}

// Option is an option of S3.
type Option func(*objects)

// Buckets renames the buckets that tags name (s3=NAME): it is called with each, and returns the real one.
func Buckets(rename func(declared string) string) Option {
	return func(o *objects) { o.rename = rename }
}

// S3 lets a mapper store large values as objects (the tag s3=BUCKET), by a client of S3.
func S3(client Client, options ...Option) mapper.Option {
	o := &objects{client: client}
	for _, set := range options {
		set(o)
	}
	if client == nil {
		return mapper.Objects(nil, nil)
	}
	return mapper.Objects(o, o.rename)
}

// objects are the objects of S3.
type objects struct {
	client Client
	rename func(string) string
}

// Put puts an object (PutObject, If-None-Match), with the SHA-256 of what is stored.
func (o *objects) Put(ctx context.Context, p large.Put) error {
	sum := sha256.Sum256(p.Body)
	in := &s3.PutObjectInput{
		Bucket: &p.Bucket, Key: &p.Key, Body: bytes.NewReader(p.Body), ContentLength: aws.Int64(int64(len(p.Body))),
		IfNoneMatch: aws.String("*"), Metadata: p.Metadata, ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(sum[:])),
	}
	if p.Encoding != "" {
		in.ContentEncoding = &p.Encoding
	}
	_, err := o.client.PutObject(ctx, in, before(p.Until))
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) && response.HTTPStatusCode() == http.StatusPreconditionFailed {
		return large.ErrThere
	}
	return named(err, "putting", p.Bucket, p.Key)
}

func named(err error, what, bucket, key string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s s3://%s/%s: %w", what, bucket, key, err)
}

// Get opens an object (GetObject).
func (o *objects) Get(ctx context.Context, bucket, key string) (io.ReadCloser, error) {
	out, err := o.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if errors.As(err, new(*types.NoSuchKey)) {
		return nil, large.ErrNoObject
	}
	if err != nil {
		return nil, named(err, "reading", bucket, key)
	}
	return out.Body, nil
}

// Presign returns an address of an object (a presigned GetObject).
func (o *objects) Presign(ctx context.Context, bucket, key string, valid time.Duration) (string, error) {
	client, ok := o.client.(*s3.Client)
	if !ok {
		return "", fmt.Errorf("the client of S3 is a %T, and only an *s3.Client can presign", o.client)
	}
	r, err := s3.NewPresignClient(client, s3.WithPresignExpires(valid)).PresignGetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
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

// before keeps requests from being sent that were signed after a time.
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
