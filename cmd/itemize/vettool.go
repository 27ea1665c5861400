package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/itemize/itemize/internal/generator"
)

// vettool runs as the go command's vet tool.
func vettool() int {
	unitchecker.Main(generator.Analyzer) // ends the program
	return exitOK
}
