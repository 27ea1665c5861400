package item

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A root that is not live says what is pending, and comes back as it was stored.
func TestPendingTexts(t *testing.T) {
	for state, want := range map[State]string{
		Inserting: "an insert that began at 1970-01-01T00:00:07Z is not finished: insert again to take it over",
		Deleting:  "a delete that began at 1970-01-01T00:00:07Z is not finished: delete again to finish it, or insert",
		"other":   "its root is not live",
	} {
		s := Stage{State: state, Since: readEpoch(&types.AttributeValueMemberN{Value: "7"})}
		if got := s.Pending(); got != want {
			t.Errorf("%s: %s", state, got)
		}
		back, ok := Header{Stage: s.Value()}.ReadStage()
		if !ok || back.State != state || !back.Since.Equal(s.Since) {
			t.Errorf("%s comes back as %+v", state, back)
		}
	}
}
