package staging_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/staging"
	. "github.com/itemize/itemize/internal/testmodel"
	"github.com/itemize/itemize/internal/write"
)

// fake is a reader that answers from lists, the last answer again and again.
type fake struct {
	roots []*item.Image
	found [][]item.Image
	log   string
	t     *testing.T
}

func (f *fake) One(_ context.Context, _ item.Place, o read.Options, u *read.Usage) (*item.Image, error) {
	if !o.Strong {
		f.t.Error("the root is not read strongly")
	}
	u.Requests++
	f.log += "r"
	root := f.roots[0]
	if len(f.roots) > 1 {
		f.roots = f.roots[1:]
	}
	return root, nil
}

func (f *fake) Ranges(_ context.Context, _ []selection.Part, o read.Options, u *read.Usage) []iter.Seq2[read.Page, error] {
	if !o.Strong {
		f.t.Error("the items are not read again strongly")
	}
	u.Requests++
	f.log += "c"
	found := f.found[0]
	if len(f.found) > 1 {
		f.found = f.found[1:]
	}
	return []iter.Seq2[read.Page, error]{func(yield func(read.Page, error) bool) { yield(read.Page{Items: slices.Clone(found)}, nil) }}
}

// images makes images of roots and parts from a text: "HEAD" is a root that was not
// staged, "HEAD=x" one that went live with the attempt x just now, "HEAD=x!" long ago,
// "HEAD*" one that is not live, "a=x" a part of the attempt x, and "a" one of none; "/" is
// where the next answer begins.
func images(t *testing.T, m *model.Model, text string) []item.Image {
	t.Helper()
	var out []item.Image
	answer := 1
	for word := range strings.FieldsSeq(text) {
		if word == "/" {
			answer++
			continue
		}
		name, attempt, staged := strings.Cut(word, "=")
		var a item.Attributes
		since := Now
		if long, ok := strings.CutSuffix(attempt, "!"); ok {
			attempt, since = long, Now.Add(-time.Hour)
		}
		switch live, pending := strings.CutSuffix(name, "*"); {
		case pending:
			a = stored(live, item.Attributes{"_s": item.NewStage(item.Inserting, Now).Value()})
		case name == "HEAD" && staged:
			a = stored(name, item.Attributes{"_a": item.Liveness{Attempt: B(attempt), Since: since}.Assign().Value})
		case name == "HEAD":
			a = stored(name, nil)
		case staged:
			a = stored("LINE#"+name, item.Attributes{"_a": B(attempt)})
		default:
			a = stored("LINE#"+name, nil)
		}
		f := Images(t, m, a)[0]
		f.Answer = answer
		out = append(out, f)
	}
	return out
}

// Which items are there, by the attempts that they and the root carry, and what has to be
// read again for that: an entity appears and disappears as a whole.
func TestAlive(t *testing.T) {
	m := Of[Shop](t)
	for _, c := range []struct {
		name  string
		found string
		roots []string
		again []string
		want  string // of the items that are there
		reads string // r for the root, c for the items
	}{
		{"nothing staged", "HEAD a b", nil, nil, "HEAD a b", ""},
		{"nothing there", "", nil, nil, "", ""},
		{"live with all of them, in one answer", "HEAD=x a=x b", nil, nil, "HEAD a b", ""},
		{"live for long, in two answers", "HEAD=x! / a=x", nil, nil, "HEAD a", ""},
		{"live just now, in two answers", "HEAD=x / a=x", []string{"HEAD=x"}, []string{"HEAD=x / a=x b=x"}, "HEAD a b", "rc"},
		{"parts written since", "HEAD=x / a b", nil, nil, "HEAD a b", ""},
		{"left over by another", "HEAD=x a=x b=y", []string{"HEAD=x"}, nil, "HEAD a", "r"},
		{"left over, and a root that was not staged", "HEAD a b=y", []string{"HEAD"}, nil, "HEAD a", "r"},
		{"a claim", "HEAD* a=x", []string{"HEAD*"}, nil, "HEAD", "r"},
		{"a claim that has gone live since", "HEAD* a=x", []string{"HEAD=x"}, []string{"HEAD=x a=x b=x"}, "HEAD a b", "rc"},
		{"deleted and inserted since", "HEAD=x / a=y", []string{"HEAD=y"}, []string{"HEAD=y / a=y b=y"}, "HEAD a b", "rc"},
		{"deleted since", "HEAD=x / a=y", []string{""}, nil, "", "r"},
		{"being deleted since", "HEAD=x / a=y", []string{"HEAD*"}, nil, "HEAD", "r"},
		{"without the root, live for long", "a=x b=x", []string{"HEAD=x!"}, nil, "a b", "r"},
		{"without the root, live just now", "a=x", []string{"HEAD=x"}, []string{"a=x b=x"}, "a b", "rc"},
		{"without the root, which is not there", "a=x b", []string{""}, nil, "b", "r"},
		{"without the root, of several attempts", "a=x b=y", []string{"HEAD=x!"}, nil, "a", "r"},
		{
			"inserted again while it was read again", "HEAD=x / a=y", []string{"HEAD=y", "HEAD=z"}, []string{"HEAD=z / a=z", "HEAD=z / a=z b=z"}, "HEAD a b", "rcrc",
		},
	} {
		r := &fake{t: t}
		for _, text := range c.roots {
			var root *item.Image
			if all := images(t, m, text); len(all) > 0 {
				root = &all[0]
			}
			r.roots = append(r.roots, root)
		}
		for _, text := range c.again {
			r.found = append(r.found, images(t, m, text))
		}
		e := entity(t, m, "1")
		p := &staging.Protocol{Reader: r, Now: m.Now}
		var tally write.Tally
		found, live, err := p.Alive(context.Background(), e, e.Parts, images(t, m, c.found), &tally)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var there []string
		for i := range found {
			if e.Joined(&found[i], live) {
				there = append(there, strings.TrimPrefix(found[i].SK.Text, "LINE#"))
			}
		}
		slices.Sort(there) // the root first
		if got := strings.Join(there, " "); got != c.want || r.log != c.reads || tally.Requests != len(r.log) {
			t.Errorf("%s: %s, with the reads %s, counted %d", c.name, got, r.log, tally.Requests)
		}
	}
}

// A load that meets a new entity each time it looks gives up and says so.
func TestAliveGivesUp(t *testing.T) {
	m := Of[Shop](t)
	r := &fake{t: t}
	for _, x := range "bcdefghijkl" {
		r.roots = append(r.roots, &images(t, m, "HEAD="+string(x))[0])
		later := strings.ToUpper(string(x))
		r.found = append(r.found, images(t, m, "HEAD="+later+" / a="+later))
	}
	e := entity(t, m, "1")
	p := &staging.Protocol{Reader: r, Now: m.Now}
	_, _, err := p.Alive(context.Background(), e, e.Parts, images(t, m, "HEAD=a / a=b"), &write.Tally{})
	if err == nil || err.Error() != "shop 1 was inserted and deleted again and again while it was read: load it again" {
		t.Errorf("%v after %s", err, r.log)
	}
}

// Of items in the way of new ones, those of no live attempt may be replaced; the live
// entity's, and what was tried before, may not.
func TestLeftBehind(t *testing.T) {
	m := Of[Shop](t)
	put := func(sk string, root bool) *write.Request {
		return &write.Request{Kind: write.Put, Place: m.At(0, Text("SHOP#1"), Text(sk)), Reserved: m.Reserved, New: true, Root: root}
	}
	update := put("LINE#u", false)
	update.New = false
	o := &write.Outcome{
		State:    write.Rejected,
		Requests: []*write.Request{put("HEAD", true), put("LINE#a", false), put("LINE#b", false), put("LINE#c", false), put("LINE#d", false), put("LINE#e", false), update},
		Stored: []item.Attributes{
			stored("HEAD", item.Attributes{"_a": B("old")}), stored("LINE#a", item.Attributes{"_a": B("old")}), stored("LINE#b", item.Attributes{"_a": B("x")}),
			stored("LINE#c", nil), nil, stored("LINE#e", item.Attributes{"_a": B("tried")}), stored("LINE#u", item.Attributes{"_a": B("old")}),
		},
	}
	known := func(p item.Place) *item.Hidden {
		if p.SK.Text == "LINE#e" {
			return &item.Hidden{Attempt: B("tried")}
		}
		return nil
	}
	r := &fake{t: t, roots: []*item.Image{&images(t, m, "HEAD=x")[0]}}
	p := &staging.Protocol{Reader: r, Now: m.Now, Describe: m.ImageIn}
	left, err := p.LeftBehind(context.Background(), entity(t, m, "1"), o, known, &write.Tally{})
	f := left[1]
	if err != nil || len(left) != 1 || f.SK.Text != "LINE#a" || Show(f.HiddenOf().Attempt) != "b'old'" || r.log != "r" {
		t.Errorf("%v with the reads %s: %v", left, r.log, err)
	}
	none := &write.Outcome{State: write.Rejected, Requests: o.Requests[3:4], Stored: o.Stored[3:4]}
	r.log = ""
	if left, err = p.LeftBehind(context.Background(), entity(t, m, "1"), none, known, &write.Tally{}); err != nil || len(left) > 0 || r.log != "" {
		t.Errorf("%v with the reads %s: %v", left, r.log, err)
	}
}
