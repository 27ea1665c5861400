package generator

import (
	"strings"
	"testing"
)

// The comment of a handle has its item, its attribute and the stored type.
func TestHandlesHaveComments(t *testing.T) {
	files, diagnostics := filesOf(t, map[string]string{"m.go": "package p\n\ntype Base struct{ Mail string }\n\n" +
		"type Place struct{ City string; Floors []int }\n\n" +
		"type Wish struct { ID string; Price int `dynamodbav:\"p\"` }\n\n" +
		"type User struct {\n\tID string `ddb:\"pk=U#{ID}\"`\n\tName string `ddb:\"sk=HEAD\" dynamodbav:\"name\"`\n\t" +
		"Base `ddb:\"sk=HEAD\"`\n\tHome Place `ddb:\"sk=HOME\"`\n\tWork *Place `ddb:\"sk=WORK\"`\n\t" +
		"Last Place `ddb:\"sk=HEAD,nested\"`\n\tWishes []Wish `ddb:\"sk=WISH#{ID}\"`\n}\n"})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	text := strings.ReplaceAll(files["m_itemize.go"], "\n\t// ", " ")
	for _, want := range []string{
		`Name is the attribute "name" (S) of the item HEAD.`,
		`Mail is the attribute "Mail" (S) of the item HEAD.`,
		`Home is the item HOME.`,
		`City is the entry "City" (S) of a map. It is also the attribute "City" (S) of the item HOME. It has more ` +
			`places.`,
		`Last is the attribute "Last" (M) of the item HEAD.`,
		`Price is the attribute "p" (N) of each item WISH#{ID}.`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if t.Failed() {
		_, text, _ = strings.Cut(text, "Handles struct")
		t.Log(text)
	}
}
