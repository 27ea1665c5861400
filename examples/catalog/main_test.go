package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/itemize/itemize/examples/internal/output"
	"github.com/itemize/itemize/integration"
	"github.com/itemize/itemize/integration/enginetest"
)

func TestMain(m *testing.M) { enginetest.Run(m) }

// The program prints the same figures on every engine.
func TestOutput(t *testing.T) {
	var out bytes.Buffer
	objects, err := integration.StartS3(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer objects.Stop()
	if err := run(context.Background(), &out, enginetest.Start(t), s3.NewFromConfig(objects.Config())); err != nil {
		t.Fatal(err)
	}
	output.Check(t, "testdata/output.txt", out.Bytes())
}
