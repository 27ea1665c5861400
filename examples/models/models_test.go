package models

import (
	"os"
	"strings"
	"testing"

	"github.com/itemize/itemize/mapper"
)

// The models in docs/models.md are exactly those of this package, and can be mapped.
func TestModelsOfTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"player.go", "thread.go", "order.go"} {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(source)
		start := strings.Index(text, "type ")
		end := start + strings.Index(text[start:], "\n}\n") + 3
		if !strings.Contains(string(page), text[start:end]) {
			t.Errorf("docs/models.md does not hold the model of %s as it is:\n%s", name, text[start:end])
		}
	}
	var client mapper.Client = noClient{}
	if _, err := mapper.New[Player](client); err != nil {
		t.Error(err)
	}
	if _, err := mapper.New[Thread](client); err != nil {
		t.Error(err)
	}
	if _, err := mapper.New[Order](client); err != nil {
		t.Error(err)
	}
}

type noClient struct{ mapper.Client }
