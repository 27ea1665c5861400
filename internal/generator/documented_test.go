package generator

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/models"
)

// The mapper and the generator accept the same random models of documented types, and the generated code compiles.
func TestDocumentedModelsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(draws.Seed(t), 0))
	dir, write := moduleOf(t, "github.com/itemize/itemize/drawn")
	var refused []error
	var sources []string
	for i := range draws.Times(6, 24, 600) {
		typ := models.Documented(r, i)
		_, err := schema.Of(typ)
		source := fmt.Sprintf("package d%04d\n\n", i)
		for _, p := range []string{
			"encoding/json", "math/big", "time", "github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue",
			"github.com/itemize/itemize/internal/testing/models",
		} {
			if strings.Contains(typ.String(), filepath.Base(p)+".") {
				source += fmt.Sprintf("import %q\n", p)
			}
		}
		source += fmt.Sprintf("\n// Doc is drawn.\ntype Doc %v\n", typ)
		write(filepath.Join(dir, fmt.Sprintf("d%04d", i), "model.go"), source)
		refused, sources = append(refused, err), append(sources, source)
	}
	packages, err := Load(context.Background(), Config{Dir: dir, Env: offline}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(packages, func(a, b *Package) int { return strings.Compare(a.Path, b.Path) })
	for i, p := range packages {
		files, diagnostics, err := p.Generate(nil, false)
		if err != nil {
			t.Fatal(err)
		}
		diagnostics = append(p.Diagnostics, diagnostics...)
		if len(diagnostics) > 0 != (refused[i] != nil) {
			t.Errorf("%s\nthe mapper says %v, and the generator %v", sources[i], refused[i], diagnostics)
		}
		for _, f := range files {
			write(f.Path, string(f.Content))
		}
	}
	cmd := exec.Command("go", "build", "./...")
	cmd.Dir, cmd.Env = dir, offline
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
