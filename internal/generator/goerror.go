package generator

import (
	"errors"
	"strings"
)

// goErrors are texts of the go command, and what to do about them.
var goErrors = []struct{ text, fact, cure string }{
	{"updates to go.mod needed", "go.mod lacks requirements", "run go mod tidy"},
	{"missing go.sum entry", "go.sum lacks a module", "run go mod tidy"},
	{"go.mod file not found", "no go.mod here or above", "run go mod init, or run the command in a module"},
	{"cannot find main module", "no go.mod here or above", "run go mod init, or run the command in a module"},
	{"inconsistent vendoring", "the folder vendor is not up to date", "run go mod vendor"},
	{"not one of the workspace modules", "go.work lacks the module", "run go work use ."},
	{"does not contain modules listed in go.work", "go.work lacks the module", "run go work use ."},
	{"go.mod requires go >=", "go.mod requires a newer Go", "install it, or leave GOTOOLCHAIN out"},
	{"no required module provides", "an imported module is not required", "run go mod tidy"},
	{"dial tcp", "a module cannot be downloaded", "check the network and GOPROXY"},
	{"module lookup disabled", "a module is not here, and GOPROXY is off", "run go mod download with a network"},
}

// goError returns an error of the go command as one sentence with its cure. An unknown one keeps its text.
func goError(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, e := range goErrors {
		if strings.Contains(text, e.text) {
			return errors.New("the go command: " + e.fact + ": " + e.cure)
		}
	}
	if _, stderr, ok := strings.Cut(text, "stderr: "); ok {
		return errors.New("the go command: " + strings.TrimPrefix(strings.TrimSpace(stderr), "go: "))
	}
	return err
}
