package generator

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// caseModel is a model for packages of testdata/cases.txtar, whose other files are hostile.
const caseModel = `package store

// User is a model.
type User struct {
	ID     string ` + "`ddb:\"pk=USER#{ID}\"`" + `
	Name   string ` + "`ddb:\"sk=HEAD\"`" + `
	Wishes []Wish ` + "`ddb:\"sk=WISH#{At}\"`" + `
}

// Wish is an element.
type Wish struct{ At, Text string }
`

// Each folder of testdata/cases.txtar is a package. Its code compiles for several builds, or the texts in want-gen and
// want-eject say what to change. m.go is [caseModel] if a package has none, and CASES is the path of the folders.
func TestCasesCompile(t *testing.T) {
	cases := readCases(t)
	for _, command := range []string{"gen", "eject"} {
		t.Run(command, func(t *testing.T) { cases.make(t, command) })
	}
}

// hostileCases are packages in a folder, and what is said of them by name and command.
type hostileCases struct {
	root  string
	wants map[string]string
}

func readCases(t *testing.T) hostileCases {
	t.Helper()
	c := hostileCases{filepath.Join("testdata", "cases"), map[string]string{}}
	t.Cleanup(func() { _ = os.RemoveAll(c.root) })
	archive, err := txtar.ParseFile(c.root + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		path := filepath.Join(c.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range archive.Files {
		name, _, _ := strings.Cut(f.Name, "/")
		if strings.HasPrefix(filepath.Base(f.Name), "want-") {
			c.wants[f.Name] = string(f.Data)
			continue
		}
		if _, err := os.Stat(filepath.Join(c.root, name)); err != nil {
			write(name+"/m.go", caseModel)
		}
		text := strings.ReplaceAll(string(f.Data), "CASES",
			"github.com/itemize/itemize/internal/generator/testdata/cases")
		if filepath.Base(f.Name) != "m.go" && filepath.Ext(f.Name) == ".go" && strings.Contains(text, "ddb:") {
			_ = os.Remove(filepath.Join(c.root, name, "m.go"))
		}
		write(f.Name, text)
	}
	return c
}

// make writes the code of all packages, and compiles it.
func (c hostileCases) make(t *testing.T, command string) {
	packages, err := Load(context.Background(), Config{}, "./"+c.root+"/...")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		name := filepath.Base(p.Dir)
		var files []File
		faults, err := p.Diagnostics, error(nil)
		switch {
		case len(p.Models) == 0:
		case command == "gen":
			files, faults, err = p.Generate(nil, false)
		default:
			var out *Ejected
			if out, faults, err = p.Eject(nil); out != nil {
				files = append(files, out.File)
			}
		}
		said := ""
		for _, d := range faults {
			said += d.Message + "\n"
		}
		if err != nil {
			said += err.Error() + "\n"
		}
		if want := c.wants[name+"/want-"+command]; said != want && len(p.Models) > 0 {
			t.Errorf("%s: got\n%swant\n%s", name, said, want)
		}
		for _, f := range files {
			if err := os.WriteFile(f.Path, f.Content, 0o600); err != nil {
				t.Error(err)
			}
			t.Cleanup(func() { _ = os.Remove(f.Path) })
		}
	}
	for _, b := range []building{
		{nil, []string{"test", "-vet=off", "-run", "^$", "-c", "-o", os.DevNull}, ""},
		{
			[]string{"CGO_ENABLED=0"},
			[]string{"test", "-tags=tag", "-vet=off", "-run", "^$", "-c", "-o", os.DevNull},
			"",
		},
	} {
		cmd := exec.Command("go", append(b.args, "./"+c.root+"/...")...)
		cmd.Env = append(os.Environ(), b.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", b.env, err, out)
		}
	}
}
