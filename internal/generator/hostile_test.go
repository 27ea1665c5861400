package generator

import (
	"context"
	"fmt"
	"go/types"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/draws"
)

// hostileNames are names that a package may declare, and that generated or ejected code uses or declares.
func hostileNames() []string {
	names := types.Universe.Names()
	for _, path := range ejectedImports {
		names = append(names, filepath.Base(path))
	}
	names = append(names, locals...)
	names = append(names, ejectedLocals...)
	for _, prefix := range []string{"User", "user", "Wish"} {
		for _, suffix := range []string{
			"", "PK", "SK", "Items", "Of", "Insert", "Save", "Delete", "Query", "Key", "Fields", "Handles", "Path",
			"Form",
			"Ejected", "EjectedFixed", "EjectedWas", "Node", "ByID", "HEADSK", "Wishes", "WishesSK",
			"WishesQuery", "Patch",
			"Entities", "Index", "Methods",
		} {
			names = append(names, prefix+suffix)
		}
	}
	return append(
		names,
		"ErrTooLarge",
		"NewVersion",
		"newVersion",
		"ejectedKey",
		"ItemizeCodec",
		"mapper",
		"mapperimpl",
		"query",
		"field",
		"userLayout_changed_run_go_generate",
		"sameUser",
		"cloneUser",
		"TableValue",
	)
}

// hostilePackage returns the files of a package with a model, in which many names are taken.
func hostilePackage(r *rand.Rand, names []string) map[string]string {
	model := []string{"User", "User", "user", "Table"}[r.IntN(4)]
	fields := []string{"Table", "Err", "Aws", "PK", "SK", "Items", "Of", "Len", "Nil", "Error", "Key", "V", "Types"}
	r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	element := []string{"Wish", "wish", "item", "Items"}[r.IntN(4)]
	text := fmt.Sprintf("package store\n\nimport \"time\"\n\ntype %s struct {\n\t%s string `ddb:\"pk=U#{%[2]s}\"`\n"+
		"\t%s string `ddb:\"sk=HEAD\"`\n\t%s []%s `ddb:\"sk=%s#{At}\"`\n\t%s *%[5]s `ddb:\"sk=Items\"`\n}\n\n"+
		"type %[5]s struct {\n\tAt time.Time\n\t%[8]s string\n}\n", model, fields[0], fields[1], fields[2], element,
		[]string{"WISH", "Of", "Items"}[r.IntN(3)], fields[3], fields[4])
	if r.IntN(3) == 0 {
		text = strings.Replace(text, "}\n", "\tunread *Missing\n}\n", 1)
	}
	kinds := []string{"type %s struct{ X int }", "func %s() {}", "var %s = 1", "const %s = 1", "type %s int"}
	files := map[string]string{}
	switch r.IntN(4) {
	case 0:
		files["m.v2_windows.go"] = text
	case 1:
		files["m.go"] = "// +build linux\n// +build !integration\n\n" + text
	default:
		files["m.go"] = text
	}
	used := map[string]bool{model: true, element: true, "init": true, "_": true}
	for _, file := range []string{
		"o.go", "o_test.go", "o_windows.go", "//go:build integration\n\n", "//go:build !linux\n\n",
		"// +build integration\n// +build linux\n\n", "o.v2_windows.go",
	} {
		head, name := "", file
		if strings.HasPrefix(file, "//") {
			head, name = file, fmt.Sprintf("b%d.go", len(files))
		}
		body := head + "package store\n"
		if n := names[r.IntN(len(names))]; r.IntN(8) == 0 && !used[n] {
			used[n] = true
			body += "\nimport " + n + " \"time\"\n\nvar _ " + n + ".Time\n"
		}
		if r.IntN(30) == 0 && !used["ItemizeCodec"] {
			used["ItemizeCodec"] = true
			body += "\nfunc (*" + model + ") ItemizeCodec() {}\n"
		}
		for range r.IntN(2) {
			n := names[r.IntN(len(names))]
			if !used[n] {
				used[n] = true
				body += "\n" + fmt.Sprintf(kinds[r.IntN(len(kinds))], n) + "\n"
			}
		}
		files[name] = body
	}
	if used["Missing"] || r.IntN(2) == 0 {
		files["missing.go"] = "package store\n\ntype Missing struct{}\n"
	}
	return files
}

// Whatever a package declares in files of any build, gen and eject write code that compiles, or say which name to
// change.
func TestHostilePackagesCompile(t *testing.T) {
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	root := filepath.Join("testdata", "hostile")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	names := hostileNames()
	written := map[string]int{}
	for n := range draws.Times(8, 30, 2000) {
		dir := filepath.Join(root, fmt.Sprint("p", n))
		files := hostilePackage(r, names)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		delete(files, "missing.go")
		written[makeHostile(t, dir, n%2 == 0)]++
		if t.Failed() {
			t.Fatalf("seed %d: %v", seed, files)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Log(written)
}

// makeHostile generates or ejects the code of a package, and compiles it for several builds.
func makeHostile(t *testing.T, dir string, eject bool) string {
	t.Helper()
	all := builds(dir, draws.Times(0, 1, 1) > 0)
	packages, err := Load(context.Background(), Config{}, "./"+dir)
	if err != nil {
		t.Error(err)
		return "failed"
	}
	i := slices.IndexFunc(packages, func(p *Package) bool { return len(p.Models) > 0 || len(p.Diagnostics) > 0 })
	if i < 0 {
		t.Error("no models")
		return "failed"
	}
	var files []File
	var faults []Diagnostic
	if p := packages[i]; eject {
		out, diagnostics, err := p.Eject(nil)
		if err != nil {
			t.Error(err)
			return "failed"
		}
		if faults = diagnostics; out != nil {
			if err := p.Compiles(context.Background(), Config{}, out.File); err != nil {
				return "refused by the types"
			}
			files = []File{out.File}
		}
	} else if files, faults, err = p.Generate(nil, false); err != nil {
		t.Error(err)
	}
	if len(faults) > 0 {
		return "refused"
	}
	for _, f := range files {
		if err := os.WriteFile(f.Path, f.Content, 0o600); err != nil {
			t.Error(err)
		}
	}
	for _, b := range all {
		if b.fails == "" && b.build(dir) != "" {
			t.Errorf("eject %t, %v %v: %s", eject, b.env, b.args, b.build(dir))
		}
	}
	return "written"
}

// building is a build of a hostile package. fails is its output for the package without written code.
type building struct {
	env, args []string
	fails     string
}

func (b building) build(dir string) string {
	cmd := exec.Command("go", append(slices.Clone(b.args), "./"+dir)...)
	cmd.Env = append(os.Environ(), b.env...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%v\n%s", err, out)
}

// builds are the builds of a package before code is written for it.
func builds(dir string, all bool) []building {
	out := []building{
		{nil, []string{"test", "-vet=off", "-run", "^$", "-c", "-o", os.DevNull}, ""},
		{nil, []string{"build", "-o", os.DevNull, "-tags=integration"}, ""},
	}
	if all { // the standard library is compiled once more
		out = append(out, building{[]string{"GOOS=windows"}, []string{"build", "-o", os.DevNull}, ""})
	}
	for i := range out {
		out[i].fails = out[i].build(dir)
	}
	return out
}
