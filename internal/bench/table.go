package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// result names a figure: of a benchmark, a job, a library, in a unit.
type result struct{ bench, job, lib, unit string }

// parse returns the medians of the output of go test.
func parse(out []byte) map[result]float64 {
	all := map[result][]float64{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name := f[0]
		if i := strings.LastIndexByte(f[0], '-'); i > 0 { // the number of processors
			name = f[0][:i]
		}
		r := result{}
		for i, part := range strings.Split(name, "/") {
			key, value, _ := strings.Cut(part, "=")
			switch {
			case i == 0:
				r.bench = strings.TrimPrefix(part, "Benchmark")
			case key == "job":
				r.job = value
			case key == "lib":
				r.lib = value
			}
		}
		for i := 2; i+1 < len(f); i += 2 {
			if v, err := strconv.ParseFloat(f[i], 64); err == nil {
				r.unit = f[i+1]
				all[r] = append(all[r], v)
			}
		}
	}
	medians := map[result]float64{}
	for r, v := range all {
		slices.Sort(v)
		medians[r] = v[len(v)/2]
	}
	return medians
}

// document returns docs/design/benchmarks.md.
func document(of map[result]float64, machine string) string {
	var b strings.Builder
	b.WriteString(head + "\n" + machine + "\n")
	ratioTable(&b, of)
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", s.title, s.text)
		table(&b, of, s)
	}
	b.WriteString("\n## A string of a page\n\n" + keptText + "\n\n| | bytes held for each page |\n|---|---:|\n")
	for _, l := range Libraries {
		if v, ok := of[result{"Kept", "", l.Name, "held-B/page"}]; ok {
			fmt.Fprintf(&b, "| %s | %s |\n", l.Name, number(max(v, 0)))
		}
	}
	return b.String()
}

// section is a table: jobs, with a figure of each library.
type section struct{ title, text, bench, unit string }

var sections = []section{
	{"Time of the program alone", "Microseconds. A transport answers immediately with the recorded answers of an " +
		"engine. The factor in brackets compares with the SDK by hand: 2 is twice as fast.", "AtOnce", "ns/op"},
	{"Allocations", "Allocations of one job.", "AtOnce", "allocs/op"},
	{"Memory", "Bytes allocated.", "AtOnce", "B/op"},
	{"Time on an engine", "Microseconds, including the time of the engine.", "Engine", "ns/op"},
	{"Requests", "Requests of one job.", "AtOnce", "requests"},
	{"Bytes sent", "Bodies of requests.", "AtOnce", "sent-B"},
	{"Bytes received", "Bodies of answers.", "AtOnce", "received-B"},
	{"Write units", "WCU reported by the engine. DynamoDB Local counts transactions wrongly: DynamoDB charges 40 " +
		"for insert-20-items.", "AtOnce", "WCU"},
	{"Read units", "RCU reported by the engine, for eventually consistent reads.", "AtOnce", "RCU"},
}

func table(b *strings.Builder, of map[result]float64, s section) {
	fmt.Fprint(b, "| job |")
	for _, l := range Libraries {
		fmt.Fprintf(b, " %s |", l.Name)
	}
	fmt.Fprintln(b, "\n|---|"+strings.Repeat("---:|", len(Libraries)))
	for _, job := range Jobs {
		fmt.Fprintf(b, "| %s |", job)
		base := of[result{s.bench, job, "sdk", s.unit}]
		for _, l := range Libraries {
			v, ok := of[result{s.bench, job, l.Name, s.unit}]
			switch {
			case !ok:
				fmt.Fprint(b, " - |")
			case s.unit == "ns/op" && l.Name != "sdk":
				fmt.Fprintf(b, " %s (%.2f) |", number(v/1000), base/v)
			case s.unit == "ns/op":
				fmt.Fprintf(b, " %s |", number(v/1000))
			default:
				fmt.Fprintf(b, " %s |", number(v))
			}
		}
		fmt.Fprintln(b)
	}
}

// number writes a figure with three digits or more, and commas.
func number(v float64) string {
	text := strconv.FormatFloat(v, 'f', 1, 64)
	if v >= 100 || v == float64(int(v)) {
		text = strconv.FormatFloat(v, 'f', 0, 64)
	}
	whole, rest, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	return whole
}
