package generated

import (
	"fmt"
	"go/format"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/models"
)

const modelsPath = "github.com/itemize/itemize/internal/testing/models"

// randomModels returns the source of a package with n models that are drawn at random,
// and their names.
func randomModels(seed uint64, n int) (source []byte, names []string, err error) {
	r := rand.New(rand.NewPCG(seed, 0))
	var body strings.Builder
	for i := 0; len(names) < n; i++ {
		t := models.Type(r, i)
		if i%2 == 1 {
			t = models.Documented(r, i)
		}
		if _, err := schema.Of(t); err != nil {
			continue
		}
		name := fmt.Sprintf("Random%d", len(names))
		names = append(names, name)
		fmt.Fprintf(&body, "// %s is a model.\ntype %s %s\n\n", name, name, typeSource(t))
	}
	text := body.String()
	imports := ""
	for _, path := range []string{
		"encoding/json", "math/big", "time", "github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue", modelsPath,
	} {
		if strings.Contains(text, filepath.Base(path)+".") {
			imports += strconv.Quote(path) + "\n"
		}
	}
	source, err = format.Source([]byte(fmt.Sprintf("// Package random has models that were drawn with the seed "+
		"%d.\npackage random\n\nimport (\n%s)\n\n%s", seed, imports, text)))
	return source, names, err
}

// typeSource returns a type as Go source, which is how reflect writes it.
func typeSource(t reflect.Type) string { return strings.ReplaceAll(t.String(), "uint8", "byte") }
