package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/itemize/itemize/internal/testing/testengine"
)

// The command reads an export from a bucket, and writes import files into one and into a folder.
func TestMigrateFiles(t *testing.T) {
	m := newMigrating(t, 12)
	g, bucket := testengine.S3(t)
	s3At := func(args ...string) []string { return append(args, "-s3-endpoint", g.Endpoint) }
	var data bytes.Buffer
	zip := gzip.NewWriter(&data)
	for _, doc := range m.docs {
		text, err := attributevalue.MarshalMapJSON(doc)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(zip, "{\"Item\":%s}\n", text)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"manifest-summary.json": `{"itemCount":12,"outputFormat":"DYNAMODB_JSON"}`,
		"manifest-files.json":   `{"itemCount":12,"dataFileS3Key":"AWSDynamoDB/1/data/a.json.gz"}` + "\n",
		"data/a.json.gz":        data.String(),
	} {
		key := "x/AWSDynamoDB/1/" + name
		if _, err := s3.NewFromConfig(g.Config()).PutObject(context.Background(),
			&s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(content)}); err != nil {
			t.Fatal(err)
		}
	}
	from := "s3://" + bucket + "/x/AWSDynamoDB/1"
	m.says(m.itemize(0, "plan", s3At("-from", from)...), "12 monoliths read\n",
		"ImportTable in place of the puts of the items, into new tables ($", "by its bytes, at an unknown price")
	m.says(m.itemize(1, "plan", s3At("-from", "s3://"+bucket+"/y")...), "the export has no manifest-summary.json",
		"name the folder of one export")
	m.says(m.itemize(2, "verify", "-from", from), "unknown flag -from: it belongs to plan, run: leave it out")
	m.says(m.itemize(2, "run", "-sample", "5"), "unknown flag -sample: it belongs to plan: leave it out")
	m.says(m.itemize(2, "rollback", "-item-by-item"),
		"unknown flag -item-by-item: it belongs to contract: leave it out")
	m.says(m.itemize(2, "run", "-live"), "-live is for -import")
	m.says(m.itemize(1, "run", "-import", "s3://"), "write s3://BUCKET/PREFIX")
	m.says(m.itemize(0, "run", "-import", "out", "-table", "shops=not-there"),
		"12 monoliths: 0 cannot be moved, 0 were moved before; ", "not-there")
	if files, err := filepath.Glob(filepath.Join(m.dir, "out", "not-there", "*.json.gz")); err != nil ||
		len(files) == 0 {
		t.Error(files, err)
	}
	m.says(m.itemize(0, "run", s3At("-import", "s3://"+bucket+"/out", "-from", from, "-live")...), "12 monoliths: ")
	prefix := "out/" + m.target + "/"
	if out, err := s3.NewFromConfig(g.Config()).ListObjectsV2(context.Background(),
		&s3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix}); err != nil || len(out.Contents) == 0 {
		t.Error(out, err)
	}
	m.says(m.itemize(0, "run", s3At("-from", from)...), "12 moved")
	m.says(m.itemize(0, "verify"), "clean")
}

// The command moves monoliths that are in the model's table, and removes them one by one.
func TestMigrateOwnTable(t *testing.T) {
	m := newMigrating(t, 0)
	for i := range 4 {
		doc := map[string]types.AttributeValue{
			"name": &types.AttributeValueMemberS{Value: fmt.Sprint("s", i)},
			"City": &types.AttributeValueMemberS{Value: "Wien"},
		}
		doc["PK"], doc["SK"] = &types.AttributeValueMemberS{Value: fmt.Sprint("SHOP#s", i)},
			&types.AttributeValueMemberS{Value: "DOC"}
		if _, err := m.client.PutItem(context.Background(),
			&dynamodb.PutItemInput{TableName: &m.target, Item: doc}); err != nil {
			t.Fatal(err)
		}
	}
	m.source = m.target
	m.says(m.itemize(1, "plan"), "write its template for monoliths, such as -sort DOC")
	m.says(m.itemize(0, "plan", "-sort", "DOC"), "4 monoliths read\n",
		"until the contract a load of a whole entity reads its monolith too")
	m.says(m.itemize(0, "run", "-sort", "DOC"), "4 moved")
	m.says(m.itemize(0, "verify", "-sort", "DOC"), "clean")
	m.says(m.itemize(0, "cutover", "-sort", "DOC"), "cut over")
	m.says(m.itemize(0, "contract", "-sort", "DOC", "-confirm", m.source), "removed 4 monoliths of 4")
	if _, err := os.Stat(filepath.Join(m.dir, "out")); err == nil {
		t.Error("files were written")
	}
}
