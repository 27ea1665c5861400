package s3store_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/testing/engines"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/internal/testing/testengine"
)

// The tests of large values, in parts and in S3, are in this module: most of their models have both.
func TestMain(m *testing.M) { testengine.Run(m) }

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// setNow has the clock of a mapper show another time.
func setNow(m any, now func() time.Time) { door.Mapper.Model(m).Now = now }

// setPartSize stores large values of a mapper in parts of that many bytes.
func setPartSize(m any, bytes int) { door.Mapper.Model(m).PartSize = bytes }

func clientOf(g *engines.S3) *s3.Client { return s3.NewFromConfig(g.Config()) }

// faulty returns the client as one that sends by a transport with a fault, and soon tries again.
func faulty(x *fakedynamo.Transport, c *s3.Client) *s3.Client {
	return s3.New(c.Options(), func(o *s3.Options) {
		o.HTTPClient, o.Retryer = x.Over(o.HTTPClient), fakedynamo.FastRetries(o.Retryer)
	})
}
