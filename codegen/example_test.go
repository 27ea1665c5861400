package codegen_test

import (
	"context"
	"fmt"
	"log"
	"path/filepath"

	"github.com/itemize/itemize/codegen"
)

// A program that generates the code of a package's models, and looks at it before it writes any.
func ExampleGenerate() {
	files, err := codegen.Generate(context.Background(), "../examples/events", "./store")
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range files {
		fmt.Println(filepath.Base(f.Path))
	}
	// Output:
	// store_itemize.go
	// itemize.lock.json
}
