package migrate

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/itemize/itemize/internal/advice/charge"
	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/model/schema"
)

// Layout is the layout of a model as data.
type Layout struct{ of *layout.Layout }

// ReadLayout reads the layout of a model from a lock file. The error lists the parts of the model that
// cannot be migrated.
func ReadLayout(lock, model string) (*Layout, error) {
	content, err := os.ReadFile(lock)
	if err != nil {
		return nil, fmt.Errorf("%w: name the file that itemize gen wrote in the model's package (-lock)", err)
	}
	l, err := ParseLayout(content, model)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", lock, err)
	}
	return l, nil
}

// ParseLayout is ReadLayout for the content of a lock file, which a program may embed.
func ParseLayout(lock []byte, model string) (*Layout, error) {
	var file struct{ Models []schema.Layout }
	if err := json.Unmarshal(charge.UTF8(lock), &file); err != nil {
		return nil, fmt.Errorf("the lock file cannot be read (%w): run itemize gen in the package of the model", err)
	}
	var names []string
	for _, l := range file.Models {
		if l.Model == model {
			x, err := layout.New(l)
			if err != nil {
				return nil, err
			}
			return &Layout{x}, nil
		}
		names = append(names, l.Model)
	}
	return nil, fmt.Errorf("no model %s: the models are %s", model, strings.Join(names, ", "))
}
