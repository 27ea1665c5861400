package generator

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/schema"
)

// lostUniques lists the unique values of a new layout, by their names, whose stored guards would not be found, or would
// compare values in another way.
func lostUniques(old, now schema.Layout) map[string]string {
	out := map[string]string{}
	for _, was := range old.Unique {
		i := slices.IndexFunc(now.Unique, func(u schema.LayoutUnique) bool { return u.Name == was.Name })
		if i < 0 {
			of := func(u schema.LayoutUnique) bool {
				return slices.Equal(slices.Sorted(slices.Values(u.Attributes)),
					slices.Sorted(slices.Values(was.Attributes)))
			}
			j := slices.IndexFunc(now.Unique, of)
			switch {
			case j < 0:
			case slices.Equal(now.Unique[j].Attributes, was.Attributes):
				out[now.Unique[j].Name] = fmt.Sprintf("its guards would be named %s, so that no lookup finds them: "+
					"add as='%s' to its tag", now.Unique[j].Name, was.Name)
			default:
				out[now.Unique[j].Name] = fmt.Sprintf("the guards of %s would have the parts in another order, so "+
					"that no lookup finds them: keep the order %s in unique=",
					was.Name, strings.Join(was.Attributes, ","))
			}
			continue
		}
		u := now.Unique[i]
		a, b := describeUnique(was), describeUnique(u)
		if !slices.Equal(was.Attributes, u.Attributes) || !slices.Equal(was.Forms, u.Forms) || was.Table != u.Table {
			out[u.Name] = fmt.Sprintf("the guards of %s were made of %s, and would be made of %s: run itemize gen "+
				"-accept ./..., deploy it, and run itemize unique run and verify", u.Name, a, b)
		}
	}
	return out
}

// uniques returns the diagnostics of unique values whose guards would be lost, and notes those that are new or gone.
// was is the layout before, nil for a new model.
func (p *Package) uniques(m *Model, was *schema.Layout, now schema.Layout) (out []Diagnostic) {
	if was == nil {
		was = &schema.Layout{}
	}
	lost := lostUniques(*was, now)
	has := func(l schema.Layout, name string) bool {
		return slices.ContainsFunc(l.Unique, func(u schema.LayoutUnique) bool { return u.Name == name })
	}
	for _, u := range m.Schema.Uniques {
		of := contradiction{item: m.Schema.Root.Name}
		for _, a := range m.Schema.Guarded(u) {
			if a.Field == u.Field {
				of.field = a.Value.Name
			}
		}
		switch text := lost[u.Name]; {
		case text != "":
			out = append(out, p.contradiction(m, of, text))
		case has(*was, u.Name):
		case was.Model == "":
			p.Notes = append(p.Notes, p.contradiction(m, of, "it is unique: lookups work when itemize unique "+
				"verify has succeeded once"))
		default:
			p.Notes = append(p.Notes, p.contradiction(m, of, "it is unique now: deploy all programs, then call "+
				"itemize unique run and verify"))
		}
	}
	for _, u := range was.Unique {
		if !has(now, u.Name) && len(out) == 0 {
			p.Notes = append(p.Notes, p.contradiction(m, contradiction{}, fmt.Sprintf("%s is not unique any more: "+
				"when all programs are deployed, itemize unique drop deletes its guards", u.Name)))
		}
	}
	return out
}

// LockedUniques returns the unique values of all models in a lock file, by their names, with the names of the models.
func LockedUniques(path string) (map[string]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	l, err := (&Package{Dir: filepath.Dir(path)}).readLock(content)
	if err != nil {
		return nil, err
	}
	of := map[string]string{}
	for _, m := range l.Models {
		for _, u := range m.Unique {
			of[u.Name] = m.Model
		}
	}
	return of, nil
}

// guarded reports whether an attribute of the root item is a part of a unique value.
func guarded(l schema.Layout, name string) bool {
	return slices.ContainsFunc(l.Unique, func(u schema.LayoutUnique) bool {
		return slices.Contains(u.Attributes, name)
	})
}

// describeUnique describes how a unique value is compared.
func describeUnique(u schema.LayoutUnique) string {
	var parts []string
	for i, name := range u.Attributes {
		if len(u.Forms) > i && u.Forms[i] != "" {
			name += " (" + u.Forms[i] + ")"
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, ",") + " in " + cmp.Or(u.Table, "the table of the root item")
}
