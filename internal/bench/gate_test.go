package main

import (
	"maps"
	"strings"
	"testing"
)

// The gate compares the rows that have the requests of itemize. The rows of guregu/dynamo are in the table only.
func TestGateLeavesOutRowsOfOtherRequests(t *testing.T) {
	got := parse([]byte(`
BenchmarkRatio/job=load-1-item/lib=guregu-2    1   0.89 x-plain
BenchmarkRatio/job=load-1-item/lib=itemize-2   1   0.93 x-plain   0.97 x-same   0.98 x-best
`))
	var table strings.Builder
	ratioTable(&table, got)
	for _, row := range []string{"| load-1-item | guregu | - | 0.89 |\n", "| load-1-item | itemize | 0.97 | 0.93 |\n"} {
		if strings.Count(table.String(), row) != 1 {
			t.Errorf("%q is not once in %s", row, table.String())
		}
	}
	want := map[ratioOf]float64{{"load-1-item", "itemize"}: 0.97}
	figures := figures(table.String())
	if !maps.Equal(figures, want) {
		t.Errorf("the gate compares %v", figures)
	}
	if err := complete(got, want); err != nil {
		t.Error(err)
	}
}
