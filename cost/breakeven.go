package cost

import "fmt"

// Split compares one large item with the items that it is split into, by the WCU spent
// after each update of one of them.
type Split struct {
	// Whole is the size of the large item, and Parts those of the others, in bytes.
	Whole int
	Parts []int
	// Updated is the index of the part that is updated.
	Updated int
	// Transactional tells that the parts are inserted in one transaction.
	Transactional bool
}

func (s Split) check() error {
	switch {
	case s.Whole < 0 || s.Whole > MaxItem:
		return fmt.Errorf("an item of %d bytes: give 0 to %d", s.Whole, MaxItem)
	case len(s.Parts) == 0:
		return fmt.Errorf("a split into no parts: give the sizes of at least one")
	case s.Updated < 0 || s.Updated >= len(s.Parts):
		return fmt.Errorf("part %d of %d: give the index of one of them", s.Updated, len(s.Parts))
	}
	for i, n := range s.Parts {
		if n < 0 || n > MaxItem {
			return fmt.Errorf("part %d of %d bytes: give 0 to %d", i, n, MaxItem)
		}
	}
	return nil
}

// After returns the WCU spent after the insert and n updates, as one item and split.
func (s Split) After(n int) (whole, split float64) {
	whole = WriteUnits(s.Whole) * float64(n+1)
	for _, p := range s.Parts {
		split += WriteUnits(p)
	}
	if s.Transactional {
		split *= 2
	}
	return whole, split + WriteUnits(s.Parts[s.Updated])*float64(n)
}

// BreakEven returns the first update after which the split has cost less than the one
// item; ok is false where it never does.
func (s Split) BreakEven() (update int, ok bool, err error) {
	if err := s.check(); err != nil {
		return 0, false, err
	}
	whole, split := s.After(0)
	if split < whole {
		return 0, true, nil
	}
	saved := WriteUnits(s.Whole) - WriteUnits(s.Parts[s.Updated])
	if saved <= 0 {
		return 0, false, nil
	}
	return int((split-whole)/saved) + 1, true, nil
}

// BreakEven returns after how many months the layout of f has cost less in all than that
// of g, and stays so, both written anew at first; 0 is from the first write on. It is false
// where that never comes.
func (f Forecast) BreakEven(g Forecast) (months float64, ok bool) {
	more, saved := f.Insert-g.Insert, g.Total-f.Total
	switch {
	case f.NotStorable != "" || g.NotStorable != "" || saved < 0 || more >= 0 && saved == 0:
		return 0, false
	case more <= 0:
		return 0, true
	}
	return more / saved, true
}
