package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/itemize/itemize/internal/testing/testengine"
)

var update = flag.Bool("update", false, "write the expected outputs of scripts anew")

// TestMain lets the test binary be the command, for go vet -vettool.
func TestMain(m *testing.M) {
	if os.Getenv("ITEMIZE_TEST_COMMAND") != "" {
		if file := os.Getenv("ITEMIZE_TEST_MEMORY"); file != "" {
			code := run(context.Background(), os.Args[1:], ".", os.Stdout, os.Stderr)
			if status, err := os.ReadFile("/proc/self/status"); err == nil { // of Linux
				_ = os.WriteFile(file, status, 0o600)
			}
			os.Exit(code)
		}
		main()
		return
	}
	testengine.Run(m)
}

// The scripts are txtar archives: the comment holds the commands, one on a line, and the
// files are those of a module that uses this one.
//
//	itemize ARGS    run the command; "! itemize" if it has to fail
//	go ARGS         run the go command, likewise
//	stdout FILE     the output of the last command is that of the archive's file
//	match TEXT      it matches a regular expression; "! match" if it must not
//	edit FILE /OLD/NEW/   replace text in a file
//	unchanged       the last command has changed no file
//	absent FILE     a file does not exist
//	empty FILE      write a file with nothing in it
//	remove FILE     remove a file
//	contains FILE TEXT    a file has the text
//	document FILE KB...   write a JSON object with texts of so many KB: a0, a1, ...
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			newScript(t, path).run()
		})
	}
}

type script struct {
	*testing.T
	path    string
	archive *txtar.Archive
	dir     string
	out     string
	before  map[string]string
	updated bool
}

func newScript(t *testing.T, path string) *script {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	s := &script{T: t, path: path, archive: a, dir: dir}
	s.module()
	for _, f := range a.Files {
		if !strings.HasPrefix(f.Name, "want") {
			s.write(f.Name, f.Data)
		}
	}
	return s
}

func (s *script) write(name string, data []byte) {
	s.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		s.Fatal(err)
	}
}

// module makes the directory a module that requires what this one does, and this one.
func (s *script) module() {
	s.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		s.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		s.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		s.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(mod), "\n")
	text := "module example.com/shop\n" + rest +
		fmt.Sprintf("\nrequire github.com/itemize/itemize v0.0.0\n\nreplace github.com/itemize/itemize => %s\n", root)
	s.write("go.mod", []byte(text))
	s.write("go.sum", sum)
}

func (s *script) run() {
	s.Helper()
	for n, line := range strings.Split(string(s.archive.Comment), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		s.command(n+1, line)
	}
	if s.updated {
		if err := os.WriteFile(s.path, txtar.Format(s.archive), 0o644); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *script) command(n int, line string) {
	s.Helper()
	fail := func(format string, args ...any) {
		s.Helper()
		s.Fatalf("%s:%d: %s: %s", s.path, n, line, fmt.Sprintf(format, args...))
	}
	rest, negated := strings.CutPrefix(line, "! ")
	word, args, _ := strings.Cut(rest, " ")
	switch word {
	case "itemize", "go":
		s.before = s.files()
		code := s.execute(word, strings.Fields(args))
		if (code != 0) != negated {
			fail("exit code %d:\n%s", code, s.out)
		}
	case "stdout":
		s.stdout(args, fail)
	case "match":
		if regexp.MustCompile(args).MatchString(s.out) == negated {
			fail("the output is:\n%s", s.out)
		}
	case "edit":
		name, expr, _ := strings.Cut(args, " ")
		parts := strings.Split(expr, expr[:1])
		data, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil || !bytes.Contains(data, []byte(parts[1])) {
			fail("no %q in it (%v)", parts[1], err)
		}
		s.write(name, bytes.ReplaceAll(data, []byte(parts[1]), []byte(parts[2])))
	case "unchanged":
		if d := cmp.Diff(s.before, s.files()); d != "" {
			fail("files changed:\n%s", d)
		}
	case "contains":
		name, text, _ := strings.Cut(args, " ")
		if data, err := os.ReadFile(filepath.Join(s.dir, name)); err != nil || !bytes.Contains(data, []byte(text)) {
			fail("it is not there (%v)", err)
		}
	case "document":
		name, sizes, _ := strings.Cut(args, " ")
		s.document(name, strings.Fields(sizes))
	case "absent":
		if _, err := os.Stat(filepath.Join(s.dir, args)); err == nil {
			fail("it is there")
		}
	case "empty":
		s.write(args, nil)
	case "remove":
		if err := os.Remove(filepath.Join(s.dir, args)); err != nil {
			fail("%v", err)
		}
	default:
		fail("no such command of scripts")
	}
}

// document writes a JSON object with texts of so many KB.
func (s *script) document(name string, sizes []string) {
	s.Helper()
	var fields []string
	for i, text := range sizes {
		kb, err := strconv.Atoi(text)
		if err != nil {
			s.Fatal(err)
		}
		fields = append(fields, fmt.Sprintf(`"a%d": "%s"`, i, strings.Repeat("x", kb<<10)))
	}
	s.write(name, []byte("{"+strings.Join(fields, ", ")+"}"))
}

// files returns the content and time of all files.
func (s *script) files() map[string]string {
	all := map[string]string{}
	err := filepath.WalkDir(s.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = info.ModTime().String() + string(data)
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return maps.Clone(all)
}

func (s *script) execute(word string, args []string) int {
	var out bytes.Buffer
	defer func() { s.out = strings.ReplaceAll(out.String(), s.dir+string(filepath.Separator), "") }()
	if word == "itemize" {
		return run(context.Background(), args, s.dir, &out, &out)
	}
	self, err := os.Executable()
	if err != nil {
		s.Fatal(err)
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "$ITEMIZE", self)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, &out, &out
	// Without optimizations the compiler takes half the time.
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod '-gcflags=-N -l'", "GOPROXY=off", "GOWORK=off",
		"ITEMIZE_TEST_COMMAND=1")
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(&out, err)
		return 1
	}
	return 0
}

func (s *script) stdout(name string, fail func(string, ...any)) {
	s.Helper()
	for i, f := range s.archive.Files {
		if f.Name != name {
			continue
		}
		if *update && string(f.Data) != s.out {
			s.archive.Files[i].Data, s.updated = []byte(s.out), true
			return
		}
		if d := cmp.Diff(string(f.Data), s.out); d != "" {
			fail("(-want +got)\n%s", d)
		}
		return
	}
	fail("no file %s in the archive", name)
}
