package tags_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/itemize/itemize/tags"
)

func ExampleParse() {
	options, err := tags.Parse("Address", `json:"address" ddb:"sk=U#Address#{Kind},one=Address"`)
	fmt.Println(options, err)

	_, err = tags.Parse("Address", `ddb:"sk=U#Address#{Kind,one=Address"`)
	var fault *tags.Error
	if errors.As(err, &fault) {
		fmt.Printf("bytes %d to %d: %v\n", fault.Pos, fault.End, fault)
	}
	// Output:
	// [{sk U#Address#{Kind}} {one Address}] <nil>
	// bytes 18 to 23: a { without a } in the template "U#Address#{Kind": close it, or write {{ for a literal brace
}

// All faults of a tag are reported, and a blank field takes other options than a field.
func TestParse(t *testing.T) {
	if _, err := tags.Parse("_", `ddb:"table=users,version=v"`); err != nil {
		t.Error(err)
	}
	_, err := tags.Parse("Name", `ddb:"noversion,nested=1,sk="`)
	many, ok := err.(interface{ Unwrap() []error })
	if !ok || len(many.Unwrap()) != 3 {
		t.Fatalf("%v", err)
	}
	for _, e := range many.Unwrap() {
		var fault *tags.Error
		if !errors.As(e, &fault) || fault.Pos <= 0 || fault.End <= fault.Pos || strings.TrimSpace(fault.Message) == "" {
			t.Errorf("%#v", e)
		}
	}
}
