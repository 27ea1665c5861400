package generator

import (
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A generated file is in exactly the builds of its source file, as the go command sees both.
func TestGeneratedFilesAreInTheBuildsOfTheirSources(t *testing.T) {
	contexts := []build.Context{}
	for _, system := range []string{"linux", "windows", "android"} {
		for _, cgo := range []bool{true, false} {
			c := build.Default
			c.GOOS, c.GOARCH, c.CgoEnabled, c.BuildTags = system, "amd64", cgo, nil
			contexts = append(contexts, c)
			c.GOARCH, c.BuildTags = "arm64", []string{"one", "two"}
			contexts = append(contexts, c)
		}
	}
	for _, name := range []string{
		"m.go", "m_linux.go", "m_windows_amd64.go", "m.v2_linux.go", "m_linux.v2.go", "linux.go", "linux_amd64.go",
		"windows_test.go", "m_linux_test.go", "m.v2_windows_test.go", "m_amd64_windows.go", "m_x_arm64.go",
		"m_sparc64.go", "m_windows_.go", "m_test_linux.go",
	} {
		for _, head := range []string{
			"", "//go:build one && !two", "// +build linux", "// +build one linux,!two\n// +build amd64",
			"// +build one\n\n// +build !windows", "// +build linux\n\n//go:build windows", "/* a */\n\n// +build one",
			"// +build one\n/* a */", "// A text.\n// +build one", "//+build\tone", "//go:build one || cgo",
			"/* a */\n//go:build one\n",
		} {
			for _, rest := range []string{
				"\n\npackage store\n", "\npackage store\n", "\n\npackage store\n\nimport \"C\"\n",
			} {
				if strings.Contains(rest, "import") && strings.HasSuffix(name, "_test.go") {
					continue // tests cannot import C
				}
				sameBuilds(t, contexts, name, head+rest)
			}
		}
	}
}

// sameBuilds writes a source file and an empty generated file, and compares the builds that have them.
func sameBuilds(t *testing.T, contexts []build.Context, name, text string) {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, name)
	f, err := parser.ParseFile(token.NewFileSet(), source, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	made := generatedPath(source)
	line := constraints(&sourceFile{source, f})
	for path, text := range map[string]string{source: text, made: header + "\n\n" + line + "\n\npackage store\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range contexts {
		p, _ := c.ImportDir(dir, 0) // an error says that no file is in the build
		all := slices.Concat(p.GoFiles, p.CgoFiles, p.TestGoFiles)
		if a, b := slices.Contains(all, name), slices.Contains(all, filepath.Base(made)); a != b {
			t.Errorf("%s of %q with %q: %s/%s cgo %t tags %v has the source %t, and the generated file %t", name, text,
				line, c.GOOS, c.GOARCH, c.CgoEnabled, c.BuildTags, a, b)
		}
	}
}
