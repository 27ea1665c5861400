package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// Ratios are benchmarks that compare with the SDK by hand, side by side in one process. They are in this module, and in
// package migrate, whose run is compared with the requests that it sends.
var ratios = []struct{ folder, of string }{{".", "."}, {"../..", "./migrate"}}

// ratioOf is the beginning of a row of the table of ratios: a job and a library.
type ratioOf struct{ job, lib string }

// tolerance is the part of a figure in the document that a measurement may be below it: the median of the rounds, or
// the comparison of the fastest turns. A row below is measured again, up to tries times.
const (
	tolerance = 0.1
	tries     = 3
)

// measureRatios runs the benchmarks of ratios, and returns their output. Only is a pattern of rows, "" for all.
func measureRatios(only string) ([]byte, error) {
	var all bytes.Buffer
	for _, r := range ratios {
		cmd := exec.Command("go", "test", "-run", "-", "-timeout", "0", "-benchtime", "1x", "-bench",
			"^BenchmarkRatio$"+only, r.of)
		cmd.Dir, cmd.Stdout, cmd.Stderr = r.folder, io.MultiWriter(&all, os.Stderr), os.Stderr
		if err := cmd.Run(); err != nil {
			return nil, err
		}
	}
	return all.Bytes(), nil
}

// gate measures the ratios, and returns an error if one is more than the tolerance below its figure in a document.
func gate(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	want := figures(string(text))
	if len(want) == 0 {
		return fmt.Errorf("%s has no table of ratios: write it with -write", path)
	}
	below, only := map[ratioOf]float64{}, ""
	for range tries {
		out, err := measureRatios(only)
		if err != nil {
			return err
		}
		got := parse(out)
		if only == "" {
			if err := complete(got, want); err != nil {
				return err
			}
		}
		clear(below)
		var jobs []string
		for r, figure := range want {
			now, measured := got[result{"Ratio", r.job, r.lib, "x-same"}]
			now = max(now, got[result{"Ratio", r.job, r.lib, "x-best"}])
			if measured && now < figure*(1-tolerance) {
				below[r] = now
				jobs = append(jobs, r.job)
			}
		}
		if len(below) == 0 {
			return nil
		}
		slices.Sort(jobs)
		only = "/^job=(" + strings.Join(slices.Compact(jobs), "|") + ")$"
	}
	var errs []error
	for r, now := range below {
		errs = append(errs,
			fmt.Errorf("%s, %s: %.2f times as fast as the SDK by hand, in %d measurements; %s says %.2f: "+
				"find the slower code, or write the document again", r.job, r.lib, now, tries, path, want[r]))
	}
	return errors.Join(errs...)
}

// complete requires that the measured rows are those of the document.
func complete(got map[result]float64, want map[ratioOf]float64) error {
	for r := range got {
		if _, ok := want[ratioOf{r.job, r.lib}]; !ok && r.bench == "Ratio" && r.unit == "x-same" {
			return fmt.Errorf("the document has no row for %s, %s: write it again with -write", r.job, r.lib)
		}
	}
	for r := range want {
		if _, ok := got[result{"Ratio", r.job, r.lib, "x-same"}]; !ok {
			return fmt.Errorf("%s, %s was not measured: write the document again with -write", r.job, r.lib)
		}
	}
	return nil
}

// figures returns the ratios of a document's table.
func figures(text string) map[ratioOf]float64 {
	all := map[ratioOf]float64{}
	_, rest, _ := strings.Cut(text, "\n## "+ratioTitle+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	for line := range strings.Lines(rest) {
		f := strings.Split(line, "|")
		if len(f) < 4 {
			continue
		}
		if v, err := strconv.ParseFloat(strings.TrimSpace(f[3]), 64); err == nil {
			all[ratioOf{strings.TrimSpace(f[1]), strings.TrimSpace(f[2])}] = v
		}
	}
	return all
}

// ratioTable writes the table of ratios.
func ratioTable(b *strings.Builder, of map[result]float64) {
	var rows []result
	for r := range of {
		_, gated := of[result{r.bench, r.job, r.lib, "x-same"}]
		if r.bench == "Ratio" && (r.unit == "x-same" || r.unit == "x-plain" && !gated) {
			rows = append(rows, result{r.bench, r.job, r.lib, ""})
		}
	}
	at := func(r result) int {
		if i := slices.Index(Jobs, r.job); i >= 0 {
			return i
		}
		return len(Jobs)
	}
	slices.SortFunc(rows, func(a, b result) int {
		if d := at(a) - at(b); d != 0 {
			return d
		}
		return strings.Compare(a.job+" "+a.lib, b.job+" "+b.lib)
	})
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n| job | library | same requests | as documented |\n|---|---|---:|---:|\n",
		ratioTitle, ratioText)
	figure := func(r result, unit string) string {
		r.unit = unit
		if v, ok := of[r]; ok {
			return fmt.Sprintf("%.2f", v)
		}
		return "-"
	}
	for _, r := range rows {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", r.job, r.lib, figure(r, "x-same"), figure(r, "x-plain"))
	}
}
