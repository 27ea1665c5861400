package main

import (
	"encoding/json"
	"fmt"
	"go/token"

	"github.com/itemize/itemize/internal/generator"
)

func (c *command) vet(args []string) error {
	f := c.flags(help{
		"vet", "[packages]", "Report the faults of tags with their positions, and models whose keys " +
			"collide in a table.\n" +
			"Notes list cheaper layouts; they are not faults. As a part of go vet:\ngo vet -vettool=$(which " +
			"itemize) ./...",
		[]string{"vet ./...", "vet -json ./store"},
	})
	asJSON, tags := f.common()
	if err := f.parse(args); err != nil {
		return err
	}
	packages, err := generator.Load(c.ctx, generator.Config{Dir: c.dir, BuildFlags: buildFlags(*tags)}, patterns(f)...)
	if err != nil {
		return err
	}
	var faults []generator.Diagnostic
	for _, p := range packages {
		_, diagnostics, err := p.Generate(nil, true)
		if err != nil {
			return err
		}
		faults = append(append(faults, diagnostics...), p.LockFault()...)
		for _, d := range p.Advice() {
			fmt.Fprintf(c.stderr, "note: %s: %s\n", c.position(d.Pos), d.Message)
		}
	}
	return c.report(append(faults, generator.Meetings(packages...)...), *asJSON)
}

// report prints diagnostics, and returns errFaults if there are any.
func (c *command) report(faults []generator.Diagnostic, asJSON bool) error {
	if asJSON {
		return c.reportJSON(faults)
	}
	for _, d := range faults {
		fmt.Fprintf(c.stdout, "%s: %s\n", c.position(d.Pos), d.Message)
		for _, r := range d.Related {
			fmt.Fprintf(c.stdout, "\t%s: %s\n", c.position(r.Pos), r.Message)
		}
	}
	if len(faults) > 0 {
		return errFaults
	}
	return nil
}

func (c *command) position(p token.Position) string {
	p.Filename = c.rel(p.Filename)
	return p.String()
}

// jsonDiagnostic is an element of the JSON output.
type jsonDiagnostic struct {
	File      string        `json:"file"`
	Line      int           `json:"line"`
	Column    int           `json:"column"`
	EndLine   int           `json:"endLine,omitempty"`
	EndColumn int           `json:"endColumn,omitempty"`
	Message   string        `json:"message"`
	Related   []jsonRelated `json:"related,omitempty"`
}

type jsonRelated struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

func (c *command) reportJSON(faults []generator.Diagnostic) error {
	out := []jsonDiagnostic{}
	for _, d := range faults {
		j := jsonDiagnostic{c.rel(d.Pos.Filename), d.Pos.Line, d.Pos.Column, d.End.Line, d.End.Column, d.Message, nil}
		for _, r := range d.Related {
			j.Related = append(j.Related, jsonRelated{c.rel(r.Pos.Filename), r.Pos.Line, r.Pos.Column, r.Message})
		}
		out = append(out, j)
	}
	e := json.NewEncoder(c.stdout)
	e.SetIndent("", "\t")
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return err
	}
	if len(faults) > 0 {
		return errFaults
	}
	return nil
}
