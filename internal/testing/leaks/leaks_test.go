package leaks_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"

	"github.com/itemize/itemize/internal/testing/leaks"
)

// Each form of a planted leak is found, and no other text is reported.
func TestPlantedLeaksAreFound(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	fmt.Fprintf(w, "a value: %s", leaks.Text)
	w.Close()
	for name, text := range map[string]string{
		"plain":             "the value is " + leaks.Text,
		"a number":          "the value is 1" + leaks.Number + ".5",
		"base64":            "cursor=" + base64.StdEncoding.EncodeToString([]byte("x"+leaks.Text)),
		"base64 of a URL":   "/next/" + base64.RawURLEncoding.EncodeToString([]byte("??>>"+leaks.Text+"\xff\xfe")),
		"base64 in a word":  "ab" + base64.RawStdEncoding.EncodeToString([]byte(leaks.Text)),
		"hexadecimal":       "0x" + hex.EncodeToString([]byte(leaks.Text)),
		"capital hex":       fmt.Sprintf("%X", leaks.Text),
		"gzip":              "body " + zipped.String(),
		"gzip in base64":    base64.StdEncoding.EncodeToString(zipped.Bytes()),
		"hex of the base64": hex.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(leaks.Text)))),
	} {
		if !leaks.In([]byte(text)) {
			t.Errorf("%s: not found in %q", name, text)
		}
	}
	for _, text := range []string{
		"", "leak", "735190",
		base64.StdEncoding.EncodeToString([]byte("nothing of the kind at all")),
		hex.EncodeToString([]byte("nothing of the kind")),
	} {
		if leaks.In([]byte(text)) {
			t.Errorf("found in %q", text)
		}
	}
}

func TestLeaksInErrorsAreFound(t *testing.T) {
	secret := errors.New(leaks.Text)
	for name, err := range map[string]error{
		"its text": fmt.Errorf("bad: %w", secret),
		"a cause":  quiet{secret},
		"joined":   errors.Join(errors.New("a"), quiet{secret}),
		"a field":  &loud{Value: leaks.Text},
	} {
		var found recorder
		leaks.Error(&found, err, "planted")
		if !found.failed {
			t.Errorf("%s: not found", name)
		}
	}
	var found recorder
	leaks.Error(&found, quiet{quiet{errors.New("nothing")}}, "not planted")
	if found.failed {
		t.Error("found where there is none")
	}
}

type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

type quiet struct{ error }

func (quiet) Error() string   { return "quiet" }
func (q quiet) Unwrap() error { return q.error }

// loud is an error that %#v and JSON show more of than its text.
type loud struct{ Value string }

func (*loud) Error() string { return "loud" }
