package generator

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Unusual declarations of indexes: the generated code compiles, or gen says what to write.
func TestGeneratedIndexesCompile(t *testing.T) {
	cases := map[string]string{
		"calls": `type Shop struct {
	_ struct{} ` + "`ddb:\"table=shops\"`" + `
	_ struct{} ` +
			"`ddb:\"index=bbb,hash=A1,range=B1,pk=K#{State},sk={Limit:04}#{Fetch:04}#{Between:04}#{Roots:04}#{All:04}#{Filter}#{Entities}\"`" + `
	ID string ` + "`ddb:\"pk=S#{ID}\"`" + `
	State string ` + "`ddb:\"sk=HEAD\"`" + `
	Limit, Fetch, Between, Roots, All int ` + "`ddb:\"sk=HEAD\"`" + `
	Filter, Entities string ` + "`ddb:\"sk=HEAD\"`" + `
}`,
		"constants": `type Shop struct {
	_ struct{} ` + "`ddb:\"table=shops\"`" + `
	_ struct{} ` + "`ddb:\"index=by-all.x,hash=A1,range=B1,pk=ALL,sk=X#{State}\"`" + `
	_ struct{} ` + "`ddb:\"index=by-all_x,hash=A1,range=B2,pk=ALL,sk=Y#{State}\"`" + `
	_ struct{} ` + "`ddb:\"index=123,hash=A1,range=B3,pk=ALL,sk=Z#{State}\"`" + `
	_ struct{} ` + "`ddb:\"index=___,hash=A1,range=B4,pk=ALL,sk=V#{State}\"`" + `
	ID string ` + "`ddb:\"pk=S#{ID}\"`" + `
	State string ` + "`ddb:\"sk=HEAD\"`" + `
}`,
		"query": `type Shop struct {
	_ struct{} ` + "`ddb:\"table=shops\"`" + `
	_ struct{} ` + "`ddb:\"index=aaa,hash=A1,range=B1,pk=K#{State},sk={At}\"`" + `
	_ struct{} ` + "`ddb:\"index=bbb,hash=A2,range=B2,pk=L#{StateQuery},sk={At}\"`" + `
	ID string ` + "`ddb:\"pk=S#{ID}\"`" + `
	State, StateQuery string ` + "`ddb:\"sk=HEAD\"`" + `
	At time.Time ` + "`ddb:\"sk=HEAD\"`" + `
}
var _ time.Time`,
		"sameHash": `type Shop struct {
	_ struct{} ` + "`ddb:\"table=shops\"`" + `
	_ struct{} ` + "`ddb:\"index=aaa,hash=A1,range=B1,pk=K#{State},sk={At}\"`" + `
	_ struct{} ` + "`ddb:\"index=bbb,hash=A1,range=B1,pk=K#{State},sk={At},project=keys\"`" + `
	_ struct{} ` + "`ddb:\"index=ccc,hash=A1,range=B2,pk=K#{State},sk={At:date}#{ID}\"`" + `
	_ struct{} ` + "`ddb:\"index=ddd,hash=A1,pk=K#{State}\"`" + `
	ID string ` + "`ddb:\"pk=S#{ID}\"`" + `
	State string ` + "`ddb:\"sk=HEAD\"`" + `
	At time.Time ` + "`ddb:\"sk=HEAD\"`" + `
}
var _ time.Time`,
		"byID": `type Shop struct {
	_ struct{} ` + "`ddb:\"table=shops\"`" + `
	_ struct{} ` + "`ddb:\"index=aaa,hash=A1,range=B1,pk=K#{ID},sk={State}\"`" + `
	ID string ` + "`ddb:\"pk=S#{ID}\"`" + `
	State string ` + "`ddb:\"sk=HEAD\"`" + `
}`,
		"elements": `type line struct { At time.Time; By string; D time.Duration; B []byte }
type Kind string
type Shop struct {
	_ struct{} ` + "`ddb:\"table=shops\"`" + `
	_ struct{} ` + "`ddb:\"index=aaa,hash=A1,range=B1,pk=K#{By},sk={D:sortable}#{^ID}#{At:unix},on=Lines\"`" + `
	_ struct{} ` + "`ddb:\"index=aab,hash=A2,range=B2,pk={key},sk={Kind},on=Maps\"`" + `
	_ struct{} ` + "`ddb:\"index=aac,hash=A2,range=B2,pk={.},sk={^ID},on=Tags\"`" + `
	_ struct{} ` + "`ddb:\"index=aad,hash=A4,range=B4,pk={At:week},sk={By}#{^ID:raw},on=Lines\"`" + `
	_ struct{} ` + "`ddb:\"index=aae,hash=BB,range=A3,pk={B},sk={key},on=Maps\"`" + `
	ID Kind ` + "`ddb:\"pk=S#{ID}\"`" + `
	State string ` + "`ddb:\"sk=HEAD\"`" + `
	Lines []line ` + "`ddb:\"sk=LINE#{At}\"`" + `
	Maps map[Kind]struct{ Kind Kind; B []byte } ` + "`ddb:\"sk=MAP#{key}\"`" + `
	Tags []string ` + "`ddb:\"sk=TAG#{.}\"`" + `
}
var _ time.Time
`,
		"names": `type Shop struct {
	_ struct{} ` + "`ddb:\"table=shops\"`" + `
	_ struct{} ` +
			"`ddb:\"index=aaa,hash=A1,range=B1,pk=K#{Type},sk={Func}#{Map}#{String}#{N:04}#{At}#{Src},name=Kex\"`" + `
	_ struct{} ` + "`ddb:\"index=aab,hash=A1,range=B2,pk=K#{Type},sk=X#{Err},name=Kez\"`" + `
	_ struct{} ` + "`ddb:\"index=aac,hash=A1,range=B3,pk=K#{Type},sk=X#{Err},name=Kei\"`" + `
	ID string ` + "`ddb:\"pk=S#{ID}\"`" + `
	Type, Func, Map, String, Src, Err string ` + "`ddb:\"sk=HEAD\"`" + `
	N int ` + "`ddb:\"sk=HEAD\"`" + `
	At time.Time ` + "`ddb:\"sk=HEAD\"`" + `
}
var _ time.Time`,
		"unexported": `type shop struct {
	_ struct{} ` + "`ddb:\"table=shops\"`" + `
	_ struct{} ` + "`ddb:\"index=aaa,hash=A1,range=B1,pk=K#{State},sk={At:date}#{At:millis}\"`" + `
	_ struct{} ` + "`ddb:\"index=aab,hash=SK,range=PK\"`" + `
	_ struct{} ` + "`ddb:\"index=aac,local,range=State,sk={State}\"`" + `
	ID string ` + "`ddb:\"pk=S#{ID}\"`" + `
	State string ` + "`ddb:\"sk=HEAD\"`" + `
	At time.Time ` + "`ddb:\"sk=HEAD\"`" + `
}
var _ time.Time`,
		"twice": `type Shop struct {
	_ struct{} ` + "`ddb:\"table=shops\"`" + `
	_ struct{} ` + "`ddb:\"index=aaa,hash=A1,range=B1,pk=K#{State}#{State},sk={At:date}#{At:millis}#{State}\"`" + `
	_ struct{} ` + "`ddb:\"index=aab,hash=SK,range=PK\"`" + `
	_ struct{} ` + "`ddb:\"index=aac,local,range=State,sk={State}\"`" + `
	_ struct{} ` + "`ddb:\"index=aad,pk={State};{N},sk={M};{At:unix}\"`" + `
	ID string ` + "`ddb:\"pk=S#{ID}\"`" + `
	State string ` + "`ddb:\"sk=HEAD\"`" + `
	N, M uint8 ` + "`ddb:\"sk=HEAD\"`" + `
	At time.Time ` + "`ddb:\"sk=HEAD\" dynamodbav:\",unixtime\"`" + `
}
var _ time.Time`,
		"flat": `type Shop struct {
	_ struct{} ` + "`ddb:\"table=shops\"`" + `
	_ struct{} ` + "`ddb:\"index=aaa,hash=A1,range=B1,pk=K#{No},sk={City}\"`" + `
	_ struct{} ` + "`ddb:\"index=aab,hash=A2,range=SK,pk=C#{City}\"`" + `
	_ struct{} ` + "`ddb:\"index=aac,hash=A3,pk=C#{Street}\"`" + `
	City string ` + "`ddb:\"pk=S#{City}\"`" + `
	No string ` + "`ddb:\"sk=HEAD#{No}\"`" + `
	State string ` + "`ddb:\"sk=HEAD#{No}\"`" + `
	Home Addr ` + "`ddb:\"sk=HEAD#{No}\"`" + `
}
type Addr struct { Street string }`,
		"lookups": `type Shop struct {
	_ struct{} ` + "`ddb:\"table=shops\"`" + `
	ID string ` + "`ddb:\"pk=S#{ID}\"`" + `
	V string ` + "`ddb:\"sk=HEAD,unique\"`" + `
	Type, Func, Map, String, Err, Mapperimpl, Query string ` + "`ddb:\"sk=HEAD,unique\"`" + `
	Range *string ` + "`ddb:\"sk=HEAD,unique='Range,Shop'\"`" + `
	Shop *string ` + "`ddb:\"sk=HEAD\"`" + `
	Home *Addr ` + "`ddb:\"sk=HEAD\"`" + `
	Key Key ` + "`ddb:\"sk=HEAD,unique\"`" + `
}
type Addr struct { Street string ` + "`ddb:\"unique\"`" + ` }
type Key string
func (k Key) Normal() string { return string(k) }`,
	}
	dir, write := moduleOf(t, "example.com/odd")
	for name, text := range cases {
		imports := ""
		for _, p := range []string{"time", "net/netip"} {
			if strings.Contains(text, filepath.Base(p)+".") {
				imports += fmt.Sprintf("import %q\n", p)
			}
		}
		write(filepath.Join(dir, name, "model.go"), "package "+strings.ToLower(name)+"\n\n"+imports+"\n"+text+"\n")
	}
	packages, err := Load(context.Background(), Config{Dir: dir, Env: offline}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(packages, func(a, b *Package) int { return strings.Compare(a.Path, b.Path) })
	for _, p := range packages {
		for _, d := range p.Diagnostics {
			t.Logf("%s: load: %v", p.Path, d.Message)
		}
		files, diagnostics, err := p.Generate(nil, false)
		t.Logf("%s: %d files, %v", p.Path, len(files), err)
		for _, d := range diagnostics {
			t.Logf("%s: gen: %v", p.Path, d.Message)
		}
		for _, f := range files {
			write(f.Path, string(f.Content))
		}
	}
	cmd := exec.Command("go", "build", "./...")
	cmd.Dir, cmd.Env = dir, offline
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// moduleOf returns the folder of a new module that uses the library, and a function that writes a file.
func moduleOf(t *testing.T, path string) (dir string, write func(path, text string)) {
	t.Helper()
	root, _ := filepath.Abs("../..")
	mod, _ := os.ReadFile(filepath.Join(root, "go.mod"))
	sum, _ := os.ReadFile(filepath.Join(root, "go.sum"))
	_, rest, _ := strings.Cut(string(mod), "\n")
	dir = t.TempDir()
	write = func(path, text string) {
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "go.mod"), "module "+path+"\n"+rest+
		"\nrequire github.com/itemize/itemize v0.0.0\n\nreplace github.com/itemize/itemize => "+root+"\n")
	write(filepath.Join(dir, "go.sum"), string(sum))
	return dir, write
}
