package draws

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// commands holds the environment of each running test that has called With.
var commands = struct {
	sync.Mutex
	of map[testing.TB][]variable
}{of: map[testing.TB][]variable{}}

type variable struct{ name, value string }

// With records that the test depends on an environment variable. If the test fails, its log ends with a command that
// sets all recorded variables. A later value replaces an earlier one.
func With(t testing.TB, name, value string) {
	t.Helper()
	commands.Lock()
	defer commands.Unlock()
	all, found := commands.of[t]
	all = slices.DeleteFunc(all, func(v variable) bool { return v.name == name })
	commands.of[t] = append(all, variable{name, value})
	if found {
		return
	}
	dir, _ := os.Getwd() // now: the test may change it
	t.Cleanup(func() {
		commands.Lock()
		all := commands.of[t]
		delete(commands.of, t)
		commands.Unlock()
		if t.Failed() {
			t.Logf("repeat with: %s", command(t.Name(), dir, all))
		}
	})
}

// inherited are the variables that change what tests do. A run that had one needs it again.
var inherited = []string{"ITEMIZE_DRAWS"}

// command returns a command for the module's root folder.
func command(test, dir string, all []variable) string {
	for _, name := range inherited {
		if value := os.Getenv(name); value != "" {
			all = append(all, variable{name, value})
		}
	}
	slices.SortFunc(all, func(a, b variable) int { return cmp.Compare(a.name, b.name) })
	var b strings.Builder
	for _, v := range all {
		b.WriteString(v.name + "=" + quote(v.value) + " ")
	}
	b.WriteString("go test -count=1 -run " + quote(pattern(test)))
	module, folder := split(dir)
	if module != "" {
		module = "cd " + module + " && "
	}
	return module + b.String() + " " + folder
}

// pattern returns the -run pattern of a test's name: each level exactly.
func pattern(test string) string {
	levels := strings.Split(test, "/")
	for i, l := range levels {
		var b strings.Builder
		for _, r := range l {
			if strings.ContainsRune(`\.+*?()|[]{}^$`, r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
		levels[i] = "^" + b.String() + "$"
	}
	return strings.Join(levels, "/")
}

// split divides a package's folder into the path of its module below the repository's root, "" for the main module,
// and the package's pattern in that module.
func split(dir string) (module, pattern string) {
	inner, outer := dir, dir // folders with a go.mod
	found := false
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "go.mod")); err == nil {
			if outer = d; !found {
				inner, found = d, true
			}
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	module, _ = filepath.Rel(outer, inner)
	if pattern, _ = filepath.Rel(inner, dir); pattern != "." {
		pattern = "./" + pattern
	}
	if module == "." {
		module = ""
	}
	return filepath.ToSlash(module), filepath.ToSlash(pattern)
}

// quote quotes a word for a POSIX shell where it needs to be.
func quote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("_-./:=,@%+", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') &&
			(r < 'A' || r > 'Z')
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
