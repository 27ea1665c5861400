package generator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A run says which exported names of generated code change, paired by their comments.
func TestRenamedNamesAreAnnounced(t *testing.T) {
	const old = `package p

// ProjectKey is the key of one Project. Its methods select parts of it.
type ProjectKey struct{}

// HEAD selects HEAD.
func (n *ProjectKey) HEAD() int { return 0 }

// Tags selects TAG#{.}.
func (n *ProjectKey) Tags() *ProjectKeyTags { return nil }

// Old selects OLD.
func (n *ProjectKey) Old() int { return 0 }

// ProjectKeyTags is a selection that can be narrowed by {.}.
type ProjectKeyTags struct{}

// Value narrows the selection to one {.}.
func (n *ProjectKeyTags) Value() int { return 0 }

// ProjectByOwner queries the index byOwner.
func ProjectByOwner() {}

// ProjectHandles are the handles.
type ProjectHandles struct {
	// Name is the attribute "name" (S) of the item HEAD.
	Name int
}
`
	now := strings.NewReplacer(
		"// HEAD selects", "// Root selects the root item,", ") HEAD()", ") Root()", "ProjectKeyTags", "projectKeyTags",
		"ProjectByOwner", "ProjectOwned", "Value", "Word", "\tName int", "\tTitle int", "// Name is", "// Title is",
		"Old selects OLD", "New selects NEW", "Old()", "New()",
	).Replace(old)
	got, err := Renamed([]byte(old), []byte(now))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ProjectByOwner is now ProjectOwned",
		"ProjectKeyTags: not exported any more; write *query.Query[Model, Element] in signatures, and pass Query()",
		"ProjectHandles.Name is now ProjectHandles.Title",
		"ProjectKey.HEAD is now ProjectKey.Root",
		"ProjectKey.Old is removed; new: ProjectKey.New",
		"ProjectKeyTags.Value is now projectKeyTags.Word",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got, err := Renamed([]byte(old), []byte(old)); len(got) > 0 || err != nil {
		t.Error(got, err)
	}
}
