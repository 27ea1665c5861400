package s3store_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/mapper"
)

// A scan finds parts and objects without a record, deletes those that no item points to, and keeps
// those that an item points to and those of other models. Unfinished uploads are aborted when no save
// can finish them any more.
func TestCollectStrays(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a := newAlbums(t)
	c := &clock{time.Now()}
	client, objects := testengine.Start(t).Client(), clientOf(a.s3)
	m := a.mapper(t, client, objects, c.now)
	e := m.New(albumOf("a", "first"))
	must(m.Save(ctx, e))(t)
	must(m.Save(ctx, m.New(albumOf("other", "other"))))(t)
	scan := func(want extern.Strays, options ...large.CollectOption) {
		t.Helper()
		done, err := collectAll(ctx, m, append(options, large.Scan())...)
		if err != nil || *done.Strays != want {
			t.Errorf("%+v, %v", done.Strays, err)
		}
	}
	scan(extern.Strays{Seen: 6})
	scan(extern.Strays{Seen: 6}, large.Delete())
	// Copies of each part, and of the object, under ids that no record has.
	stray, lost := extern.NewID(c.Time), extern.NewID(c.Time)
	for _, table := range []string{a.table, a.parts} {
		for _, item := range must(client.Scan(ctx, &dynamodb.ScanInput{TableName: &table}))(t).Items {
			pk := item["PK"].(*types.AttributeValueMemberS)
			before, behind, part := strings.Cut(pk.Value, "#~")
			if !part || !strings.HasPrefix(pk.Value, "ALBUM#a") {
				continue
			}
			pk.Value = before + "#~" + stray + behind[26:]
			must(client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: item}))(t)
			// of another model
			if of := maps.Clone(item["~of"].(*types.AttributeValueMemberM).Value); table == a.parts {
				pk.Value = before + "#~" + lost + behind[26:]
				of["table"] = &types.AttributeValueMemberS{Value: "another"}
				item["~of"] = &types.AttributeValueMemberM{Value: of}
				must(client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: item}))(t)
			}
		}
	}
	for _, o := range must(objects.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &a.bucket}))(t).Contents {
		must(objects.CopyObject(ctx, &s3.CopyObjectInput{
			Bucket: &a.bucket, Key: aws.String("itemize/" + stray),
			CopySource: aws.String(a.bucket + "/" + *o.Key),
		}))(t)
	}
	must(objects.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &a.bucket, Key: aws.String("itemize/" + lost),
		Body: bytes.NewReader([]byte("x")),
	}))(t)
	must(objects.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &a.bucket, Key: aws.String("itemize/readme"),
		Body: bytes.NewReader([]byte("x")),
	}))(t)
	must(objects.CreateMultipartUpload(ctx,
		&s3.CreateMultipartUploadInput{Bucket: &a.bucket, Key: aws.String("itemize/" + extern.NewID(c.Time))}))(t)
	// young values may belong to a save in progress, or come from a replica
	scan(extern.Strays{Seen: 6 + 3 + 2}, large.Delete())
	c.Time = c.Add(2 * time.Hour)
	want := extern.Strays{Seen: 6 + 3 + 2, Unrecorded: 3 + 2, Foreign: 2, Uploads: 1}
	scan(want)
	want.Removed, want.Parts, want.Objects = 3, 2, 1
	scan(want, large.Delete())
	scan(extern.Strays{Seen: 6 + 2, Unrecorded: 2, Foreign: 2}, large.Delete())
	// A record that is lost: what items point to stays.
	for _, item := range must(client.Scan(ctx, &dynamodb.ScanInput{TableName: &a.table}))(t).Items {
		if strings.HasPrefix(item["PK"].(*types.AttributeValueMemberS).Value, "~blob#") {
			must(client.DeleteItem(ctx,
				&dynamodb.DeleteItemInput{
					TableName: &a.table,
					Key:       map[string]types.AttributeValue{"PK": item["PK"], "SK": item["SK"]},
				}))(t)
		}
	}
	scan(extern.Strays{Seen: 6 + 2, Unrecorded: 6 + 2, Foreign: 2, Pointed: 6}, large.Delete())
	// A scan continues where it ended: each request in turn is its last.
	next, seen := "", 0
	for end := 1; ; end++ {
		killable, kill := context.WithCancel(ctx)
		x := &fakedynamo.Transport{At: 66 + end, Fault: fakedynamo.KilledBefore, Kill: kill} // the records take 64
		if strings.HasPrefix(next, "scan/") {
			x.At = end / 2
		}
		done, err := collectAll(killable, a.mapper(t, x.Client(client), faulty(x, objects), c.now), large.Scan(),
			large.Resume(next))
		kill()
		if end > 60 {
			t.Fatalf("it does not come beyond %q: %v", next, err)
		}
		if next = done.Next; strings.HasPrefix(next, "scan/") && done.Strays != nil {
			seen += done.Strays.Seen
		}
		if err == nil {
			if seen += done.Strays.Seen; err != nil || next != "" || seen < 6+2 {
				t.Errorf("after %d ends %d are seen, %q, %v", end, seen, next, err)
			}
			break
		}
	}
	for _, from := range []string{
		"scan/9/", "scan/x/", "scan/0/!",
		"scan/0/" + base64.RawURLEncoding.EncodeToString([]byte("x")),
	} {
		if done, err := collectAll(ctx, m, large.Scan(), large.Resume(from)); err == nil ||
			!strings.Contains(err.Error(), "is not the end of a collection") {
			t.Errorf("%s: %+v, %v", from, done, err)
		}
	}
	// From elsewhere, where tables have the same names, all of it is another's.
	far := dynamodb.New(client.Options(),
		func(o *dynamodb.Options) { o.BaseEndpoint = aws.String(*o.BaseEndpoint + "/") })
	if done, err := collectAll(ctx, a.mapper(t, far, objects, c.now), large.Scan(), large.Delete()); err != nil ||
		done.Strays.Foreign != 6+2 || done.Strays.Removed != 0 {
		t.Errorf("%+v, %v", done.Strays, err)
	}
	// A damaged or hostile value is kept, and does not end the scan.
	for _, o := range must(objects.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &a.bucket}))(t).Contents {
		head := must(objects.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &a.bucket, Key: o.Key}))(t)
		if delete(head.Metadata, "itemize-sk"); len(head.Metadata) < 5 {
			continue
		}
		must(objects.PutObject(ctx,
			&s3.PutObjectInput{
				Bucket: &a.bucket, Key: aws.String("itemize/" + extern.NewID(c.Add(-9*time.Hour))),
				Metadata: head.Metadata, Body: strings.NewReader("x"),
			}))(t)
	}
	broken := map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: "~blob#00"},
		"SK": &types.AttributeValueMemberS{Value: "x"},
	}
	must(client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &a.table, Item: broken}))(t)
	if done, err := collectAll(ctx, m, large.Scan(), large.Delete()); err != nil || done.Unreadable != 1 ||
		done.Strays.Foreign != 2+2 {
		t.Errorf("%+v, %+v, %v", done, done.Strays, err)
	}
	if got := must(m.Load(ctx, m.Key("a")))(t); !sameAlbum(got.Value, e.Value) {
		t.Errorf("%+v", got.Value.Name)
	}
	must(m.DeleteByKey(ctx, m.Key("other")))(t)
	scan(extern.Strays{Seen: 6 + 4, Unrecorded: 6 + 4, Foreign: 4, Pointed: 3, Removed: 3, Parts: 2, Objects: 1},
		large.Delete())
}

// A collector of another model with items in the same places, and other roots, cannot know whether an
// item of a staged insert is live. It keeps values that are not its own.
func TestCollectOfAnotherModel(t *testing.T) {
	t.Parallel()
	type full struct {
		_     struct{} `ddb:"table=books"`
		ID    string   `ddb:"pk=BOOK#{ID}"`
		Name  string   `ddb:"sk=HEAD"`
		Story string   `ddb:"sk=STORY,chunk,inline=100"`
	}
	type view struct {
		_     struct{} `ddb:"table=books"`
		ID    string   `ddb:"pk=BOOK#{ID}"`
		Likes int      `ddb:"sk=LIKES"`
		Story string   `ddb:"sk=STORY,chunk,inline=100"`
	}
	ctx := context.Background()
	c := &clock{time.Now()}
	client, table := testengine.Start(t).Client(), testengine.Table(t, "PK:S", "SK:S")
	a := must(mapper.New[full](client, mapper.Table(table)))(t)
	b := must(mapper.New[view](client, mapper.Table(table)))(t)
	setNow(b, c.now)
	story := strings.Repeat("story ", 100_000)
	must(a.Save(ctx, a.New(full{ID: "a", Name: "x", Story: story}), mapper.Staged()))(t)
	for range 3 {
		c.Time = c.Add(3 * time.Hour)
		if done := must(collectAll(ctx, b, large.Scan(), large.Delete()))(t); done.Removed+done.Strays.Removed != 0 ||
			done.Foreign != 1 {
			t.Errorf("%+v", done)
		}
	}
	if e := must(a.Load(ctx, a.Key("a")))(t); e.Value.Story != story {
		t.Errorf("%d bytes are left", len(e.Value.Story))
	}
}

// collectAll is large.Collect, and returns all that it found and did.
func collectAll[T any](
	ctx context.Context, m *mapper.Mapper[T], options ...large.CollectOption,
) (*extern.Report, error) {
	done, err := large.Collect(ctx, m, options...)
	full := door.Large.Full(done)
	got, err2 := json.Marshal(done)
	want, err3 := json.Marshal(full)
	if err == nil && string(got) != string(want) {
		return full, fmt.Errorf("its JSON is %s; want %s", got, want)
	}
	return full, errors.Join(err, err2, err3)
}
