package charge

import (
	"fmt"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
)

// Split compares one large item with the items that it is split into, by the WCU spent
// after each update of one of them.
type Split struct {
	// Whole is the size of the large item, and Parts are the sizes of the others, in bytes.
	Whole int
	Parts []int
	// Updated is the index of the part that is updated.
	Updated int
	// Transactional means that the parts are inserted in one transaction.
	Transactional bool
}

func (s Split) check() error {
	switch {
	case s.Whole < 0 || s.Whole > cost.MaxItem:
		return fmt.Errorf("an item of %s: write 0 to 409600 (400 KB)", attr.Bytes(s.Whole))
	case len(s.Parts) == 0:
		return fmt.Errorf("a split into no parts: write the sizes of at least one")
	case s.Updated < 0 || s.Updated >= len(s.Parts):
		return fmt.Errorf("part %d of %d: write the index of one part", s.Updated, len(s.Parts))
	}
	for i, n := range s.Parts {
		if n < 0 || n > cost.MaxItem {
			return fmt.Errorf("part %d of %s: write 0 to 409600 (400 KB)", i, attr.Bytes(n))
		}
	}
	return nil
}

// After returns the WCU spent after the insert and n updates, as one item and split.
func (s Split) After(n int) (whole, split float64) {
	whole = cost.WriteUnits(s.Whole) * float64(n+1)
	for _, p := range s.Parts {
		split += cost.WriteUnits(p)
	}
	if s.Transactional {
		split *= 2
	}
	return whole, split + cost.WriteUnits(s.Parts[s.Updated])*float64(n)
}

// BreakEven returns the first update after which the split has cost less than the large item. ok is
// false if that never happens.
func (s Split) BreakEven() (update int, ok bool, err error) {
	if err := s.check(); err != nil {
		return 0, false, err
	}
	whole, split := s.After(0)
	if split < whole {
		return 0, true, nil
	}
	saved := cost.WriteUnits(s.Whole) - cost.WriteUnits(s.Parts[s.Updated])
	if saved <= 0 {
		return 0, false, nil
	}
	return int((split-whole)/saved) + 1, true, nil
}
