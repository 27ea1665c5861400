package operation

import (
	"slices"

	"github.com/itemize/itemize/internal/model"
)

// Options are the options of saves, deletes and patches.
type Options struct {
	// Independent sends each request by itself, Staged sends a staged insert or delete, ExactlyOnce sends a single request as a
	// transaction.
	Independent, Staged, ExactlyOnce bool
	// Move allows changes of key fields, CheckLoaded requires that loaded items are unchanged, Reindex also writes items whose
	// index keys differ, CheckRoot requires the root item where items are added.
	Move, CheckLoaded, Reindex, CheckRoot bool
}

// use is a kind of operation that takes options.
type use struct {
	name string
	// refused are the options that mean nothing there, with the reason.
	refused []refusal
}

type refusal struct {
	option func(Options) bool
	text   string
}

// The options by name.
var (
	independent = func(o Options) bool { return o.Independent }
	staged      = func(o Options) bool { return o.Staged }
	exactlyOnce = func(o Options) bool { return o.ExactlyOnce }
	move        = func(o Options) bool { return o.Move }
	checkLoaded = func(o Options) bool { return o.CheckLoaded }
	reindex     = func(o Options) bool { return o.Reindex }
	checkRoot   = func(o Options) bool { return o.CheckRoot }
)

// both reports options that are given together.
func both(a, b func(Options) bool) func(Options) bool {
	return func(o Options) bool { return a(o) && b(o) }
}

// oneOf reports that at least one of several options is given.
func oneOf(all ...func(Options) bool) func(Options) bool {
	return func(o Options) bool {
		return slices.ContainsFunc(all, func(is func(Options) bool) bool { return is(o) })
	}
}

// exclusive are the options that exclude each other, wherever they are given.
var exclusive = []refusal{
	{both(independent, staged), "Independent and Staged exclude each other: choose one"},
	{both(independent, checkLoaded), "Independent and CheckLoaded exclude each other: only a transaction checks other items"},
	{both(staged, checkLoaded), "Staged and CheckLoaded exclude each other: only a transaction checks other items"},
	{both(staged, exactlyOnce), "Staged and ExactlyOnce exclude each other: choose one"},
	{both(independent, move), "Independent and Move exclude each other: an entity moves at once, or not"},
	{both(checkRoot, oneOf(independent, staged, move)), "CheckRoot is for one transaction: leave Independent, Staged and Move out"},
}

// The uses of options.
var (
	forSave   = use{name: "save"}
	forDelete = use{"delete", []refusal{
		{move, "Move means nothing for a delete: leave it out"},
		{reindex, "Reindex means nothing for a delete: leave it out"},
		{checkLoaded, "CheckLoaded means nothing for a delete, which requires all that it deletes to be as it was: leave it out"},
		{checkRoot, "CheckRoot means nothing for a delete, which adds nothing: leave it out"},
	}}
	forPatch = use{"patch", []refusal{
		{oneOf(independent, staged, move, checkLoaded, reindex, checkRoot), "a patch takes ExactlyOnce only: leave the other options out"},
	}}
	forPart = use{"part", []refusal{
		{oneOf(independent, staged, exactlyOnce, move), "a part of a transaction takes CheckLoaded, CheckRoot and Reindex only: leave Independent, Staged, ExactlyOnce and Move out"},
	}}
)

// check refuses options that exclude each other, or mean nothing for a use.
func (o Options) check(m *model.Model, u use) error {
	if o == (Options{}) {
		return nil
	}
	for _, list := range [][]refusal{u.refused, exclusive} {
		for _, r := range list {
			if r.option(o) {
				return m.Errorf("%s", r.text)
			}
		}
	}
	if o.Staged && !m.Reserved.Versions() {
		return m.Errorf("Staged needs versions, which the model does without (noversion): %s with Independent, or let its items have versions", u.name)
	}
	return nil
}
