package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/itemize/itemize/internal/gen"
)

// vettool runs as the go command's vet tool.
func vettool() int {
	unitchecker.Main(gen.Analyzer) // ends the program
	return exitOK
}
