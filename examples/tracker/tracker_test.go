package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/examples/internal/output"
	"github.com/itemize/itemize/integration/enginetest"
	"github.com/itemize/itemize/mapper"
)

// The package has one engine, started by the first test that needs it.
func TestMain(m *testing.M) { enginetest.Run(m) }

// trackerOn returns a tracker on a table.
func trackerOn(t *testing.T, client mapper.Client, table string, options ...mapper.Option) *Tracker {
	t.Helper()
	tr, err := NewTracker(client, []byte(cursorKey()), append(options, mapper.Table(table))...)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// refusing is a client whose writes are refused with the error of a real conflict.
type refusing struct{ mapper.Client }

func (refusing) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput,
	error,
) {
	return nil, &types.ConditionalCheckFailedException{}
}

// A conflict, by a stub: ClientNeverRetries declares that this client does not send a request twice by
// itself.
func TestConflict(t *testing.T) {
	tr := served{trackerOn(t, refusing{}, "tracker", mapper.ClientNeverRetries())}
	if code, out := request(t, tr, "PUT", "/acme/p", `{"name": "P"}`); code != http.StatusConflict {
		t.Error(code, out)
	}
}

// The program prints the same figures on every engine.
func TestOutput(t *testing.T) {
	client := enginetest.Start(t).Client()
	var out bytes.Buffer
	if err := createTable(t.Context(), client, "tracker"); err != nil {
		t.Fatal(err)
	}
	if err := day(t.Context(), &out, client); err != nil {
		t.Fatal(err)
	}
	output.Check(t, "testdata/output.txt", out.Bytes())
}

// The README shows the output of itemize cost forecast for month.json.
func TestForecast(t *testing.T) {
	out, err := exec.Command("go", "tool", "itemize", "cost", "forecast", "month.json").Output()
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil || !bytes.Contains(readme, out) {
		t.Errorf("README.md does not show:\n%s", out)
	}
}
