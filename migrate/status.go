package migrate

import (
	"context"
	"time"

	"github.com/itemize/itemize/internal/model/item"
)

// Status is the progress of a migration.
type Status struct {
	// Phase is the phase of the migration:
	//   - "": no run has begun
	//   - "running": runs move entities
	//   - "cutOver": the new layout is valid, and monoliths can be deleted (Contract)
	//   - "rollingBack": a rollback writes the monoliths again
	//   - "removing": monoliths are being deleted
	//   - "done": they are deleted, and the migration cannot be rolled back
	Phase string    `json:"phase"`
	Since time.Time `json:"since"`
	// Segments is the number of segments. Begun and Done count those that have begun and ended.
	Segments int `json:"segments"`
	Of       int `json:"of"`
	Done     int `json:"done"`
	Counts
	DeadLetters []DeadLetter  `json:"deadLetters,omitempty"`
	Verified    *Verification `json:"verified,omitempty"`
}

// Status reads the notes of the migration.
func (m *Migration) Status(ctx context.Context) (_ *Status, err error) {
	defer m.throttled(&err)
	s := &Status{}
	var p phaseNote
	if _, err := m.state.read(ctx, notePhase, &p); err != nil {
		return nil, err
	}
	if s.Phase, s.Since = p.Phase, p.Since; isBack(p.Phase) {
		s.Phase = phaseBack
	}
	err = m.state.each(ctx, noteSegment, func(_ string, a item.Attributes) error {
		var c checkpoint
		if _, err := decode(a, &c); err != nil {
			return err
		}
		s.Segments, s.Of = s.Segments+1, c.Of
		if c.Done {
			s.Done++
		}
		s.add(c.Counts)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = m.state.each(ctx, noteDead, func(_ string, a item.Attributes) error {
		var d DeadLetter
		_, err := decode(a, &d)
		s.DeadLetters = append(s.DeadLetters, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	var v Verification
	found, err := m.state.read(ctx, noteVerify, &v)
	if found {
		s.Verified = &v
	}
	return s, err
}
