package generator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/schema"
)

// lostUniques lists the unique values of a new layout whose guards, which programs with an old layout have written,
// would not be found, or would compare values in another way.
func lostUniques(old, now schema.Layout) []string {
	var out []string
	for _, was := range old.Unique {
		i := slices.IndexFunc(now.Unique, func(u schema.LayoutUnique) bool { return u.Name == was.Name })
		if i < 0 {
			same := func(u schema.LayoutUnique) bool { return sameParts(now, was, u) }
			if j := slices.IndexFunc(now.Unique, same); j >= 0 {
				out = append(out, fmt.Sprintf("the guards of the unique value %s would have the name %s, so that "+
					"no lookup "+
					"finds the stored ones: add as='%s' to its tag", strings.Join(now.Unique[j].Attributes, ","),
					now.Unique[j].Name, was.Name))
			}
			continue
		}
		u := now.Unique[i]
		a, b := describeUnique(was), describeUnique(u)
		if !sameParts(now, was, u) || !slices.Equal(was.Forms, u.Forms) || was.Table != u.Table {
			out = append(out, fmt.Sprintf("the guards of %s were made of %s, and would be made of %s: run itemize gen "+
				"-accept ./..., deploy it, and run itemize unique run and verify", u.Name, a, b))
		}
	}
	return out
}

// sameParts reports whether two unique values consist of the same attributes, which may have new names.
func sameParts(now schema.Layout, was, u schema.LayoutUnique) bool {
	if len(was.Attributes) != len(u.Attributes) {
		return false
	}
	for i, name := range u.Attributes {
		if name != was.Attributes[i] && !slices.Contains(formerNames(now, name), was.Attributes[i]) {
			return false
		}
	}
	return true
}

// formerNames returns the names that an attribute of the root item had before.
func formerNames(l schema.Layout, name string) []string {
	for _, it := range l.Items {
		for _, a := range it.Attributes {
			if it.Root && a.Name == name {
				return a.Was
			}
		}
	}
	return nil
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
