package naming

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// GoString writes a text as a Go string.
func GoString(s string) string { return strconv.Quote(s) }

// GoRaw writes a text as a raw string of Go if it can be one, such as the tag of a struct field.
func GoRaw(s string) string {
	if strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

// Line replaces the characters of a text that could end a line or a comment, so that it stays on its line.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\u2028' || r == '\u2029' || r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// Shell writes a text as one word of a POSIX shell: as it is if it has no sign that a shell reads.
func Shell(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_-./:=@%+,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// YAML writes a text as a double-quoted scalar of YAML.
func YAML(s string) string { return doubleQuoted(s) }

// HCL writes a text as a string of HCL: the signs that begin a template are doubled.
func HCL(s string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(doubleQuoted(s))
}

// doubleQuoted writes a text between quotes, with the escapes that YAML and HCL share. Go has others, such as \x.
func doubleQuoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"', r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r > 0xFFFF && !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\U%08X`, r)
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}
