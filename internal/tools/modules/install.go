package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

var (
	//go:embed testdata/hello.go.txt
	hello string
	//go:embed testdata/bare.go.txt
	bare string
	// helloModules are the modules that may be in the go.sum of a program that maps one struct.
	//go:embed testdata/hello.modules.txt
	helloModules string
)

// The limits of a program that maps one struct, in bytes. It is linked as go build -trimpath does,
// without the debug information if GOFLAGS says so. The second limit is without the symbol table and
// the debug information (-ldflags=-s -w). At the end of November 2026 the program had 17,358,718 and 12,095,753 bytes:
// unique values had added 265,716 and 196,608.
const (
	helloSize     = 17_450_000
	helloStripped = 12_150_000
)

// room is a clean place: a module cache of its own, which is filled from the repository, and else from
// the machine's own module cache or the network.
type room struct {
	dir  string
	env  []string
	sums []byte
}

// install installs each module in a clean place, and builds a program that imports its packages.
func (all modules) install() (err error) {
	dir := filepath.Join(os.TempDir(), "itemize-clean-room") // the same each time, so that the build cache serves again
	r := &room{dir: dir}
	if err := r.clean(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.clean()) }()
	proxy := filepath.Join(dir, "proxy")
	if err := all.writeProxy(proxy); err != nil {
		return err
	}
	settings, err := output("", nil, "go", "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return err
	}
	cache, upstream, _ := strings.Cut(strings.TrimSpace(settings), "\n")
	r.env = []string{
		"GOWORK=off", "GOFLAGS=" + os.Getenv("GOFLAGS") + " -modcacherw -buildvcs=false -trimpath", "GOMODCACHE=" +
			filepath.Join(dir, "mod"), "GOBIN=" + filepath.Join(dir, "bin"),
		"GOPROXY=file://" + proxy + ",file://" + filepath.Join(cache, "cache", "download") + "," + upstream,
		// The go command keeps an index of the packages of each version of a module. The next run has
		// other files in this one.
		"GODEBUG=goindex=0",
		"GONOSUMDB=" + prefix + "," + prefix + "/*", // nothing is published
	}
	// Other modules have the sums in the go.sum files of the repository: the checksum database is not asked.
	for _, m := range all {
		text, err := os.ReadFile(filepath.Join(m.dir, "go.sum"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		r.sums = append(r.sums, text...)
	}
	if err := r.measure(); err != nil {
		return err
	}
	for _, m := range all {
		if !m.published() {
			continue
		}
		if err := r.installOne(m); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
	}
	return r.generate()
}

// generate has the installed command generate code for the program that maps one struct, and builds that.
func (r *room) generate() error {
	dir, itemize := filepath.Join(r.dir, "hello"), filepath.Join(r.dir, "bin", "itemize")
	before, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	if err := errors.Join(command(dir, r.env, itemize, "gen", "./..."), command(dir, r.env, "go", "mod", "tidy"),
		command(dir, r.env, "go", "vet", ".")); err != nil {
		return err
	}
	after, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err == nil && !bytes.Equal(before, after) {
		err = fmt.Errorf("generated code changes the go.mod of its program: %s", after)
	}
	return err
}

func (r *room) clean() error { return os.RemoveAll(r.dir) }

// module makes a folder a module with a program that requires modules, and returns the folder.
func (r *room) module(name, source string, required ...string) (string, error) {
	dir := filepath.Join(r.dir, name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	err := errors.Join(
		os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o666),
		os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/"+name+"\n\ngo 1.26.0\n"), 0o666),
		os.WriteFile(filepath.Join(dir, "go.sum"), r.sums, 0o666),
	)
	if err == nil && len(required) > 0 {
		err = command(dir, r.env, "go", append([]string{"get"}, required...)...)
	}
	if err == nil {
		err = command(dir, r.env, "go", "mod", "tidy")
	}
	return dir, err
}

// installOne gets a module and builds a program with all of its packages, or installs its commands.
func (r *room) installOne(m *mod) error {
	if strings.Contains(m.path, "/internal/") {
		fmt.Printf("%-50s by those that require it\n", m.path) // other programs cannot import it
		return nil
	}
	imports, commands, err := m.packages()
	if err != nil {
		return err
	}
	if len(imports) > 0 {
		source := "package main\n\nimport (\n"
		for _, p := range imports {
			source += fmt.Sprintf("\t_ %q\n", p)
		}
		dir, err := r.module(strings.ReplaceAll(strings.TrimPrefix(m.path, path.Dir(prefix)+"/"), "/", "-"),
			source+")\n\nfunc main() {}\n", m.path+"@"+version)
		if err != nil {
			return err
		}
		if err := command(dir, r.env, "go", "build", "-o", os.DevNull, "."); err != nil {
			return err
		}
	}
	for _, c := range commands {
		if err := command(r.dir, r.env, "go", "install", c+"@"+version); err != nil {
			return err
		}
	}
	fmt.Printf("%-50s %d packages, %d commands\n", m.path, len(imports), len(commands))
	return nil
}

// packages returns the packages of a module that others can import, and its commands.
func (m *mod) packages() (imports, commands []string, err error) {
	err = filepath.WalkDir(m.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name != m.dir &&
			(strings.ContainsAny(d.Name()[:1], "._") ||
				slices.Contains([]string{"testdata", "internal", "examples"}, d.Name())) {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && name != m.dir {
			return fs.SkipDir
		}
		files, err := filepath.Glob(filepath.Join(name, "*.go"))
		if err != nil {
			return err
		}
		files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
		if len(files) == 0 {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), files[0], nil, parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(m.dir, name)
		if p := path.Join(m.path, filepath.ToSlash(rel)); file.Name.Name == "main" {
			commands = append(commands, p)
		} else {
			imports = append(imports, p)
		}
		return err
	})
	return imports, commands, err
}

// measure builds a program that maps one struct, and one with the SDK alone, and compares what they need.
func (r *room) measure() error {
	var errs []error
	for _, x := range []struct{ name, source, required string }{
		{"bare", bare, ""},
		{"hello", hello, prefix + "@" + version},
	} {
		required := []string{x.required}
		if x.required == "" {
			required = nil
		}
		dir, err := r.module(x.name, x.source, required...)
		if err != nil {
			return err
		}
		var sizes [2]int64
		for i, flags := range [][]string{nil, {"-ldflags=-s -w"}} {
			args := append(append([]string{"build"}, flags...), "-o", "program", ".")
			if err := command(dir, r.env, "go", args...); err != nil {
				return err
			}
			info, err := os.Stat(filepath.Join(dir, "program"))
			if err != nil {
				return err
			}
			sizes[i] = info.Size()
		}
		modules, err := summed(filepath.Join(dir, "go.sum"))
		if err != nil {
			return err
		}
		fmt.Printf("%-6s %9d bytes, %9d stripped, %d modules in go.sum\n", x.name, sizes[0], sizes[1], len(modules))
		if x.name == "bare" {
			continue
		}
		if debug := !strings.Contains(os.Getenv("GOFLAGS"), "-dwarf=false"); debug && sizes[0] > helloSize ||
			sizes[1] > helloStripped {
			errs = append(errs, fmt.Errorf("the program has %d bytes, %d stripped: the limits are %d and %d", sizes[0],
				sizes[1], helloSize, helloStripped))
		}
		listed := strings.Fields(helloModules)
		for _, m := range modules {
			if !slices.Contains(listed, m) {
				errs = append(errs,
					fmt.Errorf("the program's go.sum has %s: keep it out, or add it to "+
						"internal/tools/modules/testdata/hello.modules.txt", m))
			}
		}
	}
	return errors.Join(errs...)
}

// summed returns the modules that a go.sum names.
func summed(name string) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if m, _, _ := strings.Cut(lines.Text(), " "); !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return all, lines.Err()
}
