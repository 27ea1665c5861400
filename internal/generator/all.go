package generator

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// All returns the files of all packages, as [Package.Generate] does for one. Lock files are read from their folders.
func All(packages []*Package, accept bool) (files []File, faults []Diagnostic, err error) {
	locks := map[string][]byte{} // as they become: a package and its external tests share one
	for _, p := range packages {
		if err := p.ours(); err != nil && len(p.Models)+len(p.generated) > 0 {
			return nil, nil, err
		}
		lock, seen := locks[p.LockPath()]
		if !seen {
			if lock, err = os.ReadFile(p.LockPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, nil, err
			}
		}
		made, diagnostics, err := p.Generate(lock, accept)
		if err != nil {
			return nil, nil, err
		}
		files = slices.DeleteFunc(files, func(f File) bool { return len(made) > 0 && f.Path == p.LockPath() })
		files, faults = append(files, made...), append(faults, diagnostics...)
		if len(made) > 0 {
			locks[p.LockPath()] = made[len(made)-1].Content
		}
	}
	return files, faults, nil
}

// ours returns an error for a package of a module that is only required: its folder is a copy.
func (p *Package) ours() error {
	if p.foreign == "" {
		return nil
	}
	return fmt.Errorf("%s: it is of module %s, and files are written only in the module of the command: run the "+
		"command there", p.Path, p.foreign)
}
