package operation

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/write"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
)

const (
	numStates   = stepHarmlessTransaction + 1
	numFindings = foundRepetition + 1
)

// Each state and finding has one row. The row names a rule, or the reason why the combination is impossible.
func TestEachCombinationHasOneVerdict(t *testing.T) {
	rules, err := os.ReadFile("../../../docs/design/invariants.md")
	if err != nil {
		t.Fatal(err)
	}
	for s := range numStates {
		for f := range numFindings {
			n := 0
			for _, r := range verdicts {
				if slices.Contains(r.states, s) && slices.Contains(r.findings, f) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("state %d with finding %d has %d rows, want 1", s, f, n)
			}
		}
	}
	for i, r := range verdicts {
		name := "**" + strings.ToUpper(r.rule[:1]) + r.rule[1:] + ".**"
		if isRule := strings.Contains(string(rules), name); isRule == (r.verdict == isImpossible) {
			t.Errorf("row %d: rule %q, verdict %d", i, r.rule, r.verdict)
		}
	}
}

// Each blocker, claim and need has one cure. Its rule is one of the invariants or of the specification.
func TestEachBlockerHasOneCure(t *testing.T) {
	rules, err := os.ReadFile("../../../docs/design/invariants.md")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := os.ReadFile("../staging/spec/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for b := range blockerLeftover + 1 {
		for c := range claimAny + 1 {
			for n := range needItem + 1 {
				rows := 0
				for i := range cures {
					if cures[i].is(b, c, n) {
						rows++
					}
				}
				if rows != 1 {
					t.Errorf("blocker %d with claim %d and need %d has %d rows, want 1", b, c, n, rows)
				}
			}
		}
	}
	for i, r := range cures {
		ofInvariants := strings.Contains(string(rules), "**"+strings.ToUpper(r.rule[:1])+r.rule[1:]+".**")
		ofSpec := strings.Contains(string(spec), "**"+r.rule+"**") || strings.Contains(string(spec), "| "+r.rule+" |")
		if !ofInvariants && !ofSpec {
			t.Errorf("row %d: no rule %q", i, r.rule)
		}
	}
}

// A patch replaces or deletes leftover items only, adds to no item that exists, and joins the live entity alone.
func TestCuresAreSafe(t *testing.T) {
	for i, r := range cures {
		only := func(b ...blocker) bool {
			return !slices.ContainsFunc(r.blockers, func(x blocker) bool { return !slices.Contains(b, x) })
		}
		of := func(c cure, b ...blocker) bool { return r.cure != c || only(b...) }
		if !of(replaceItem, blockerLeftover) || !of(deleteItem, blockerLeftover) || !of(joinEntity, blockerOwn) ||
			!of(bindPatch, blockerMarked) || !of(makePlain, blockerBare) {
			t.Errorf("row %d: cure %d is for other blockers", i, r.cure)
		}
		if slices.Contains(r.claims, claimAbsent) && r.cure != reportExists {
			t.Errorf("row %d: an addition to an item that exists has cure %d", i, r.cure)
		}
	}
}

// A step of which a copy may be applied never ends as refused, and an operation continues only with a verdict that
// allows it.
func TestVerdictsAreSafe(t *testing.T) {
	final := []state{stepApplied, stepFailed, stepRefused, stepVoid, stepAssumedVoid}
	for i, r := range verdicts {
		for name, ok := range map[string]bool{
			"a step is applied only by its state": r.verdict != isApplied ||
				slices.Equal(r.states, []state{stepApplied}),
			"only an applied step has a next one":   (r.next == sendNext) == (r.verdict == isApplied),
			"an unknown outcome ends the operation": r.verdict != isUnknown || r.next == endHere,
			"open steps are planned again":          r.verdict != isOpen || r.next == planAgain,
			"the parts are asked once": (r.next == askParts) == (r.verdict == isUndecided) &&
				(r.next != askParts || slices.Equal(r.findings, []finding{foundNothing})),
			"a plan follows an earlier write or a cure": r.next != planAgain ||
				!slices.ContainsFunc(r.findings, func(f finding) bool {
					return f != foundVersion && f != foundAbsence && f != foundCure
				}),
			"without a copy nothing is open": r.verdict != isOpen ||
				!slices.ContainsFunc(r.states, func(s state) bool { return slices.Contains(final, s) }),
			"with a copy nothing is refused": r.verdict != isNotApplied ||
				!slices.ContainsFunc(r.states, func(s state) bool { return !slices.Contains(final, s) }),
			"an assumed copy leaves no refusal": r.verdict != isNotApplied || r.next != endHere ||
				!slices.Contains(r.states, stepAssumedVoid),
		} {
			if !ok {
				t.Errorf("row %d: not so: %s", i, name)
			}
		}
	}
}

// Each outcome is one state. Only an outcome that is unsure can have a copy.
func TestStateOfOutcomes(t *testing.T) {
	m := fakedynamo.Of[fakedynamo.Shop](t)
	request := &write.Request{Expect: write.Expect{Version: fakedynamo.B("1")}, Item: m.Root(), Reserved: m.Reserved}
	stored := func(version string) item.Attributes {
		return item.Attributes{m.Reserved.Version: fakedynamo.B(version)}
	}
	type shape struct{ several, lost, harmless bool }
	unsure := map[shape]state{
		{false, false, false}: stepHarmful,
		{false, false, true}:  stepHarmless,
		{false, true, false}:  stepOverwritten,
		{false, true, true}:   stepHarmless,
		{true, false, false}:  stepHarmful,
		{true, false, true}:   stepHarmlessTransaction,
		{true, true, false}:   stepVoid,
		{true, true, true}:    stepAssumedVoid,
	}
	seen := map[write.State]bool{}
	for of, want := range unsure {
		for _, c := range []struct {
			state  write.State
			unsure bool
			want   state
		}{
			{write.Written, false, stepApplied},
			{write.Failed, false, stepFailed},
			{write.Unknown, false, stepUnanswered},
			{write.Rejected, false, stepRefused},
			{write.Rejected, true, want},
		} {
			seen[c.state] = true
			part := &raw{common: common{harmless: never}}
			if of.harmless {
				part.harmless = always
			}
			o := write.Outcome{State: c.state, Unsure: c.unsure, Requests: []*write.Request{request}}
			if c.state == write.Rejected {
				o.Stored = []item.Attributes{stored("1")}
				if of.lost {
					o.Stored[0] = stored("2")
				}
			}
			if of.several {
				o.Requests, o.Stored = append(o.Requests, request), append(o.Stored, nil)
			}
			x := &Operation{parts: []Part{part}, outcome: o}
			if got := x.stateOf(t.Context(), []partOutcome{{part, o}}, &Tally{}); got != c.want {
				t.Errorf("%+v, outcome %d, unsure %v: state %d, want %d", of, c.state, c.unsure, got, c.want)
			}
		}
	}
	if len(seen) != write.States {
		t.Errorf("outcomes have %d states, and the cases %d", write.States, len(seen))
	}
}

// A copy whose answer was lost is harmless only if it may be applied twice. An assumed copy is harmless if the
// requests require the items as they were read, or a version.
func TestHarmlessCopies(t *testing.T) {
	m := fakedynamo.Of[fakedynamo.Shop](t)
	outcome := func(assumed bool, version types.AttributeValue) *write.Outcome {
		r := &write.Request{Kind: write.Update, Reserved: m.Reserved, Expect: write.Expect{Version: version}}
		return &write.Outcome{Assumed: assumed, Requests: []*write.Request{r}, Stored: []item.Attributes{nil}}
	}
	seen, version := outcome(false, fakedynamo.B("1")), outcome(true, fakedynamo.B("1"))
	for name, c := range map[string]struct {
		of                      harmless
		seen, assumed, required bool
	}{
		"never":      {never, false, false, false},
		"always":     {always, true, true, true},
		"if assumed": {ifAssumed, false, true, true},
		"if guarded": {ifGuarded, false, false, true},
	} {
		for what, of := range map[string]struct {
			o    *write.Outcome
			want bool
		}{
			"a lost answer":                  {seen, c.seen},
			"an assumed copy":                {outcome(true, nil), c.assumed},
			"an assumed copy with a version": {version, c.required},
		} {
			if got := c.of(nil, of.o); got != of.want {
				t.Errorf("%s, %s: %v, want %v", name, what, got, of.want)
			}
		}
	}
}

// The page of writes shows the table. UPDATE=1 rewrites it.
func TestPageShowsVerdicts(t *testing.T) {
	const file, begin, end = "../../../docs/design/writes.md", "Verdicts -->\n", "<!-- end of the table -->"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatalf("%s has no lines %q and %q", file, begin, end)
	}
	now := before + begin + tablesOf(t) + end + after
	switch {
	case now == string(page):
	case os.Getenv("UPDATE") == "":
		t.Errorf("%s does not show the table: run UPDATE=1 go test ./internal/save/operation", file)
	default:
		if err := os.WriteFile(file, []byte(now), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// tablesOf returns the tables of the page, from the comments of the constants and the rows.
func tablesOf(t *testing.T) string {
	t.Helper()
	syntax, err := parser.ParseFile(token.NewFileSet(), "verdicts.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	names := map[string][]string{}
	for _, d := range syntax.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		kind := block.Specs[0].(*ast.ValueSpec).Type.(*ast.Ident).Name
		fmt.Fprintf(&b, "| %s | meaning |\n|---|---|\n", kind)
		for _, spec := range block.Specs {
			s := spec.(*ast.ValueSpec)
			name := wordsOf(s.Names[0].Name)
			names[kind] = append(names[kind], name)
			_, meaning, _ := strings.Cut(strings.Join(strings.Fields(s.Doc.Text()), " "), ": ")
			fmt.Fprintf(&b, "| %s | %s |\n", name, meaning)
		}
		b.WriteString("\n")
	}
	b.WriteString("| state | finding | verdict | next | rule, or the reason |\n|---|---|---|---|---|\n")
	for _, r := range verdicts {
		next := names["next"][r.next]
		if r.verdict == isImpossible {
			next = ""
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", list(names["state"], r.states),
			list(names["finding"], r.findings), names["verdict"][r.verdict], next, r.rule)
	}
	b.WriteString("\nA patch that is refused by an item which may not be of its entity answers by this table:\n\n" +
		"| blocker | claim | need | cure | rule |\n|---|---|---|---|---|\n")
	for _, r := range cures {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", list(names["blocker"], r.blockers),
			list(names["claim"], r.claims), list(names["need"], r.needs), names["cure"][r.cure], r.rule)
	}
	return b.String()
}

// list returns the names of constants of one kind, "all" for none.
func list[T ~uint8](names []string, all []T) string {
	if all == nil {
		return "all"
	}
	var text []string
	for _, x := range all {
		text = append(text, names[x])
	}
	return strings.Join(text, ", ")
}

// wordsOf returns the words of a constant's name, without a prefix for its kind.
func wordsOf(name string) string {
	for _, prefix := range []string{"step", "found", "is", "blocker", "claim", "need"} {
		name = strings.TrimPrefix(name, prefix)
	}
	var b strings.Builder
	for i, c := range name {
		if unicode.IsUpper(c) && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
