package large_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/itemize/itemize/integration"
	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/mapper"
)

// A large text is in parts next to its item. A load reads the item alone, and the text when it is
// needed.
func ExampleValue() {
	type Book struct {
		_     struct{}            `ddb:"table=books"`
		ID    string              `ddb:"pk=BOOK#{ID}"`
		Title string              `ddb:"sk=HEAD"`
		Text  large.Value[string] `ddb:"sk=HEAD,chunk"`
	}
	ctx := context.Background()
	engine, err := integration.Start(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Stop()
	if err := engine.CreateTable(ctx, "books", "PK:S", "SK:S"); err != nil {
		log.Fatal(err)
	}
	books, err := mapper.New[Book](engine.Client())
	if err != nil {
		log.Fatal(err)
	}
	if _, err := books.Save(ctx,
		books.New(Book{ID: "1", Title: "Words", Text: large.Of(strings.Repeat("word ", 200_000))})); err != nil {
		log.Fatal(err)
	}
	e, err := books.Load(ctx, books.Key("1"))
	if err != nil {
		log.Fatal(err)
	}
	text, err := e.Value.Text.Get(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Value.Title, len(text), "bytes")
	// Output:
	// Words 1000000 bytes
}
