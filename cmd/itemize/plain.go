package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
)

// plain escapes control characters. Keys and names of stored data are printed on terminals, where they
// could move the cursor, change colors, or hide other text.
type plain struct {
	to io.Writer
	// mu protects failed: lines come from several goroutines.
	mu sync.Mutex
	// failed is the first error of a write, as on a full disk.
	failed error
}

func (p *plain) Write(b []byte) (int, error) {
	if _, err := io.WriteString(p.to, escaped(string(b))); err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.failed == nil {
			p.failed = err
		}
		return 0, err
	}
	return len(b), nil
}

// escaped writes control characters, and those that change the direction of text, as in a Go string:
// \x1b.
func escaped(text string) string {
	harmful := func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
	}
	if !strings.ContainsFunc(text, harmful) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !harmful(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
