package testengine

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/itemize/itemize/internal/testing/engines"
)

var gateway = struct {
	sync.Mutex
	*engines.S3
	buckets int
}{}

// S3 returns the S3 gateway of this test binary and a new bucket. It starts the gateway at the first
// call. Under -short it skips the test.
func S3(t testing.TB) (g *engines.S3, bucket string) {
	t.Helper()
	skipIfShort(t, "an S3 gateway")
	gateway.Lock()
	defer gateway.Unlock()
	if gateway.S3 == nil {
		g, err := engines.StartS3(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(os.Stderr, "itemize: S3 is versitygw at", g.Endpoint)
		gateway.S3 = g
	}
	gateway.buckets++
	bucket = fmt.Sprintf("%.40s-%d", strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())),
		gateway.buckets)
	if err := gateway.CreateBucket(bucket); err != nil {
		t.Fatal(err)
	}
	return gateway.S3, bucket
}
