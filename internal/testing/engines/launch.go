package engines

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// Pinned versions of the engines.
const (
	localVersion    = "3.3.1"
	dynoxideVersion = "3.2.0"
)

// launcher knows how to get one engine and how to start it.
type launcher struct {
	name string
	// available says why the engine cannot be started, or nil.
	available func(context.Context) error
	// builds says that command builds a missing engine. That takes minutes, so
	// Start does it only if ITEMIZE_ENGINE names the engine.
	builds bool
	// command fetches missing files and returns the command that listens on
	// a port of the loopback interface.
	command func(ctx context.Context, port int) (*exec.Cmd, error)
}

var launchers = []launcher{
	{Local, localAvailable, false, localCommand},
	{Dynoxide, dynoxideAvailable, true, dynoxideCommand},
	{Docker, dockerAvailable, false, dockerCommand},
	{Minidyn, embeddedAvailable, false, embeddedCommand},
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

//go:embed dynamodb-local.pom.xml
var localPOM []byte

var javaMajor = regexp.MustCompile(`version "(\d+)`)

func localAvailable(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "java", "-version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("java: %w", err)
	}
	m := javaMajor.FindSubmatch(out)
	if m == nil {
		return errors.New("java: no version in the output of java -version")
	}
	if major, _ := strconv.Atoi(string(m[1])); major < 17 {
		return fmt.Errorf("java: version %d is too old; DynamoDB Local needs 17", major)
	}
	if cached("dynamodb-local-"+localVersion) != "" {
		return nil
	}
	_, err = exec.LookPath("mvn")
	return err
}

func localCommand(ctx context.Context, port int) (*exec.Cmd, error) {
	lib, err := fetch("dynamodb-local-"+localVersion, "DynamoDB Local "+localVersion+" (50 MB, with Maven)",
		func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, "pom.xml"), localPOM, 0o666); err != nil {
				return err
			}
			cmd := exec.CommandContext(ctx, "mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime",
				"-DoutputDirectory=lib")
			cmd.Dir = dir
			return newClient("fetching DynamoDB Local " + localVersion).run(cmd)
		})
	if err != nil {
		return nil, err
	}
	lib = filepath.Join(lib, "lib")
	// Most engines live for seconds: what the optimizing compiler and a parallel garbage
	// collector would win them is less than they cost.
	cmd := exec.Command("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Djava.library.path="+lib, "-cp",
		filepath.Join(lib, "*"),
		"software.amazon.dynamodb.services.local.main.ServerRunner", "-inMemory", "-disableTelemetry", "-port",
		strconv.Itoa(port))
	cmd.Dir = lib // where it leaves its metadata file
	return cmd, nil
}

func dynoxideAvailable(context.Context) error {
	_, err := exec.LookPath("dynoxide")
	return err
}

// cargoCounts matches cargo's progress: "Building [===>   ] 45/120: serde".
var cargoCounts = regexp.MustCompile(`\] (\d+)/(\d+)`)

// dynoxide returns the program on the PATH, or the one in the cache.
func dynoxide(ctx context.Context) (string, error) {
	if path, err := exec.LookPath("dynoxide"); err == nil {
		return path, nil
	}
	dir, err := fetch("dynoxide-"+dynoxideVersion, "dynoxide "+dynoxideVersion+
		" (built with cargo: about 5 minutes on 2 cores)", func(dir string) error {
		c := newClient("building dynoxide " + dynoxideVersion)
		c.counts, c.unit = cargoCounts, "crates"
		cmd := exec.CommandContext(ctx, "cargo", "install", "dynoxide-rs", "--version", dynoxideVersion, "--locked",
			"--no-default-features", "--features", "native-sqlite,http-server,cli", "--root", dir)
		cmd.Env = append(os.Environ(), "CARGO_TERM_PROGRESS_WHEN=always", "CARGO_TERM_PROGRESS_WIDTH=80")
		return c.run(cmd)
	})
	return filepath.Join(dir, "bin", "dynoxide"), err
}

func dynoxideCommand(ctx context.Context, port int) (*exec.Cmd, error) {
	path, err := dynoxide(ctx)
	if err != nil {
		return nil, err
	}
	return exec.Command(path, "--port", strconv.Itoa(port)), nil
}

func dockerAvailable(ctx context.Context) error {
	return exec.CommandContext(ctx, "docker", "info").Run()
}

func dockerCommand(ctx context.Context, port int) (*exec.Cmd, error) {
	image := "amazon/dynamodb-local:" + localVersion
	if exec.CommandContext(ctx, "docker", "image", "inspect", image).Run() != nil {
		if err := newClient("pulling " + image).run(exec.CommandContext(ctx, "docker", "pull", "-q",
			image)); err != nil {
			return nil, err
		}
	}
	return exec.Command("docker", "run", "--rm", "--init", "-p", fmt.Sprintf("127.0.0.1:%d:8000", port), image, "-jar",
		"DynamoDBLocal.jar", "-inMemory", "-disableTelemetry"), nil
}

func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }
