package trace

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/itemize/itemize/cost/forecast"
)

// Metrics are the requests and units of a table, by CloudWatch and Contributor Insights.
type Metrics struct {
	// Reads and Writes are requests of a month, and ReadUnits and WriteUnits consumed units; 0 for unknown.
	Reads, Writes, ReadUnits, WriteUnits float64
	// Keys is the number of different partition keys, and Hottest the share of the most used one in the requests; 0 for
	// unknown.
	Keys    int
	Hottest float64
	// requests are the requests that the metrics count.
	requests map[string]bool
}

// The requests of DynamoDB that a metric counts by operation. A batch counts as one.
var (
	readRequests  = []string{"BatchGetItem", "GetItem", "Query", "Scan", "TransactGetItems", "ExecuteStatement"}
	writeRequests = []string{"BatchWriteItem", "PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"}
)

// answer has the fields of three answers: of GetMetricData, GetMetricStatistics and GetInsightRuleReport.
type answer struct {
	MetricDataResults []struct {
		Id, Label  string
		Timestamps []string
		Values     []float64
	}
	Label      string
	Datapoints []struct {
		Timestamp        string
		Sum, SampleCount float64
	}
	KeyLabels              []string
	AggregateValue         float64
	ApproximateUniqueCount int
	Contributors           []struct{ ApproximateAggregateValue float64 }
}

// Add adds the answer of a command of CloudWatch: get-metric-data, whose labels name requests (such as PutItem) or
// consumed units, get-metric-statistics, or get-insight-rule-report. name is that of the file.
func (m *Metrics) Add(name string, text []byte) error {
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return err
	}
	switch {
	case a.KeyLabels != nil:
		m.Keys = max(m.Keys, a.ApproximateUniqueCount)
		for _, c := range a.Contributors {
			if a.AggregateValue > 0 {
				m.Hottest = max(m.Hottest, c.ApproximateAggregateValue/a.AggregateValue)
			}
		}
		return nil
	case a.Datapoints != nil:
		var stamps []string
		sums, counts := 0.0, 0.0
		for _, p := range a.Datapoints {
			stamps = append(stamps, p.Timestamp)
			sums, counts = sums+p.Sum, counts+p.SampleCount
		}
		n, statistic := counts, "SampleCount" // of latencies: the number of requests
		if strings.Contains(a.Label, "Capacity") {
			n, statistic = sums, "Sum"
		}
		if n == 0 {
			return fmt.Errorf("the points of %s have no %s: ask for this statistic", a.Label, statistic)
		}
		return m.add(a.Label+" "+name, n, stamps)
	case len(a.MetricDataResults) > 0:
		for _, r := range a.MetricDataResults {
			n := 0.0
			for _, v := range r.Values {
				n += v
			}
			if err := m.add(r.Label+" "+r.Id, n, r.Timestamps); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("neither metrics nor a report: pass the output of get-metric-data, " +
		"get-metric-statistics or get-insight-rule-report")
}

// add adds a sum over the time of its points.
func (m *Metrics) add(label string, n float64, stamps []string) error {
	span, err := timeOf(stamps)
	if err != nil || span == 0 {
		return err
	}
	n *= float64(Month) / float64(span)
	names := func(all []string) bool {
		i := slices.IndexFunc(all, func(r string) bool {
			return strings.Contains(strings.ToLower(label), strings.ToLower(r))
		})
		if i < 0 {
			return false
		}
		if m.requests == nil {
			m.requests = map[string]bool{}
		}
		m.requests[all[i]] = true
		return true
	}
	switch {
	case strings.Contains(label, "ConsumedWriteCapacityUnits"):
		m.WriteUnits += n
	case strings.Contains(label, "ConsumedReadCapacityUnits"):
		m.ReadUnits += n
	case names(writeRequests):
		m.Writes += n
	case names(readRequests):
		m.Reads += n
	default:
		return fmt.Errorf("the metric %q names neither a request, such as PutItem, nor ConsumedWriteCapacityUnits or "+
			"ConsumedReadCapacityUnits: set its label, or the name of the file", label)
	}
	return nil
}

// timeOf returns the time of points: from the first one to the end of the last one.
func timeOf(stamps []string) (time.Duration, error) {
	var all []time.Time
	for _, s := range stamps {
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return 0, err
		}
		all = append(all, t)
	}
	if len(all) == 0 {
		return 0, nil
	}
	slices.SortFunc(all, time.Time.Compare)
	period := time.Duration(0)
	for i := 1; i < len(all); i++ {
		if d := all[i].Sub(all[i-1]); d > 0 && (period == 0 || d < period) {
			period = d
		}
	}
	if period == 0 {
		return 0, fmt.Errorf("one point does not say its period: pass several points, such as a day each")
	}
	return all[len(all)-1].Sub(all[0]) + period, nil
}

// Rates returns the requests of a month in a table that a recording has.
func (f *File) Rates(table string) (reads, writes float64) {
	month := float64(Month) / float64(max(1, f.Duration(table)))
	for _, k := range f.Kinds {
		if k.Table != table {
			continue
		}
		for _, o := range k.Operations {
			n := o.Count * month
			if o.isWrite() {
				writes += n
			} else {
				reads += n
			}
		}
	}
	return reads, writes
}

// missing returns the requests on a table that a recording has and the metrics do not count, of reads or of writes.
// If one is missing, the sum says nothing.
func (m Metrics) missing(f *File, table string, of []string) (names []string) {
	if f == nil {
		return nil
	}
	for _, k := range f.Kinds {
		for _, o := range k.Operations {
			for _, r := range o.Requests {
				if k.Table == table && slices.Contains(of, r) && !m.requests[r] && !slices.Contains(names, r) {
					names = append(names, r)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// Scale multiplies the operations of a workload so that the requests of its table are those of the metrics. f is the
// recording that the workload is from, and table its table; nil for a workload of all requests. It returns notes for
// people.
func (m Metrics) Scale(w *forecast.Workload, f *File, table string) ([]string, error) {
	var notes []string
	reads, writes := 0.0, 0.0
	if f != nil {
		reads, writes = f.Rates(table)
	}
	lacking := func(of *float64, all []string) {
		if names := m.missing(f, table, all); *of > 0 && len(names) > 0 {
			*of = 0
			notes = append(notes, fmt.Sprintf("the metrics lack %s, which the recording has: they do not scale these "+
				"requests", strings.Join(names, ", ")))
		}
	}
	lacking(&m.Reads, readRequests)
	lacking(&m.Writes, writeRequests)
	if m.Keys > 0 {
		notes = append(notes, fmt.Sprintf("Contributor Insights counted about %d partition keys: the number of "+
			"entities, "+
			"unless -entities says another", m.Keys))
	}
	if m.Hottest > 0.01 {
		notes = append(notes, fmt.Sprintf("the most used key has %.0f %% of the requests: a partition serves 1,000 "+
			"WCU "+
			"and 3,000 RCU a second (itemize cost capacity)", 100*m.Hottest))
	}
	entities := float64(max(1, w.Entities))
	if f == nil {
		for _, op := range w.Operations {
			if isWrite(op) {
				writes += op.PerMonth * entities
			} else {
				reads += op.PerMonth * entities
			}
		}
	}
	byReads, byWrites := ratio(m.Reads, reads), ratio(m.Writes, writes)
	if m.Reads == 0 && m.ReadUnits > 0 || m.Writes == 0 && m.WriteUnits > 0 {
		all, err := w.Forecast(forecast.Prices{}, w.Monolith())
		if err != nil {
			return nil, err
		}
		if f := all[0]; f.NotStorable == "" {
			if m.Reads == 0 {
				byReads = ratio(m.ReadUnits, f.RCU)
			}
			if m.Writes == 0 {
				byWrites = ratio(m.WriteUnits, f.WCU)
			}
			notes = append(notes, "scaled by consumed units, which include those of other programs, and of entities "+
				"of "+
				"other kinds")
		}
	}
	for i := range w.Operations {
		op := &w.Operations[i]
		if isWrite(*op) {
			op.PerMonth = rounded(op.PerMonth * byWrites)
		} else {
			op.PerMonth = rounded(op.PerMonth * byReads)
		}
	}
	notes = append(notes, fmt.Sprintf("by the metrics, reads count %.3g times, and writes %.3g times", byReads,
		byWrites))
	return notes, nil
}

func isWrite(op forecast.Operation) bool {
	return len(op.Writes)+len(op.Add)+len(op.Change)+len(op.Remove) > 0
}

// ratio returns n/of, 1 if one is unknown.
func ratio(n, of float64) float64 {
	if n <= 0 || of <= 0 {
		return 1
	}
	return n / of
}
