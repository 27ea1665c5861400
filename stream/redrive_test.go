package stream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/stream"
)

// A message of the destination for failures has positions. Redrive handles the records between them, those of a
// partition key in their order up to the first that fails, and no later one.
func TestRedriveHandlesTheRecordsOfAMessage(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), newScripted()
	for n := range 4 {
		s.write("a", n+1)
		s.write("b", n+1)
	}
	var got []string
	fails := true
	router := stream.NewRouter()
	stream.On(router, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t),
		func(_ context.Context, c *stream.Change[kit.Account]) error {
			if c.New.ID == "b" && fails {
				return errors.New("refused")
			}
			got = append(got, fmt.Sprint(c.New.ID, c.New.Counter))
			return nil
		})
	f := stream.Lambda(router, stream.OnFailure(func(context.Context, *stream.Record, error) {}))
	message := fmt.Sprintf(`{"DDBStreamBatchInfo": {"shardId": %q, "startSequenceNumber": "%021d",
		"endSequenceNumber": "%021d", "streamArn": %q}}`, s.shards[0].id, 3, 6, s.arn)
	if err := f.Redrive(ctx, s, []byte(message)); err == nil || strings.Count(err.Error(), "refused") != 1 {
		t.Errorf("one refusal: %v", err)
	}
	fails = false
	if err := f.Redrive(ctx, s, []byte(message)); err != nil {
		t.Error(err)
	}
	if want := "a2 a3 a2 b2 a3 b3"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	s.trim(0, 4)
	for _, bad := range []string{message, "{}", "null", "[]", `{"Records": []}`} {
		if err := f.Redrive(ctx, s, []byte(bad)); err == nil {
			t.Errorf("no error for %s", bad)
		}
	}
	if _, err := f.Invoke(ctx, []byte(message)); err == nil || !strings.Contains(err.Error(), "Redrive") {
		t.Errorf("as an event: %v", err)
	}
}
