package charge

import "testing"

// An empty table that is created so has as many partitions as the grown one, and then the same share for
// each.
func TestAtScale(t *testing.T) {
	for _, c := range []Capacity{
		{Bytes: 500 << 30, RCU: 5000, WCU: 500},
		{Bytes: 50 << 30, RCU: 0, WCU: 1000},
		{Bytes: 1 << 30, RCU: 100_000, WCU: 10_000},
		{Bytes: 95 << 30, RCU: 3000, WCU: 0},
		{Bytes: 200 << 30},
		{RCU: 10, WCU: 10},
	} {
		s, err := c.AtScale()
		if err != nil {
			t.Fatal(err)
		}
		empty, err := s.Create.Partitions()
		if err != nil {
			t.Fatal(err)
		}
		then, err := empty.Then(s.Then)
		if err != nil || empty.Count != s.Grown.Count || then != (Partitions{
			Count: s.Grown.Count, BySize: empty.BySize, ByThroughput: empty.ByThroughput,
			RCU: s.Grown.RCU, WCU: s.Grown.WCU, BurstRCU: s.Grown.BurstRCU, BurstWCU: s.Grown.BurstWCU,
		}) && then.Count != s.Grown.Count {
			t.Errorf("%+v: %+v, created %+v, then %+v, %v", c, s, empty, then, err)
		}
		if then.RCU != s.Grown.RCU || then.WCU != s.Grown.WCU {
			t.Errorf("%+v: each has %v and %v, and the grown one's %v and %v", c, then.RCU, then.WCU, s.Grown.RCU,
				s.Grown.WCU)
		}
	}
	if _, err := (Capacity{Bytes: -1}).AtScale(); err == nil {
		t.Error("a negative size")
	}
}
