package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/itemize/itemize/examples/internal/output"
	"github.com/itemize/itemize/integration/enginetest"
)

func TestMain(m *testing.M) { enginetest.Run(m) }

// The program prints the same on every engine.
func TestOutput(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), &out, enginetest.Start(t)); err != nil {
		t.Fatal(err)
	}
	output.Check(t, "testdata/output.txt", out.Bytes())
}
