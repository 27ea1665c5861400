package a

import (
	"errors"
	"fmt"
)

var errSentinel = errors.New("itemize: the item: it is missing: create it")

func m(value string) []error {
	report := func(cure, format string, args ...any) error { return fmt.Errorf(format+": "+cure, args...) }
	return []error{
		errors.New("The item is missing: create it"),
		errors.New("item: it is missing: create it."),
		errors.New("create the item"),
		fmt.Errorf("the attribute %s: the value is wrong: %s", "Name", value),
		report("create it. It cannot be created if another item has the same key, which must not be replaced: "+
			"create it under another key. No item of the table may have that key", "The item %q is missing", "x"),
	}
}
