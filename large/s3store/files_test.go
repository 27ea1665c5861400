package s3store_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/large/s3store"
	"github.com/itemize/itemize/mapper"
)

// A folder opens the objects that were put into it by their names, below its prefix. A missing object
// is fs.ErrNotExist, and every error names the object.
func TestFolder(t *testing.T) {
	ctx := context.Background()
	gateway, bucket := testengine.S3(t)
	client := s3.NewFromConfig(gateway.Config())
	folder := s3store.Folder(client, bucket, "exports/1/")
	if err := folder.Put(ctx, "data/0.json.gz", []byte("content")); err != nil {
		t.Fatal(err)
	}
	for _, from := range []struct{ prefix, name string }{
		{"exports/1", "data/0.json.gz"},
		{"", "exports/1/data/0.json.gz"},
	} {
		f, err := s3store.Folder(client, bucket, from.prefix).Open(ctx, from.name)
		if err != nil {
			t.Fatal(from, err)
		}
		if content, err := io.ReadAll(f); err != nil || string(content) != "content" {
			t.Errorf("%v: %q, %v", from, content, err)
		}
		f.Close()
	}
	if _, err := folder.Open(ctx, "data/1.json.gz"); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "s3://"+bucket+"/exports/1/data/1.json.gz") {
		t.Errorf("an object that is not there: %v", err)
	}
	if err := s3store.Folder(client, "no-such-bucket", "").Put(ctx, "x", nil); err == nil ||
		!strings.Contains(err.Error(), "s3://no-such-bucket/x") {
		t.Errorf("a bucket that is not there: %v", err)
	}
}

type picture struct {
	ID    string              `ddb:"pk=PICTURE#{ID}"`
	Image large.Value[[]byte] `ddb:"sk=HEAD,s3=images"`
}

// A model with s3= needs a client: without one New says which option gives it.
func TestNoClient(t *testing.T) {
	db := dynamodb.New(dynamodb.Options{})
	for what, options := range map[string][]mapper.Option{"none": nil, "nil": {s3store.Objects(nil)}} {
		if _, err := mapper.New[picture](db, options...); err == nil ||
			!strings.Contains(err.Error(), "pass New the option s3store.Objects(client)") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
