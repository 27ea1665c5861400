package inspect

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
)

// Remembered are the versions and contents of items, for a later run: it reads them again, and reports those that
// have changed and kept their versions.
type Remembered struct{ all []remembered }

// remembered is an item: its key, its version, and a digest of its content.
type remembered struct {
	Model   string `json:"model"`
	PK      string `json:"pk"`
	SK      string `json:"sk,omitempty"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
}

// digestSize is the number of bytes of a digest.
const digestSize = 16

func (m *Remembered) add(of *model.Model, img *item.Image) {
	if v, ok := img.Header.Version.(*types.AttributeValueMemberB); ok {
		m.all = append(m.all, remembered{
			of.Label(), textOf(img.PK), textOf(img.SK), hex.EncodeToString(v.Value),
			hex.EncodeToString(attr.Hash(img.Attributes())[:digestSize]),
		})
	}
}

func textOf(s key.Scalar) string {
	if s.Type == 0 {
		return ""
	}
	if s.Type == 'B' {
		return "B" + hex.EncodeToString([]byte(s.Text))
	}
	return string(s.Type) + s.Text
}

func scalarIn(text string) (s key.Scalar, ok bool) {
	if text == "" {
		return s, true
	}
	s = key.Scalar{Type: text[0], Text: text[1:]}
	if s.Type == 'B' {
		b, err := hex.DecodeString(s.Text)
		s.Text = string(b)
		return s, err == nil
	}
	return s, s.Type == 'S' || s.Type == 'N'
}

// Write writes the items as lines of JSON. They have the keys of items, and no values.
func (m *Remembered) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	for i := range m.all {
		if err := enc.Encode(&m.all[i]); err != nil {
			return err
		}
	}
	return nil
}

// ReadRemembered reads what Write has written.
func ReadRemembered(r io.Reader) (*Remembered, error) {
	m := &Remembered{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one remembered
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("line %d: it is not an item of an earlier run: delete the file", len(m.all)+1)
		}
		m.all = append(m.all, one)
	}
	return m, lines.Err()
}

// compare reads the items of an earlier run again.
func (x *Inspector) compare(ctx context.Context, r *Report) error {
	if x.Earlier == nil || len(x.Earlier.all) == 0 {
		return nil
	}
	x.Announce(fmt.Sprintf("%d items of the earlier run", len(x.Earlier.all)), float64(len(x.Earlier.all)))
	for _, m := range x.Models {
		was := map[item.Place]remembered{}
		var parts []selection.Part
		for _, one := range x.Earlier.all {
			at := item.Place{Table: m.TableNamed(x.Table.Name)}
			var ok, good bool
			at.PK, ok = scalarIn(one.PK)
			at.SK, good = scalarIn(one.SK)
			if one.Model == m.Label() && ok && good {
				was[at] = one
				parts = append(parts, model.PartOf(at))
			}
		}
		if err := x.compareOf(ctx, m, was, parts, r); err != nil {
			return err
		}
	}
	return nil
}

func (x *Inspector) compareOf(ctx context.Context, m *Model, was map[item.Place]remembered, parts []selection.Part,
	r *Report,
) error {
	if len(parts) == 0 {
		return nil
	}
	if err := x.Rate.Take(ctx, cost.ReadUnits(1)*float64(len(parts))/2); err != nil {
		return err
	}
	for page, err := range read.Pages(ctx, x.readerOf(m), parts, read.Options{Strong: true}, &r.used) {
		if err != nil {
			return err
		}
		for i := range page.Items {
			img := &page.Items[i]
			one, ok := was[img.Place]
			v, versioned := img.Header.Version.(*types.AttributeValueMemberB)
			if !ok || !versioned {
				continue
			}
			r.Compared++
			if hex.EncodeToString(v.Value) == one.Version &&
				hex.EncodeToString(attr.Hash(img.Attributes())[:digestSize]) != one.Digest {
				s := &subject{m: m, img: *img}
				r.Findings = append(r.Findings, s.found(Version,
					fmt.Sprintf("it has changed since the earlier run, and has the same %s", m.Reserved.Version),
					fmt.Sprintf("let the program that changes it set %s to 8 new random bytes", m.Reserved.Version)))
			}
		}
	}
	return nil
}
