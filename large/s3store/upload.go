package s3store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/itemize/itemize/internal/large/extern"
)

// upload puts an object in parts, one after the other. If the key exists at the end, nothing is stored
// (CreateMultipartUpload, UploadPart, CompleteMultipartUpload with If-None-Match).
func (o *objects) upload(ctx context.Context, p *extern.Put) error {
	begun, err := o.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: &p.Bucket, Key: &p.Key, Metadata: p.Metadata, ContentEncoding: optional(p.Encoding),
	}, before(p.Until))
	if err != nil {
		return named(err, "beginning to upload", p.Bucket, p.Key)
	}
	parts, err := o.parts(ctx, p, begun.UploadId)
	if err == nil {
		_, err = o.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
			Bucket: &p.Bucket, Key: &p.Key, UploadId: begun.UploadId, IfNoneMatch: aws.String("*"),
			MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
		}, before(p.Until))
		err = there(err, "ending the upload of", p)
	}
	if err != nil && parts != nil && o.ended(ctx, p) {
		return nil // its answer was lost, and a retry failed
	}
	if err != nil { // otherwise the collector aborts it
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
		defer cancel()
		_ = o.Abort(ending, p.Bucket, extern.Listed{Key: p.Key, Upload: *begun.UploadId})
	}
	return err
}

// ended reports whether the object exists with the metadata of this one. Keys are unique.
func (o *objects) ended(ctx context.Context, p *extern.Put) bool {
	metadata, err := o.Metadata(ctx, p.Bucket, p.Key)
	return err == nil && maps.Equal(metadata, p.Metadata)
}

// abortWithin is how long an upload that failed is aborted.
const abortTimeout = 10 * time.Second

// parts uploads the parts of an object.
func (o *objects) parts(ctx context.Context, p *extern.Put, upload *string) ([]types.CompletedPart, error) {
	var all []types.CompletedPart
	size := extern.UploadSize(p.Size)
	for from := int64(0); from < p.Size; from += size {
		n := aws.Int32(int32(len(all) + 1))
		length := min(size, p.Size-from)
		out, err := o.client.UploadPart(ctx, &s3.UploadPartInput{
			Bucket: &p.Bucket, Key: &p.Key, UploadId: upload, PartNumber: n, Body: io.NewSectionReader(p.Body, from,
				length), ContentLength: &length,
		}, before(p.Until))
		if err != nil {
			return nil, named(err, fmt.Sprintf("uploading part %d of", *n), p.Bucket, p.Key)
		}
		all = append(all, types.CompletedPart{
			PartNumber: n, ETag: out.ETag, ChecksumCRC32: out.ChecksumCRC32, ChecksumCRC32C: out.ChecksumCRC32C,
			ChecksumSHA256: out.ChecksumSHA256,
		})
	}
	return all, nil
}

// Reaches reports whether both use the same client.
func (o *objects) Reaches(other extern.Objects) bool {
	x, ok := other.(*objects)
	return ok && o.client == x.client
}

// Copy puts a copy of another object (CopyObject).
func (o *objects) Copy(ctx context.Context, p extern.Put, bucket, key string) error {
	const most = 5 << 30 // S3 API Reference, "CopyObject"
	if p.Size > most {
		return fmt.Errorf("copying s3://%s/%s: S3 copies objects of at most 5 GB by one request, but it has "+
			"%d bytes: Get it, and SetReader here", bucket, key, p.Size)
	}
	_, err := o.client.CopyObject(ctx, &s3.CopyObjectInput{
		Bucket: &p.Bucket, Key: &p.Key, CopySource: aws.String(url.PathEscape(bucket) + "/" + key),
		Metadata:          p.Metadata,
		MetadataDirective: types.MetadataDirectiveReplace, ContentEncoding: optional(p.Encoding),
	}, before(p.Until))
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == "NoSuchKey" {
		return extern.ErrNoObject
	}
	return there(err, "copying s3://"+bucket+"/"+key+" to", &p)
}

// absent reports whether an error says that an object or an upload does not exist.
func absent(err error) bool {
	var response *smithyhttp.ResponseError
	return errors.As(err, new(*types.NoSuchKey)) || errors.As(err, new(*types.NotFound)) ||
		errors.As(err, new(*types.NoSuchUpload)) ||
		errors.As(err, &response) && response.HTTPStatusCode() == http.StatusNotFound
}

// Metadata returns an object's metadata (HeadObject).
func (o *objects) Metadata(ctx context.Context, bucket, key string) (map[string]string, error) {
	out, err := o.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &bucket, Key: &key})
	if absent(err) {
		return nil, extern.ErrNoObject
	}
	if err != nil {
		return nil, named(err, "reading the metadata of", bucket, key)
	}
	return out.Metadata, nil
}

// List lists objects (ListObjectsV2).
func (o *objects) List(ctx context.Context, bucket, behind string) iter.Seq2[extern.Listed, error] {
	return func(yield func(extern.Listed, error) bool) {
		pages := s3.NewListObjectsV2Paginator(o.client,
			&s3.ListObjectsV2Input{
				Bucket: &bucket, Prefix: aws.String(extern.ObjectPrefix),
				StartAfter: optional(behind),
			})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(extern.Listed{}, named(err, "listing", bucket, extern.ObjectPrefix))
				return
			}
			for _, x := range page.Contents {
				if !yield(extern.Listed{
					Key: aws.ToString(x.Key), Since: aws.ToTime(x.LastModified),
					Size: aws.ToInt64(x.Size),
				}, nil) {
					return
				}
			}
		}
	}
}

// Uploads lists uploads in parts (ListMultipartUploads).
func (o *objects) Uploads(ctx context.Context, bucket string) iter.Seq2[extern.Listed, error] {
	return func(yield func(extern.Listed, error) bool) {
		pages := s3.NewListMultipartUploadsPaginator(o.client,
			&s3.ListMultipartUploadsInput{Bucket: &bucket, Prefix: aws.String(extern.ObjectPrefix)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(extern.Listed{}, named(err, "listing the uploads of", bucket, extern.ObjectPrefix))
				return
			}
			for _, x := range page.Uploads {
				if !yield(extern.Listed{
					Key: aws.ToString(x.Key), Upload: aws.ToString(x.UploadId),
					Since: aws.ToTime(x.Initiated),
				}, nil) {
					return
				}
			}
		}
	}
}

// Abort ends an upload (AbortMultipartUpload).
func (o *objects) Abort(ctx context.Context, bucket string, upload extern.Listed) error {
	_, err := o.client.AbortMultipartUpload(ctx,
		&s3.AbortMultipartUploadInput{Bucket: &bucket, Key: &upload.Key, UploadId: &upload.Upload})
	if absent(err) {
		return nil
	}
	return named(err, "aborting the upload "+upload.Upload+" of", bucket, upload.Key)
}
