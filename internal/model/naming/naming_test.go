package naming

import (
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/itemize/itemize/internal/testing/draws"
)

// hostile returns a text of signs that mean something in Go, shells, YAML or HCL.
func hostile(r *rand.Rand) string {
	signs := []rune("aZ0 `\"'\\$%{}#;|&<>()!*?~\n\r\t\x00\x1b\u0085\u2028\u202e\ufeffüß日😀-=:,@")
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteRune(signs[r.IntN(len(signs))])
	}
	return b.String()
}

// What each form writes is read back as the text.
func TestTextsAreReadBack(t *testing.T) {
	r := rand.New(rand.NewPCG(draws.Seed(t), 0))
	for range draws.Times(200, 1000, 20_000) {
		s := hostile(r)
		for name, form := range map[string]func(string) string{"GoString": GoString, "GoRaw": GoRaw} {
			if back, err := strconv.Unquote(form(s)); err != nil || back != s {
				t.Fatalf("%s of %q is %s: %q, %v", name, s, form(s), back, err)
			}
		}
		back := ""
		if !strings.Contains(YAML(s), `\U`) { // JSON has the other escapes, too
			if err := json.Unmarshal([]byte(YAML(s)), &back); err != nil || back != s {
				t.Fatalf("YAML of %q is %s: %q, %v", s, YAML(s), back, err)
			}
		}
		plain := strings.NewReplacer("$${", "${", "%%{", "%{").Replace(HCL(s))
		if !strings.Contains(s, "$${") && !strings.Contains(s, "%%{") && plain != YAML(s) {
			t.Fatalf("HCL of %q is %s", s, HCL(s))
		}
		if line := Line(s); strings.ContainsAny(line, "\n\r\x00\u2028\u0085\u202e") || !utf8.ValidString(line) {
			t.Fatalf("Line of %q is %q", s, line)
		}
	}
}

// A POSIX shell reads each text as one word.
func TestShellReadsOneWord(t *testing.T) {
	r := rand.New(rand.NewPCG(draws.Seed(t), 0))
	for range draws.Times(20, 60, 500) {
		s := strings.ReplaceAll(hostile(r), "\x00", "") // no argument can have it
		out, err := exec.Command("sh", "-c", "printf %s "+Shell(s)+" ; printf .").CombinedOutput()
		if err != nil || string(out) != s+"." {
			t.Fatalf("%q as %s: %q, %v", s, Shell(s), out, err)
		}
	}
}

// Names in the form of values are data, and names of programs are not.
func TestNamesInTheFormOfValues(t *testing.T) {
	for name, want := range map[string]bool{
		"a@example.com": true, "https://example.com": true, "2026-01-02": true, "10.0.0.1": true, "4711": true,
		"550e8400-e29b-41d4-a716-446655440000": true, "user-550e8400e29b41d4a716446655440000": true,
		"deadbeef0123": true, "2026-01-02T03:04:05Z": true, "2001:db8::1": true, "00:1a:2b:3c:4d:5e": true,
		"01ARZ3NDEKTSV4RRFFQ69G5FAV": true, "1e9": true, "+49-170-x": true, "GB29NWBK60161331926819": true, "the " +
			"quick brown fox jumps over": true, strings.Repeat("x", 101): true,
		"email": false, "v2": false, "ISO " +
			"3166": false, "sha256": false, "line_1": false, "größe": false, "$schema": false,
		"deadbeefcafe": false, "created at": false, "_": false, "a.b.c": false, "x-amz-date": false, "utf16le": false,
		"ISO3166Alpha2": false, "s3:Get": false, "inf": false,
	} {
		if IsValue(name) != want {
			t.Errorf("%q: %t", name, !want)
		}
	}
}
