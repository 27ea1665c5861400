package item

import "testing"

func TestAskedTableOfAnswer(t *testing.T) {
	const arn, other = "arn:aws:dynamodb:eu-west-1:123456789012:table/users",
		"arn:aws:dynamodb:us-east-1:123456789012:table/users"
	for name, c := range map[string]struct {
		answered string
		asked    []string
		want     string
	}{
		"the same name":             {"users", []string{"orders", "users"}, "users"},
		"the same ARN":              {arn, []string{other, arn}, arn},
		"the name for an ARN":       {"users", []string{"orders", arn}, arn},
		"the ARN for a name":        {arn, []string{"users"}, "users"},
		"an index of the ARN":       {arn + "/index/byName", []string{"users"}, "users"},
		"another table":             {"users", []string{"orders"}, ""},
		"the name for two ARNs":     {"users", []string{arn, other}, ""},
		"an ARN for another ARN":    {arn, []string{other}, ""},
		"the beginning of the name": {"users", []string{arn + "-old"}, ""},
	} {
		if got := Asked(c.answered, c.asked); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
