// Command bench compares itemize with other libraries: it runs the benchmarks and prints the comparison of benchstat.
// With -write it writes docs/design/benchmarks.md. With -gate it fails if itemize is slower than that document says. It
// runs in the folder bench.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

func main() {
	write := flag.String("write", "", "write the tables to this file, in Markdown, instead of the output of "+
		"benchstat")
	count := flag.Int("count", 5, "how often each benchmark is run; a table has the medians")
	long := flag.String("benchtime", "500ms", "how long each run is, as go test takes it")
	only := flag.String("bench", "AtOnce|Engine|Kept", "which benchmarks are run, as go test takes it")
	compare := flag.String("gate",
		"", "measure how itemize compares with the SDK by hand, and fail if it is more than "+
			"10 % slower than this document says")
	input := flag.String("input", "", "a file with the output of earlier benchmarks, in place of running them")
	flag.Parse()
	do := func() error {
		return run(*write, *input, []string{
			"test",
			"-run", "-", "-timeout", "0", "-bench", *only, "-benchtime", *long, "-count", fmt.Sprint(*count), ".",
		})
	}
	if *compare != "" {
		do = func() error { return gate(*compare) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(write, input string, test []string) error {
	out, err := results(input, test)
	if err != nil {
		return err
	}
	if write == "" {
		return benchstat(out)
	}
	if input == "" {
		ratios, err := measureRatios("")
		if err != nil {
			return err
		}
		out = append(out, ratios...)
	}
	text := document(parse(out), machine("go "+strings.Join(test, " ")))
	return os.WriteFile(write, []byte(text), 0o644)
}

// results returns the output of the benchmarks.
func results(input string, test []string) ([]byte, error) {
	if input != "" {
		return os.ReadFile(input)
	}
	var out bytes.Buffer
	cmd := exec.Command("go", test...)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, os.Stderr), os.Stderr
	err := cmd.Run()
	return out.Bytes(), err
}

// benchstat compares the libraries, each with the SDK.
func benchstat(results []byte) error {
	f, err := os.CreateTemp("", "bench-*.txt")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(results); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	cmd := exec.Command("go", "tool", "benchstat", "-col",
		"/lib@(sdk sdk-same guregu docstore itemize itemize-shared itemize-reflected)", "-row", ".name /job", f.Name())
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// machine describes the machine, and the command of the measurement.
func machine(command string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s with `%s`, %s, %s/%s, %d processors", time.Now().UTC().Format(time.DateOnly),
		command, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
				fmt.Fprintf(&b, " (%s)", strings.TrimSpace(value))
				break
			}
		}
	}
	engine := os.Getenv("ITEMIZE_ENGINE")
	if engine == "" {
		engine = "the first engine that was found"
	}
	fmt.Fprintf(&b, "; the engine: %s.\n\n", engine)
	for _, m := range []string{
		"github.com/aws/aws-sdk-go-v2/service/dynamodb",
		"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue", "github.com/guregu/dynamo/v2", "gocloud.dev",
	} {
		if v, err := exec.Command("go", "list", "-m", m).Output(); err == nil {
			fmt.Fprintf(&b, "- %s\n", strings.TrimSpace(string(v)))
		}
	}
	return b.String()
}
