package cost

import (
	"encoding/json"
	"testing"
)

// Units print the expected number, followed by the bounds if it is not exact, and by the cause of a
// higher number.
func TestUnitsString(t *testing.T) {
	for want, u := range map[string]Units{
		"4":                       Exactly(4),
		"0.5":                     Exactly(0.5),
		"999":                     Exactly(999),
		"1,600":                   Exactly(1600),
		"1,234,567.5":             Exactly(1234567.5),
		"-1,000":                  Exactly(-1000),
		"-100":                    Exactly(-100),
		"41 (1 to 400)":           {Min: 1, Expected: 41, Max: 400},
		"9 (at least 2)":          {Min: 2, Expected: 9, Max: 9, If: "never"},
		"1 (up to 400)":           {Min: 1, Expected: 1, Max: 400},
		"1 (up to 400 if it can)": {Min: 1, Expected: 1, Max: 400, If: "it can"},
		"4 (up to 1,600 if an expired item has the same key)": {
			Min: 4, Expected: 4, Max: 1600,
			If: "an expired item has the same key",
		},
	} {
		if got := u.String(); got != want {
			t.Errorf("%+v prints %q, want %q", u, got, want)
		}
	}
}

// Sums and multiples keep the bounds, the expected number and every reason once.
func TestUnitsAdd(t *testing.T) {
	a, b := Units{1, 2, 3, "a"}, Units{10, 20, 30, "b"}
	sum := a.Add(b).Add(a).Add(Exactly(100))
	if sum != (Units{112, 124, 136, "a or b"}) || Exactly(1).Add(b).If != "b" || a.Times(2) != (Units{2, 4, 6, "a"}) {
		t.Errorf("%+v", sum)
	}
	if sum.Exact() || !Exactly(1).Exact() || !a.Contains(1) || !a.Contains(3) || a.Contains(0.5) || a.Contains(3.5) {
		t.Error("bounds")
	}
	text, err := json.Marshal([]Units{Exactly(1), a})
	if want := `[{"min":1,"expected":1,"max":1},{"min":1,"expected":2,"max":3,"if":"a"}]`; err != nil ||
		string(text) != want {
		t.Errorf("%s: %v", text, err)
	}
}
