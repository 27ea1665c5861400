// Package leaks finds attribute values in texts that must not contain them: errors, logs, spans, reports and cursors.
//
// Tests store values with a marker ([Text], [Number]), and pass each text that leaves the library to [In].
package leaks

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Number is the marker: digits that no test uses for anything else. An int32 and a float32 hold it.
const Number = "7351907"

// Count is Number as a number.
const Count = 7351907

// Text is a text with the marker.
const Text = "leak" + Number

// Values has a value with the marker of each type, also such that few Go types take.
func Values() []types.AttributeValue {
	text, number := &types.AttributeValueMemberS{Value: Text}, &types.AttributeValueMemberN{Value: Number}
	return []types.AttributeValue{
		text, number,
		&types.AttributeValueMemberN{Value: Number + "E90"}, &types.AttributeValueMemberN{Value: Number + "." + Number},
		&types.AttributeValueMemberN{Value: "-" + Number + Number + Number},
		&types.AttributeValueMemberB{Value: []byte(Text)},
		&types.AttributeValueMemberSS{Value: []string{Text}}, &types.AttributeValueMemberNS{Value: []string{Number}},
		&types.AttributeValueMemberBS{Value: [][]byte{[]byte(Text)}},
		&types.AttributeValueMemberL{Value: []types.AttributeValue{text, number}},
		&types.AttributeValueMemberM{Value: map[string]types.AttributeValue{Text: number, "x": text}},
		&types.AttributeValueMemberBOOL{Value: true}, &types.AttributeValueMemberNULL{Value: true},
	}
}

// Damaged returns copies of a value in each of which one of the values in it, at any depth, is another
// one with the marker.
func Damaged(v types.AttributeValue) []types.AttributeValue {
	out := Values()
	switch v := v.(type) {
	case *types.AttributeValueMemberL:
		for i, e := range v.Value {
			for _, d := range Damaged(e) {
				l := slices.Clone(v.Value)
				l[i] = d
				out = append(out, &types.AttributeValueMemberL{Value: l})
			}
		}
	case *types.AttributeValueMemberM:
		for k, e := range v.Value {
			for _, d := range Damaged(e) {
				m := maps.Clone(v.Value)
				m[k] = d
				out = append(out, &types.AttributeValueMemberM{Value: m})
			}
		}
	}
	return out
}

var (
	codes = regexp.MustCompile(`[A-Za-z0-9+/_-]{12,}`)
	hexes = regexp.MustCompile(`(?i)[0-9a-f]{12,}`)
)

// In reports whether a text contains the marker: as it is, or in base64, hexadecimal or gzip, or one in another.
func In(text []byte) bool { return in(text, 3) }

func in(text []byte, depth int) bool {
	switch {
	case bytes.Contains(text, []byte(Number)):
		return true
	case depth == 0:
		return false
	}
	for at := bytes.Index(text, []byte{0x1f, 0x8b}); at >= 0 && at < len(text); {
		if r, err := gzip.NewReader(bytes.NewReader(text[at:])); err == nil {
			plain, _ := io.ReadAll(io.LimitReader(r, 1<<20))
			if in(plain, depth-1) {
				return true
			}
		}
		next := bytes.Index(text[at+1:], []byte{0x1f, 0x8b})
		if next < 0 {
			break
		}
		at += 1 + next
	}
	for _, code := range hexes.FindAll(text, -1) {
		for from := range min(2, len(code)) {
			part := code[from:]
			if plain, err := hex.DecodeString(string(part[:len(part)/2*2])); err == nil && in(plain, depth-1) {
				return true
			}
		}
	}
	for _, code := range codes.FindAll(text, -1) {
		for from := range min(4, len(code)) { // the code may begin anywhere in a word
			part := strings.NewReplacer("-", "+", "_", "/").Replace(string(code[from:]))
			if len(part)%4 == 1 {
				part = part[:len(part)-1]
			}
			// as far as it goes: the last bits can be of another word
			plain, _ := base64.RawStdEncoding.DecodeString(part)
			if in(plain, depth-1) {
				return true
			}
		}
	}
	return false
}

// Error fails a test if an error, or an error that it wraps, contains the marker in a text that a logger could write.
func Error(t testing.TB, err error, format string, args ...any) {
	if err == nil {
		return
	}
	t.Helper()
	texts := []string{fmt.Sprintf("%v\n%+v\n%#v\n%q\n%x", err, err, err, err, err)}
	if b, fails := json.Marshal(err); fails == nil {
		texts = append(texts, string(b))
	}
	for _, text := range texts {
		if In([]byte(text)) {
			t.Errorf("%s: a value is in the text of an error: %s", fmt.Sprintf(format, args...), text)
		}
	}
	if cause := errors.Unwrap(err); cause != nil {
		Error(t, cause, format, args...)
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, cause := range many.Unwrap() {
			Error(t, cause, format, args...)
		}
	}
}
