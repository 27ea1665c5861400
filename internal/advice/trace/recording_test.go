package trace

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/cost/forecast"
)

var start = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// aRecording is a recording of some hours, with one operation of a kind.
func aRecording(from, hours int, rate float64, keys int) *File {
	k := &Kind{
		Table: "t", Name: "User", Operations: []*Operation{
			{Name: "PutItem", Count: 10, Add: map[string]int{"log": 20}, Writes: []string{"state"}},
			{Name: "GetItem", Count: 40, All: true},
		},
		Documents: []Document{{
			Sizes: map[string]int{"state": 10, "log": 400},
			Lists: map[string]List{"log": {Count: 3, Attributes: []map[string]int{{"at": 20, "note": 100}}}},
		}},
		Seen: 1,
	}
	for i := range keys {
		k.Entities.Add(Hash(fmt.Sprint("key", i)))
	}
	return &File{
		Format: Format, From: start.Add(time.Duration(from) * time.Hour),
		To:   start.Add(time.Duration(from+hours) * time.Hour),
		Rate: rate, Kinds: []*Kind{k},
	}
}

// Operations of several processes add up over the time that at least one of them recorded, whatever their rates.
func TestRecordingsMerge(t *testing.T) {
	f := Merge(aRecording(0, 10, 1, 50), aRecording(5, 10, 0.5, 25), aRecording(100, 5, 1, 10))
	if d := f.Duration("t"); d != 20*time.Hour {
		t.Errorf("%v recorded", d)
	}
	k := f.Kinds[0]
	if len(f.Kinds) != 1 || len(k.Operations) != 2 || len(k.Documents) != 3 || k.Seen != 3 {
		t.Fatalf("%+v", k)
	}
	if o := k.Operations[1]; o.Count != 10+20+10 || o.Add["log"] != 20+40+20 {
		t.Errorf("%+v", o)
	}
	if n := k.Count(); n < 45 || n > 55 {
		t.Errorf("%v entities", n)
	}
	again := Merge(Merge(aRecording(0, 10, 1, 50), aRecording(5, 10, 0.5, 25)), aRecording(100, 5, 1, 10))
	if again.Duration("t") != f.Duration("t") || !reflect.DeepEqual(again.Kinds[0].Operations, k.Operations) {
		t.Errorf("%+v; in two steps %+v", k, again.Kinds[0])
	}
	w, notes, err := f.Workload(k, 10, forecast.Workload{})
	if err != nil || len(notes) > 1 {
		t.Fatal(notes, err)
	}
	// 40 puts in 20 hours are 1,440 in 720, and 144 for each of 10 entities
	if op := w.Operations[1]; op.PerMonth != 144 || op.Add["log"] != 2 || op.Writes[0] != "state" {
		t.Errorf("%+v", op)
	}
	if e := w.Attributes[0].Elements; e == nil || e.Counts[0] != 3 || len(e.Attributes) != 2 {
		t.Errorf("%+v", w.Attributes)
	}
}

// The estimate of the number of keys errs by a few percent, survives its JSON, and has no hash of a key.
func TestSketch(t *testing.T) {
	for _, n := range []int{0, 1, 10, 1000, 20_000, 300_000} {
		var s Sketch
		for i := range n {
			s.Add(Hash("table", fmt.Sprint(i)))
			s.Add(Hash("table", fmt.Sprint(i)))
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back Sketch
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if got := back.Count(); math.Abs(got-float64(n)) > 0.12*float64(n)+0.5 {
			t.Errorf("%v keys estimated, of %d", got, n)
		}
	}
	if err := new(Sketch).UnmarshalText([]byte("AAAA")); err == nil {
		t.Error("a damaged sketch was read")
	}
}

// Puts whose changes are unknown count like those of the same name whose changes are known.
func TestUnknownChangesAreShared(t *testing.T) {
	f := aRecording(0, 720, 1, 1)
	k := f.Kinds[0]
	k.Operations = append(k.Operations, &Operation{Name: "PutItem", Count: 30, Unknown: true})
	w, notes, err := f.Workload(k, 1, forecast.Workload{})
	if err != nil || len(w.Operations) != 2 || w.Operations[0].PerMonth != 40 ||
		!strings.Contains(strings.Join(notes, " "), "30 of 40 calls of PutItem") {
		t.Errorf("%+v, %v, %v", w.Operations, notes, err)
	}
}

// Metrics scale a workload to all requests of its table.
func TestMetrics(t *testing.T) {
	var m Metrics
	for name, text := range map[string]string{
		"data.json": `{"MetricDataResults": [
			{"Id": "a", "Label": "PutItem", "Values": [100, 140],
				"Timestamps": ["2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"]},
			{"Id": "b", "Label": "GetItem", "Values": [900, 1500],
				"Timestamps": ["2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"]}
		]}`,
		"Query.json": `{"Label": "SuccessfulRequestLatency", "Datapoints": [
			{"Timestamp": "2026-11-01T01:00:00+00:00", "SampleCount": 50, "Unit": "Milliseconds"},
			{"Timestamp": "2026-11-01T00:00:00+00:00", "SampleCount": 70, "Unit": "Milliseconds"}
		]}`,
		"keys.json": `{"KeyLabels": ["pk"], "AggregateValue": 1000, "ApproximateUniqueCount": 80, "Contributors": [
			{"Keys": ["USER#ann"], "ApproximateAggregateValue": 250, "Datapoints": []}
		]}`,
	} {
		if err := m.Add(name, []byte(text)); err != nil {
			t.Fatal(name, err)
		}
	}
	if m.Writes != 120*30 || m.Reads != 1200*30+60*24*30 || m.Keys != 80 || m.Hottest != 0.25 {
		t.Errorf("%+v", m)
	}
	w := forecast.Workload{Entities: 80, Operations: []forecast.Operation{
		{Name: "put", PerMonth: 1, Writes: []string{"a"}}, {Name: "get", PerMonth: 10, All: true},
	}}
	notes, err := m.Scale(&w, nil, "")
	if err != nil || w.Operations[0].PerMonth != 45 || math.Abs(w.Operations[1].PerMonth-m.Reads/80) > 0.5 {
		t.Errorf("%+v, %v", w.Operations, err)
	}
	if text := strings.Join(notes, " "); strings.Contains(text, "ann") || !strings.Contains(text, "25 %") {
		t.Error(text)
	}
	for name, c := range map[string]struct{ text, want string }{
		"not metrics": {`{"Items": []}`, "neither metrics nor a report"},
		"no request": {`{"Label": "SuccessfulRequestLatency", "Datapoints": [{"Timestamp": ` +
			`"2026-11-01T00:00:00Z", "SampleCount": 1}, {"Timestamp": "2026-11-02T00:00:00Z"}]}`, "set its label"},
		"one point": {
			`{"Label": "PutItem", "Datapoints": [{"Timestamp": "2026-11-01T00:00:00Z", "SampleCount": 1}]}`,
			"pass several points",
		},
		"a wrong time": {
			`{"Label": "PutItem", "Datapoints": [{"Timestamp": "today", "SampleCount": 1}]}`,
			"cannot parse",
		},
	} {
		if err := new(Metrics).Add("x.json", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Units scale operations if the numbers of requests are missing.
func TestMetricsOfUnits(t *testing.T) {
	var m Metrics
	text := `{"Label": "ConsumedWriteCapacityUnits", "Datapoints": [{"Timestamp": "2026-11-01T00:00:00Z", "Sum": 10},
		{"Timestamp": "2026-11-16T00:00:00Z", "Sum": 30}]}`
	if err := m.Add("w.json", []byte(text)); err != nil || m.WriteUnits != 40 {
		t.Fatalf("%+v, %v", m, err)
	}
	w := forecast.Workload{
		Entities: 2, Attributes: []forecast.Attribute{{Name: "a", Sizes: []int{1500}}},
		Operations: []forecast.Operation{{Name: "put", PerMonth: 5, Writes: []string{"a"}}},
	}
	if _, err := m.Scale(&w, nil, ""); err != nil || w.Operations[0].PerMonth != 10 { // of 2 units each
		t.Errorf("%+v, %v", w.Operations, err)
	}
}

// A damaged recording is refused, or merges; it never panics.
func FuzzRead(f *testing.F) {
	text, err := json.Marshal(aRecording(0, 1, 0.5, 3))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	for _, kinds := range []string{
		`[null]`, `[{"operations": [null]}]`, `[{"seen": -1}]`, `[{"operations": [{"add": {"": 1}}]}]`,
		`[{"operations": [{"count": 1e308}]}]`, `[{"documents": [{"sizes": {"a": -1}}], "seen": 1}]`,
	} {
		f.Add([]byte(`{"format": "` + Format + `", "rate": 1, "kinds": ` + kinds + `}`))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := Read(text)
		if err != nil {
			return
		}
		b := Merge(a, aRecording(0, 1, 1, 1), a)
		for _, k := range b.Kinds {
			if w, _, err := b.Workload(k, 0, forecast.Workload{}); err == nil {
				if _, err := json.Marshal(w); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// A file has one recording, and nothing else.
func TestFilesHaveOneRecording(t *testing.T) {
	text, err := json.Marshal(aRecording(0, 1, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"two recordings": {string(text) + string(text), "pass each recording as a file"},
		"nothing":        {" \n", "the file is empty"},
		"a workload":     {`{"operations": []}`, "unknown field"},
		"another format": {`{"format": "itemize recording 9"}`, "this version reads"},
	} {
		if _, err := Read([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A query of an index that a workload cannot describe is named in a note, once for each index.
func TestQueriesThatDoNotCountAreNoted(t *testing.T) {
	f := aRecording(0, 48, 1, 50)
	k := f.Kinds[0]
	k.Indexes = []Index{{Name: "byState", Hash: "state"}, {Name: "byNothing", Hash: "nothing"}}
	for _, name := range []string{"byState", "byNothing", "byDay", "byDay"} {
		k.Operations = append(k.Operations, &Operation{Name: "Query", Count: 4, Query: map[string]int{name: 8}})
	}
	w, notes, err := f.Workload(k, 10, forecast.Workload{})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(notes, "\n")
	for name, n := range map[string]int{"byState": 0, "byNothing": 1, "byDay": 1} {
		if got := strings.Count(all, "queries of the index "+name+" do not count"); got != n {
			t.Errorf("%d notes of %s: %s", got, name, all)
		}
	}
	if len(w.Indexes) != 1 || w.Indexes[0].Name != "byState" {
		t.Errorf("%+v", w.Indexes)
	}
}
