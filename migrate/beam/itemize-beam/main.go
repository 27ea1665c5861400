// Command itemize-beam moves monoliths as an Apache Beam pipeline: itemize-beam -model Package
// -segments 64 --runner=dataflow (and flags of the runner) documents. Use the command itemize for the
// other steps: verify, cutover, contract, rollback.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/itemize/itemize/migrate/beam"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "itemize-beam:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	j := beam.Job{Tables: map[string]string{}}
	lock := flag.String("lock", "itemize.lock.json", "lock `file` of the model's package, which itemize gen writes")
	flag.StringVar(&j.Model, "model", "", "`name` of the model")
	flag.StringVar(&j.Hash, "key", "", "`template` of the partition keys of the monoliths")
	flag.StringVar(&j.Sort, "sort", "", "`template` of their sort keys")
	flag.IntVar(&j.Segments, "segments", 8, "`number` of segments, each an element")
	flag.Float64Var(&j.WriteRate, "rate", 0, "`WCU` per second of all segments together")
	flag.Func("table", "`NAME=REAL`: the real name of a table of the model; may be repeated", func(s string) error {
		name, to, ok := strings.Cut(s, "=")
		if !ok {
			return errors.New("no = in it: write NAME=REAL")
		}
		j.Tables[name] = to
		return nil
	})
	flag.Parse()
	sdk.Init()
	if flag.NArg() != 1 {
		return errors.New("no source: name one table of monoliths: itemize-beam -model NAME SOURCE")
	}
	j.Source = flag.Arg(0)
	var err error
	if j.Lock, err = os.ReadFile(*lock); err != nil {
		return fmt.Errorf("%w: name the file that itemize gen wrote in the model's package (-lock)", err)
	}
	p, s := sdk.NewPipelineWithRoot()
	if _, err := beam.Move(s, j); err != nil {
		return err
	}
	return beamx.Run(ctx, p)
}
