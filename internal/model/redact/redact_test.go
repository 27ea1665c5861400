package redact_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/model/redact"
)

const secret = "ann@example.com"

func TestDetailAloneShowsValues(t *testing.T) {
	_, parse := strconv.Atoi(secret)
	base := errors.New("base")
	for name, c := range map[string]struct {
		err          error
		text, detail string
	}{
		"a value": {
			redact.Errorf("the string%v is too long", redact.Of(secret)), "the string is too long",
			`the string ("ann@example.com") is too long`,
		},
		"no value": {redact.Errorf("%d items: %w", 3, base), "3 items: base", "3 items: base"},
		"wrapped": {
			fmt.Errorf("User.Email: %w", redact.Errorf("bad%v", redact.Of(secret))),
			"User.Email: bad", `User.Email: bad ("ann@example.com")`,
		},
		"two that are equal": {errors.Join(redact.Errorf("bad%v", redact.Of("1")),
			redact.Errorf("bad%v", redact.Of("2"))), "bad\nbad", "bad (\"1\")\nbad (\"2\")"},
		"one in another": {
			redact.Errorf("a%v: %w", redact.Of(1), redact.Errorf("b%v", redact.Of(2))), "a: b",
			"a (1): b (2)",
		},
		"another's error": {
			redact.Hide(parse, "cannot decode %s", "a number"), "cannot decode a number",
			`cannot decode a number (strconv.Atoi: parsing "ann@example.com": invalid syntax)`,
		},
		"bytes":    {redact.Errorf("x%v", redact.Of([]byte{1, 255})), "x", "x (0x01ff)"},
		"no error": {nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := ""
			if c.err != nil {
				text = c.err.Error()
			}
			if text != c.text || redact.Detail(c.err) != c.detail {
				t.Errorf("%q and %q, want %q and %q", text, redact.Detail(c.err), c.text, c.detail)
			}
		})
	}
}

// A text that the caller writes around the error, in other words, keeps the details.
func TestDetailOfRephrasedError(t *testing.T) {
	err := rephrased{redact.Errorf("bad%v", redact.Of(secret))}
	if got, want := redact.Detail(err), `other words: bad ("ann@example.com")`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

type rephrased struct{ error }

func (rephrased) Error() string   { return "other words" }
func (r rephrased) Unwrap() error { return r.error }

func TestNoVerbAndNoLoggerPrintsValues(t *testing.T) {
	_, parse := strconv.Atoi(secret)
	value := redact.Of(secret)
	for _, err := range []error{
		redact.Errorf("the string%v", value), redact.Hide(parse, "cannot decode"),
		outer{Value: value, err: redact.Errorf("x%v", value)},
	} {
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Error("failed", "err", err)
		slog.New(slog.NewJSONHandler(&log, nil)).Error("failed", "err", err, "any", struct{ E any }{err})
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%p", "%+q", "%#q"} {
			fmt.Fprintf(&log, verb+"\n", err)
			fmt.Fprintf(&log, verb+"\n", struct{ E error }{err})
			fmt.Fprintf(&log, verb+"\n", []any{err, value, &value})
		}
		b, _ := json.Marshal(map[string]any{"e": err, "v": value})
		log.Write(b)
		for e := err; e != nil; e = errors.Unwrap(e) {
			fmt.Fprintf(&log, "%s %+v %#v\n", e, e, e)
		}
		if text := log.String(); strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) ||
			strings.Contains(text, fmt.Sprintf("%X", secret)) {
			t.Errorf("the value is in %s", text)
		}
		if !strings.Contains(redact.Detail(err), secret) {
			t.Errorf("the value is not in %s", redact.Detail(err))
		}
	}
}

// outer is an error that keeps a value.
type outer struct {
	Value redact.Value
	err   error
}

func (o outer) Error() string  { return "outer" }
func (o outer) Reveal() string { return "outer" + o.Value.Reveal() }
func (o outer) Unwrap() error  { return o.err }

func TestHiddenErrorIsFound(t *testing.T) {
	_, parse := strconv.Atoi("x")
	err := fmt.Errorf("wrapped: %w", redact.Hide(parse, "cannot decode"))
	var num *strconv.NumError
	if !errors.Is(err, strconv.ErrSyntax) || !errors.As(err, &num) {
		t.Error("errors.Is and errors.As do not find the hidden error")
	}
	if errors.Is(redact.Errorf("x%v", redact.Of(1)), strconv.ErrSyntax) {
		t.Error("errors.Is finds what is not there")
	}
}
