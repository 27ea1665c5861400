package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/itemize/itemize/codegen"
)

// vettool runs as the go command's vet tool.
func vettool() int {
	unitchecker.Main(codegen.Analyzer) // ends the program
	return exitOK
}
