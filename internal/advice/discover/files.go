package discover

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/model/naming"
)

// File is a file to write. Its name is relative to the folder of the models.
type File struct {
	Name    string
	Content []byte
}

// maxWritten is the largest number of models that are written, if the caller does not name one.
const maxWritten = 20

// written are the types whose models are written: the first ones that save money, or the one that the caller named.
func (r *Report) written() []*Type {
	var out []*Type
	for _, t := range r.Types {
		if t.NoModel != "" || len(out) == maxWritten {
			continue
		}
		if r.only == t.Name || r.only == "" && t.Saves() {
			out = append(out, t)
		}
	}
	return out
}

// Saves reports whether the model costs at least a tenth less than the items as they are.
func (t *Type) Saves() bool {
	return t.NoModel == "" && (t.Forecasts[0].NotStorable != "" || t.Forecasts[1].Total < 0.9*t.Forecasts[0].Total)
}

// Files returns models.go with the models, and a workload for each. For monoliths in other forms it also returns
// functions and a program.
// module is the import path of the folder, "" if it is unknown.
func (r *Report) Files(dir, module string) ([]File, error) {
	source, err := r.Source(dir)
	if err != nil {
		return nil, err
	}
	out := []File{{modelsFile, source}}
	for _, t := range r.written() {
		w := *t.Workload
		w.Attributes = append(t.x.keySizes(w.Attributes), w.Attributes...)
		b, err := WorkloadText(w)
		if err != nil {
			return nil, err
		}
		out = append(out, File{t.workloadName(), b})
	}
	functions, err := r.reshapeSource(dir)
	if err != nil || functions == nil {
		return out, err
	}
	if module == "" {
		module = packageName(dir)
	}
	program, err := r.program(dir, module)
	return append(out, File{"reshape.go", functions},
		File{programName(), program}), err
}

// WorkloadText returns a workload as JSON, with each operation, index and attribute on a line: the operations first,
// since they are to be changed.
func WorkloadText(w forecast.Workload) ([]byte, error) {
	var b bytes.Buffer
	title, err := json.Marshal(w.Name)
	fmt.Fprintf(&b, "{\n\t\"name\": %s,\n\t\"entities\": %d,\n\t\"overhead\": %d", title, w.Entities, w.Overhead)
	if w.ElementOverhead > 0 {
		fmt.Fprintf(&b, ",\n\t\"elementOverhead\": %d", w.ElementOverhead)
	}
	lines := func(name string, n int, value func(i int) any) {
		fmt.Fprintf(&b, ",\n\t%q: [", name)
		for i := range n {
			text, e := json.Marshal(value(i))
			err = errors.Join(err, e)
			if i > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, "\n\t\t%s", text)
		}
		b.WriteString("\n\t]")
	}
	lines("operations", len(w.Operations), func(i int) any { return w.Operations[i] })
	if len(w.Indexes) > 0 {
		lines("indexes", len(w.Indexes), func(i int) any { return w.Indexes[i] })
	}
	lines("attributes", len(w.Attributes), func(i int) any { return w.Attributes[i] })
	b.WriteString("\n}\n")
	return b.Bytes(), err
}

func (t *Type) workloadName() string { return strings.ToLower(t.Name) + ".workload.json" }

// lockPath is the lock file in the folder of the models.
const lockPath = "/itemize.lock.json"

// Next returns the next commands, for models in a folder. flags are those of the endpoint. table reports that the
// sample is of a table, which can be migrated.
func (r *Report) Next(folder, flags string, table bool) string {
	var b strings.Builder
	at := func(name string) string { return naming.Shell(folder + name) }
	fmt.Fprintf(&b, "Next:\n\n  itemize gen %s\n", at(""))
	for _, t := range r.written() {
		fmt.Fprintf(&b, "  itemize cost model -model %s -workload %s %s\n", t.Name, at("/"+t.workloadName()), at(""))
	}
	fmt.Fprintf(&b, "  itemize tables %s\n", at(""))
	if !table {
		return b.String()
	}
	for _, t := range r.written() {
		key := ""
		if t.Key != "" {
			key += " -key " + naming.Shell(t.Key)
		}
		if t.Sort != "" {
			key += " -sort " + naming.Shell(t.Sort)
		}
		for _, step := range []string{"plan", "run", "verify", "cutover"} {
			if t.Reshaped {
				endpoint, _, _ := strings.Cut(flags, " -region") // the program takes it from AWS_REGION
				fmt.Fprintf(&b, "  go run %s -lock %s -model %s%s %s\n", at("/"+programPath), at(lockPath), t.Name,
					endpoint, step)
				continue
			}
			fmt.Fprintf(&b, "  itemize migrate %s -lock %s -model %s%s%s %s\n", step, at(lockPath), t.Name, key, flags,
				naming.Shell(r.Table.Name))
		}
	}
	return b.String()
}

// keySizes are the key fields as attributes of the workload, if they are not present yet. With them, the price has
// the sizes of the model's keys.
func (x *entityType) keySizes(present []forecast.Attribute) []forecast.Attribute {
	var out []forecast.Attribute
	for _, f := range x.fields {
		if slices.ContainsFunc(present, func(a forecast.Attribute) bool { return a.Name == f.attribute }) {
			continue
		}
		a := forecast.Attribute{Name: f.attribute}
		for _, d := range x.priced() {
			a.Sizes = append(a.Sizes, sizeOf(f.attribute, d[f.attribute]))
		}
		out = append(out, a)
	}
	return out
}
