package s3store_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/itemize/itemize/large"
)

// document is a value that a program sends to another, or keeps in a cache.
type document struct {
	Title string
	Text  large.Value[string]
	Image large.Value[[]byte]
}

// coders encode a document and decode it again.
var coders = map[string]func(document) (document, error){
	"json": func(d document) (out document, err error) {
		b, err := json.Marshal(d)
		if err == nil {
			err = json.Unmarshal(b, &out)
		}
		return out, err
	},
	"gob": func(d document) (out document, err error) {
		var b bytes.Buffer
		if err = gob.NewEncoder(&b).Encode(d); err == nil {
			err = gob.NewDecoder(&b).Decode(&out)
		}
		return out, err
	},
}

// A Value is encoded as what it holds, or not at all: never as nothing.
func TestValueIsEncodedAsItsContent(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newArticles(t)
	noise := make([]byte, 500_000) // which no codec makes small
	rnd := rand.NewChaCha8([32]byte{1})
	if _, err := rnd.Read(noise); err != nil {
		t.Fatal(err)
	}
	small, noisy := strings.Repeat("s", 100), string(noise)
	v := article{ID: "1", Text: large.Of(small), Image: large.Of([]byte(noisy))}
	if _, err := m.Save(ctx, m.New(v)); err != nil {
		t.Fatal(err)
	}
	e, err := m.Load(ctx, m.Key("1"))
	if err != nil {
		t.Fatal(err)
	}
	var value large.Value[string]
	value.SetReader(strings.NewReader("given"))
	for name, code := range coders {
		for what, d := range map[string]document{
			"new":             {"a", large.Of(small), large.Of([]byte(noisy))},
			"in its item":     {"b", e.Value.Text, large.Of([]byte{})},
			"nothing":         {Title: "c"},
			"one of nothings": {"d", large.Of(""), large.Value[[]byte]{}},
		} {
			got, err := code(d)
			if err != nil {
				t.Errorf("%s of %s: %v", name, what, err)
				continue
			}
			if a, b := contents(t, d), contents(t, got); a != b || got.Text.IsZero() != d.Text.IsZero() ||
				got.Image.IsZero() != d.Image.IsZero() {
				t.Errorf("%s of %s: %d and %d bytes", name, what, len(a), len(b))
			}
		}
		for what, d := range map[string]document{
			"outside of its item": {"e", large.Of(small), e.Value.Image},
			"of a reader":         {Title: "f", Text: value},
		} {
			if _, err := code(d); err == nil || !strings.Contains(err.Error(), "call Get") {
				t.Errorf("%s of a value %s: %v", name, what, err)
			}
		}
	}
	got, err := value.Get(ctx)
	if err != nil || got != "given" {
		t.Errorf("the reader gives %q, %v", got, err)
	}
	// A decoded value is new, and can be saved.
	copied, err := coders["json"](document{"g", e.Value.Text, large.Of([]byte(noisy))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Save(ctx, m.New(article{ID: "2", Text: copied.Text, Image: copied.Image})); err != nil {
		t.Fatal(err)
	}
	if e, err = m.Load(ctx, m.Key("2")); err != nil ||
		contents(t, document{Text: e.Value.Text, Image: e.Value.Image}) != small+"\x00"+noisy {
		t.Errorf("a saved copy: %v", err)
	}
	var d document
	if err := json.Unmarshal([]byte(`{"Text": 5}`), &d); err == nil {
		t.Error("a number was decoded as text")
	}
}

func contents(t *testing.T, d document) string {
	t.Helper()
	text, err := d.Text.Get(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	image, err := d.Image.Get(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return text + "\x00" + string(image)
}
