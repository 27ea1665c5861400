package codegen_test

import (
	"context"
	"fmt"
	"log"
	"maps"
	"path/filepath"
	"slices"

	"github.com/itemize/itemize/codegen"
)

// A program that generates the code of a package's models, and looks at it before it writes any.
func ExampleGenerate() {
	files, err := codegen.Generate(context.Background(), "../examples/events", ".")
	if err != nil {
		log.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Println(filepath.Base(path))
	}
	// Output:
	// itemize.lock.json
	// model_itemize.go
}
