package s3store_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/large"
)

// An object that differs from the written one is damage, found with bounded memory, in a read of the
// whole value and of a stream. It may be cut, have a changed byte, be deleted, have another codec than
// its mark says, or be a bomb that decompresses to gigabytes.
func TestDamagedObjects(t *testing.T) {
	ctx := context.Background()
	a, c := newAlbums(t), &clock{time.Now()}
	db, objects := testengine.Start(t).Client(), clientOf(a.s3)
	m := a.articles(t, db, objects, c.now)
	image := []byte(words(rand.New(rand.NewPCG(31, 32)), 900_000))
	must(m.Save(ctx, m.New(article{ID: "a", Title: "x", Image: large.Of(image)})))(t)
	key := map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: "ARTICLE#a"},
		"SK": &types.AttributeValueMemberS{Value: "HEAD"},
	}
	item := must(db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &a.table, Key: key}))(t).Item
	pointer, _ := extern.PointerOf(item["Image"])
	name := extern.ObjectKey(pointer.ID)
	whole := must(io.ReadAll(
		must(objects.GetObject(ctx, &s3.GetObjectInput{Bucket: &a.bucket, Key: &name}))(t).Body,
	))(t)
	put := func(b []byte) {
		must(objects.PutObject(ctx, &s3.PutObjectInput{Bucket: &a.bucket, Key: &name, Body: bytes.NewReader(b)}))(t)
	}
	mark := item["Image"].(*types.AttributeValueMemberM).Value["codec"].(*types.AttributeValueMemberS)
	for what, damage := range map[string]func(){
		"cut": func() { put(whole[:len(whole)/2]) },
		"a byte": func() {
			b := bytes.Clone(whole)
			b[len(b)/2] ^= 1
			put(b)
		},
		"gone": func() { must(objects.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &a.bucket, Key: &name}))(t) },
		"bomb": func() {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			must(z.Write(make([]byte, 1<<20)))(t)
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			put(bytes.Repeat(b.Bytes(), 2<<10)) // members of one frame: 2 GB
		},
		"another codec": func() {
			put(whole)
			mark.Value = "zstd"
			must(db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &a.table, Item: item}))(t)
			mark.Value = "gzip"
		},
	} {
		damage()
		e := must(m.Load(ctx, m.Key("a")))(t)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var corrupt *extern.CorruptError
		var limit *compression.LimitError
		if b, err := e.Value.Image.Get(ctx); !errors.As(err, &corrupt) || corrupt.Field != "Image" {
			t.Errorf("%s: %d bytes, %v", what, len(b), err)
		}
		r, err := e.Value.Image.Reader(ctx)
		if err == nil {
			_, err = io.Copy(io.Discard, r)
			_ = r.Close()
		}
		if !errors.As(err, &corrupt) && !errors.As(err, &limit) {
			t.Errorf("%s: a stream: %v", what, err)
		}
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 64 {
			t.Errorf("%s: %d MB were allocated", what, n)
		}
		put(whole)
		must(db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &a.table, Item: item}))(t)
		if b, err := must(m.Load(ctx, m.Key("a")))(t).Value.Image.Get(ctx); err != nil || !bytes.Equal(b, image) {
			t.Fatalf("after %s: %d bytes, %v", what, len(b), err)
		}
	}
}
